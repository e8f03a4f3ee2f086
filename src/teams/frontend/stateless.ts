// Serves each POST of a protocol revision before 2026-07-28 separately, with a server if it needs one. There are no sessions, so any
// instance can serve any request (docs/contribute/decisions/009-transports.md).
import { DEFAULT_NEGOTIATED_PROTOCOL_VERSION } from "@modelcontextprotocol/server";
import { errorMessage } from "../../core/failure.ts";
import { answerCall } from "../../mcp/direct-calls.ts";
import { checkLegacyRequest, isInitialize, LegacyTransport } from "../../transports/http/legacy-transport.ts";
import type { HttpService, LegacyHandler } from "../../transports/http/port.ts";
import { methodNotAllowed } from "../../transports/http/responses.ts";

export const createStatelessClients =
  (service: HttpService): LegacyHandler =>
  async (exchange, messages) => {
    const { method, headers } = exchange.request;
    if (method !== "POST") return methodNotAllowed("POST");
    checkLegacyRequest(exchange, messages);
    // Clients send the header since revision 2025-06-18.
    const protocolVersion = String(headers["mcp-protocol-version"] ?? DEFAULT_NEGOTIATED_PROTOCOL_VERSION);
    const transport = new LegacyTransport();
    transport.onerror = (error) => service.log.debug({ reason: errorMessage(error) }, "protocol");
    const [first, ...others] = messages;
    const call =
      first && others.length === 0 ? service.findDirectCall?.(first, { version: protocolVersion }) : undefined;
    if (call) {
      transport.onmessage = () => void answerCall(call, transport).catch(transport.onerror);
      transport.onclose = call.abort;
    } else {
      const isFirst = messages.some(isInitialize);
      const server = await service.createServer({ isFirst, protocolVersion }, "legacy");
      await server.connect(transport);
    }
    exchange.abortCalls = () => transport.close();
    try {
      return await transport.post(exchange, messages);
    } finally {
      // Without a session, a notification cannot cancel the call of another POST. Closing the connection cancels it.
      await transport.close();
    }
  };
