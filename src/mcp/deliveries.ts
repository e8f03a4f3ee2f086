// Which answers have reached the client: an action counts as told only then (design: a lost answer is told again).
import type { Readable, Writable } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

type RequestId = string | number;
type Message = Parameters<StdioServerTransport["send"]>[0];

export interface Deliveries {
  /** Runs each of `tells` once the answer to this request is out; never, if it never is. */
  expect(id: RequestId, tells: readonly (() => Promise<void>)[], signal: AbortSignal): void;
  delivered(id: RequestId): void;
  /** Resolves when everything told so far is written down. */
  settled(): Promise<void>;
}

export function createDeliveries(): Deliveries {
  const expected = new Map<RequestId, readonly (() => Promise<void>)[]>();
  let telling: Promise<unknown> = Promise.resolve();
  return {
    expect(id, tells, signal) {
      // A cancelled request is not answered any more.
      if (tells.length === 0 || signal.aborted) return;
      expected.set(id, tells);
      signal.addEventListener("abort", () => expected.delete(id), { once: true });
    },
    delivered(id) {
      const tells = expected.get(id) ?? [];
      expected.delete(id);
      telling = Promise.all([telling, ...tells.map((tell) => tell())]);
    },
    settled: async () => {
      await telling;
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
    const { id } = message;
    // An empty write behind it comes back when all before it has left, or with the error that stopped it.
    this.#out.write("", (error) => {
      if (!error) this.#deliveries.delivered(id);
    });
  }
}
