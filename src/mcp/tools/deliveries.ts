// Records which outcomes of actions have reached the client, as far as its connection shows. An outcome that nobody can have
// read counts as not sent.
import type { RequestId } from "@modelcontextprotocol/server";
import type { Delivery } from "../../actions/actions.ts";
import { BoundedMap } from "../../bounded-map.ts";

export interface Deliveries {
  /** The answer to this request will carry these outcomes. */
  expect(id: RequestId, outcomes: readonly Delivery[], signal: AbortSignal): void;
  /** The answer to this request is being written. Call the returned function once it has left; where it never leaves, do not. */
  answered(id: RequestId): () => void;
  /** The client no longer wants the answer to this request, and drops it if it is there already. */
  cancelled(id: RequestId): void;
  /** The client has sent something after the answers that are out. */
  alive(): void;
  /** An answer has left so recently that a client which dies now has not read it. */
  mayBeUnread(): boolean;
  /** The client has died: an answer that left just before counts as unread. */
  died(): void;
  /** Resolves when everything so far is in the journal. */
  settled(): Promise<void>;
}

/** How many answers that are out can still be cancelled. */
const MAX_KEPT = 1_000;
/** A client that lives this long after an answer has had time to read it. */
const READ_MS = 1_000;

export function createDeliveries(): Deliveries {
  const expected = new Map<RequestId, readonly Delivery[]>();
  const out = new BoundedMap<RequestId, readonly Delivery[]>(MAX_KEPT);
  /** When each left; those after which the client has sent nothing yet. */
  const last = new Map<RequestId, number>();
  let writing: Promise<unknown> = Promise.resolve();

  /** Answers that left just now and after which nothing has come. */
  const fresh = (): RequestId[] =>
    [...last].filter(([, outAt]) => performance.now() - outAt < READ_MS).map(([id]) => id);

  function unread(id: RequestId): void {
    const outcomes = out.get(id);
    if (!outcomes || !out.delete(id)) return;
    // The journal must know first when it was sent.
    writing = writing.then(async () => await Promise.all(outcomes.map((outcome) => outcome.unread())));
  }

  return {
    expect(id, outcomes, signal) {
      // The SDK does not answer a cancelled request. It answers one that is cancelled later, since no turn of the event loop
      // lies between this and the sending.
      if (outcomes.length > 0 && !signal.aborted) expected.set(id, outcomes);
    },
    answered(id) {
      const outcomes = expected.get(id);
      if (!outcomes) return () => undefined;
      expected.delete(id);
      return () => {
        // Resolving with nothing keeps each promise from holding on to all before it.
        writing = Promise.all([writing, ...outcomes.map((outcome) => outcome.sent())]).then(() => undefined);
        out.set(id, outcomes);
        last.set(id, performance.now());
      };
    },
    cancelled: unread,
    alive: () => last.clear(),
    mayBeUnread: () => fresh().length > 0,
    died() {
      for (const id of fresh()) unread(id);
      last.clear();
    },
    settled: async () => {
      await writing;
    },
  };
}
