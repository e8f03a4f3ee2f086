// Implements Streamable HTTP of the revisions before 2026-07-28 as a transport of the SDK's server, for a session or for one POST. An
// answer that is ready within 1 s is plain JSON. If it takes longer, or another message precedes it, the response is an event stream.
// The SDK's transport creates web requests, responses and streams for each call, which costs more than the call itself
// (docs/contribute/decisions/010-serving-over-http.md).
import {
  isInitializeRequest,
  type JSONRPCMessage,
  ProtocolErrorCode,
  type RequestId,
  SUPPORTED_PROTOCOL_VERSIONS,
  type Transport,
} from "@modelcontextprotocol/server";
import { formatJson } from "../../core/untrusted-text.ts";
import { canceledId, withLegacyCode } from "../../mcp/messages.ts";
import type { Exchange } from "./exchange.ts";
import { errorResponse, refuse } from "./responses.ts";

/** After this time without an answer, the response becomes an event stream and its headers are sent. */
const STREAM_AFTER_MS = 1_000;
const KEEP_ALIVE_MS = 15_000;
/** While the client has more than this left to read, notifications are dropped. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;

const JSON_TYPE = "application/json";
const STREAM_TYPE = "text/event-stream";

type Headers = Readonly<Record<string, string>>;

/** Checks the headers and the batch of a request. Throws RequestRefused. */
export function checkLegacyRequest({ request }: Exchange, messages: readonly JSONRPCMessage[]): void {
  const { accept = "", "mcp-protocol-version": version } = request.headers;
  if (request.method === "POST" && !(accept.includes(JSON_TYPE) && accept.includes(STREAM_TYPE)))
    throw refuse(406, `Not Acceptable: Client must accept both ${JSON_TYPE} and ${STREAM_TYPE}`);
  if (request.method === "GET" && !accept.includes(STREAM_TYPE))
    throw refuse(406, `Not Acceptable: Client must accept ${STREAM_TYPE}`);
  const code = ProtocolErrorCode.InvalidRequest;
  if (messages.length > 1 && messages.some(isInitialize))
    throw refuse(400, "Invalid Request: Only one initialization request is allowed", { code });
  if (messages.some(isInitialize) || version === undefined) return;
  const supported = SUPPORTED_PROTOCOL_VERSIONS.join(", ");
  if (!SUPPORTED_PROTOCOL_VERSIONS.some((each) => each === version))
    throw refuse(400, `Bad Request: Unsupported protocol version: ${version} (supported versions: ${supported})`);
}

export const isInitialize = (message: JSONRPCMessage): boolean =>
  "id" in message && "method" in message && message.method === "initialize" && isInitializeRequest(message);

/** The response to one POST, or the stream on which a session's client only listens. */
class Reply {
  readonly #exchange: Exchange;
  readonly #headers: Headers;
  readonly #unanswered: Set<RequestId>;
  #timer: NodeJS.Timeout;
  #isOpen = false;

