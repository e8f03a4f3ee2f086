// A call's exact bytes, made once and reused on every attempt: path, headers, body.
import { API_PREFIX, type Endpoint } from "../contract/endpoints/endpoint.ts";
import type { JsonObject } from "../contract/json.ts";
import { isWellFormed } from "../contract/text.ts";
import { type Failure, invalidArguments } from "../core/failure.ts";
import type { WireRequest } from "./transport.ts";

export interface CallRequest {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: JsonObject;
  /** The job's ETag, for endpoints with If-Match. */
  readonly ifMatch?: string;
}

const unsendableFailure = (name: string, code: string, message: string): Failure =>
  invalidArguments(`${name} cannot be sent as it is.`, [{ pointer: `/${name}`, code, message }]);

/** A lone surrogate has no UTF-8: sent on, it would be another value. */
function requireWellFormed(name: string, value: string): string {
  if (isWellFormed(value)) return value;
  throw unsendableFailure(name, "INVALID_UNICODE", "must be valid Unicode (it has a lone surrogate)");
}

/** One path segment. "." and ".." would reach another endpoint, percent-encoded or not. */
function encodePathSegment(name: string, value: string): string {
  if (value === "." || value === "..") throw unsendableFailure(name, "DOT_SEGMENT", 'must not be "." or ".."');
  return encodeURIComponent(requireWellFormed(name, value));
}

/** A request's bytes but for the token: what an action keeps, so that every attempt sends the same. */
export interface EncodedRequest {
  /** Below {base_url}, percent-encoded, with its query. */
  readonly path: string;
  /** Empty where there is none. */
  readonly ifMatch: string;
  /** Empty where there is none. */
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

/** Where a request goes. `path`: below {base_url}, percent-encoded, with its query; it is sent as it is. */
export function toWireTarget(baseUrl: string, path: string): Pick<WireRequest, "origin" | "path"> {
  const { origin, pathname } = new URL(baseUrl);
  return { origin, path: pathname.replace(/\/+$/, "") + path };
}

export function toWireRequest(baseUrl: string, endpoint: Endpoint, encoded: EncodedRequest, key?: string): WireRequest {
  const hasBody = encoded.body !== "";
  return {
    method: endpoint.method,
    ...toWireTarget(baseUrl, encoded.path),
    headers: {
      accept: endpoint.success.body === "binary" ? "application/octet-stream" : "application/json",
      ...(hasBody && { "content-type": "application/json" }),
      ...(key !== undefined && { "idempotency-key": key }),
      ...(encoded.ifMatch !== "" && { "if-match": encoded.ifMatch }),
    },
    ...(hasBody && { body: Buffer.from(encoded.body) }),
  };
}
