// One HTTP request and its response: reads the body within bounds, and writes for a client that may be slow or disconnected.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isJsonContentType, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { findExceededLimit } from "../../mcp/messages/bounds.ts";
import { type Redact, redactEvents } from "../../mcp/messages/redact.ts";
import { errorResponse, type Phase } from "./responses.ts";

const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** How long a refused client that still sends has to read why. */
const DRAIN_TIMEOUT_MS = 1_000;
/** What a timer can wait for at all. */
const MAX_TIMER_MS = 2_147_483_647;

export interface ExchangeOptions {
  /** On every response; the response's own headers come first. */
  headers(request: IncomingMessage, isStream: boolean): Readonly<Record<string, string>> | undefined;
  /** Whether a response of this status is the last on its connection. */
  closesConnection(status: number): boolean;
  phase(): Phase;
  /** More requests are in flight than connections may be. */
  isOverloaded(): boolean;
  /** A client that takes nothing of its answer for so long is cut off. */
  readonly stalledTimeoutMs: number;
  readonly redact: Redact;
}

type Headers = Readonly<Record<string, string | number>>;

const utf8 = new TextDecoder("utf-8", { fatal: true });

export class Exchange {
  readonly request: IncomingMessage;
  /** Without the query. */
  readonly path: string;
  readonly phase: ExchangeOptions["phase"];
  readonly isOverloaded: ExchangeOptions["isOverloaded"];
  /** Fires when the client has disconnected before its answer has left. */
  readonly signal: AbortSignal;
  /** Resolves at the end of the response: true if all of it was handed to the client's connection. */
  readonly finished: Promise<boolean>;
  /** Takes secrets out of what is sent. */
  redact: Redact;
  /** Its client only listens. */
  isStream = false;
  /** When an event stream is ended, in milliseconds since 1970. */
  streamEndsAt: number | undefined;
  readonly #response: ServerResponse;
  readonly #options: ExchangeOptions;

  constructor(request: IncomingMessage, response: ServerResponse, options: ExchangeOptions) {
    this.request = request;
    this.path = request.url?.split("?")[0] ?? "";
    this.phase = options.phase;
    this.isOverloaded = options.isOverloaded;
    this.redact = options.redact;
    this.#response = response.on("error", () => undefined);
    this.#options = options;
    const disconnected = new AbortController();
    this.signal = disconnected.signal;
    this.finished = new Promise((resolve) => {
      const { socket } = request;
      const close = () => {
        socket.off("close", close);
        resolve(response.writableFinished);
        if (!response.writableFinished) disconnected.abort();
      };
      // A response that waits behind another one on the same connection does not learn of that connection's end.
      socket.once("close", close);
      response.once("close", close);
    });
  }

  get status(): number {
    return this.#response.statusCode;
  }

  /** The parsed body of a POST, or its refusal. */
  async readJson(): Promise<{ readonly body: unknown } | Response> {
    const { "content-type": type, "content-encoding": encoding = "identity" } = this.request.headers;
    if (!isJsonContentType(type ?? null)) return errorResponse(415, "The Content-Type must be application/json.");
    if (encoding !== "identity") return errorResponse(415, "The body must not have a Content-Encoding.");
    const bytes = await this.#readBody();
    if (bytes === "too long") return errorResponse(413, `The body must not be longer than ${MAX_BODY_BYTES} bytes.`);
    if (bytes === "broken off") return errorResponse(400, "The body broke off.");
    try {
      const text = utf8.decode(bytes);
      const exceeded = findExceededLimit(text);
      if (exceeded !== undefined) return errorResponse(400, exceeded, { code: ProtocolErrorCode.InvalidRequest });
      return { body: JSON.parse(text) };
    } catch {
      return errorResponse(400, "Parse error: the body is not JSON in UTF-8.", { code: ProtocolErrorCode.ParseError });
    }
  }

