// The API client encodes a request once, sends it, retries it if that is safe, and decodes the response or throws a precise failure.
import type * as z from "zod/v4";
import type { Endpoint, JsonEndpoint } from "../contract/endpoints/endpoint.ts";
import { getMicPublicOperation } from "../contract/endpoints/job-processing.ts";
import { Failure } from "../core/failure.ts";
import type { Telemetry } from "../telemetry/port.ts";
import { attemptLimitMs, type CallContext, prepareRetry, type Timing } from "./attempts.ts";
import {
  bodyViolationFailure,
  cancelledFailure,
  finalFailure,
  invalidJsonFailure,
  isTransient,
  mayHaveTakenEffectAfter,
  otherResourceFailure,
  parseAccepted,
  refusalFailure,
  responseDate,
  tooLargeFailure,
  transportFailure,
} from "./classify.ts";
import { ContractViolation, type DecodedBody, decodeSuccess, OtherResource } from "./decode.ts";
import { type CallRequest, type EncodedRequest, encodeRequest, toWireRequest } from "./encode.ts";
import { InvalidJson } from "./parse-json.ts";
import { type Cooldown, createPause } from "./pause.ts";
import { callAgainAdvice } from "./refusal-advice.ts";
import { traceSend } from "./request-telemetry.ts";
import {
  ResponseTooLarge,
  type SendLimits,
  type StreamedResponse,
  type Transport,
  TransportError,
  type WireRequest,
  type WireResponse,
} from "./transport.ts";

/** A source of Bearer tokens; src/credentials/ implements it. */
export interface TokenSource {
  /** Returns a token for exactly these scopes if one is in memory and can be used immediately. */
  current(scopes: readonly string[]): string | undefined;
  /** Returns a token for exactly these scopes. Throws Failure. */
  get(scopes: readonly string[], context: CallContext): Promise<string>;
  /** Whether the token is so old that a 403 may mean that it has expired. */
  mayHaveExpired(scopes: readonly string[], token: string): boolean;
  /** Discards a token that the API refused. `get` never returns it again. */
  discard(scopes: readonly string[], token: string): void;
  /** Returns the clock of the token endpoint minus the system clock, in milliseconds, if a response has shown it. */
  clockDifferenceMs(): number | undefined;
}

export interface ApiClientOptions {
  /** Returns the contract's {base_url}. Throws Failure `not_configured` if there is none. */
  readonly baseUrl: () => string | Promise<string>;
  readonly tokens: TokenSource;
  readonly transport: Transport;
  readonly timing: Timing;
  /** Checks each request before it is sent. Throws Failure. */
  readonly checkRequest?: (request: Pick<EncodedRequest, "path" | "body">) => void;
  readonly cooldown?: Cooldown;
  readonly telemetry?: Telemetry;
}

/** Options that describe a request's earlier attempts and report the next ones. */
export interface AttemptOptions {
  /** An earlier attempt, in another call, may have taken effect unnoticed (default false). */
  readonly mayHaveTakenEffect?: boolean;
  readonly onAttempt?: () => void;
  /** Called before each request is sent. Throws Failure if it must not be sent. */
  readonly assertMaySend?: () => void;
}

export interface ApiResponse<T> extends DecodedBody<T> {
  /** Number of attempts. Sending again with a renewed token does not count. */
  readonly attempts: number;
  /** True if the API marked this as the stored response of an earlier request with the same key. */
  readonly replayed: boolean;
  /** Time of the response in milliseconds since 1970, by the API's clock if it has a Date header, else by the local clock. */
  readonly respondedAt: number;
}

/** A request without a response for less than this does not count as lost. */
const MIN_LOST_MS = 1_000;

const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** One kind of request: how it is encoded, how it is sent once, and how its response becomes the result. */
interface RequestOptions<A, R> extends AttemptOptions {
  /** Returns the bytes, which are the same for every attempt. Throws Failure. */
  readonly encode: () => EncodedRequest;
  readonly key?: string;
  readonly exchange: (wire: WireRequest, limits: SendLimits) => Promise<A>;
  /** `attempts`: number of attempts so far. Throws Failure, or the errors of the transport. */
  readonly read: (response: A, attempts: number, encoded: EncodedRequest) => R | Promise<R>;
}

const isBuffered = (response: WireResponse | StreamedResponse): response is WireResponse =>
  Buffer.isBuffer(response.body);

/** Converts the errors of the transport. Any other error is returned unchanged. */
function toFailure(endpoint: Endpoint, encoded: EncodedRequest, error: unknown): unknown {
  if (error instanceof TransportError) return transportFailure(error);
  return error instanceof ResponseTooLarge ? tooLargeFailure(endpoint, encoded, error) : error;
}

export type ApiClient = ReturnType<typeof createApiClient>;

