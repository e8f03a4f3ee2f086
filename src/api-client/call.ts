// One call to the service: encode once, send, retry what is safe to retry, decode, or say exactly what failed.
import { Readable } from "node:stream";
import type * as z from "zod/v4";
import type { Endpoint, JsonEndpoint } from "../contract/endpoints/endpoint.ts";
import { Failure } from "../core/failure.ts";
import type { Hooks } from "../core/hooks.ts";
import type { Telemetry } from "../telemetry/port.ts";
import { attemptLimitMs, type CallContext, type Timing, withRetries } from "./attempts.ts";
import { cancelled, dateOf, finalFailure, refusal, tooLarge, transportFailure, violation } from "./classify.ts";
import { withCooldown } from "./cooldown.ts";
import { ContractViolation, checkSuccess, type Decoded, parseJson } from "./decode.ts";
import { type CallRequest, type EncodedRequest, encodeRequest, wireRequest } from "./encode.ts";
import { type SendCounter, withSendTelemetry } from "./request-telemetry.ts";
import { AnswerTooLarge, type Transport, TransportError, type WireAnswer, type WireRequest } from "./transport.ts";

/** Where Bearer tokens come from; src/credentials/ has one. */
export interface TokenSource {
  /** A token for exactly these scopes. Throws Failure. */
  get(scopes: readonly string[], context: CallContext): Promise<string>;
  /** Whether the token is old enough that a refusal without a reason may mean its end. */
  mayHaveEnded(scopes: readonly string[], token: string): boolean;
  /** The service refused this token: never hand it out again. */
  discard(scopes: readonly string[], token: string): void;
}

export interface ServiceOptions {
  /** The contract's {base_url}. Throws Failure `not_configured` when there is none. */
  readonly baseUrl: () => Promise<string>;
  readonly tokens: TokenSource;
  readonly transport: Transport;
  readonly timing: Timing;
  readonly hooks?: Hooks | undefined;
  readonly telemetry?: Telemetry | undefined;
}

/** What is known of a request's earlier attempts, and who hears of the next. */
export interface Attempts {
  /** An earlier one, of another call, may have taken effect unseen. */
  readonly mayHaveTakenEffect?: boolean;
  readonly onAttempt?: () => void;
}

