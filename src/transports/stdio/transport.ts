// Implements MCP's stdio transport for a client that may be faulty, slow or disconnected: it bounds memory and answers every request
// once. The SDK's transport closes at an overlong message, and writes without limit to a client that does not read
// (docs/contribute/decisions/009-transports.md).
import type { Readable, Writable } from "node:stream";
import { type JSONRPCMessage, ProtocolErrorCode, type RequestId, type Transport } from "@modelcontextprotocol/server";
import { errorCode } from "../../core/failure.ts";
import { canceledId, type Redact } from "../../mcp/messages.ts";
import { createErrorMessage, createLineSplitter, parseLine } from "./lines.ts";

const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
/** Maximum number of requests in flight: more than any observed client sends. Each may keep an answer in memory. */
const MAX_IN_FLIGHT = 128;
/** While queued requests take this much memory or more, nothing is read. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
/** Approximate memory that a parsed request takes in addition to its text. */
const OVERHEAD_BYTES = 1_024;
/** While the client has more than this left to read, notifications are dropped. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;

/** Time for requests that were read before the end of stdin, because the process has to end within a second. */
const FINISH_MS = 500;

/** Does not count as a request in flight: it is answered when it ends, and the SDK limits the number of these requests. */
const LISTEN = "subscriptions/listen";
const PROGRESS = "notifications/progress";

const isRequest = (message: JSONRPCMessage) => "method" in message && "id" in message && message.method !== LISTEN;

/** Checks and changes the messages between the client and the SDK. */
export interface MessageFilter {
  /** Passes the message on with `pass`, immediately or later, or returns the answer that refuses it. */
  inbound(message: JSONRPCMessage, pass: (message: JSONRPCMessage) => void): JSONRPCMessage | undefined;
  outbound(message: JSONRPCMessage): JSONRPCMessage;
}

/** A request, or the refusal of a line. Both wait until the client reads, because each produces a line of output. */
interface QueuedMessage {
  readonly message: JSONRPCMessage;
  readonly bytes: number;
}

export class StdioTransport implements Transport {
  onclose: Transport["onclose"];
  onerror: Transport["onerror"];
  onmessage: Transport["onmessage"];
  readonly #in: Readable;
  readonly #out: Writable;
  readonly #redact: Redact;
  readonly #filter: MessageFilter;
  readonly #queue = new Set<QueuedMessage>();
  #queuedBytes = 0;
  readonly #inFlight = new Set<RequestId>();
  #isStartingQueued = false;
  #closed = false;
  #finishTimer: NodeJS.Timeout | undefined;
  #resolveFinished = (): void => undefined;
  /** Defined after the end of stdin. Resolves when every request has its answer, or at the end of the time for them. */
  finished: Promise<void> | undefined;

  constructor(stdin: Readable, stdout: Writable, redact: Redact, filter: MessageFilter) {
    this.#in = stdin;
    this.#out = stdout;
    this.#redact = redact;
    this.#filter = filter;
  }

  async start(): Promise<void> {
    const splitLines = createLineSplitter(MAX_MESSAGE_BYTES, (text, bytes) => this.#handleLine(text, bytes));
    this.#in.on("data", splitLines);
    this.#in.on("error", (error) => this.onerror?.(error));
    this.#out.on("drain", () => this.#startQueued());
    this.#out.on("error", (error) => {
      // EPIPE is not an error: every session ends when the client disconnects.
      if (!this.#closed && errorCode(error) !== "EPIPE") this.onerror?.(error);
      this.#close();
    });
    this.#in.on("end", () => this.#finish());
    this.#in.on("close", () => this.#in.readableEnded || this.#close());
  }

