// What telemetry learns of requests to the service: one exchange for each that is sent, its trace context beside it.
import { type Endpoint, TOKEN_PATH } from "../contract/endpoints/endpoint.ts";
import type { Telemetry } from "../telemetry/port.ts";
import { ResponseTooLarge, type Transport, TransportError, type WireRequest } from "./transport.ts";

/** How often one call has sent. */
export interface SendCounter {
  count: number;
}

/** Never the error's own text: it may quote anybody. */
function errorType(error: unknown): string {
  if (error instanceof TransportError) return error.timedOut ? "timeout" : "connection";
  return error instanceof ResponseTooLarge ? "too_large" : "aborted";
}

/** The same sending, told to telemetry (doubt 39). Key and body stay the same bytes at every attempt; the trace context does not. */
export const withSendTelemetry =
  <A extends { readonly status: number }>(
    telemetry: Telemetry,
    { method, path }: Endpoint,
    send: (wire: WireRequest) => Promise<A>,
    sendCounter: SendCounter,
  ) =>
  (wire: WireRequest): Promise<A> => {
    const resends = sendCounter.count++;
    return telemetry.traceUpstreamRequest(
      { method, template: path, origin: wire.origin, resends },
      (headers) => send({ ...wire, headers: { ...wire.headers, ...headers } }),
      errorType,
    );
  };

/** The transport that access tokens are asked for with: the token endpoint gets no trace context, whosever host it is on. */
export const withTokenTelemetry = (telemetry: Telemetry, transport: Transport): Transport => ({
  ...transport,
  exchange: (request, limits) =>
    telemetry.traceUpstreamRequest(
      { method: request.method, template: TOKEN_PATH, origin: request.origin, resends: 0, isToken: true },
      () => transport.exchange(request, limits),
      errorType,
    ),
});