export interface ServiceAnswer<T> extends Decoded<T> {
  /** Requests sent, token renewals not counted. */
  readonly attempts: number;
  /** The service said that this is the stored answer of an earlier request with the same key. */
  readonly replayed: boolean;
  /** When the service answered, in milliseconds since 1970: by its own clock, where its answer has a Date. */
  readonly at: number;
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** A refusal is judged by its status, however much it says. */
function refusedAtLength(error: unknown): WireAnswer {
  if (error instanceof AnswerTooLarge && error.answer.status >= 400) return { ...error.answer, body: Buffer.alloc(0) };
  throw error;
}

export type Service = ReturnType<typeof createService>;

export function createService({ baseUrl, tokens, transport, timing, hooks, telemetry }: ServiceOptions) {
  /**
   * Sends with a token of the endpoint's scopes; a refused token is renewed once and the same bytes are sent again.
   * `sends` counts what one call sends.
   */
  async function authorized<A extends { status: number; headers: WireAnswer["headers"]; body: Buffer | Readable }>(
    endpoint: Endpoint,
    wire: WireRequest,
    context: CallContext,
    sendOnce: (wire: WireRequest) => Promise<A>,
    sendCounter: SendCounter,
  ): Promise<A> {
    const sendIt = telemetry ? withSendTelemetry(telemetry, endpoint, sendOnce, sendCounter) : sendOnce;
    const scopes = endpoint.scopesToRequest;
    if (scopes.length === 0) return await sendIt(wire);
    const send = hooks?.cooldown ? withCooldown(hooks.cooldown, context, timing, sendIt) : sendIt;
    const withToken = (token: string): WireRequest => ({
      ...wire,
      headers: { ...wire.headers, authorization: `Bearer ${token}` },
    });
    const token = await tokens.get(scopes, context);
    const answer = await send(withToken(token));
    // How the service reports an ended token is not shown (doubt 27).
    const isRefused = answer.status === 401 || (answer.status === 403 && tokens.mayHaveEnded(scopes, token));
    if (!isRefused) return answer;
    // No caller reads it.
    if (answer.body instanceof Readable) answer.body.destroy();
    tokens.discard(scopes, token);
    const renewed = await tokens.get(scopes, context);
    const second = await send(withToken(renewed));
    if (second.status === 401) tokens.discard(scopes, renewed);
    return second;
  }

  /** What a success says. Throws Failure: what else was answered. */
  function read<S extends z.ZodType>(
    endpoint: JsonEndpoint<S>,
    answer: WireAnswer,
    attempts: number,
  ): ServiceAnswer<z.output<S>> {
    if (answer.status !== endpoint.success.status) throw refusal(endpoint, answer, timing.now());
    try {
      const { value, drift } = checkSuccess(endpoint, parseJson(answer.body));
      const replayed = answer.headers["idempotent-replayed"] === "true";
      return { value, drift, replayed, at: dateOf(answer.headers) ?? timing.now(), attempts };
    } catch (error) {
      if (!(error instanceof ContractViolation)) throw error;
      throw violation(endpoint, answer, error.message);
    }
  }

  /**
   * Sends one encoded request, with as many attempts as its time allows, and reads the JSON answer. Throws Failure, whose
   * `sideEffect` is true of all attempts, earlier ones included.
   */
  async function send<S extends z.ZodType>(
    endpoint: JsonEndpoint<S>,
    encoded: EncodedRequest,
    key: string | undefined,
    context: CallContext,
    { mayHaveTakenEffect: mayHaveTakenEffectBefore = false, onAttempt }: Attempts = {},
  ): Promise<ServiceAnswer<z.output<S>>> {
    let sent = mayHaveTakenEffectBefore;
    let mayHaveTakenEffect = mayHaveTakenEffectBefore;
    const sendCounter = { count: 0 };

    function sendOnce(wire: WireRequest): Promise<WireAnswer> {
      sent = true;
      const limits = { timeoutMs: attemptLimitMs(context, timing), signal: context.signal };
      return transport.exchange(wire, { ...limits, maxBytes: MAX_ANSWER_BYTES }).catch(refusedAtLength);
    }

    async function attempt(): Promise<WireAnswer> {
      const sentBefore = sent;
      try {
        const wire = wireRequest(await baseUrl(), endpoint, encoded, key);
        const answer = await authorized(endpoint, wire, context, sendOnce, sendCounter);
        mayHaveTakenEffect ||= answer.status >= 500;
        return answer;
      } catch (error) {
        if (error instanceof AnswerTooLarge) throw tooLarge(endpoint, encoded, error);
        if (!(error instanceof TransportError)) throw error;
        sent = sentBefore || error.sent;
        mayHaveTakenEffect ||= error.sent;
        throw transportFailure(endpoint, error);
      }
    }

    try {
      hooks?.checkRequest?.(encoded);
      return await withRetries({ endpoint, context, timing }, async (attempts) => {
        onAttempt?.();
        try {
          return read(endpoint, await attempt(), attempts);
        } catch (error) {
          mayHaveTakenEffect ||= error instanceof Failure && error.facts.sideEffect === "unknown";
          throw error;
        }
      });
    } catch (error) {
      if (context.signal.aborted) throw cancelled(endpoint, key, sent);
      throw error instanceof Failure ? finalFailure(endpoint, error, key, mayHaveTakenEffect) : error;
    }
  }

  /** One operation that changes nothing. */
  const call = async <S extends z.ZodType>(endpoint: JsonEndpoint<S>, request: CallRequest, context: CallContext) =>
    await send(endpoint, encodeRequest(endpoint, request), undefined, context);

  return { call, send, authorized, baseUrl, transport, timing };
}
