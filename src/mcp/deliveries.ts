// Which answers have reached the client: an action counts as told only then (design: a lost answer is told again).
import type { Readable, Writable } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

type RequestId = string | number;
type Message = Parameters<StdioServerTransport["send"]>[0];

export interface Deliveries {
  /** Each of `tells` is to run once the answer to this request is out; never, if it never is. */
  expect(id: RequestId, tells: readonly (() => Promise<void>)[], signal: AbortSignal): void;
  /** The answer to this request is on its way out. Gives what to call when it is out; it need not be called. */
  answered(id: RequestId): () => void;
  /** Resolves when everything told so far is written down. */
  settled(): Promise<void>;
  /** An id comes once in a connection: with the same call again it is the same request, sent again. Gives the key it had. */
  keyOf(id: RequestId, call: string): string | undefined;
  /** The action of this request has this key. */
  keep(id: RequestId, call: string, key: string): void;
}

/** Requests whose keys are remembered, in case they are sent again. */
const MAX_KEPT = 1_000;

export function createDeliveries(): Deliveries {
  const keys = new Map<RequestId, { readonly call: string; readonly key: string }>();
  const expected = new Map<RequestId, readonly (() => Promise<void>)[]>();
  let telling: Promise<unknown> = Promise.resolve();
  return {
    expect(id, tells, signal) {
      // A cancelled request is not answered any more. One that is cancelled later is: between this and the sending there is
      // no turn of the event loop.
      if (tells.length > 0 && !signal.aborted) expected.set(id, tells);
    },
    answered(id) {
      const tells = expected.get(id) ?? [];
      expected.delete(id);
      return () => {
        telling = Promise.all([telling, ...tells.map((tell) => tell())]);
      };
    },
    settled: async () => {
      await telling;
    },
    keyOf(id, call) {
      const kept = keys.get(id);
      return kept?.call === call ? kept.key : undefined;
    },
    keep(id, call, key) {
      keys.set(id, { call, key });
      for (const oldest of keys.keys()) if (keys.size > MAX_KEPT) keys.delete(oldest);
    },
  };
}

/** stdio that says when an answer is out. */
export class ConfirmingTransport extends StdioServerTransport {
  readonly #out: Writable;
  readonly #deliveries: Deliveries;

  constructor(stdin: Readable, stdout: Writable, deliveries: Deliveries) {
    super(stdin, stdout);
    this.#out = stdout;
    this.#deliveries = deliveries;
  }

  override async send(message: Message): Promise<void> {
    await super.send(message);
    if (!("result" in message || "error" in message) || message.id === undefined) return;
    const isOut = this.#deliveries.answered(message.id);
    // An empty write behind it comes back when all before it has left, or with the error that stopped it.
    this.#out.write("", (error) => {
      if (!error) isOut();
    });
  }
}