  #handleLine(text: string, bytes: number): void {
    const { messages, refusals } = parseLine(text, bytes, MAX_MESSAGE_BYTES);
    const [refused] = refusals;
    if (refused && "error" in refused) this.onerror?.(new Error(`refused on stdin: ${refused.error.message}`));
    for (const refusal of refusals) this.#enqueue(refusal, 0);
    for (const message of messages)
      if (isRequest(message)) this.#enqueue(message, text.length);
      else this.#handleImmediately(message);
    this.#startQueued();
  }

  /** Closes after the last answer: scripts write their requests and close stdin. */
  #finish(): void {
    this.finished = new Promise((resolve) => {
      this.#resolveFinished = resolve;
    });
    this.#finishTimer = setTimeout(() => {
      const count = this.#inFlight.size + this.#queue.size;
      this.onerror?.(new Error(`stdin ended; requests without an answer: ${count}`));
      this.#close();
    }, FINISH_MS);
    this.#closeIfFinished();
  }

  #closeIfFinished(): void {
    if (this.#finishTimer && this.#inFlight.size === 0 && this.#queue.size === 0) this.#close();
  }

  #enqueue(message: JSONRPCMessage, textBytes: number): void {
    const bytes = textBytes + OVERHEAD_BYTES;
    this.#queue.add({ message, bytes });
    this.#queuedBytes += bytes;
  }

  #dequeue(queued: QueuedMessage): void {
    this.#queue.delete(queued);
    this.#queuedBytes -= queued.bytes;
  }

  /** Notifications and responses are not queued, because they may end a request. */
  #handleImmediately(message: JSONRPCMessage): void {
    const canceled = canceledId(message);
    if (canceled !== undefined) {
      for (const each of this.#queue)
        if (isRequest(each.message) && "id" in each.message && each.message.id === canceled) this.#dequeue(each);
      this.#inFlight.delete(canceled);
    }
    this.#deliver(message);
  }

  /** Starts at most MAX_IN_FLIGHT; none while the client does not read its answers, and none with an id that is in flight. */
  #startQueued(): void {
    if (this.#isStartingQueued) return;
    this.#isStartingQueued = true;
    for (const each of this.#queue) {
      if (this.#out.writableNeedDrain || this.#inFlight.size >= MAX_IN_FLIGHT) break;
      const { message } = each;
      const id = isRequest(message) && "id" in message ? message.id : undefined;
      if (id !== undefined && this.#inFlight.has(id)) continue;
      this.#dequeue(each);
      if (id === undefined) this.#write(message);
      else {
        this.#inFlight.add(id);
        this.#deliver(message);
      }
    }
    this.#isStartingQueued = false;
    if (this.#queuedBytes >= MAX_QUEUED_BYTES) this.#in.pause();
    else if (!this.#closed) this.#in.resume();
  }

  /** An error in one message must not end the server. */
  #deliver(message: JSONRPCMessage): void {
    try {
      const refused = this.#filter.inbound(message, (passed) => this.onmessage?.(passed));
      if (refused) this.#write(refused);
    } catch (error) {
      this.onerror?.(new Error("a message could not be processed", { cause: error }));
      if (!("method" in message && "id" in message)) return;
      const reason = "mic-mcp could not process this request.";
      this.#write(createErrorMessage(ProtocolErrorCode.InternalError, reason, message.id));
      this.#inFlight.delete(message.id);
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) throw new Error("the client has disconnected");
    // Not awaited: a client that does not read must not delay the shutdown.
    this.#write(this.#filter.outbound(message));
    const isAnswer = "result" in message || "error" in message;
    if (!isAnswer || message.id === undefined) return;
    this.#inFlight.delete(message.id);
    this.#startQueued();
    this.#closeIfFinished();
  }

  #write(message: JSONRPCMessage): void {
    const bufferedBytes = this.#out.writableLength;
    const isNotification = "method" in message && !("id" in message);
    const isStaleProgress = isNotification && message.method === PROGRESS && this.#out.writableNeedDrain;
    if (this.#closed || isStaleProgress || (isNotification && bufferedBytes > MAX_BUFFERED_BYTES)) return;
    this.#out.write(`${this.#redact(JSON.stringify(message))}\n`);
  }

  async close(): Promise<void> {
    this.#close();
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#finishTimer);
    this.#resolveFinished();
    // Destroying stdin notifies the code that waits for its end.
    this.#in.destroy();
    this.onclose?.();
  }
}
