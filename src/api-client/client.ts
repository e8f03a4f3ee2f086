// The API client encodes a request once, sends it, retries it if that is safe, and decodes the response or throws a precise failure.
import { Readable } from "node:stream";
import type * as z from "zod/v4";
import type { Endpoint, JsonEndpoint } from "../contract/endpoints/endpoint.ts";
import { Failure } from "../core/failure.ts";
import type { Hooks } from "../core/hooks.ts";
import type { Telemetry } from "../telemetry/port.ts";
import { attemptLimitMs, type CallContext, type Timing, withCooldown, withRetries } from "./attempts.ts";
import {
  bodyViolationFailure,
  cancelledFailure,
  finalFailure,
  refusalFailure,
  responseDate,
  tooLargeFailure,
  transportFailure,
} from "./classify.ts";
import { ContractViolation, type DecodedBody, parseJson, validateSuccess } from "./decode.ts";
import { type CallRequest, type EncodedRequest, encodeRequest, toWireRequest } from "./encode.ts";
import { type SendCounter, withSendTelemetry } from "./request-telemetry.ts";
import { ResponseTooLarge, type Transport, TransportError, type WireRequest, type WireResponse } from "./transport.ts";

/** A source of Bearer tokens; src/credentials/ implements it. */
export interface TokenSource {
  /** Returns a token for exactly these scopes. Throws Failure. */
  get(scopes: readonly string[], context: CallContext): Promise<string>;
  /** Whether the token is so old that a 403 may mean that it has expired. */
  mayHaveExpired(scopes: readonly string[], token: string): boolean;
  /** Discards a token that the API refused. `get` never returns it again. */
  discard(scopes: readonly string[], token: string): void;
}

export interface ApiClientOptions {
  /** Returns the contract's {base_url}. Throws Failure `not_configured` if there is none. */
  readonly baseUrl: () => Promise<string>;
  readonly tokens: TokenSource;
  readonly transport: Transport;
  readonly timing: Timing;
  readonly hooks?: Hooks | undefined;
  readonly telemetry?: Telemetry | undefined;
}

/** Options that describe a request's earlier attempts and report the next ones. */
export interface AttemptOptions {
  /** An earlier attempt, in another call, may have taken effect unnoticed (default false). */
  readonly mayHaveTakenEffect?: boolean;
  readonly onAttempt?: () => void;
}

export interface ApiResponse<T> extends DecodedBody<T> {
  /** Number of attempts. Sending again with a renewed token does not count. */
  readonly attempts: number;
  /** True if the API marked this as the stored response of an earlier request with the same key. */
  readonly replayed: boolean;
  /** Time of the response in milliseconds since 1970, by the API's clock if it has a Date header, else by the local clock. */
  readonly respondedAt: number;
}

const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** Drops the body of an error response that is too large, because its status is sufficient. */
function withoutOversizedErrorBody(error: unknown): WireResponse {
  if (error instanceof ResponseTooLarge && error.response.status >= 400)
    return { ...error.response, body: Buffer.alloc(0) };
  throw error;
}

export type ApiClient = ReturnType<typeof createApiClient>;