export function createApiClient({
  baseUrl,
  tokens,
  transport,
  timing,
  checkRequest = () => undefined,
  cooldown,
  telemetry,
}: ApiClientOptions) {
  const pause = createPause(timing, cooldown);
  /** The API's clock minus the system clock, in milliseconds; undefined before the first response that shows it. */
  let apiClockDifferenceMs: number | undefined;

  /** Reads the API's clock from a response to a request with a token. A response with an Age comes from a cache. */
  function recordApiClock({ headers }: { readonly headers: WireResponse["headers"] }): void {
    const at = headers["age"] === undefined ? responseDate(headers) : undefined;
    if (at !== undefined) apiClockDifferenceMs = at - timing.now();
  }

  function readSuccess<S extends z.ZodType>(
    endpoint: JsonEndpoint<S>,
    response: WireResponse,
    attempts: number,
    encoded: EncodedRequest,
  ): ApiResponse<z.output<S>> {
    if (response.status !== endpoint.success.status) throw refusalFailure(endpoint, response, timing.now());
    try {
      const decoded = decodeSuccess(endpoint, encoded, response.body);
      const replayed = response.headers["idempotent-replayed"] === "true";
      return { replayed, respondedAt: responseDate(response.headers) ?? timing.now(), attempts, ...decoded };
    } catch (error) {
      if (error instanceof InvalidJson) throw invalidJsonFailure(endpoint, response, error);
      if (error instanceof OtherResource) throw otherResourceFailure(endpoint, response, error);
      throw error instanceof ContractViolation ? bodyViolationFailure(endpoint, response, error.message) : error;
    }
  }

  /** Like `readSuccess`, but an answer that breaks the contract is returned as it is if it names what the action created. */
  function readActionSuccess(
    endpoint: JsonEndpoint,
    response: WireResponse,
    attempts: number,
    encoded: EncodedRequest,
  ): ApiResponse<unknown> {
    try {
      return readSuccess(endpoint, response, attempts, encoded);
    } catch (error) {
      const value = error instanceof Failure && error.facts.sideEffect === "done" ? parseAccepted(response) : undefined;
      if (!(error instanceof Failure) || value === undefined) throw error;
      return { value, drift: [error.message], replayed: false, respondedAt: timing.now(), attempts };
    }
  }

  /**
   * Sends one request, with as many attempts as its time allows, and reads the response. The first attempt runs from top to bottom. Only
   * a refused token and a failed attempt lead to another round. Throws Failure, whose `sideEffect` covers all attempts, including
   * earlier ones.
   */
  async function sendRequest<A extends WireResponse | StreamedResponse, R>(
    endpoint: Endpoint,
    context: CallContext,
    {
      encode,
      key,
      exchange,
      read,
      mayHaveTakenEffect: mayHaveTakenEffectBefore = false,
      ...callbacks
    }: RequestOptions<A, R>,
  ): Promise<R> {
    const { scopesToRequest: scopes } = endpoint;
    // The playground has its own limit (src/geography/limiter.ts).
    const ownPause = scopes.length === 0 ? undefined : pause;
    let sent = mayHaveTakenEffectBefore;
    let mayHaveTakenEffect = mayHaveTakenEffectBefore;
    /** Time of the last request, in milliseconds by `Timing.clockMs`. */
    let sentAt = Number.POSITIVE_INFINITY;
    try {
      const encoded = encode();
      checkRequest(encoded);
      for (let attempts = 1, sends = 0, isRenewed = false, sentBefore = sent; ; ) {
        try {
          if (!isRenewed) callbacks.onAttempt?.();
          context.signal.throwIfAborted();
          const base = baseUrl();
          const wire = toWireRequest(typeof base === "string" ? base : await base, endpoint, encoded, key);
          const token =
            scopes.length === 0 ? undefined : (tokens.current(scopes) ?? (await tokens.get(scopes, context)));
          if (token !== undefined) wire.headers["authorization"] = `Bearer ${token}`;
          const waiting = ownPause?.beforeRequest(endpoint.id, context);
          if (waiting) await waiting;

          const limits = { timeoutMs: attemptLimitMs(context, timing), signal: context.signal };
          callbacks.assertMaySend?.();
          sent = true;
          sentAt = timing.clockMs();
          const resends = sends++;
          const response = await (telemetry
            ? traceSend(telemetry, endpoint, resends, wire, (traced) => exchange(traced, limits))
            : exchange(wire, limits));
          if (isBuffered(response))
            mayHaveTakenEffect = mayHaveTakenEffectAfter(endpoint, response, mayHaveTakenEffect);
          if (token !== undefined) recordApiClock(response);
          const sharing = ownPause?.share(response);
          if (sharing) await sharing;

          const isRefused = token !== undefined && isTokenRefused(scopes, token, response.status, isRenewed);
          if (isRefused) tokens.discard(scopes, token);
          if (!isRefused || isRenewed) {
            const result = await read(response, attempts, encoded);
            pause.end(endpoint.id);
            return result;
          }
          // The same bytes are sent again with another token. The body of this response is not read.
          if (!isBuffered(response)) response.body.destroy();
          isRenewed = true;
        } catch (error) {
          if (error instanceof TransportError) {
            sent = sentBefore || error.sent;
            mayHaveTakenEffect ||= error.sent;
          }
          const failure = toFailure(endpoint, encoded, error);
          mayHaveTakenEffect ||= failure instanceof Failure && failure.facts.sideEffect === "unknown";
          if (failure instanceof Failure) ownPause?.request(endpoint.id, failure.facts);
          await prepareRetry(endpoint, failure, attempts, context, timing, ownPause?.waitMs(context, endpoint.id));
          [attempts, isRenewed, sentBefore] = [attempts + 1, false, sent];
        }
      }
    } catch (error) {
      if (context.signal.aborted) throw cancelledFailure(endpoint, key, sent, context.signal);
      if (!(error instanceof Failure)) throw error;
      throw finalFailure(endpoint, withOutage(endpoint, error, timing.clockMs() - sentAt), key, mayHaveTakenEffect);
    }
  }

  /** Records whether the operation is in an outage; if so, the advice states how long to wait. `lastMs`: duration of the last attempt. */
  function withOutage(endpoint: Endpoint, failure: Failure, lastMs: number): Failure {
    const { kind, at, status } = failure.facts;
    // A request that was sent when the call was almost over shows nothing.
    if (kind === "timeout" && at === undefined && lastMs < MIN_LOST_MS) return failure;
    if (!isTransient(endpoint, failure) && kind !== "outcome_unknown") {
      // The API has processed the request.
      if (status !== undefined) pause.end(endpoint.id);
      return failure;
    }
    pause.fail(endpoint.id, failure.facts);
    const minutes = Math.ceil(pause.leftMs(endpoint.id) / 60_000);
    // Other advice states its own time, or what to do about the action.
    if (minutes <= 1 || kind === "rate_limited" || kind === "outcome_unknown") return failure;
    const setting = failure.cause instanceof TransportError ? failure.cause.setting : undefined;
    return failure.with({ next: callAgainAdvice(minutes, setting) });
  }

  /** The contract does not show how the API reports an expired token (open question 27). */
  const isTokenRefused = (scopes: readonly string[], token: string, status: number, isRenewed: boolean): boolean =>
    status === 401 || (status === 403 && !isRenewed && tokens.mayHaveExpired(scopes, token));

  const exchangeJson = (wire: WireRequest, limits: SendLimits): Promise<WireResponse> =>
    transport.exchange(wire, { maxBytes: MAX_RESPONSE_BYTES, ...limits });

  /** Sends an action. The value follows the contract, or at least names what the action created. */
  const send = (
    endpoint: JsonEndpoint,
    encoded: EncodedRequest,
    key: string | undefined,
    context: CallContext,
    options?: AttemptOptions,
  ): Promise<ApiResponse<unknown>> =>
    sendRequest(endpoint, context, {
      ...options,
      encode: () => encoded,
      key,
      exchange: exchangeJson,
      read: (response, attempts, sent) => readActionSuccess(endpoint, response, attempts, sent),
    });

  const call = <S extends z.ZodType>(endpoint: JsonEndpoint<S>, request: CallRequest, context: CallContext) =>
    sendRequest(endpoint, context, {
      encode: () => encodeRequest(endpoint, request),
      exchange: exchangeJson,
      read: (response: WireResponse, attempts, sent) => readSuccess(endpoint, response, attempts, sent),
    });

  /** Runs `read` on a response whose body it reads, or on a refusal. A body that breaks off is retried. Throws Failure. */
  const stream = <R>(
    endpoint: Endpoint,
    request: CallRequest,
    context: CallContext,
    read: (response: StreamedResponse) => Promise<R>,
  ): Promise<R> =>
    sendRequest(endpoint, context, {
      encode: () => encodeRequest(endpoint, request),
      exchange: transport.openStream,
      read,
    });

  /** Returns milliseconds since 1970 by the API's clock, or else by the token endpoint's; undefined before a response shows one of them. */
  function apiNow(): number | undefined {
    const differenceMs = apiClockDifferenceMs ?? tokens.clockDifferenceMs();
    return differenceMs === undefined ? undefined : Math.round(timing.now() + differenceMs);
  }

  /** Makes `apiNow` current. Reads an operation that does not exist, because only the response's Date header matters. Never rejects. */
  async function readApiClock(context: CallContext): Promise<void> {
    const request = { path: { operationId: "clock" } };
    await call(getMicPublicOperation, request, { ...context, maxAttempts: 1 }).catch(() => undefined);
  }

  async function getTokenAndClock({ scopesToRequest }: Endpoint, context: CallContext): Promise<void> {
    await tokens.get(scopesToRequest, context);
    if (apiNow() === undefined) await readApiClock(context);
  }

  return {
    call,
    send,
    stream,
    baseUrl,
    transport,
    timing,
    /**
     * Gets the token of a new action before the journal records the action, and the API's clock if no response has shown it yet: after a
     * crash, only the journal has the API's time of the first attempt. Returns undefined if both are in memory. Rejects with Failure.
     */
    prepareAction(endpoint: Endpoint, context: CallContext): Promise<void> | undefined {
      const isReady =
        !context.signal.aborted && tokens.current(endpoint.scopesToRequest) !== undefined && apiNow() !== undefined;
      return isReady ? undefined : getTokenAndClock(endpoint, context);
    },
    apiNow,
    readApiClock,
    pause,
  };
}