  constructor(exchange: Exchange, headers: Headers, ids: readonly RequestId[]) {
    this.#exchange = exchange;
    this.#headers = headers;
    this.#unanswered = new Set(ids);
    this.#timer = setTimeout(() => this.#open(), STREAM_AFTER_MS);
    if (ids.length === 0) this.#open();
    exchange.finished.then(() => clearTimeout(this.#timer));
  }

  #open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    clearTimeout(this.#timer);
    this.#timer = setInterval(() => this.#exchange.write(": keepalive\n\n"), KEEP_ALIVE_MS);
    const headers = {
      "content-type": STREAM_TYPE,
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    };
    this.#exchange.startStream(200, { ...headers, ...this.#headers });
  }

  send(text: string, isNotification: boolean): void {
    if (isNotification && this.#exchange.bufferedBytes > MAX_BUFFERED_BYTES) return;
    this.#open();
    this.#exchange.write(`event: message\ndata: ${this.#exchange.redact(text)}\n\n`);
  }

  /** `text` is undefined if the request was canceled and therefore has no answer. */
  answer(id: RequestId, text: string | undefined): void {
    this.#unanswered.delete(id);
    const isLast = this.#unanswered.size === 0;
    if (text !== undefined && isLast && !this.#isOpen) {
      this.#isOpen = true;
      clearTimeout(this.#timer);
      this.#exchange.send(200, { "content-type": JSON_TYPE, ...this.#headers }, text);
    } else {
      if (text !== undefined) this.send(text, false);
      if (isLast) this.end();
    }
  }

  end(): void {
    this.#open();
    clearTimeout(this.#timer);
    this.#exchange.end();
  }
}

export class LegacyTransport implements Transport {
  onclose: Transport["onclose"];
  onerror: Transport["onerror"];
  onmessage: Transport["onmessage"];
  readonly sessionId?: string;
  readonly #headers: Headers;
  /** The replies to the requests in flight whose client is connected, by request id. */
  readonly #replies = new Map<RequestId, Reply>();
  #listenStream: Reply | undefined;
  #closed = false;

  constructor(sessionId?: string) {
    if (sessionId !== undefined) this.sessionId = sessionId;
    this.#headers = sessionId === undefined ? {} : { "mcp-session-id": sessionId };
  }

  async start(): Promise<void> {}

  /** Serves a POST. Resolves with undefined after the response was sent, or with a response that the caller sends. */
  async post(exchange: Exchange, messages: readonly JSONRPCMessage[]): Promise<Response | undefined> {
    const ids = messages.flatMap((message) => ("method" in message && "id" in message ? [message.id] : []));
    const duplicateId = ids.find((id, at) => this.#replies.has(id) || ids.indexOf(id) !== at);
    if (duplicateId !== undefined) {
      // If two requests had the same id, neither the client nor this server could assign the answers to them.
      const reason = `Another request of this session with the id ${formatJson(duplicateId)} is still in flight.`;
      const [message] = messages;
      return errorResponse(400, reason, { code: ProtocolErrorCode.InvalidRequest, message });
    }
    const reply = ids.length === 0 ? undefined : new Reply(exchange, this.#headers, ids);
    if (reply) for (const id of ids) this.#replies.set(id, reply);
    for (const message of messages) this.#deliver(message);
    if (!reply) return new Response(null, { status: 202 });
    await exchange.finished;
    for (const id of ids) if (this.#replies.get(id) === reply) this.#replies.delete(id);
    return undefined;
  }

  #deliver(message: JSONRPCMessage): void {
    this.onmessage?.(message);
    const id = canceledId(message);
    if (id !== undefined) this.#answer(id, undefined);
  }

  #answer(id: RequestId, text: string | undefined): boolean {
    const reply = this.#replies.get(id);
    this.#replies.delete(id);
    reply?.answer(id, text);
    return reply !== undefined;
  }

  /** Serves a GET: one stream for each session at a time, until the client or the server ends it. */
  async listen(exchange: Exchange): Promise<Response | undefined> {
    if (this.#listenStream) return errorResponse(409, "Conflict: Only one SSE stream is allowed per session");
    const stream = new Reply(exchange, this.#headers, []);
    exchange.endStream = async () => stream.end();
    this.#listenStream = stream;
    await exchange.finished;
    this.#listenStream = undefined;
    return undefined;
  }

  async send(message: JSONRPCMessage, options?: { readonly relatedRequestId?: RequestId }): Promise<void> {
    const text = JSON.stringify(withLegacyCode(message));
    if (("result" in message || "error" in message) && message.id !== undefined) {
      if (this.#answer(message.id, text)) return;
    } else {
      const { relatedRequestId: id } = options ?? {};
      const isNotification = !("id" in message);
      const reply = id === undefined ? this.#listenStream : this.#replies.get(id);
      reply?.send(text, isNotification);
      if (reply || isNotification) return;
    }
    throw new Error("the client has disconnected");
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const reply of new Set(this.#replies.values())) reply.end();
    this.#replies.clear();
    this.#listenStream?.end();
    this.onclose?.();
  }
}
