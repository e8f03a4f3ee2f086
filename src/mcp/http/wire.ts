// A connection within this process, on which the reads of all clients of 2026-07-28 come to one server.
import type { JSONRPCMessage, RequestId, Transport } from "@modelcontextprotocol/server";
import type { Reads } from "../messages/reads.ts";
import type { Ask } from "./answer.ts";

/** Requests go on under ids of its own: those of two clients may be the same. */
export class Wire implements Transport {
  onclose: Transport["onclose"];
  onerror: Transport["onerror"];
  onmessage: Transport["onmessage"];
  sessionId?: string;
  readonly #waiting = new Map<RequestId, (answer: JSONRPCMessage | undefined) => void>();
  #lastId = 0;
  #isClosed = false;
  readonly #reads: Reads;

  constructor(reads: Reads) {
    this.#reads = reads;
  }

  async start(): Promise<void> {}

  readonly ask: Ask = (request, told) => {
    const id = ++this.#lastId;
    const cancel = () => {
      if (!this.#waiting.delete(id)) return;
      this.#reads.cancel(id);
      this.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    };
    if (this.#isClosed) {
      told(undefined);
      return cancel;
    }
    this.#waiting.set(id, (answer) => told(answer && { ...answer, id: request.id }));
    const own = { ...request, id };
    if (!this.#reads.take(own, (answer) => this.#tell(id, answer))) this.onmessage?.(own);
    return cancel;
  };

  async send(message: JSONRPCMessage): Promise<void> {
    if ("method" in message || message.id === undefined) return;
    this.#reads.sent(message);
    this.#tell(message.id, message);
  }

  #tell(id: RequestId, answer: JSONRPCMessage): void {
    const told = this.#waiting.get(id);
    this.#waiting.delete(id);
    told?.(answer);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#reads.close();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const told of waiting) told(undefined);
    this.onclose?.();
  }
}
