// This module encodes a call's path, headers and body once, so that every attempt sends the same bytes.
import { API_PREFIX, type Endpoint } from "../contract/endpoints/endpoint.ts";
import { isJsonObject, type JsonObject, parseJson } from "../contract/json.ts";
import { isWellFormed } from "../contract/scalars.ts";
import { type Failure, invalidArguments } from "../core/failure.ts";
import { say } from "../core/text.ts";
import type { WireRequest } from "./transport.ts";

export interface CallRequest {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: JsonObject;
  /** The job's ETag, for endpoints with If-Match. */
  readonly ifMatch?: string;
}

const unsendableFailure = (name: string, code: string, message: string): Failure =>
  invalidArguments(say`${name} cannot be sent as it is.`, [{ pointer: `/${name}`, code, message }]);

/** Throws Failure for a lone surrogate: it has no UTF-8 encoding, so another value would be sent. */
function requireWellFormed(name: string, value: string): string {
  if (isWellFormed(value)) return value;
  throw unsendableFailure(name, "INVALID_UNICODE", "must be valid Unicode (it has a lone surrogate)");
}

/** Encodes one path segment. Throws Failure for "." and "..", which would reach another endpoint, even percent-encoded. */
function encodePathSegment(name: string, value: string): string {
  if (value === "." || value === "..") throw unsendableFailure(name, "DOT_SEGMENT", 'must not be "." or ".."');
  return encodeURIComponent(requireWellFormed(name, value));
}

/** The bytes of a request except the token. The journal stores those of an action, so that every attempt sends the same. */
export interface EncodedRequest {
  /** The path below {base_url}, percent-encoded, with its query. */
  readonly path: string;
  /** Empty if there is none. */
  readonly ifMatch: string;
  /** Empty if there is none. */
  readonly body: string;
}

const buildPath = ({ api, path }: Endpoint, values: CallRequest["path"] = {}): string =>
  API_PREFIX[api] + path.replace(/\{(\w+)\}/g, (_, name: string) => encodePathSegment(name, values[name] ?? ""));

function buildQuery(values: NonNullable<CallRequest["query"]>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined) query.append(name, requireWellFormed(name, String(value)));
  return query.size === 0 ? "" : `?${query}`;
}

export const encodeRequest = (
  endpoint: Endpoint,
  { path, query, body, ifMatch = "" }: CallRequest,
): EncodedRequest => ({
  path: buildPath(endpoint, path) + (query ? buildQuery(query) : ""),
  ifMatch,
  body: body === undefined ? "" : JSON.stringify(body),
});

/** Returns what an encoded request has for a parameter or a field of its body; undefined if it has nothing. */
export function valueInRequest(
  { api, path: template, query }: Endpoint,
  { path, body }: EncodedRequest,
  name: string,
): unknown {
  const [pathname = "", search] = path.split("?");
  const at = (API_PREFIX[api] + template).split("/").indexOf(`{${name}}`);
  if (at >= 0) return decodeURIComponent(pathname.split("/")[at] ?? "");
  if (Object.hasOwn(query.shape, name)) return new URLSearchParams(search).get(name);
  const fields = body === "" ? undefined : parseJson(body);
  return isJsonObject(fields) ? fields[name] : undefined;
}

/** Returns the target of a request. `path` is below {base_url}, percent-encoded, with its query, and is sent unchanged. */
export function toWireTarget(baseUrl: string, path: string): Pick<WireRequest, "origin" | "path"> {
  const { origin, pathname } = new URL(baseUrl);
  return { origin, path: pathname.replace(/\/+$/, "") + path };
}

/** A request to which the token is still added. */
type WireRequestWithoutToken = WireRequest & { readonly headers: Record<string, string> };

export function toWireRequest(
  baseUrl: string,
  endpoint: Endpoint,
  encoded: EncodedRequest,
  key?: string,
): WireRequestWithoutToken {
  const hasBody = encoded.body !== "";
  return {
    method: endpoint.method,
    headers: {
      accept: endpoint.success.body === "binary" ? "application/octet-stream" : "application/json",
      "accept-encoding": "identity",
      ...(hasBody && { "content-type": "application/json" }),
      ...(key !== undefined && { "idempotency-key": key }),
      ...(encoded.ifMatch !== "" && { "if-match": encoded.ifMatch }),
    },
    ...(hasBody && { body: Buffer.from(encoded.body) }),
    ...toWireTarget(baseUrl, encoded.path),
  };
}
