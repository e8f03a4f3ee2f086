// This module traces each request that is sent to the API, and adds the trace context to its headers.
import { type Endpoint, TOKEN_PATH } from "../contract/endpoints/endpoint.ts";
import type { Telemetry } from "../telemetry/port.ts";
import { ResponseTooLarge, type Transport, TransportError, type WireRequest } from "./transport.ts";

/** Returns the type of an error, never its message, which may contain untrusted text. */
function errorType(error: unknown): string {
  if (error instanceof TransportError) return error.timedOut ? "timeout" : "connection";
  return error instanceof ResponseTooLarge ? "too_large" : "aborted";
}

/** Every attempt has the same key and body, but another trace context (open question 39). `resends`: requests sent before. */
export const traceSend = <A extends { readonly status: number }>(
  telemetry: Telemetry,
  { method, path }: Endpoint,
  resends: number,
  wire: WireRequest,
  send: (wire: WireRequest) => Promise<A>,
): Promise<A> =>
  telemetry.traceUpstreamRequest(
    { method, template: path, origin: wire.origin, resends },
    (headers) => send({ ...wire, headers: { ...wire.headers, ...headers } }),
    errorType,
  );

/** Wraps the transport for requests of access tokens. The token endpoint gets no trace context, whatever its host. */
export const withTokenTelemetry = (telemetry: Telemetry, transport: Transport): Transport => ({
  ...transport,
  exchange: (request, limits) =>
    telemetry.traceUpstreamRequest(
      { method: request.method, template: TOKEN_PATH, origin: request.origin, resends: 0, isToken: true },
      () => transport.exchange(request, limits),
      errorType,
    ),
});
