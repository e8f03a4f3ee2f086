// One session of a revision before 2026-07-28: a server of its own, and which of its requests are in flight.
import {
  isJSONRPCRequest,
  type JSONRPCRequest,
  ProtocolErrorCode,
  type RequestId,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/server";
import { reasonOf } from "../../failure.ts";
import { json } from "../../outside.ts";
import { Cancelled } from "../messages/cancelled.ts";
import { isPlainRequest } from "../messages/plain-request.ts";
import { createReads } from "../messages/reads.ts";
import { answerTo, requestAlone } from "./answer.ts";
import type { Asked } from "./exchange.ts";
import { type HttpService, plain, type Served } from "./port.ts";
import { refusal } from "./refusal.ts";
import { SessionTransport } from "./session-transport.ts";

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
  const subscriptions = service.createSubscriptions();
  const reads = createReads();
  const server = await service.createServer({ subscriptions, isFirst: true, onReads: reads.serve }, "legacy");
  const transport = new SessionTransport(
    { sessionIdGenerator: () => crypto.randomUUID(), onsessioninitialized: onStart, onsessionclosed: onEnd },
    reads,
  );
  transport.onerror = (error) => service.log.debug({ reason: reasonOf(error) }, "protocol");
  await server.connect(transport);
  /** The ids of requests whose response is open. */
  const inFlight = new Set<RequestId>();
  const ended = service.telemetry?.session("tcp");

  /** The request that may go past the SDK's HTTP: where that has something to refuse, it has its say. */
  function aloneIn(body: unknown, { headers }: Asked): JSONRPCRequest | undefined {
    const { "mcp-protocol-version": version } = headers;
    const isKnown = version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(version));
    return isKnown && transport.sessionId !== undefined ? requestAlone(body, headers, service.answersAlone) : undefined;
  }

  async function serveAlone(request: JSONRPCRequest, { signal }: Asked): Promise<Served> {
    inFlight.add(request.id);
    const headers = { "mcp-session-id": transport.sessionId ?? "" };
    return {
      response: await answerTo(request, transport.ask, { headers, signal }),
      kind: "call",
      async over() {
        inFlight.delete(request.id);
      },
    };
  }

  async function serve(asked: Asked, body?: unknown): Promise<Served> {
    const messages = Array.isArray(body) ? body : [body];
    const ids = messages.flatMap((message) =>
      isPlainRequest(message) || isJSONRPCRequest(message) ? [message.id] : [],
    );
    const taken = ids.find((id, at) => inFlight.has(id) || ids.indexOf(id) !== at);
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
      if (cancelled) reads.cancel(cancelled.params.requestId);
    }
    for (const id of ids) inFlight.add(id);
    const request = asked.request();
    const response = await transport.handleRequest(request, { ...(body !== undefined && { parsedBody: body }) });
    return {
      response,
      kind: request.method === "GET" ? "stream" : "call",
      async over() {
        for (const id of ids) inFlight.delete(id);
      },
    };
  }

  return {
    serve,
    endStream: () => transport.closeStandaloneSSEStream(),
    async close() {
      subscriptions.close();
      await server.close();
      ended?.();
    },
  };
}
