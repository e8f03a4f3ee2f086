// A call's exact bytes, made once and reused on every attempt: method, URL, headers, body.
import { API_PREFIX, type Endpoint } from "../contract/endpoints/endpoint.ts";
import type { JsonObject } from "../contract/json.ts";
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

const wrongSegment = (name: string, code: string, message: string): Failure =>
  invalidArguments(`${name} cannot stand in a path.`, [{ pointer: `/${name}`, code, message }]);

/** One path segment. "." and ".." would reach another endpoint, percent-encoded or not, and a lone surrogate has no encoding. */
export function encodeSegment(name: string, value: string): string {
  if (value === "." || value === "..") throw wrongSegment(name, "DOT_SEGMENT", 'must not be "." or ".."');
  try {
    return encodeURIComponent(value);
  } catch {
    throw wrongSegment(name, "INVALID_UNICODE", "must be valid Unicode (it has a lone surrogate)");
  }
}

export function encodeRequest(baseUrl: string, endpoint: Endpoint, call: CallRequest): WireRequest {
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeSegment(name, call.path?.[name] ?? ""));
  const url = new URL(baseUrl.replace(/\/+$/, "") + API_PREFIX[endpoint.api] + path);
  for (const [name, value] of Object.entries(call.query ?? {}))
    if (value !== undefined) url.searchParams.append(name, String(value));
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
