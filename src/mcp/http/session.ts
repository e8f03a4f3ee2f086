// One session of a revision before 2026-07-28: a server of its own, and which of its answers have left.
import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  ProtocolErrorCode,
  type RequestId,
  SUPPORTED_PROTOCOL_VERSIONS,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { reasonOf } from "../../failure.ts";
import { json } from "../../outside.ts";
import { Cancelled } from "../messages/cancelled.ts";
import { withLegacyCode } from "../messages/legacy-codes.ts";
import { createDeliveries, type Deliveries } from "../tools/deliveries.ts";
import { type Ask, answerTo, requestAlone } from "./answer.ts";
import type { Asked } from "./exchange.ts";
import { type HttpService, plain, type Served } from "./port.ts";
import { refusal } from "./refusal.ts";

type Options = NonNullable<ConstructorParameters<typeof WebStandardStreamableHTTPServerTransport>[0]>;
type Send = WebStandardStreamableHTTPServerTransport["send"];

/** Called once the response that holds these answers is out. */
type Outgoing = (() => void)[];

/** Knows which response carries an answer, and hands over the answers of requests that came past the SDK's HTTP. */
class SessionTransport extends WebStandardStreamableHTTPServerTransport {
  /** By the ids of requests whose response is open. */
  readonly outgoing = new Map<RequestId, Outgoing>();
  readonly #deliveries: Deliveries;
  #isClosed = false;
  readonly #asked = new Map<RequestId, (answer: JSONRPCMessage | undefined) => void>();

  constructor(options: Options, deliveries: Deliveries) {
    super(options);
    this.#deliveries = deliveries;
  }

  /** A request that is given up goes on, as the protocol has it; nobody hears its answer. */
  readonly ask: Ask = (request, told) => {
    const forget = () => void this.#asked.delete(request.id);
    if (this.#isClosed) {
      told(undefined);
      return forget;
    }
    this.#asked.set(request.id, told);
    this.onmessage?.(request);
    return forget;
  };

  override async close(): Promise<void> {
    this.#isClosed = true;
    await super.close();
    const asked = [...this.#asked.values()];
    this.#asked.clear();
    for (const told of asked) told(undefined);
  }

  override async send(message: Parameters<Send>[0], options?: Parameters<Send>[1]): Promise<void> {
    const answer = withLegacyCode(message);
    const id = "result" in message || "error" in message ? message.id : undefined;
    const told = id === undefined ? undefined : this.#asked.get(id);
    if (told && id !== undefined) {
      this.#asked.delete(id);
      return told(answer);
    }
    await super.send(answer, options);
    if (id === undefined) return;
    // Without an open response the answer is lost: the same call gets the outcome later.
    const isOut = this.#deliveries.answered(id);
    this.outgoing.get(id)?.push(isOut);
  }
}

export interface SessionEvents {
  /** From now on the client knows the session by this id. */
  onStart(id: string): void;
  /** The client has ended it. */
  onEnd(): void;
}

export interface Session {
  /** `body`: the parsed JSON of a POST. */
  serve(asked: Asked, body?: unknown): Promise<Served>;
  /** Ends the stream on which the client only listens; calls go on. */
  endStream(): void;
  /** Aborts calls under way. */
  close(): Promise<void>;
}

export async function openSession(service: HttpService, { onStart, onEnd }: SessionEvents): Promise<Session> {
  const deliveries = createDeliveries();
  const subscriptions = service.createSubscriptions();
  const server = await service.createServer({ deliveries, subscriptions }, "legacy");
  const transport = new SessionTransport(
    { sessionIdGenerator: () => crypto.randomUUID(), onsessioninitialized: onStart, onsessionclosed: onEnd },
    deliveries,
  );
  transport.onerror = (error) => service.log.debug({ reason: reasonOf(error) }, "protocol");
  await server.connect(transport);

  /** The request that may go past the SDK's HTTP: where that has something to refuse, it has its say. */
  function aloneIn(body: unknown, { headers }: Asked): JSONRPCRequest | undefined {
    const { "mcp-protocol-version": version } = headers;
    const isKnown = version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(version));
    return isKnown && transport.sessionId !== undefined ? requestAlone(body, headers, service.answersAlone) : undefined;
  }

  async function serveAlone(request: JSONRPCRequest, { signal }: Asked): Promise<Served> {
    transport.outgoing.set(request.id, []);
    const headers = { "mcp-session-id": transport.sessionId ?? "" };
    return {
      response: await answerTo(request, transport.ask, { headers, signal }),
      kind: "call",
      async over() {
        transport.outgoing.delete(request.id);
      },
    };
  }

  async function serve(asked: Asked, body?: unknown): Promise<Served> {
    const messages = Array.isArray(body) ? body : [body];
    const ids = messages.flatMap((message) => (isJSONRPCRequest(message) ? [message.id] : []));
    const taken = ids.find((id, at) => transport.outgoing.has(id) || ids.indexOf(id) !== at);
    if (taken !== undefined) {
      // With two answers under one id neither the client nor this server could know which has arrived.
      const reason = `Another request of this session with the id ${json(taken)} is not answered yet.`;
      return plain(refusal(400, reason, { code: ProtocolErrorCode.InvalidRequest, message: body }));
    }
    // Nothing may be awaited between that look and the entry of the ids.
    const alone = aloneIn(body, asked);
    if (alone) return await serveAlone(alone, asked);
    for (const message of messages) {
      const cancelled = Cancelled.safeParse(message).data;
      if (cancelled) deliveries.cancelled(cancelled.params.requestId);
    }
    const outgoing: Outgoing = [];
    for (const id of ids) transport.outgoing.set(id, outgoing);
    const request = asked.request();
    const response = await transport.handleRequest(request, { ...(body !== undefined && { parsedBody: body }) });
    return {
      response,
      kind: request.method === "GET" ? "stream" : "call",
      async over(isWhole) {
        for (const id of ids) transport.outgoing.delete(id);
        if (isWhole) for (const isOut of outgoing) isOut();
        await deliveries.settled();
      },
      async unread() {
        for (const id of ids) deliveries.cancelled(id);
        await deliveries.settled();
      },
    };
  }

  return {
    serve,
    endStream: () => transport.closeStandaloneSSEStream(),
    async close() {
      subscriptions.close();
      await server.close();
      await deliveries.settled();
    },
  };
}
