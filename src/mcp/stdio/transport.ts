// MCP's stdio transport for a client that may be broken, slow or disconnected: it bounds memory and answers every request once.
// The SDK's transport closes at an overlong message, and writes without end to a client that does not read
// (docs/decisions/009-the-stdio-transport.md).
import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import { errorCode } from "../../failure.ts";
import type { Redact } from "../messages/redact.ts";
import { createIntake, type Intake } from "./intake.ts";
import { createLines } from "./lines.ts";
import { type Reading, readLine, refuseLine, refuseLongLine, refuseRequest } from "./read-line.ts";

const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;

/** The newline of a longer text is written by itself: appending it would copy the text. */
const MAX_COPIED = 16 * 1024;

/** Every session ends with a client that has gone: that is no error. */
const isGoneReader = (error: Error): boolean => errorCode(error) === "EPIPE";
const isAnswer = (message: JSONRPCMessage) => "result" in message || "error" in message;
const isNotification = (message: JSONRPCMessage) => "method" in message && !("id" in message);
const isProgress = (message: JSONRPCMessage) => "method" in message && message.method === "notifications/progress";

type Pass = (message: JSONRPCMessage) => void;

/** Sees every message between the wire and the SDK. It passes a message on at once, later or altered, or keeps it. */
export interface MessageFilter {
  /** `answer` answers a request in the SDK's place. */
  inbound(message: JSONRPCMessage, pass: Pass, answer: Pass): void;
  /** Returns a promise where it passes the message on later: nobody waits for that, since it would hold up all others. */
  outbound(message: JSONRPCMessage, pass: Pass): Promise<void> | undefined;
}

const passAll: MessageFilter = {
  inbound: (message, pass) => pass(message),
  outbound(message, pass) {
    pass(message);
    return undefined;
  },
};

export class StdioTransport implements Transport {
  onclose: Transport["onclose"];
  onerror: Transport["onerror"];
  onmessage: Transport["onmessage"];
  readonly #in: Readable;
  readonly #out: Writable;
  readonly #redact: Redact;
  readonly #filter: MessageFilter;
  readonly #intake: Intake;
  readonly #lines: (chunk: Buffer) => void;
  /** Notifications that the client has yet to read: a second one that says the same adds nothing. */
  readonly #unread = new Set<string>();
  #isGathering = false;
  #closed = false;

  constructor(stdin: Readable, stdout: Writable, redact: Redact, filter = passAll) {
    this.#in = stdin;
    this.#out = stdout;
    this.#redact = redact;
    this.#filter = filter;
    this.#intake = createIntake({
      deliver: (message) => this.#deliver(message),
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
    for (const message of messages) this.#intake.take(message, line.length);
  }

  /** A fault in reading one line must not end the server. */
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
      this.#filter.inbound(
        message,
        (passed) => this.onmessage?.(passed),
        (answer) => this.#answer(answer),
      );
    } catch (error) {
      this.onerror?.(new Error("a message could not be taken in", { cause: error }));
      if (!("method" in message && "id" in message)) return;
      this.#answer(refuseRequest(message.id));
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
    // Nobody waits until it is written: a client that does not read must not hold up the end.
    const later = this.#filter.outbound(message, (passed) => this.#pass(passed));
    later?.catch((failure: Error) => this.onerror?.(failure));
    this.#ended(message);
  }

  #pass(message: JSONRPCMessage): void {
    if (this.#closed) throw new Error("the client has gone");
    this.#write(message);
  }

  #answer(answer: JSONRPCMessage): void {
    this.#write(answer);
    this.#ended(answer);
  }

  /** After an answer its request is no longer at work, whoever has answered it. */
  #ended(message: JSONRPCMessage): void {
    if (!isAnswer(message) || message.id === undefined) return;
    this.#intake.ended(message.id);
    this.#goOn();
  }

  #write(message: JSONRPCMessage): void {
    const json = this.#redact(JSON.stringify(message));
    const isBehind = isNotification(message) && this.#out.writableNeedDrain;
    if (isBehind && (isProgress(message) || this.#unread.has(json))) return;
    if (isBehind) this.#unread.add(json);
    if (this.#intake.hasMoreAtWork()) this.#gather();
    this.#writeLine(json, isBehind ? () => this.#unread.delete(json) : undefined);
    if (this.#out.writableNeedDrain) this.#letGo();
  }

  #writeLine(json: string, written?: () => void): void {
    if (json.length <= MAX_COPIED) {
      this.#out.write(`${json}\n`, written);
      return;
    }
    this.#out.cork();
    this.#out.write(json);
    this.#out.write("\n", written);
    this.#out.uncork();
  }

  /** While several requests are at work, what one turn of the event loop brings leaves in one write. */
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
    // Those who wait for the end of stdin learn of it.
    this.#in.destroy();
    this.onclose?.();
  }
}
