// One session of a revision before 2026-07-28: a server of its own, and which of its requests are in flight.
import { isJSONRPCRequest, ProtocolErrorCode, type RequestId } from "@modelcontextprotocol/server";
import { reasonOf } from "../../failure.ts";
import { json } from "../../outside.ts";
import { LegacyTransport } from "./legacy-transport.ts";
import { type HttpService, plain, type Served } from "./port.ts";
import { refusal } from "./refusal.ts";

export interface SessionEvents {
  /** From now on the client knows the session by this id. */
  onStart(id: string): void;
  /** The client has ended it. */
  onEnd(): void;
}

export interface Session {
  /** `body`: the parsed JSON of a POST. */
  serve(request: Request, body?: unknown): Promise<Served>;
  /** Ends the stream on which the client only listens; calls go on. */
  endStream(): void;
  /** Aborts calls under way. */
  close(): Promise<void>;
}

export async function openSession(service: HttpService, { onStart, onEnd }: SessionEvents): Promise<Session> {
  const subscriptions = service.createSubscriptions();
  const server = await service.createServer({ subscriptions, isFirst: true }, "legacy");
  const transport = new LegacyTransport({
    sessionIdGenerator: () => crypto.randomUUID(),
    onsessioninitialized: onStart,
    onsessionclosed: onEnd,
  });
  transport.onerror = (error) => service.log.debug({ reason: reasonOf(error) }, "protocol");
  await server.connect(transport);
  /** The ids of requests whose response is open. */
  const inFlight = new Set<RequestId>();
  const ended = service.telemetry?.session("tcp");

  async function serve(request: Request, body?: unknown): Promise<Served> {
    const messages = Array.isArray(body) ? body : [body];
    const ids = messages.flatMap((message) => (isJSONRPCRequest(message) ? [message.id] : []));
    const taken = ids.find((id, at) => inFlight.has(id) || ids.indexOf(id) !== at);
    if (taken !== undefined) {
      // With two answers under one id neither the client nor this server could know which has arrived.
      const reason = `Another request of this session with the id ${json(taken)} is not answered yet.`;
      return plain(refusal(400, reason, { code: ProtocolErrorCode.InvalidRequest, message: body }));
    }
    // Nothing may be awaited between that look and the entry of the ids.
    for (const id of ids) inFlight.add(id);
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