  /** Never holds more than MAX_BODY_BYTES. */
  #readBody(): Promise<Buffer | "too long" | "broken off"> {
    const { request } = this;
    if (Number(request.headers["content-length"]) > MAX_BODY_BYTES) return Promise.resolve("too long");
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      request.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
        else {
          request.pause().removeAllListeners("data");
          resolve("too long");
        }
      });
      request.once("end", () => resolve(Buffer.concat(chunks)));
      // Reading fails only with its connection.
      request.once("error", () => resolve("broken off")).once("close", () => resolve("broken off"));
    });
  }

  #writeHead(status: number, headers: Headers, isStream: boolean): void {
    const { request, signal } = this;
    const { headers: common, closesConnection, stalledTimeoutMs } = this.#options;
    const response = this.#response;
    if (signal.aborted || request.socket.readableEnded) response.destroy();
    else {
      response.writeHead(status, {
        ...common(request, isStream),
        ...headers,
        ...((closesConnection(status) || !request.complete) && { connection: "close" }),
      });
      response.setTimeout(stalledTimeoutMs, () => response.destroy());
    }
  }

  /** Sends a response in one piece. */
  send(status: number, headers: Headers, text: string): void {
    const body = Buffer.from(this.redact(text));
    // RFC 9110, 8.6.
    this.#writeHead(status, { ...headers, ...(status !== 204 && { "content-length": body.length }) }, false);
    if (this.request.complete) this.#response.end(body);
    else {
      // Reads on and discards while the refusal travels: a close at once could keep the client from reading it.
      this.#response.write(body);
      const draining = once(this.request.resume(), "close", { signal: AbortSignal.timeout(DRAIN_TIMEOUT_MS) });
      draining.catch(() => undefined).then(() => this.#response.end());
    }
  }

  /** Begins a response in pieces. */
  startStream(status: number, headers: Headers): void {
    this.#writeHead(status, headers, true);
    if (!this.#response.destroyed) this.#response.flushHeaders();
  }

  write(piece: string | Uint8Array): void {
    if (!this.signal.aborted) this.#response.write(piece);
  }

  /** Resolves when the client has room for the next piece, or has disconnected. */
  async waitForDrain(): Promise<void> {
    if (this.signal.aborted || !this.#response.writableNeedDrain) return;
    await once(this.#response, "drain", { signal: this.signal }).catch(() => undefined);
  }

  /** In bytes. */
  get bufferedBytes(): number {
    return this.#response.writableLength;
  }

  end(): void {
    this.#response.end();
  }

  /** Ends a response that is not complete: a reset, since an end would look like the end of the response. */
  reset(): void {
    this.request.socket.resetAndDestroy();
  }

  /** Sends a response of the SDK's or a refusal. Resolves when it has been read. */
  async respond(response: Response): Promise<void> {
    // Node decides whether the connection stays.
    const { connection, ...headers } = Object.fromEntries(response.headers);
    if (this.#response.headersSent) this.#response.destroy();
    else if (!response.body || !headers["content-type"]?.startsWith("text/event-stream"))
      this.send(response.status, headers, await response.text());
    else {
      this.startStream(response.status, headers);
      await this.#pump(response.body);
    }
  }

  /** Each piece of an event stream of the SDK's holds whole events. */
  async #pump(events: ReadableStream<Uint8Array>): Promise<void> {
    const reader = events.getReader();
    const decoder = new TextDecoder();
    const cancel = () => void reader.cancel().catch(() => undefined);
    this.signal.addEventListener("abort", cancel, { once: true });
    if (this.signal.aborted) cancel();
    const leftMs = Math.max(0, (this.streamEndsAt ?? Number.POSITIVE_INFINITY) - Date.now());
    const timer = leftMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(cancel, Math.min(leftMs, MAX_TIMER_MS));
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      this.write(redactEvents(decoder.decode(part.value), this.redact));
      await this.waitForDrain();
    }
    clearTimeout(timer);
    this.end();
  }
}