export function createApiClient({ baseUrl, tokens, transport, timing, hooks, telemetry }: ApiClientOptions) {
  /**
   * Sends with a token of the endpoint's scopes. A refused token is renewed once, and the same bytes are sent again.
   * `sendCounter` counts the requests that one call sends. Throws Failure and the errors of `sendOnce`.
   */
  async function sendAuthorized<
    A extends { status: number; headers: WireResponse["headers"]; body: Buffer | Readable },
  >(
    endpoint: Endpoint,
    wire: WireRequest,
    context: CallContext,
    sendOnce: (wire: WireRequest) => Promise<A>,
    sendCounter: SendCounter,
  ): Promise<A> {
    const sendObserved = telemetry ? withSendTelemetry(telemetry, endpoint, sendOnce, sendCounter) : sendOnce;
    const scopes = endpoint.scopesToRequest;
    if (scopes.length === 0) return await sendObserved(wire);
    const send = hooks?.cooldown ? withCooldown(hooks.cooldown, context, timing, sendObserved) : sendObserved;
    const withToken = (token: string): WireRequest => ({
      ...wire,
      headers: { ...wire.headers, authorization: `Bearer ${token}` },
    });
    const token = await tokens.get(scopes, context);
    const response = await send(withToken(token));
    // The contract does not show how the API reports an expired token (open question 27).
    const isRefused = response.status === 401 || (response.status === 403 && tokens.mayHaveExpired(scopes, token));
    if (!isRefused) return response;
    // The body of this response is not read.
    if (response.body instanceof Readable) response.body.destroy();
    tokens.discard(scopes, token);
    const renewed = await tokens.get(scopes, context);
    const second = await send(withToken(renewed));
    if (second.status === 401) tokens.discard(scopes, renewed);
    return second;
  }

  /** Decodes the response of a success. Throws Failure for any other response. */
  function readSuccess<S extends z.ZodType>(
    endpoint: JsonEndpoint<S>,
    response: WireResponse,
    attempts: number,
  ): ApiResponse<z.output<S>> {
    if (response.status !== endpoint.success.status) throw refusalFailure(endpoint, response, timing.now());
    try {
      const { value, drift } = validateSuccess(endpoint, parseJson(response.body));
      const replayed = response.headers["idempotent-replayed"] === "true";
      return { value, drift, replayed, respondedAt: responseDate(response.headers) ?? timing.now(), attempts };
    } catch (error) {
      if (!(error instanceof ContractViolation)) throw error;
      throw bodyViolationFailure(endpoint, response, error.message);
    }
  }

  /**
   * Sends one encoded request, with as many attempts as its time allows, and decodes the JSON response. Throws Failure, whose
   * `sideEffect` covers all attempts, including earlier ones.
   */
  async function send<S extends z.ZodType>(
    endpoint: JsonEndpoint<S>,
    encoded: EncodedRequest,
    key: string | undefined,
    context: CallContext,
    { mayHaveTakenEffect: mayHaveTakenEffectBefore = false, onAttempt }: AttemptOptions = {},
  ): Promise<ApiResponse<z.output<S>>> {
    let sent = mayHaveTakenEffectBefore;
    let mayHaveTakenEffect = mayHaveTakenEffectBefore;
    const sendCounter = { count: 0 };

    function sendOnce(wire: WireRequest): Promise<WireResponse> {
      sent = true;
      const limits = { timeoutMs: attemptLimitMs(context, timing), signal: context.signal };
      return transport.exchange(wire, { ...limits, maxBytes: MAX_RESPONSE_BYTES }).catch(withoutOversizedErrorBody);
    }

    try {
      hooks?.checkRequest?.(encoded);
      return await withRetries({ endpoint, context, timing }, async (attempts) => {
        onAttempt?.();
        const sentBefore = sent;
        try {
          const wire = toWireRequest(await baseUrl(), endpoint, encoded, key);
          const response = await sendAuthorized(endpoint, wire, context, sendOnce, sendCounter);
          mayHaveTakenEffect ||= response.status >= 500;
          return readSuccess(endpoint, response, attempts);
        } catch (error) {
          if (error instanceof TransportError) {
            sent = sentBefore || error.sent;
            mayHaveTakenEffect ||= error.sent;
            throw transportFailure(endpoint, error);
          }
          const failure = error instanceof ResponseTooLarge ? tooLargeFailure(endpoint, encoded, error) : error;
          mayHaveTakenEffect ||= failure instanceof Failure && failure.facts.sideEffect === "unknown";
          throw failure;
        }
      });
    } catch (error) {
      if (context.signal.aborted) throw cancelledFailure(endpoint, key, sent);
      throw error instanceof Failure ? finalFailure(endpoint, error, key, mayHaveTakenEffect) : error;
    }
  }

  /** Calls an operation that changes nothing. Throws Failure. */
  const call = async <S extends z.ZodType>(endpoint: JsonEndpoint<S>, request: CallRequest, context: CallContext) =>
    await send(endpoint, encodeRequest(endpoint, request), undefined, context);

  return { call, send, authorized: sendAuthorized, baseUrl, transport, timing };
}
