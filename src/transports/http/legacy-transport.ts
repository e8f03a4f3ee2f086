// Implements Streamable HTTP of the revisions before 2026-07-28 as a transport of the SDK's server, for a session or for one POST. An
// answer that is ready within 1 s is plain JSON. If it takes longer, or another message precedes it, the response is an event stream.
// The SDK's transport creates web requests, responses and streams for each call, which costs more than the call itself
// (docs/contribute/decisions/009-transports.md).
import {
  type JSONRPCMessage,
  ProtocolErrorCode,
  type RequestId,
  SUPPORTED_PROTOCOL_VERSIONS,
  specTypeSchemas,
  type Transport,
} from "@modelcontextprotocol/server";
import { formatJson } from "../../core/untrusted-text.ts";
import { describeInvalidParams } from "../../mcp/invalid-params.ts";
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

type ContentType = typeof JSON_TYPE | typeof STREAM_TYPE;

/** Whether an Accept header allows a content type. Without the header, the client accepts all. */
function accepts({ request }: Exchange, type: ContentType): boolean {
  const [main] = type.split("/");
  const ranges = (request.headers.accept ?? "*/*").toLowerCase().split(",");
  return ranges.some((range) => {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim());
    return [type, `${main}/*`, "*/*"].includes(name) && !parameters.some((each) => /^q=0(\.0*)?$/.test(each));
  });
}

const isRequest = (message: JSONRPCMessage) => "method" in message && "id" in message;

export const isInitialize = (message: JSONRPCMessage): boolean =>
  "id" in message && "method" in message && message.method === "initialize";

/** Throws RequestRefused if the client accepts no form that the response to these messages can have. */
function checkAccept(exchange: Exchange, messages: readonly JSONRPCMessage[]): void {
  const { method } = exchange.request;
  const requests = messages.filter(isRequest).length;
  const needsStream = method === "GET" || requests > 1;
  if ((requests === 0 && method !== "GET") || accepts(exchange, STREAM_TYPE)) return;
  if (needsStream) throw refuse(406, `Not Acceptable: Client must accept ${STREAM_TYPE}`);
  if (!accepts(exchange, JSON_TYPE))
    throw refuse(406, `Not Acceptable: Client must accept ${JSON_TYPE} or ${STREAM_TYPE}`, { message: messages[0] });
}

/** Checks the headers, the batch and the handshake of a request. Throws RequestRefused. */
export function checkLegacyRequest(exchange: Exchange, messages: readonly JSONRPCMessage[]): void {
  checkAccept(exchange, messages);
  const handshake = messages.find(isInitialize);
  const code = ProtocolErrorCode.InvalidRequest;
  if (handshake && messages.length > 1)
    throw refuse(400, "Invalid Request: Only one initialization request is allowed", { code });
  if (handshake) {
    const checked = specTypeSchemas.InitializeRequest["~standard"].validate(handshake);
    const invalid = describeInvalidParams("initialize", checked.issues);
    if (invalid) throw refuse(400, invalid.message, { code: invalid.code, message: handshake });
    return;
  }
  const { "mcp-protocol-version": version } = exchange.request.headers;
  const supported = SUPPORTED_PROTOCOL_VERSIONS.join(", ");
  if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.some((each) => each === version))
    throw refuse(400, `Bad Request: Unsupported protocol version: ${version} (supported versions: ${supported})`);
}

/** The response to one POST, or the stream on which a session's client only listens. */
class Reply {
  readonly #exchange: Exchange;
  readonly #headers: Headers;
  readonly #unanswered: Set<RequestId>;
  readonly #acceptsJson: boolean;
  readonly #acceptsStream: boolean;
  #timer: NodeJS.Timeout | undefined;
  #isOpen = false;

  constructor(exchange: Exchange, headers: Headers, ids: readonly RequestId[]) {
    this.#exchange = exchange;
    this.#headers = headers;
    this.#unanswered = new Set(ids);
    this.#acceptsJson = accepts(exchange, JSON_TYPE);
    this.#acceptsStream = accepts(exchange, STREAM_TYPE);
    if (this.#acceptsStream) this.#timer = setTimeout(() => this.#open(), STREAM_AFTER_MS);
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

  /** Returns false if the client accepts only JSON, which has no place for a message before the answer. */
  send(text: string, isNotification: boolean): boolean {
    if (!this.#acceptsStream) return false;
    if (isNotification && this.#exchange.bufferedBytes > MAX_BUFFERED_BYTES) return true;
    this.#open();
    this.#exchange.write(`event: message\ndata: ${this.#exchange.redact(text)}\n\n`);
    return true;
  }

  /** `text` is undefined if the request was canceled and therefore has no answer. */
  answer(id: RequestId, text: string | undefined): void {
    this.#unanswered.delete(id);
    const isLast = this.#unanswered.size === 0;
    if (text !== undefined && isLast && !this.#isOpen && this.#acceptsJson) {
      this.#isOpen = true;
      clearTimeout(this.#timer);
      this.#exchange.send(200, { "content-type": JSON_TYPE, ...this.#headers }, text);
    } else {
      if (text !== undefined) this.send(text, false);
      if (isLast) this.end();
    }
  }

  end(): void {
    if (!this.#acceptsStream) {
      // The request was canceled and has no answer.
      if (!this.#isOpen) this.#exchange.send(202, this.#headers, "");
      this.#isOpen = true;
      return;
    }
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
      if (reply?.send(text, isNotification) || isNotification) return;
    }
    throw new Error("the client has disconnected, or accepts no stream");
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
