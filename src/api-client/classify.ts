// This module classifies a response, or the lack of one: the facts of the failure, whether to send again, and whether anything changed.
import * as z from "zod/v4";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { isJsonObject } from "../contract/json.ts";
import { PlaygroundError } from "../contract/playground.ts";
import { FieldError, MAX_FIELD_ERRORS } from "../contract/problem.ts";
import { chars } from "../contract/scalars.ts";
import { abortFailure, errorMessage, Failure, type FailureFacts, type FailureKind } from "../core/failure.ts";
import { ask, join, own, type Part, quoted, raw, say, type Text } from "../core/text.ts";
import { excerpt } from "../core/untrusted-text.ts";
import { contentCodingOf } from "./content-codings.ts";
import type { OtherResource } from "./decode.ts";
import type { EncodedRequest } from "./encode.ts";
import { type InvalidJson, parseJson } from "./parse-json.ts";
import { callAgainAdvice, refusalAdvice } from "./refusal-advice.ts";
import { ResponseTooLarge, type TransportError, type WireResponse } from "./transport.ts";

// A response that may come from a proxy, a gateway or a sign-in page instead of the API proves nothing.

export const CHECK_BASE_URL_ADVICE = say`${ask("Check")} MIC_BASE_URL: something in between (a proxy, a sign-in page) may have answered instead of the API.`;

export const HTML_PAGE = say`an HTML page instead of JSON`;
export const HTML_TYPE = /^(text\/html|application\/xhtml)/i;
const HTML_BODY = /^\s*(<!doctype html|<html|<head|<body)/i;

const isHtmlPage = ({ headers, body }: WireResponse): boolean =>
  HTML_TYPE.test(headers["content-type"] ?? "") || HTML_BODY.test(body.toString("latin1", 0, 200));

function describeInvalidJson(response: WireResponse, error: unknown): Text {
  const coding = contentCodingOf(response);
  if (coding !== undefined) return say`its content coding ${coding} was not requested and cannot be decoded`;
  return isHtmlPage(response) ? HTML_PAGE : [raw(errorMessage(error))];
}

/** Returns the body as JSON, or the reason why it is not JSON. */
function tryParseJson(response: WireResponse): { readonly value?: unknown; readonly reason?: Text } {
  try {
    return { value: parseJson(response.body).value };
  } catch (error) {
    return { reason: describeInvalidJson(response, error) };
  }
}

/** Returns the reason why a body is not JSON; undefined if it is any JSON value. */
export const jsonErrorOf = (response: WireResponse): Text | undefined => tryParseJson(response).reason;

/** Whether the body is an HTML page instead of JSON. */
export const isPageInsteadOfJson = (response: WireResponse): boolean =>
  isHtmlPage(response) && contentCodingOf(response) === undefined && jsonErrorOf(response) !== undefined;

/** The envelope of every successful action (docs/contract.md, 2.2). No other sender writes it by chance. */
const Envelope = z.object({ data: z.looseObject({}), meta: z.object({ requestId: z.string() }) });

const isEnvelope = (response: WireResponse): boolean => Envelope.safeParse(tryParseJson(response).value).success;

const AcceptedEnvelope = Envelope.extend({ data: z.looseObject({ id: chars(1, 128) }) });

/** Returns the answer to an action that names what the action created, even if it breaks the contract otherwise. */
export const parseAccepted = (response: WireResponse): object | undefined =>
  AcceptedEnvelope.loose().safeParse(tryParseJson(response).value).data;

// An error body is a bare or wrapped Problem, the playground's {status}, or anything else (open question 2).

const WRAPPERS = ["error", "problem", "failure", "data"];
const MAX_QUOTED = 300;

const excerptOf = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? excerpt(value, MAX_QUOTED) : undefined;

function fieldErrorsOf(value: unknown): readonly FieldError[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, MAX_FIELD_ERRORS).flatMap((item) => {
    const { data } = FieldError.safeParse(item);
    return data ? [data] : [];
  });
}

/** Returns the contents of an error body, each of which may be missing; undefined if it has neither a code nor a title. */
function parseRefusal(body: unknown) {
  if (!isJsonObject(body)) return undefined;
  const code = excerptOf(body["code"]);
  // RFC 9457 calls the longer text "detail".
  const title = excerptOf(body["title"]) ?? excerptOf(body["detail"]) ?? excerptOf(body["message"]);
  if (code === undefined && title === undefined) return undefined;
  const { requestId, retryable, fieldErrors } = body;
  return {
    title,
    code,
    requestId: excerptOf(requestId),
    retryable: typeof retryable === "boolean" ? retryable : undefined,
    fieldErrors: fieldErrorsOf(fieldErrors),
  };
}

