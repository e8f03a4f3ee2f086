// The response to a request that is not served: a status for HTTP, and a JSON-RPC error with the reason.
import type { RequestId } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../contract/json.ts";

/** JSON-RPC leaves these codes to the server. */
const SERVER_ERROR = -32000;

interface RefusalOptions {
  readonly code?: number;
  readonly data?: unknown;
  /** The refused message, if it could be read: the answer carries its id. */
  readonly message?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

function idOf(message: unknown): RequestId | null {
  if (!isJsonObject(message) || typeof message["method"] !== "string") return null;
  const { id } = message;
  return typeof id === "string" || typeof id === "number" ? id : null;
}

export const refusal = (
  status: number,
  reason: string,
  { code = SERVER_ERROR, data, message, headers = {} }: RefusalOptions = {},
): Response =>
  Response.json({ jsonrpc: "2.0", id: idOf(message), error: { code, message: reason, data } }, { status, headers });

export const methodNotAllowed = (allowed: string): Response =>
  refusal(405, `Method not allowed; these are: ${allowed}.`, { headers: { allow: allowed } });

export const tooMany = (): Response => refusal(503, "Too many requests at once; call again.");

export const ending = (message?: unknown): Response =>
  refusal(503, "The server is ending; call again in a moment.", { message });
