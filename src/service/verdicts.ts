// What a call that did not succeed amounts to: may it be tried again, and did the service change anything?
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { Failure, type FailureKind } from "../failure.ts";
import { readRefusal, refusalFacts } from "./problems.ts";
import type { AnswerTooLarge, TransportError, WireAnswer } from "./transport.ts";

export const isAction = (endpoint: Endpoint): boolean => endpoint.method === "POST";

const PASSING: ReadonlySet<FailureKind> = new Set(["upstream_unavailable", "rate_limited", "timeout"]);

/** The same request may succeed a little later. */
export const isPassing = (endpoint: Endpoint, { facts }: Failure): boolean =>
  PASSING.has(facts.kind) ||
  // The same key is still being worked on (IETF Idempotency-Key draft, 2.7).
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

/** A success whose body breaks the contract. */
export function violation(endpoint: Endpoint, reason: string): Failure {
  const done = isAction(endpoint);
  return new Failure({
    kind: "contract_violation",
    message: `The service's answer to ${endpoint.id} breaks its contract: ${reason}.`,
    retryable: false,
    sideEffect: done ? "done" : "none",
    next: done
      ? "The action was accepted: do not repeat it under a new key; read its result with the get and list tools."
      : "This is a fault of the service: report it to its operator.",
  });
}

/** An answer that is too large to be read, though the contract may allow it (doubt 20). */
export function tooLarge(endpoint: Endpoint, { message }: AnswerTooLarge): Failure {
  const action = isAction(endpoint);
  return new Failure({
    kind: action ? "outcome_unknown" : "internal",
    message: `mic-mcp cannot read the service's answer to ${endpoint.id}: ${message}.`,
    retryable: action,
    sideEffect: action ? "unknown" : "none",
    next:
      "limit" in endpoint.query.shape
        ? "Call again with a smaller limit."
        : "Report it to the service's operator: repeating the call will not help.",
  });
}

/** An answer with another status than the contract's success. */
export function refusal(endpoint: Endpoint, answer: WireAnswer, now: number): Failure {
  if (answer.status >= 400) return new Failure(refusalFacts(endpoint, answer, readRefusal(endpoint, answer), now));
  if (answer.status < 300) return violation(endpoint, `HTTP status ${answer.status} is not ${endpoint.success.status}`);
  const redirected = violation(endpoint, `HTTP status ${answer.status} is a redirect, which is not followed`);
  return redirected.with({
    sideEffect: isAction(endpoint) ? "unknown" : "none",
    next: "Check that MIC_BASE_URL points at the service itself.",
  });
}

/** `sent`: some attempt of it, of this call or an earlier one, may have reached the service. */
export function cancelled(endpoint: Endpoint, key: string | undefined, sent: boolean): Failure {
  const unknown = isAction(endpoint) && sent;
  return new Failure({
    kind: "cancelled",
    message: `The call was cancelled by the client.${unknown ? " The action may or may not have taken effect." : ""}`,
    retryable: true,
    sideEffect: unknown ? "unknown" : "none",
    ...(key !== undefined && { idempotencyKey: key }),
  });
}

// A 5xx to a POST may be a stored answer or not: the contract does not say whether the service keeps one under the key
// (Stripe does), whether it was written by the service or by a gateway before it, and whether anything was done before it.
// So it is treated as a lost answer. Asking again under the same key with the same bytes is always safe: a stored 5xx
// comes again and changes nothing, any other is executed now, or its true answer is told. What is not safe is to take it
// for "nothing happened". An action that gets nothing but 5xx ends as `unknown`: each later call asks again under the
// same key, until it is too old to be asked (src/actions/telling.ts).
//
// After a lost answer only these still decide: the service has judged these very bytes and refused them, and had an
// earlier attempt been executed, its own answer would have come back under the key. Every other refusal may have come
// before the key was looked at (no token, no permission), or is what a first execution left behind (a conflict, a stale
// version), and says nothing about it.
const DECIDES: ReadonlySet<FailureKind> = new Set(["rejected", "not_found"]);

/** The last word on a failed call. `lost`: an attempt, of this call or an earlier one, may have taken effect unseen. */
export function conclude(endpoint: Endpoint, failure: Failure, key: string | undefined, lost: boolean): Failure {
  const keyed = key === undefined ? failure : failure.with({ idempotencyKey: key });
  if (!isAction(endpoint) || !lost || failure.facts.sideEffect !== "none") return keyed;
  if (isPassing(endpoint, failure))
    return keyed.with({
      kind: "outcome_unknown",
      message: `${failure.message} The action may or may not have taken effect.`,
      retryable: true,
      sideEffect: "unknown",
    });
  if (DECIDES.has(failure.facts.kind)) return keyed;
  return keyed.with({
    message: `${failure.message} An earlier attempt may have taken effect.`,
    sideEffect: "unknown",
  });
}
