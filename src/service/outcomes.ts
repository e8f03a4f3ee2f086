// What a failed call means: may it be tried again, and did the service change anything?
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { Failure, type FailureKind } from "../failure.ts";
import type { EncodedRequest } from "./encode.ts";
import { IN_BETWEEN, isEnvelope, notJson } from "./in-between.ts";
import { readRefusal, refusalFacts } from "./problems.ts";
import type { AnswerTooLarge, TransportError, WireAnswer } from "./transport.ts";

export const isAction = (endpoint: Endpoint): boolean => endpoint.method === "POST";

const TRANSIENT: ReadonlySet<FailureKind> = new Set(["upstream_unavailable", "rate_limited", "timeout"]);

/** The same request may succeed a little later. */
export const isTransient = (endpoint: Endpoint, { facts }: Failure): boolean =>
  TRANSIENT.has(facts.kind) ||
  // The same key is still being worked on (IETF Idempotency-Key draft, 2.7), or its answer is as good as lost.
  (isAction(endpoint) && ((facts.status === 409 && facts.retryable) || facts.kind === "outcome_unknown"));

export function transportFailure(endpoint: Endpoint, error: TransportError): Failure {
  return new Failure(
    {
      kind: error.timedOut ? "timeout" : "upstream_unavailable",
      message: `${endpoint.id}: the service could not be reached or the connection broke: ${error.message}.`,
      retryable: true,
      sideEffect: "none",
      next: "Call again in a minute; if it keeps failing, ask the user to check MIC_BASE_URL.",
    },
    { cause: error },
  );
}

const MAY_HAVE = "The action may or may not have taken effect.";

/** An answer that proves nothing: to an action it is as good as a lost one. */
function unproven(endpoint: Endpoint, status: number, came: string): Failure {
  const expected = endpoint.success.status;
  const stated = `HTTP status ${status}${status === expected ? "" : `, not ${expected}`}`;
  const message = `${endpoint.id} was answered with ${stated}: ${came}.`;
  if (!isAction(endpoint))
    return new Failure({
      kind: "contract_violation",
      message,
      retryable: false,
      sideEffect: "none",
      next: IN_BETWEEN,
    });
  return new Failure({
    kind: "outcome_unknown",
    // What comes next is to repeat the call.
    message: `${message} ${IN_BETWEEN} ${MAY_HAVE}`,
    retryable: true,
    sideEffect: "unknown",
  });
}

const violated = (endpoint: Endpoint, reason: string) =>
  new Failure({
    kind: "contract_violation",
    message: `The service's answer to ${endpoint.id} breaks its contract: ${reason}.`,
    retryable: false,
    sideEffect: "none",
    next: "Ask the user to report this to the service's operator: the answer breaks the API's contract.",
  });

/** An answer with the success's status whose body breaks the contract; only the contract's envelope proves that an action took effect. */
export function violation(endpoint: Endpoint, answer: WireAnswer, reason: string): Failure {
  const isNot = notJson(answer);
  if (isNot !== undefined) return unproven(endpoint, answer.status, isNot);
  if (!isAction(endpoint)) return violated(endpoint, reason);
  if (!isEnvelope(answer)) return unproven(endpoint, answer.status, "it has no data or no meta.requestId");
  return violated(endpoint, reason).with({
    sideEffect: "done",
    next: "The action was accepted: do not repeat it under a new key; read its result with the get and list tools.",
  });
}

/** The advice for a page that is too large. Only the caller knows whether its own `limit` is that of the page. */
export const SMALLER_LIMIT = "Call again with a smaller limit.";

/** Answers are read up to 16 MiB. The contract describes nothing so large, except for pages of many failed jobs (doubt 20). */
export function tooLarge(endpoint: Endpoint, { path }: EncodedRequest, { message, answer }: AnswerTooLarge): Failure {
  if (isAction(endpoint)) return unproven(endpoint, answer.status, message);
  const isPage = "limit" in endpoint.query.shape && new URLSearchParams(path.split("?")[1]).get("limit") !== "1";
  if (!isPage) return violated(endpoint, message);
  const page = `The service's answer to ${endpoint.id} is too large to be read: ${message}.`;
  return violated(endpoint, message).with({ message: page, next: SMALLER_LIMIT });
}

/** An answer with another status than the contract's success. */
export function refusal(endpoint: Endpoint, answer: WireAnswer, now: number): Failure {
  const { status } = answer;
  if (status >= 400) return new Failure(refusalFacts(endpoint, answer, readRefusal(endpoint, answer), now));
  const stated = `HTTP status ${status}`;
  if (status < 300) {
    const isNot = notJson(answer) ?? (isAction(endpoint) ? "the contract has no such answer" : undefined);
    if (isNot !== undefined) return unproven(endpoint, status, isNot);
    return violated(endpoint, `${stated} is not ${endpoint.success.status}`);
  }
  return violated(endpoint, `${stated} is a redirect, which is not followed`).with({
    sideEffect: isAction(endpoint) ? "unknown" : "none",
    next: "Ask the user to check that MIC_BASE_URL points at the service itself.",
  });
}

/** `sent`: some attempt of it, of this call or an earlier one, may have reached the service. */
export function cancelled(endpoint: Endpoint, key: string | undefined, sent: boolean): Failure {
  const unknown = isAction(endpoint) && sent;
  return new Failure({
    kind: "cancelled",
    message: `The call was cancelled by the client.${unknown ? ` ${MAY_HAVE}` : ""}`,
    retryable: true,
    sideEffect: unknown ? "unknown" : "none",
    ...(key !== undefined && { idempotencyKey: key }),
  });
}

// A 5xx to a POST may be a stored answer or not: the contract does not say whether the service keeps one under the key
// (Stripe does), whether it was written by the service or by a gateway before it, and whether anything was done before it.
// So it is treated as a lost answer. Asking again under the same key with the same bytes is always safe: a stored 5xx
// comes again and changes nothing, any other is executed now, or its true answer comes. What is not safe is to take it
// for "nothing happened". An action that gets nothing but 5xx ends as `unknown`: each later call asks again under the
// same key, until it is too old to be asked (src/actions/unknown-outcome.ts).
//
// After a lost answer only these still decide, and only as a Problem, which is the service's own: it has judged these very
// bytes and refused them, and had an earlier attempt been executed, its own answer would have come back under the key.
// Every other refusal may have come before the key was looked at (no token, no permission, a proxy's page), or is what a
// first execution left behind (a conflict, a stale version), and says nothing about it.
const DECIDES: ReadonlySet<FailureKind> = new Set(["rejected", "not_found"]);

/** The last word on a failed call. `lost`: an attempt, of this call or an earlier one, may have taken effect unseen. */
export function finalFailure(endpoint: Endpoint, failure: Failure, key: string | undefined, lost: boolean): Failure {
  const keyed = key === undefined ? failure : failure.with({ idempotencyKey: key });
  if (!isAction(endpoint) || !lost || failure.facts.sideEffect !== "none") return keyed;
  if (isTransient(endpoint, failure))
    return keyed.with({
      kind: "outcome_unknown",
      message: `${failure.message} ${MAY_HAVE}`,
      retryable: true,
      sideEffect: "unknown",
    });
  if (DECIDES.has(failure.facts.kind) && failure.facts.code !== undefined) return keyed;
  return keyed.with({
    message: `${failure.message} An earlier attempt may have taken effect.`,
    sideEffect: "unknown",
  });
}
