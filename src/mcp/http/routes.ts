// Routes a request: to /mcp in either protocol era, to /healthz and /readyz, or nowhere.
import type { IncomingMessage } from "node:http";
import {
  classifyInboundRequest,
  isJSONRPCRequest,
  isJsonContentType,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import { reasonOf } from "../../failure.ts";
import { exceededBound } from "../messages/bounds.ts";
import { type Asked, askedBy, MAX_BODY_BYTES, readBody } from "./exchange.ts";
import type { Modern } from "./modern.ts";
import { type HttpService, plain, type Served } from "./port.ts";
import { refusal } from "./refusal.ts";
import type { Sessions } from "./sessions.ts";

export const MCP_PATH = "/mcp";
const HEALTH_PATH = "/healthz";
const READY_PATH = "/readyz";

const methodNotAllowed = (allowed: string): Response =>
  refusal(405, `Method not allowed; these are: ${allowed}.`, { headers: { allow: allowed } });

export const ending = (message?: unknown): Response =>
  refusal(503, "The server is ending; call again in a moment.", { message });

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The parsed body of a POST, or its refusal. */
async function jsonBody(
  request: IncomingMessage,
): Promise<{ readonly body: unknown } | { readonly refused: Response }> {
  const { "content-type": type, "content-encoding": encoding = "identity" } = request.headers;
  if (!isJsonContentType(type ?? null)) return { refused: refusal(415, "The Content-Type must be application/json.") };
  if (encoding !== "identity") return { refused: refusal(415, "The body must not have a Content-Encoding.") };
  const bytes = await readBody(request);
  if (bytes === "too long")
    return { refused: refusal(413, `The body must not be longer than ${MAX_BODY_BYTES} bytes.`) };
  if (bytes === "broken off") return { refused: refusal(400, "The body broke off.") };
  try {
    const text = utf8.decode(bytes);
    const fault = exceededBound(text);
    return fault === undefined
      ? { body: JSON.parse(text) }
      : { refused: refusal(400, fault, { code: ProtocolErrorCode.InvalidRequest }) };
  } catch {
    return {
      refused: refusal(400, "Parse error: the body is not JSON in UTF-8.", { code: ProtocolErrorCode.ParseError }),
    };
  }
}

export interface Routes {
  readonly sessions: Sessions;
  readonly modern: Modern;
  readonly isEnding: () => boolean;
  readonly readiness: HttpService["readiness"];
}

const health = (method: string | undefined, isEnding: boolean): Response => {
  if (method !== "GET" && method !== "HEAD") return methodNotAllowed("GET, HEAD");
  return Response.json({ status: isEnding ? "ending" : "ok" }, { status: isEnding ? 503 : 200 });
};

/** Whether calls can be served, the journal included: 200, or 503 with the reason. */
async function ready(method: string | undefined, { isEnding, readiness }: Routes): Promise<Response> {
  const isAsked = method === "GET" || method === "HEAD";
  if (!isAsked || isEnding()) return health(method, isEnding());
  try {
    return Response.json({ status: "ok", ...(await readiness?.()) });
  } catch (error) {
    return Response.json({ status: "not ready", reason: reasonOf(error) }, { status: 503 });
  }
}

const single = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === "string" ? header : header?.join(", ");

/** As the SDK's isLegacyRequest and its handler tell it, without making a Request for that. */
function eraOf({ method, headers }: Asked, body: unknown): "legacy" | "modern" | "reject" {
  const version = single(headers["mcp-protocol-version"]);
  const named = single(headers["mcp-method"]);
  const name = single(headers["mcp-name"]);
  return classifyInboundRequest({
    httpMethod: method,
    ...(version !== undefined && { protocolVersionHeader: version }),
    ...(named !== undefined && { mcpMethodHeader: named }),
    ...(name !== undefined && { mcpNameHeader: name }),
    body,
  }).kind;
}

async function post(incoming: IncomingMessage, asked: Asked, routes: Routes): Promise<Served> {
  const read = await jsonBody(incoming);
  if ("refused" in read) return plain(read.refused);
  const { body } = read;
  // Calls under way can still be cancelled, and get the person's answers.
  if (routes.isEnding() && [body].flat().some((message) => isJSONRPCRequest(message))) return plain(ending(body));
  const era = eraOf(asked, body);
  if (era === "legacy") return await routes.sessions.serve(asked, body);
  return await routes.modern.serve(asked, body, { isSound: era === "modern" });
}

/** `signal` fires when the client has gone. */
export async function route(incoming: IncomingMessage, signal: AbortSignal, routes: Routes): Promise<Served> {
  const { method, url = "" } = incoming;
  const [path] = url.split("?");
  if (path === HEALTH_PATH) return plain(health(method, routes.isEnding()));
  if (path === READY_PATH) return plain(await ready(method, routes));
  if (path !== MCP_PATH)
    return plain(refusal(404, `Nothing is here but ${MCP_PATH}, ${HEALTH_PATH} and ${READY_PATH}.`));
  if (method !== "GET" && method !== "POST" && method !== "DELETE") return plain(methodNotAllowed("GET, POST, DELETE"));
  const asked = askedBy(incoming, `http://localhost${MCP_PATH}`, signal);
  if (method === "POST") return await post(incoming, asked, routes);
  return routes.isEnding() && method === "GET" ? plain(ending()) : await routes.sessions.serve(asked);
}
