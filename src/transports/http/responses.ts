// Creates the responses that need no MCP server: refusals, with the reason as a JSON-RPC error, and answers to health checks.
import type { RequestId } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../contract/json.ts";
import { errorMessage } from "../../core/failure.ts";

export const MCP_PATH = "/mcp";
export const HEALTH_PATH = "/healthz";
export const READY_PATH = "/readyz";

/** "serving"; "draining": reported as not ready, but requests are still served; "shutting_down": new requests are refused. */
export type Phase = "serving" | "draining" | "shutting_down";

/** JSON-RPC reserves the codes from -32000 to -32099 for errors that a server defines. */
const SERVER_ERROR = -32000;

interface ErrorResponseOptions {
  readonly code?: number;
  readonly data?: unknown;
  /** The refused message, if it could be read. The response has its id. */
  readonly message?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

function idOf(message: unknown): RequestId | null {
  if (!isJsonObject(message) || typeof message["method"] !== "string") return null;
  const { id } = message;
  return typeof id === "string" || typeof id === "number" ? id : null;
}

export const errorResponse = (
  status: number,
  reason: string,
  { code = SERVER_ERROR, data, message, headers = {} }: ErrorResponseOptions = {},
): Response =>
  Response.json({ jsonrpc: "2.0", id: idOf(message), error: { code, message: reason, data } }, { status, headers });

/** Ends the handling of a request with a response, which the listener sends. */
export class RequestRefused extends Error {
  override readonly name = "RequestRefused";
  readonly response: Response;

  constructor(response: Response) {
    super(`the request was refused with HTTP ${response.status}`);
    this.response = response;
  }
}

export const refuse = (...response: Parameters<typeof errorResponse>): RequestRefused =>
  new RequestRefused(errorResponse(...response));

export const methodNotAllowed = (allowed: string): Response =>
  errorResponse(405, `Method not allowed. Allowed methods: ${allowed}.`, { headers: { allow: allowed } });

export const tooManyRequests = (): Response => errorResponse(503, "Too many concurrent requests. Try again.");

export const shuttingDown = (message?: unknown): Response =>
  errorResponse(503, "The server is shutting down. Try again.", { message });

export const noSuchPath = (hint?: string): Response =>
  errorResponse(
    404,
    `Not found. Available paths: ${MCP_PATH}, ${HEALTH_PATH} and ${READY_PATH}.${hint === undefined ? "" : ` ${hint}`}`,
  );

export const isGetOrHead = (method: string | undefined): boolean => method === "GET" || method === "HEAD";

const onlyGetOrHead = (): Response => methodNotAllowed("GET, HEAD");

export function healthResponse(method: string | undefined, isShuttingDown: boolean): Response {
  if (!isGetOrHead(method)) return onlyGetOrHead();
  return Response.json({ status: isShuttingDown ? "shutting_down" : "ok" }, { status: isShuttingDown ? 503 : 200 });
}

/** Answers /readyz: 200 if calls and their dependencies are available, otherwise 503 with the reason. */
export async function readinessResponse(
  method: string | undefined,
  phase: Phase,
  readiness: (() => Promise<object>) | undefined,
): Promise<Response> {
  if (!isGetOrHead(method)) return onlyGetOrHead();
  if (phase !== "serving") return healthResponse(method, true);
  try {
    return Response.json({ status: "ok", ...(await readiness?.()) });
  } catch (error) {
    return Response.json({ status: "not ready", reason: errorMessage(error) }, { status: 503 });
  }
}
