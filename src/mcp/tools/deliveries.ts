// Which outcomes of actions have reached the client, for all that its connection shows: one that nobody can have read was not sent.
import type { Delivery } from "../../actions/actions.ts";

type RequestId = string | number;

export interface Deliveries {
  /** The answer to this request will carry these outcomes. */
  expect(id: RequestId, outcomes: readonly Delivery[], signal: AbortSignal): void;
  /** The answer to this request is on its way out. Gives what to call when it is out; it need not be called. */
  answered(id: RequestId): () => void;
  /** The client does not want the answer to this request: it throws away what it has of it. */
  cancelled(id: RequestId): void;
  /** The client goes on behind the answers that are out. */
  alive(): void;
  /** An answer is out so recently that a client which dies now has not read it. */
  mayBeUnread(): boolean;
  /** The client has died: what went out to it just before has not been read, for all anybody knows. */
  died(): void;
  /** Resolves when everything so far is written down. */
  settled(): Promise<void>;
}

/** Answers that are out and may still be cancelled. */
const MAX_KEPT = 1_000;
/** A client that lives on for so long has had the time to read. */
const READ_MS = 1_000;

export function createDeliveries(): Deliveries {
  const expected = new Map<RequestId, readonly Delivery[]>();
  const out = new Map<RequestId, readonly Delivery[]>();
  /** Those behind which nothing has come yet. */
  const last = new Map<RequestId, number>();
  let writing: Promise<unknown> = Promise.resolve();

  /** Out just now, and nothing has come behind it. */
  const fresh = (): RequestId[] =>
    [...last].filter(([, outAt]) => performance.now() - outAt < READ_MS).map(([id]) => id);

  function unread(id: RequestId): void {
    const outcomes = out.get(id);
    if (!outcomes || !out.delete(id)) return;
    // First it has to be known when it was sent.
    writing = writing.then(async () => await Promise.all(outcomes.map((outcome) => outcome.unread())));
  }

  return {
    expect(id, outcomes, signal) {
      // A cancelled request is not answered any more. One that is cancelled later is: between this and the sending there is
      // no turn of the event loop.
      if (outcomes.length > 0 && !signal.aborted) expected.set(id, outcomes);
    },
    answered(id) {
      const outcomes = expected.get(id);
      if (!outcomes) return () => undefined;
      expected.delete(id);
      return () => {
        // What it resolves with must not hold the one before it, and so all of them.
        writing = Promise.all([writing, ...outcomes.map((outcome) => outcome.sent())]).then(() => undefined);
        out.set(id, outcomes);
        last.set(id, performance.now());
        for (const oldest of out.keys()) if (out.size > MAX_KEPT) out.delete(oldest);
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