type RefusalBody = Partial<NonNullable<ReturnType<typeof parseRefusal>>>;

function readRefusal(endpoint: Endpoint, response: WireResponse): RefusalBody {
  const body = tryParseJson(response).value;
  if (endpoint.api === "playground") {
    const { data } = PlaygroundError.safeParse(body);
    if (data) return { code: data.status };
  }
  const wrapped = isJsonObject(body) ? WRAPPERS.map((name) => body[name]) : [];
  return [body, ...wrapped].map(parseRefusal).find((refusal) => refusal !== undefined) ?? {};
}

const KIND_BY_STATUS: Readonly<Record<number, FailureKind>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  408: "upstream_unavailable",
  409: "conflict",
  412: "precondition_failed",
  428: "precondition_failed",
  429: "rate_limited",
};

function failureKindOf(endpoint: Endpoint, status: number, refusal: RefusalBody): FailureKind {
  // The playground preserves the upstream's HTTP status, whatever it is (docs/contract.md, 7.1). A 404 for a state's districts means
  // that the upstream does not have the state, so a retry would get the same answer.
  const isUnknownState = endpoint.id === "listPlaygroundDistricts" && status === 404;
  if ((refusal.code === "PLAYGROUND_UPSTREAM_UNAVAILABLE" && !isUnknownState) || status >= 500)
    return "upstream_unavailable";
  return KIND_BY_STATUS[status] ?? "rejected";
}

// The three forms of an HTTP date (RFC 9110, 5.6.7). Date.parse without this check accepts many other texts.
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d\d:\d\d:\d\d/;

/** Returns milliseconds since 1970; NaN if the text is not an HTTP date. */
const parseHttpDate = (text: string): number => (HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN);

/** Returns the time of a response by the API's clock, in milliseconds since 1970; undefined without a valid Date header. */
export function responseDate({ date = "" }: Readonly<Record<string, string>>): number | undefined {
  const at = parseHttpDate(date);
  return Number.isNaN(at) ? undefined : at;
}

/** Returns the seconds of a Retry-After header (a number, rounded up, or an HTTP date), at least 1; undefined if it is missing or invalid. */
export function parseRetryAfter(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const text = headers["retry-after"]?.trim() ?? "";
  const stated = /^\d+(\.\d+)?$/.test(text) ? Math.ceil(Number(text)) : Math.ceil((parseHttpDate(text) - now) / 1000);
  return Number.isNaN(stated) ? undefined : Math.min(Math.max(1, stated), Number.MAX_SAFE_INTEGER);
}

/** Returns the facts of a rejection by the API. `message` quotes the API's texts as data. */
function refusalFacts(endpoint: Endpoint, response: WireResponse, now: number): FailureFacts {
  const refusal = readRefusal(endpoint, response);
  const kind = failureKindOf(endpoint, response.status, refusal);
  const waitSeconds = parseRetryAfter(response.headers, now);
  const requestId = refusal.requestId ?? response.headers["x-request-id"];
  const problem = join([refusal.code || undefined, refusal.title ? quoted(refusal.title) : undefined]);
  const facts: FailureFacts = {
    kind,
    message: say`The API answered HTTP ${response.status}${problem.length > 0 && say`: ${problem}`}.`,
    status: response.status,
    retryable: refusal.retryable ?? (kind === "rate_limited" || kind === "upstream_unavailable"),
    sideEffect: "none",
    ...(refusal.code !== undefined && { code: refusal.code }),
    ...(requestId !== undefined && { requestId: excerpt(requestId, 128) }),
    retryAfterSeconds: waitSeconds,
    ...(refusal.fieldErrors?.length && { fieldErrors: refusal.fieldErrors }),
  };
  return { ...facts, next: refusalAdvice(endpoint, facts, refusal.title, now) };
}

export const isAction = (endpoint: Endpoint): boolean => endpoint.method === "POST";

// A 5xx to a POST may or may not be a stored response. The contract does not state whether the API stores one under the key, as Stripe
// does. It also does not show whether the API or a gateway wrote it, or whether anything was executed before it. The same holds for 408,
// and for a 4xx that is not the API's own Problem. So they count as lost responses.
//
// Sending the same bytes again under the same key is always safe. A stored response is returned again and changes nothing; otherwise the
// API executes the request now or returns its true response. It is not safe to assume that nothing happened.

