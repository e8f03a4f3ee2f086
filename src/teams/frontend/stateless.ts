// Serves each POST of a revision before 2026-07-28 with a server of its own. There are no sessions, so any instance can answer any
// request (docs/decisions/022-stateless-deployments.md).
import { DEFAULT_NEGOTIATED_PROTOCOL_VERSION } from "@modelcontextprotocol/server";
import { reasonOf } from "../../failure.ts";
import type { LegacyClients } from "../../mcp/http/house.ts";
import { LegacyTransport } from "../../mcp/http/legacy-transport.ts";
import { type HttpService, messagesIn, plain } from "../../mcp/http/port.ts";
import { methodNotAllowed } from "../../mcp/http/refusal.ts";

interface Closable {
  close(): Promise<void>;
}

export function createStateless(service: HttpService): LegacyClients {
  const inFlight = new Set<Closable>();
  return {
    async serve(request, body) {
      if (request.method !== "POST") return plain(methodNotAllowed("POST"));
      // Clients send the header from 2025-06-18 on.
      const protocolVersion = request.headers.get("mcp-protocol-version") ?? DEFAULT_NEGOTIATED_PROTOCOL_VERSION;
      const isFirst = messagesIn(body).some(({ method }) => method === "initialize");
      const server = await service.createServer({ isFirst, protocolVersion }, "legacy");
      inFlight.add(server);
      const transport = new LegacyTransport();
      transport.onerror = (error) => service.log.debug({ reason: reasonOf(error) }, "protocol");
      await server.connect(transport);
      return {
        response: await transport.handleRequest(request, { parsedBody: body }),
        kind: "call",
        // Without a session a notification cannot cancel a call of another POST: the end of the connection does.
        async over() {
          inFlight.delete(server);
          await server.close();
        },
      };
    },

    endStreams: () => undefined,

    async close() {
      await Promise.all([...inFlight].map((server) => server.close()));
    },
  };
}
