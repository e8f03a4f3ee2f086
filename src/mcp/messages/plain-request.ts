// Tells a plain request by hand: nearly every message is one, and the SDK's schemas take twenty times as long to say so.
import { type JSONRPCRequest, RELATED_TASK_META_KEY } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../contract/json.ts";

const MEMBERS: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params"]);

/** False of all that the SDK may refuse, and of what it reads more closely: that is left to its schemas. */
export function isPlainRequest(value: unknown): value is JSONRPCRequest {
  if (!isJsonObject(value)) return false;
  for (const member in value) if (!MEMBERS.has(member)) return false;
  const { jsonrpc, id, method, params } = value;
  if (jsonrpc !== "2.0" || typeof method !== "string") return false;
  if (!(typeof id === "string" || Number.isSafeInteger(id))) return false;
  if (params === undefined) return true;
  if (!isJsonObject(params)) return false;
  const { _meta: meta } = params;
  return meta === undefined || (isJsonObject(meta) && !("progressToken" in meta || RELATED_TASK_META_KEY in meta));
}
