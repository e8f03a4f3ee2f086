// A call's exact bytes, made once and reused on every attempt: method, URL, headers, body.
import { API_PREFIX, type Endpoint } from "../contract/endpoints/endpoint.ts";
import type { JsonObject } from "../contract/json.ts";
import { isWellFormed } from "../contract/text.ts";
import { type Failure, invalidArguments } from "../failure.ts";
import type { WireRequest } from "./transport.ts";

export interface CallRequest {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: JsonObject;
  readonly idempotencyKey?: string;
  /** The job's ETag, for endpoints with If-Match. */
  readonly ifMatch?: string;
}

const unsendable = (name: string, code: string, message: string): Failure =>
  invalidArguments(`${name} cannot be sent as it is.`, [{ pointer: `/${name}`, code, message }]);

/** A lone surrogate has no UTF-8: sent on, it would be another value. */
function wellFormed(name: string, value: string): string {
  if (isWellFormed(value)) return value;
  throw unsendable(name, "INVALID_UNICODE", "must be valid Unicode (it has a lone surrogate)");
}

/** One path segment. "." and ".." would reach another endpoint, percent-encoded or not. */
function pathSegment(name: string, value: string): string {
  if (value === "." || value === "..") throw unsendable(name, "DOT_SEGMENT", 'must not be "." or ".."');
  return encodeURIComponent(wellFormed(name, value));
}

const queryValue = (name: string, value: string | number): string => wellFormed(name, String(value));

export function encodeRequest(baseUrl: string, endpoint: Endpoint, call: CallRequest): WireRequest {
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => pathSegment(name, call.path?.[name] ?? ""));
  const url = new URL(baseUrl.replace(/\/+$/, "") + API_PREFIX[endpoint.api] + path);
  for (const [name, value] of Object.entries(call.query ?? {}))
    if (value !== undefined) url.searchParams.append(name, queryValue(name, value));
  return {
    method: endpoint.method,
    url,
    headers: {
      accept: endpoint.success.body === "binary" ? "application/octet-stream" : "application/json",
      ...(call.body !== undefined && { "content-type": "application/json" }),
      ...(call.idempotencyKey !== undefined && { "idempotency-key": call.idempotencyKey }),
      ...(call.ifMatch !== undefined && { "if-match": call.ifMatch }),
    },
    ...(call.body !== undefined && { body: Buffer.from(JSON.stringify(call.body)) }),
  };
}
