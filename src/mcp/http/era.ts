// Tells the protocol era of a POST: of nearly every request by hand, of the others as the SDK does.
import type { IncomingHttpHeaders } from "node:http";
import {
  classifyInboundRequest,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/server";
import { BoundedMap } from "../../bounded-map.ts";
import { isPlainRequest } from "../messages/plain-request.ts";
import type { Asked } from "./exchange.ts";

const MODERN = "2026-07-28";
const LEGACY: ReadonlySet<unknown> = new Set(SUPPORTED_PROTOCOL_VERSIONS.filter((version) => version < MODERN));

/** Whether all headers are there, in their plain form: what is not so is for the SDK to judge. */
export const hasItsHeaders = ({ method, params }: JSONRPCRequest, headers: IncomingHttpHeaders): boolean =>
  headers["mcp-protocol-version"] === MODERN &&
  headers["mcp-method"] === method &&
  headers["mcp-name"] === params?.["name"];

/** It says nothing of the modern era, neither in its headers nor in itself. */
function isOfSession({ method, params }: JSONRPCRequest, version: unknown): boolean {
  const meta = params?._meta;
  const hasClaim = meta !== undefined && PROTOCOL_VERSION_META_KEY in meta;
  return method !== "initialize" && !hasClaim && (version === undefined || LEGACY.has(version));
}

/** What clients say of themselves and the SDK has found sound. It says so of the same words again, whatever the request. */
const MAX_SOUND = 64;
const MAX_ENVELOPE = 4_096;
const sound = new BoundedMap<string, true>(MAX_SOUND);

const single = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === "string" ? header : header?.join(", ");

/** As the SDK's isLegacyRequest and its handler tell it, without making a Request for that. */
function classified({ method, headers }: Asked, body: unknown): "legacy" | "modern" | "reject" {
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

/** "reject": the SDK's handler says why. */
export function eraOf(asked: Asked, body: unknown): "legacy" | "modern" | "reject" {
  const { headers } = asked;
  if (!isPlainRequest(body)) return classified(asked, body);
  if (isOfSession(body, headers["mcp-protocol-version"])) return "legacy";
  const envelope = hasItsHeaders(body, headers) ? JSON.stringify(body.params?._meta) : undefined;
  if (envelope !== undefined && sound.has(envelope)) return "modern";
  const era = classified(asked, body);
  if (era === "modern" && envelope !== undefined && envelope.length <= MAX_ENVELOPE) sound.set(envelope, true);
  return era;
}
