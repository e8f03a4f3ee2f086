// Handles one HTTP request and its response: reads the body within limits, and writes to a client that may be slow or disconnected.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isJsonContentType, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { endResponse, readBody } from "../../core/read-body.ts";
import { LimitExceeded, parseMessages, type Redact, redactEvents } from "../../mcp/messages.ts";
import { type Phase, refuse } from "./responses.ts";

const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** The longest delay that setTimeout accepts. */
const MAX_TIMER_MS = 2_147_483_647;

export interface ExchangeOptions {
  /** Headers for every response. The response's own headers take precedence. */
  headers(request: IncomingMessage, isStream: boolean): Readonly<Record<string, string>> | undefined;
  /** Whether a response with this status is the last on its connection. */
  closesConnection(status: number): boolean;
  phase(): Phase;
  /** Whether more requests are in flight than connections are allowed. */
  isOverloaded(): boolean;
  /** A client that reads nothing of its response for this long is disconnected. */
  readonly stalledTimeoutMs: number;
  readonly redact: Redact;
}

type Headers = Readonly<Record<string, string | number>>;

const utf8 = new TextDecoder("utf-8", { fatal: true });

export class Exchange {
  readonly request: IncomingMessage;
  /** The path of the URL, without the query. */
  readonly path: string;
  readonly phase: ExchangeOptions["phase"];
  readonly isOverloaded: ExchangeOptions["isOverloaded"];
  /** Fires if the client disconnects before the whole response has been sent. */
  readonly signal: AbortSignal;
  /** Resolves at the end of the response: true if all of it was written to the client's connection. */
  readonly finished: Promise<boolean>;
  redact: Redact;
  /** Ends the response; defined if it is a stream on which the client only listens. */
  endStream: (() => Promise<void>) | undefined;
  /** Aborts the calls in the request; defined while they are in flight. */
  abortCalls: (() => Promise<void>) | undefined;
  /** When an event stream has to end, in milliseconds since 1970. Undefined: no limit. */
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
      // A response that waits for an earlier one on the same connection emits no event when that connection closes.
      socket.once("close", close);
      response.once("close", close);
    });
  }

  get status(): number {
    return this.#response.statusCode;
  }

  async readJson(): Promise<unknown> {
    const { "content-type": types = [] } = this.request.headersDistinct;
    const { "content-encoding": encoding = "identity" } = this.request.headers;
    // Two are refused, even if both are JSON.
    if (!isJsonContentType(types.join(", "))) throw refuse(415, "The Content-Type must be application/json.");
    if (encoding !== "identity") throw refuse(415, "The body must not have a Content-Encoding.");
    const bytes = await readBody(this.request, MAX_BODY_BYTES);
    if (bytes === "too large") throw refuse(413, `The body must not be longer than ${MAX_BODY_BYTES} bytes.`);
    if (bytes === undefined) throw refuse(400, "The body is incomplete.");
    try {
      return parseMessages(utf8.decode(bytes));
    } catch (error) {
      if (error instanceof LimitExceeded) throw refuse(400, error.message, { code: ProtocolErrorCode.InvalidRequest });
      const code = ProtocolErrorCode.ParseError;
      throw refuse(400, "Parse error: the body is not valid JSON in UTF-8.", { code });
    }
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

  send(status: number, headers: Headers, text: string): void {
    // Node sends the head and a string in one packet, but the head and a buffer in two parts.
    const body = this.redact(text);
    const length: Headers = status === 204 ? {} : { "content-length": Buffer.byteLength(body) };
    // RFC 9110, section 8.6: a 204 response has no Content-Length.
    this.#writeHead(status, { ...headers, ...length }, false);
    endResponse(this.request, this.#response, body);
  }

  startStream(status: number, headers: Headers): void {
    this.#writeHead(status, headers, true);
    if (!this.#response.destroyed) this.#response.flushHeaders();
  }

  write(piece: string | Uint8Array): void {
    if (!this.signal.aborted) this.#response.write(piece);
  }

  /** Resolves when the client can receive the next piece, or has disconnected. */
  async waitForDrain(): Promise<void> {
    if (this.signal.aborted || !this.#response.writableNeedDrain) return;
    await once(this.#response, "drain", { signal: this.signal }).catch(() => undefined);
  }

  get bufferedBytes(): number {
    return this.#response.writableLength;
  }

  end(): void {
    this.#response.end();
  }

  /** Resets the connection of an incomplete response, because a normal end would look like the end of the response. */
  reset(): void {
    this.request.socket.resetAndDestroy();
  }

  /** Sends a response of the SDK or a refusal. Resolves when its body has been read. */
  async respond(response: Response): Promise<void> {
    // Node decides whether the connection stays open.
    const { connection, ...headers } = Object.fromEntries(response.headers);
    if (this.#response.headersSent) this.#response.destroy();
    else if (!response.body || !headers["content-type"]?.startsWith("text/event-stream"))
      this.send(response.status, headers, await response.text());
    else {
      this.startStream(response.status, headers);
      await this.#pump(response.body);
    }
  }

  /** Sends an event stream of the SDK and redacts it. Each piece of such a stream consists of complete events. */
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
