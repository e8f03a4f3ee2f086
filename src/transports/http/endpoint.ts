// Creates the MCP endpoint of one HttpService, which routes each request to the handler for its protocol revision.
import { classifyInboundRequest, isJSONRPCRequest, parseJSONRPCMessage } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../contract/json.ts";
import type { Exchange } from "./exchange.ts";
import { createModernHandler } from "./modern.ts";
import type { HttpService, LegacyHandler } from "./port.ts";
import { errorResponse, methodNotAllowed, shuttingDown } from "./responses.ts";

const MAX_BATCH = 100;

/** In both hooks, `body` is the parsed JSON of a POST. */
export interface EndpointHooks {
  /** Resolves when the request may run. Rejects with RequestRefused before a request that the client may not make has any effect. */
  readonly checkRequest?: (body: unknown) => Promise<void>;
  /** Wraps the handling of a body, including `checkRequest`. */
  readonly runInContext?: (body: unknown, serve: () => Promise<Response | undefined>) => Promise<Response | undefined>;
}

/** Resolves with undefined after the response was sent, or with a response that the caller sends. */
export type McpEndpoint = (exchange: Exchange, hooks?: EndpointHooks) => Promise<Response | undefined>;

export function createEndpoint(service: HttpService, serveLegacy: LegacyHandler): McpEndpoint {
  const serveModern = createModernHandler(service);

  async function handlePost(
    exchange: Exchange,
    { checkRequest, runInContext }: EndpointHooks,
  ): Promise<Response | undefined> {
    const body = await exchange.readJson();
    const bodies: readonly unknown[] = Array.isArray(body) ? body : [body];
    // Notifications and responses are still accepted, so that calls in flight can be canceled and can receive the user's answers.
    if (exchange.phase() === "shutting_down" && bodies.some((message) => isJSONRPCRequest(message)))
      return shuttingDown(body);
    if (bodies.length > MAX_BATCH)
      return errorResponse(400, `Invalid Request: Batch must not exceed ${MAX_BATCH} messages`);
    const serve = async (): Promise<Response | undefined> => {
      await checkRequest?.(body);
      const { "mcp-protocol-version": version, "mcp-method": method, "mcp-name": name } = exchange.request.headers;
      // At a handshake, some clients name the newest revision that they know; the handshake negotiates the revision.
      const isHandshake = isJsonObject(body) && body["method"] === "initialize";
      const inbound = classifyInboundRequest({
        httpMethod: "POST",
        ...(version !== undefined && !isHandshake && { protocolVersionHeader: String(version) }),
        ...(method !== undefined && { mcpMethodHeader: String(method) }),
        ...(name !== undefined && { mcpNameHeader: String(name) }),
        body,
      });
      return inbound.kind === "legacy"
        ? await serveLegacy(exchange, bodies.map(parseJSONRPCMessage))
        : await serveModern(exchange, inbound, body);
    };
    return await (runInContext?.(body, serve) ?? serve());
  }

  return async (exchange, hooks = {}) => {
    const { method } = exchange.request;
    if (method === "POST") return await handlePost(exchange, hooks);
    if (method !== "GET" && method !== "DELETE") return methodNotAllowed("GET, POST, DELETE");
    return exchange.phase() === "shutting_down" && method === "GET" ? shuttingDown() : await serveLegacy(exchange, []);
  };
}