/** Gateways send these before they forward a request. Without a Problem, they prove that this attempt changed nothing. */
const NOT_FORWARDED: ReadonlySet<number> = new Set([401, 407, 413, 414, 429, 431]);
/** With a Problem, they reject the bytes themselves, which are the same in each attempt: so no attempt took effect. */
const REJECTS_THE_BYTES: ReadonlySet<number> = new Set([400, 415]);
const REQUEST_TIMEOUT = 408;

/**
 * Whether a request may have taken effect after this error response. `before`: whether an earlier attempt with the same key may have. An
 * API that checks the state before the key may answer 404, 410 or 422 because of the first execution, so these do not change `before`.
 */
export function mayHaveTakenEffectAfter(endpoint: Endpoint, response: WireResponse, before: boolean): boolean {
  const { status } = response;
  if (!isAction(endpoint) || status < 400) return before;
  if (status >= 500 || status === REQUEST_TIMEOUT) return true;
  const { code, requestId } = readRefusal(endpoint, response);
  if (code === undefined || requestId === undefined) return before || !NOT_FORWARDED.has(status);
  return before && !REJECTS_THE_BYTES.has(status);
}

const TRANSIENT: ReadonlySet<FailureKind> = new Set(["upstream_unavailable", "rate_limited", "timeout"]);

/** True if the same request may succeed a little later. */
export const isTransient = (endpoint: Endpoint, { facts }: Failure): boolean =>
  TRANSIENT.has(facts.kind) ||
  // The API still processes the key (IETF Idempotency-Key draft, 2.7), or its response counts as lost. An unknown outcome that has a
  // status has the contract's: the API has answered, and would answer the same at once.
  (isAction(endpoint) &&
    facts.retryable &&
    (facts.status === 409 || (facts.kind === "outcome_unknown" && facts.status === undefined)));

export function transportFailure(error: TransportError): Failure {
  return new Failure(
    {
      kind: error.timedOut ? "timeout" : "upstream_unavailable",
      at: error.sent || error.timedOut ? undefined : "connection",
      message: say`The API could not be reached or the connection broke: ${raw(error.message)}.`,
      retryable: true,
      sideEffect: "none",
      next: callAgainAdvice(1, error.setting),
    },
    { cause: error },
  );
}

const MAY_HAVE_TAKEN_EFFECT = say`The action may or may not have taken effect.`;

/** Failure for a response that proves nothing. For an action, it counts as a lost response. */
function unverifiedResponseFailure(endpoint: Endpoint, status: number, reason: Text | Part): Failure {
  const expected = endpoint.success.status;
  const message = say`The API's response (HTTP status ${status}${status !== expected && say`, not ${expected}`}) is invalid: ${reason}.`;
  if (!isAction(endpoint))
    return new Failure({
      kind: "contract_violation",
      message,
      retryable: false,
      sideEffect: "none",
      next: CHECK_BASE_URL_ADVICE,
    });
  return new Failure({
    kind: "outcome_unknown",
    // The message contains the advice, because the next step is to repeat the call.
    message: join([message, CHECK_BASE_URL_ADVICE, MAY_HAVE_TAKEN_EFFECT]),
    retryable: true,
    sideEffect: "unknown",
  });
}

/** Failure for a response about another resource than the request. It may belong to another request, so it proves nothing about an action. */
export const otherResourceFailure = (
  endpoint: Endpoint,
  { status }: WireResponse,
  { message }: OtherResource,
): Failure => unverifiedResponseFailure(endpoint, status, raw(message));

const contractViolationFailure = (reason: Text | Part) =>
  new Failure({
    kind: "contract_violation",
    message: say`The API's response breaks its contract: ${reason}.`,
    retryable: false,
    sideEffect: "none",
    next: say`${ask("Report")} this to the operator of the API: the answer breaks the API's contract.`,
  });

/** Failure for a file whose bytes are not the original ones, because something in between has encoded them. */
export const codedFileFailure = (coding = ""): Failure =>
  contractViolationFailure(say`the file has the content coding ${coding}, which was not requested`).with({
    next: CHECK_BASE_URL_ADVICE,
  });

/** Failure for a response with the success status whose body is not JSON, cannot be decoded, or is too expensive to parse. */
export function invalidJsonFailure(endpoint: Endpoint, response: WireResponse, error: InvalidJson): Failure {
  const failure = unverifiedResponseFailure(endpoint, response.status, describeInvalidJson(response, error));
  return contentCodingOf(response) === undefined ? failure : failure.with({ status: response.status });
}

/** Only the contract's envelope proves that an action took effect. */
export function bodyViolationFailure(endpoint: Endpoint, response: WireResponse, reason: string): Failure {
  if (!isAction(endpoint)) return contractViolationFailure(raw(reason));
  if (!isEnvelope(response))
    return unverifiedResponseFailure(endpoint, response.status, own("it has no data or no meta.requestId"));
  return contractViolationFailure(raw(reason)).with({
    sideEffect: "done",
    next: say`Do not repeat it under a new key: it was accepted. Read its result with the get and list tools.`,
  });
}

