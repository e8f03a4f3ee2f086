// Routes a request to /mcp by its protocol era, once its body is read.
import type { IncomingMessage } from "node:http";
import { isJSONRPCRequest, isJsonContentType, isLegacyRequest, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { exceededBound } from "../messages/bounds.ts";
import { MAX_BODY_BYTES, readBody, webRequest } from "./exchange.ts";
import type { House } from "./house.ts";
import { plain, type Served } from "./port.ts";
import { ending, methodNotAllowed, refusal } from "./refusal.ts";

export const MCP_PATH = "/mcp";

/** A request's path, without its query. */
export const pathOf = ({ url = "" }: Pick<IncomingMessage, "url">): string => url.split("?")[0] ?? "";

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
  readonly house: House;
  readonly isEnding: () => boolean;
  /** Refuses what its client may not ask, before anything is done. `body`: the parsed JSON of a POST. */
  readonly vet?: (body: unknown) => Response | undefined;
  /** Runs all that a body asks for, its vetting included. */
  readonly within?: (body: unknown, serve: () => Promise<Served>) => Promise<Served>;
}

async function post(incoming: IncomingMessage, request: Request, routes: Routes): Promise<Served> {
  const { house, isEnding, vet } = routes;
  const read = await jsonBody(incoming);
  if ("refused" in read) return plain(read.refused);
  const { body } = read;
  // Calls under way can still be cancelled, and get the person's answers.
  if (isEnding() && [body].flat().some((message) => isJSONRPCRequest(message))) return plain(ending(body));
  const serve = async (): Promise<Served> => {
    const refused = vet?.(body);
    if (refused) return plain(refused);
    const clients = (await isLegacyRequest(request, body)) ? house.legacy : house.modern;
    return await clients.serve(request, body);
  };
  return await (routes.within?.(body, serve) ?? serve());
}

/** Routes what came to an MCP path. `signal` fires when the client has gone. */
export async function routeMcp(incoming: IncomingMessage, signal: AbortSignal, routes: Routes): Promise<Served> {
  const { method } = incoming;
  if (method !== "GET" && method !== "POST" && method !== "DELETE") return plain(methodNotAllowed("GET, POST, DELETE"));
  const request = webRequest(incoming, `http://localhost${MCP_PATH}`, signal);
  if (method === "POST") return await post(incoming, request, routes);
  return routes.isEnding() && method === "GET" ? plain(ending()) : await routes.house.legacy.serve(request);
}
