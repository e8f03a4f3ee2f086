// One call to the service: encode once, send, retry what is safe to retry, decode, or say exactly what failed.
import type * as z from "zod/v4";
import { type Endpoint, type JsonEndpoint, scopesToRequest } from "../contract/endpoints/endpoint.ts";
import { Failure } from "../failure.ts";
import { ATTEMPT_LIMIT_MS, type CallContext, type Timing, timeLeftMs, waitBeforeRetry } from "./attempts.ts";
import { ContractViolation, checkAgainst, type Decoded, parseJson } from "./decode.ts";
import { type CallRequest, encodeRequest } from "./encode.ts";
import { readRefusal, refusalFacts } from "./problems.ts";
import { AnswerTooLarge, type Transport, TransportError, type WireAnswer, type WireRequest } from "./transport.ts";

/** Where Bearer tokens come from; src/auth/ has one. */
export interface TokenSource {
  /** A token for exactly these scopes. Throws Failure. */
  get(scopes: readonly string[], context: CallContext): Promise<string>;
  /** The service refused this token: never hand it out again. */
  discard(scopes: readonly string[], token: string): void;
}

export interface ServiceOptions {
  /** The contract's {base_url}. Throws Failure `not_configured` when there is none. */
  readonly baseUrl: () => string;
  readonly tokens: TokenSource;
  readonly transport: Transport;
  readonly timing: Timing;
}