/** Whether a page is too large. The calling code replaces the advice if its own `limit` is not that of the page. */
export const isTooLarge = ({ cause }: Failure): boolean => cause instanceof ResponseTooLarge;

/** Failure for a response of more than 16 MiB. In the contract, only pages of many failed jobs can be so large (open question 20). */
export function tooLargeFailure(endpoint: Endpoint, { path }: EncodedRequest, error: ResponseTooLarge): Failure {
  const reason = raw(error.message);
  if (isAction(endpoint)) return unverifiedResponseFailure(endpoint, error.response.status, reason);
  const isPagedResponse =
    "limit" in endpoint.query.shape && new URLSearchParams(path.split("?")[1]).get("limit") !== "1";
  if (!isPagedResponse) return contractViolationFailure(reason);
  const { facts } = contractViolationFailure(reason);
  const page = say`The API's response is too large to be read: ${reason}.`;
  return new Failure({ ...facts, message: page, next: say`Call again with a smaller limit.` }, { cause: error });
}

const SAME_HOST = "http://same-host.invalid";

/** Describes where a redirect points: only the scheme and the host, because the rest may contain secrets. */
export function describeRedirect({ headers: { location } }: Pick<WireResponse, "headers">): Text {
  const url = location !== undefined && URL.canParse(location, SAME_HOST) ? new URL(location, SAME_HOST) : undefined;
  if (url === undefined || url.host === "") return say`a redirect`;
  if (url.origin === SAME_HOST) return say`a redirect to another path of the same host`;
  return say`a redirect to ${`${url.protocol}//${url.host}`}`;
}

/** Redirects that ask to send the same request again, so that it was not executed (RFC 9110, 15.4.8 and 15.4.9). */
const NOT_EXECUTED: ReadonlySet<number> = new Set([307, 308]);

/** Failure for a response with another status than the contract's success status. */
export function refusalFailure(endpoint: Endpoint, response: WireResponse, now: number): Failure {
  const { status } = response;
  if (status >= 400) return new Failure(refusalFacts(endpoint, response, now));
  const stated = say`HTTP status ${status}`;
  if (status < 300) {
    const jsonError = jsonErrorOf(response) ?? (isAction(endpoint) ? say`the contract has no such answer` : undefined);
    if (jsonError !== undefined) return unverifiedResponseFailure(endpoint, status, jsonError);
    return contractViolationFailure(say`${stated} is not ${endpoint.success.status}`);
  }
  const sender = own(endpoint.success.body === "binary" ? "downloads" : "requests");
  return contractViolationFailure(say`${stated} is ${describeRedirect(response)}, and ${sender} follow none`).with({
    sideEffect: isAction(endpoint) && !NOT_EXECUTED.has(status) ? "unknown" : "none",
    next: say`${ask("Check")} that MIC_BASE_URL points at the API itself.`,
  });
}

/** Failure of a call whose signal was aborted. `sent`: an attempt, in this call or an earlier one, may have reached the API. */
export function cancelledFailure(
  endpoint: Endpoint,
  key: string | undefined,
  sent: boolean,
  signal: AbortSignal,
): Failure {
  const failure = abortFailure(signal).with({ idempotencyKey: key });
  if (!isAction(endpoint) || !sent) return failure;
  return failure.with({ message: join([failure.facts.message, MAY_HAVE_TAKEN_EFFECT]), sideEffect: "unknown" });
}

/**
 * Returns the final failure of a call. `mayHaveTakenEffect`: an attempt, in this call or an earlier one, may have taken effect
 * unnoticed. Each later call then sends the action again under the same key until it is too old (src/actions/action-failures.ts).
 */
export function finalFailure(
  endpoint: Endpoint,
  failure: Failure,
  key: string | undefined,
  mayHaveTakenEffect: boolean,
): Failure {
  const keyed = key === undefined ? failure : failure.with({ idempotencyKey: key });
  if (!isAction(endpoint) || !mayHaveTakenEffect || failure.facts.sideEffect !== "none") return keyed;
  if (!isTransient(endpoint, failure))
    return keyed.with({
      message: say`${failure.facts.message} An attempt may have taken effect.`,
      sideEffect: "unknown",
    });
  return keyed.with({
    kind: "outcome_unknown",
    message: join([failure.facts.message, MAY_HAVE_TAKEN_EFFECT]),
    retryable: true,
    sideEffect: "unknown",
  });
}
