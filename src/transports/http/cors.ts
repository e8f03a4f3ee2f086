// Lets web pages of allowed origins call this server and read its responses (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol).
import type { IncomingMessage } from "node:http";
import { RequestRefused } from "./responses.ts";

const PREFLIGHT_HEADERS = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers":
    "authorization, content-type, accept, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id, traceparent",
  // In seconds.
  "access-control-max-age": "600",
};
const EXPOSED_HEADERS = "mcp-session-id, www-authenticate";

/** Throws RequestRefused with the answer to a preflight. The Origin must have been checked. */
export function answerPreflight({ method, headers }: IncomingMessage): void {
  if (method === "OPTIONS" && "origin" in headers && "access-control-request-method" in headers)
    throw new RequestRefused(new Response(null, { status: 204, headers: PREFLIGHT_HEADERS }));
}

/** Returns headers for every response. `origin`: the Origin of the request if it is an allowed one. */
export const corsHeaders = (origin: string | undefined): Readonly<Record<string, string>> => ({
  vary: "origin",
  ...(origin !== undefined && {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": EXPOSED_HEADERS,
  }),
});