export interface Answer<T> extends Decoded<T> {
  /** Requests sent, token renewals not counted. */
  readonly attempts: number;
  /** The service said that this is the stored answer of an earlier request with the same key. */
  readonly replayed: boolean;
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export const isAction = (endpoint: Endpoint): boolean => endpoint.method === "POST";

// 409 with `retryable`: the same key is still being worked on (IETF Idempotency-Key draft).
const isPassing = (endpoint: Endpoint, { facts }: Failure): boolean =>
  facts.kind === "upstream_unavailable" ||
  facts.kind === "rate_limited" ||
  (isAction(endpoint) && facts.status === 409 && facts.retryable);

export function transportFailure(endpoint: Endpoint, error: TransportError): Failure {
  return new Failure(
    {
      kind: error.timedOut ? "timeout" : "upstream_unavailable",
      message: `${endpoint.id}: the service could not be reached or the connection broke: ${error.message}.`,
      retryable: true,
      sideEffect: "none",
      next: "Try again in a little while; check MIC_BASE_URL if it never works.",
    },
    { cause: error },
  );
}

export function violation(endpoint: Endpoint, reason: string, key?: string): Failure {
  const done = isAction(endpoint);
  return new Failure({
    kind: "contract_violation",
    message: `The service's answer to ${endpoint.id} breaks its contract: ${reason}.`,
    retryable: false,
    sideEffect: done ? "done" : "none",
    ...(key !== undefined && { idempotencyKey: key }),
    next: done
      ? "The action was accepted: do not repeat it under a new key; read its result with the get and list tools."
      : "This is a fault of the service: report it to its operator.",
  });
}

/** The last word on a failed call, given whether an earlier attempt may have taken effect. */
function conclude(endpoint: Endpoint, failure: Failure, key: string | undefined, lost: boolean): Failure {
  const keyed = key === undefined ? failure : failure.with({ idempotencyKey: key });
  if (!isAction(endpoint) || !lost) return keyed;
  if (isPassing(endpoint, failure) || failure.facts.kind === "timeout")
    return keyed.with({
      kind: "outcome_unknown",
      message: `${failure.message} The action may or may not have taken effect.`,
      retryable: true,
      sideEffect: "unknown",
      next: `Repeat the same call with idempotencyKey ${JSON.stringify(key)}: that resumes this action and cannot make it happen twice.`,
    });
  // A service that kept the key would have replayed the first answer; on these two it may be the first attempt's own effect.
  const ambiguous = failure.facts.status === 409 || failure.facts.status === 412;
  return ambiguous ? keyed.with({ sideEffect: "unknown" }) : keyed;
}

export type Service = ReturnType<typeof createService>;

export function createService({ baseUrl, tokens, transport, timing }: ServiceOptions) {
  /** Sends with a token of the endpoint's scopes; a refused token is renewed once and the same bytes are sent again. */
  async function authorized<A extends { status: number }>(
    endpoint: Endpoint,
    wire: WireRequest,
    context: CallContext,
    send: (wire: WireRequest) => Promise<A>,
  ): Promise<A> {
    const scopes = scopesToRequest(endpoint);
    if (scopes.length === 0) return await send(wire);
    const withToken = (token: string): WireRequest => ({
      ...wire,
      headers: { ...wire.headers, authorization: `Bearer ${token}` },
    });
    const token = await tokens.get(scopes, context);
    const answer = await send(withToken(token));
    if (answer.status !== 401) return answer;
    tokens.discard(scopes, token);
    const renewed = await tokens.get(scopes, context);
    const second = await send(withToken(renewed));
    if (second.status === 401) tokens.discard(scopes, renewed);
    return second;
  }

  function refusal(endpoint: Endpoint, answer: WireAnswer): Failure {
    if (answer.status >= 400)
      return new Failure(refusalFacts(endpoint, answer, readRefusal(endpoint, answer), timing.now()));
    const what = answer.status >= 300 ? "a redirect, which is not followed" : `not ${endpoint.success.status}`;
    return violation(endpoint, `HTTP status ${answer.status} is ${what}`);
  }

  /** One operation with a JSON answer. Throws Failure, whose `sideEffect` is true for the whole call. */
  async function call<S extends z.ZodType>(
    endpoint: JsonEndpoint<S>,
    request: CallRequest,
    context: CallContext,
  ): Promise<Answer<z.output<S>>> {
    const wire = encodeRequest(baseUrl(), endpoint, request);
    const key = request.idempotencyKey;
    let sent = false;
    let lost = false;

    async function attempt(): Promise<WireAnswer | Failure> {
      try {
        const answer = await authorized(endpoint, wire, context, (authorizedWire) => {
          sent = true;
          const timeoutMs = Math.max(1, Math.min(ATTEMPT_LIMIT_MS, timeLeftMs(context, timing)));
          return transport.exchange(authorizedWire, { maxBytes: MAX_ANSWER_BYTES, timeoutMs, signal: context.signal });
        });
        lost ||= answer.status >= 500;
        return answer;
      } catch (error) {
        if (error instanceof Failure) return error;
        if (error instanceof AnswerTooLarge) throw violation(endpoint, error.message, key);
        if (!(error instanceof TransportError)) throw error;
        lost ||= error.sent;
        return transportFailure(endpoint, error);
      }
    }

    try {
      for (let attempts = 1; ; attempts++) {
        const answer = await attempt();
        if (!(answer instanceof Failure) && answer.status === endpoint.success.status) {
          const replayed = answer.headers["idempotent-replayed"] === "true";
          return { ...checkAgainst(endpoint.success.body, parseJson(answer.body)), attempts, replayed };
        }
        const failure = answer instanceof Failure ? answer : refusal(endpoint, answer);
        const again = isPassing(endpoint, failure) || failure.facts.kind === "timeout";
        if (!again || !(await waitBeforeRetry(attempts, failure, context, timing)))
          throw conclude(endpoint, failure, key, lost);
      }
    } catch (error) {
      if (error instanceof ContractViolation) throw violation(endpoint, error.message, key);
      if (context.signal.aborted) throw cancelled(endpoint, key, sent);
      throw error;
    }
  }

  return { call, authorized, refusal, baseUrl, transport, timing };
}

export function cancelled(endpoint: Endpoint, key: string | undefined, sent: boolean): Failure {
  const unknown = isAction(endpoint) && sent;
  return new Failure({
    kind: "cancelled",
    message: `The call was cancelled by the client.${unknown ? " The action may or may not have taken effect." : ""}`,
    retryable: true,
    sideEffect: unknown ? "unknown" : "none",
    ...(key !== undefined && { idempotencyKey: key }),
    ...(unknown && {
      next: `To learn what happened, repeat the same call with idempotencyKey ${JSON.stringify(key)}.`,
    }),
  });
}
