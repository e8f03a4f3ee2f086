// MCP's stdio transport for a client that may be broken, slow or gone: bounded memory, every request answered once, and an
// answer that says when it has left. The SDK's own one closes at an overlong message, and writes without end to a client
// that does not read.
import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import type { Exit } from "../messages/redact.ts";
import type { Deliveries } from "../tools/deliveries.ts";
import { createIntake, type Intake } from "./intake.ts";
import { createLines } from "./lines.ts";
import { type Reading, readLine, refuseLine, refuseLongLine, refuseRequest } from "./read-line.ts";

const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;

/** A client that has gone is how every session ends, and nothing to tell. */
const isGoneReader = (error: Error): boolean => "code" in error && error.code === "EPIPE";
const isAnswer = (message: JSONRPCMessage) => "result" in message || "error" in message;
const isNotification = (message: JSONRPCMessage) => "method" in message && !("id" in message);
const isProgress = (message: JSONRPCMessage) => "method" in message && message.method === "notifications/progress";

export class StdioTransport implements Transport {
  onclose: Transport["onclose"];
  onerror: Transport["onerror"];
  onmessage: Transport["onmessage"];
  readonly #in: Readable;
  readonly #out: Writable;
  readonly #exit: Exit;
  readonly #deliveries: Deliveries;
  readonly #intake: Intake;
  readonly #lines: (chunk: Buffer) => void;
  /** Notifications that the client is yet to read: one that says the same adds nothing. */
  readonly #unread = new Set<string>();
  #isGathering = false;
  #closed = false;

  constructor(stdin: Readable, stdout: Writable, exit: Exit, deliveries: Deliveries) {
    this.#in = stdin;
    this.#out = stdout;
    this.#exit = exit;
    this.#deliveries = deliveries;
    this.#intake = createIntake({
      deliver: (message) => this.#deliver(message),
      cancelled: (id) => deliveries.cancelled(id),
      isBackedUp: () => stdout.writableNeedDrain,
    });
    this.#lines = createLines(MAX_MESSAGE_BYTES, {
      line: (text) => this.#read(text),
      longLine: (line) => this.#refuse(refuseLongLine(line, MAX_MESSAGE_BYTES)),
    });
  }

  async start(): Promise<void> {
    this.#in.on("data", (chunk: Buffer) => {
      this.#lines(chunk);
      if (this.#intake.isFull()) this.#in.pause();
    });
    this.#in.on("error", (error) => this.onerror?.(error));
    this.#out.on("drain", () => this.#goOn());
    this.#out.on("error", (error) => {
      if (!this.#closed && !isGoneReader(error)) this.onerror?.(error);
      this.#close();
    });
    for (const end of ["end", "close"]) this.#in.on(end, () => this.#close());
  }

  #read(line: string): void {
    const { messages, refusals } = this.#reading(line);
    for (const refusal of refusals) this.#refuse(refusal);
    for (const message of messages) {
      if (!("method" in message && message.method === "notifications/cancelled")) this.#deliveries.alive();
      this.#intake.take(message, line.length);
    }
  }

  /** Whatever goes wrong with one line is that line's end, and not the server's. */
  #reading(line: string): Reading {
    try {
      return readLine(line);
    } catch (error) {
      this.onerror?.(new Error("a line could not be read", { cause: error }));
      return { messages: [], refusals: [refuseLine(line)] };
    }
  }

  #deliver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(new Error("a message could not be taken in", { cause: error }));
      if (!("method" in message && "id" in message)) return;
      this.#write(refuseRequest(message.id));
      this.ended(message.id);
    }
  }

  #refuse(refusal: JSONRPCMessage): void {
    if ("error" in refusal) this.onerror?.(new Error(`refused on stdin: ${refusal.error.message}`));
    this.#intake.refuse(() => this.#write(refusal));
  }

  #goOn(): void {
    this.#intake.pump();
    if (!this.#intake.isFull() && !this.#closed) this.#in.resume();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) throw new Error("the client has gone");
    // Nobody waits until it is written: whoever ends must not be held up by a client that does not read.
    this.#write(message);
    if (isAnswer(message) && message.id !== undefined) this.ended(message.id);
  }

  /** This request is answered, here or by somebody else. */
  protected ended(id: string | number): void {
    this.#intake.ended(id);
    this.#goOn();
  }

  #write(message: JSONRPCMessage): void {
    const json = this.#exit(JSON.stringify(message));
    const isBehind = isNotification(message) && this.#out.writableNeedDrain;
    if (isBehind && (isProgress(message) || this.#unread.has(json))) return;
    if (isBehind) this.#unread.add(json);
    const isOut = isAnswer(message) && message.id !== undefined ? this.#deliveries.answered(message.id) : undefined;
    if (this.#intake.hasMoreAtWork()) this.#gather();
    // The end of the line goes behind it: joined to a long one, it would copy it.
    this.#out.cork();
    this.#out.write(json);
    this.#out.write("\n", (error) => {
      if (isBehind) this.#unread.delete(json);
      if (!error) isOut?.();
    });
    this.#out.uncork();
    if (this.#out.writableNeedDrain) this.#letGo();
  }

  /** Where several are at work, what one turn of the event loop brings leaves in one write. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#out.cork();
    setImmediate(() => this.#letGo());
  }

  #letGo(): void {
    if (!this.#isGathering) return;
    this.#isGathering = false;
    this.#out.uncork();
  }

  async close(): Promise<void> {
    this.#close();
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#letGo();
    // Whoever waits for the end of stdin hears of it.
    this.#in.destroy();
    this.onclose?.();
  }
}
