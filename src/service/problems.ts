// Reading an error answer: a Problem bare or wrapped, the playground's {status}, or anything else at all (doubt 2).
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { isJsonObject } from "../contract/json.ts";
import { PlaygroundError } from "../contract/playground.ts";
import { FieldError } from "../contract/problem.ts";
import { excerpt } from "../excerpt.ts";
import type { FailureFacts, FailureKind } from "../failure.ts";
import { quote, word } from "../outside.ts";
import { parseJson } from "./decode.ts";
import { refusalAdvice } from "./refusal-advice.ts";
import type { WireAnswer } from "./transport.ts";

/** What an error body said; every part may be missing. */
export interface RefusalBody {
  readonly title?: string;
  readonly code?: string;
  readonly requestId?: string;
  readonly retryable?: boolean;
  readonly fieldErrors?: readonly FieldError[];
}

const WRAPPERS = ["error", "problem", "failure", "data"];
const MAX_QUOTED = 300;

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? excerpt(value, MAX_QUOTED) : undefined;

function fieldErrorsOf(value: unknown): readonly FieldError[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item) => {
    const parsed = FieldError.safeParse(item);
    return parsed.success ? [parsed.data] : [];
  });
}

function refusalOf(body: unknown): RefusalBody | undefined {
  if (!isJsonObject(body)) return undefined;
  const code = textOf(body["code"]);
  // RFC 9457 calls the longer text "detail"; OAuth-style gateways answer {error, error_description}.
  const title = textOf(body["title"]) ?? textOf(body["detail"]) ?? textOf(body["message"]);
  if (code === undefined && title === undefined) return undefined;
  const requestId = textOf(body["requestId"]);
  const fieldErrors = fieldErrorsOf(body["fieldErrors"]);
  return {
    ...(title !== undefined && { title }),
    ...(code !== undefined && { code }),
    ...(requestId !== undefined && { requestId }),
    ...(typeof body["retryable"] === "boolean" && { retryable: body["retryable"] }),
    ...(fieldErrors.length > 0 && { fieldErrors }),
  };
}

function readBody(answer: WireAnswer): unknown {
  try {
    return parseJson(answer.body);
  } catch {
    return undefined;
  }
}

export function readRefusal(endpoint: Endpoint, answer: WireAnswer): RefusalBody {
  const body = readBody(answer);
  if (endpoint.api === "playground") {
    const parsed = PlaygroundError.safeParse(body);
    if (parsed.success) return { code: parsed.data.status };
  }
  const bare = refusalOf(body);
  if (bare) return bare;
  if (!isJsonObject(body)) return {};
  for (const name of WRAPPERS) {
    const wrapped = refusalOf(body[name]);
    if (wrapped) return wrapped;
  }
  return {};
}

const KINDS: Readonly<Record<number, FailureKind>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  408: "upstream_unavailable",
  409: "conflict",
  412: "precondition_failed",
  428: "precondition_failed",
  429: "rate_limited",
};

export function kindOf(status: number, refusal: RefusalBody): FailureKind {
  // The playground keeps the upstream's HTTP status, whatever it is (section 7.1).
  if (refusal.code === "PLAYGROUND_UPSTREAM_UNAVAILABLE" || status >= 500) return "upstream_unavailable";
  return KINDS[status] ?? "rejected";
}

// The three forms of an HTTP date (RFC 9110, 5.6.7); Date.parse alone would read a date into almost anything.
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d\d:\d\d:\d\d/;

/** All answers of a second have the same. */
let latest: { readonly date: string; readonly at: number | undefined } = { date: "", at: undefined };

/** When an answer was made, by the service's own clock; undefined where it does not say. */
export function dateOf({ date = "" }: Readonly<Record<string, string>>): number | undefined {
  if (date === latest.date) return latest.at;
  const at = HTTP_DATE.test(date) ? Date.parse(date) : Number.NaN;
  latest = { date, at: Number.isNaN(at) ? undefined : at };
  return latest.at;
}

/** Seconds of a Retry-After header: an integer or an HTTP date. At least 1; undefined when there is none or it is nonsense. */
export function retryAfterSeconds(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const text = headers["retry-after"]?.trim() ?? "";
  const stated = /^\d+$/.test(text)
    ? Number(text)
    : HTTP_DATE.test(text)
      ? Math.ceil((Date.parse(text) - now) / 1000)
      : Number.NaN;
  return Number.isNaN(stated) ? undefined : Math.min(Math.max(1, stated), Number.MAX_SAFE_INTEGER);
}

/** What the service's refusal means. `message` quotes the service's words as data. */
export function refusalFacts(endpoint: Endpoint, answer: WireAnswer, refusal: RefusalBody, now: number): FailureFacts {
  const kind = kindOf(answer.status, refusal);
  const waitSeconds = retryAfterSeconds(answer.headers, now);
  const requestId = refusal.requestId ?? answer.headers["x-request-id"];
  const said = [refusal.code && word(refusal.code), refusal.title && quote(refusal.title)].filter(Boolean).join(" ");
  const { code, retryable, fieldErrors = [] } = refusal;
  const next = refusalAdvice({
    endpoint,
    kind,
    status: answer.status,
    code,
    retryable,
    fieldErrors,
    retryAfterSeconds: waitSeconds,
  });
  return {
    kind,
    message: `The service answered ${endpoint.id} with HTTP ${answer.status}${said === "" ? "" : `: ${said}`}.`,
    status: answer.status,
    retryable: refusal.retryable ?? (kind === "rate_limited" || kind === "upstream_unavailable"),
    sideEffect: "none",
    ...(refusal.code !== undefined && { code: refusal.code }),
    ...(requestId !== undefined && { requestId: excerpt(requestId, 128) }),
    ...(waitSeconds !== undefined && { retryAfterSeconds: waitSeconds }),
    ...(refusal.fieldErrors && { fieldErrors: refusal.fieldErrors }),
    next,
  };
}
