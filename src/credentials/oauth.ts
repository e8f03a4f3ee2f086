// Builds requests to the token endpoint and parses responses (docs/contract.md, 5; src/contract/open-questions.md, 25 and 26).
import * as z from "zod/v4";
import {
  CHECK_BASE_URL_ADVICE,
  describeRedirect,
  HTML_PAGE,
  isPageInsteadOfJson,
  jsonErrorOf,
  parseRetryAfter,
} from "../api-client/classify.ts";
import { ContractViolation, validateBody } from "../api-client/decode.ts";
import { toWireTarget } from "../api-client/encode.ts";
import { InvalidJson, parseJson } from "../api-client/parse-json.ts";
import { callAgainAdvice, waitAdvice } from "../api-client/refusal-advice.ts";
import type { WireRequest, WireResponse } from "../api-client/transport.ts";
import { TOKEN_PATH } from "../contract/endpoints/endpoint.ts";
import { Failure, type FailureKind } from "../core/failure.ts";
import { ask, join, type Part, quoted, raw, say, type Text } from "../core/text.ts";

export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface Token {
  readonly value: string;
  /** Lifetime that the response states; the contract does not promise one. */
  readonly expiresInSeconds?: number;
}

/** How the header contains the id and the secret: form-encoded as RFC 6749, 2.3.1, requires, or raw as many servers expect. */
export type BasicForm = "encoded" | "raw";

/** The encoded form preserves every character and does not change unreserved ones. */
export function basicHeader({ clientId, clientSecret }: ClientCredentials, form: BasicForm = "encoded"): string {
  const encodePart = form === "encoded" ? encodeURIComponent : (part: string): string => part;
  return `Basic ${Buffer.from(`${encodePart(clientId)}:${encodePart(clientSecret)}`).toString("base64")}`;
}

/** In the order to try; one if both are equal. An id with a colon is only sent encoded: raw, it would end at the colon (RFC 7617, 2). */
export const basicForms = (credentials: ClientCredentials): readonly [BasicForm, ...BasicForm[]] =>
  basicHeader(credentials) === basicHeader(credentials, "raw") || credentials.clientId.includes(":")
    ? ["encoded"]
    : ["encoded", "raw"];

export function tokenRequest(
  baseUrl: string,
  credentials: ClientCredentials,
  basicForm: BasicForm,
  scopes: readonly string[],
): WireRequest {
  const form = new URLSearchParams({ grant_type: "client_credentials", scope: scopes.join(" ") });
  return {
    method: "POST",
    ...toWireTarget(baseUrl, TOKEN_PATH),
    headers: {
      accept: "application/json",
      "accept-encoding": "identity",
      authorization: basicHeader(credentials, basicForm),
      "content-type": "application/x-www-form-urlencoded",
    },
    body: Buffer.from(form.toString()),
  };
}

/** A token that an Authorization header can contain. */
export const accessToken = z.string().regex(/^[\x21-\x7e]+$/, { error: "must be visible ASCII characters" });

// The contract promises only access_token. A lifetime that is not valid is ignored. A token of another type than Bearer must not be sent
// (RFC 6749, 7.1).
const TokenResponse = z.looseObject({
  access_token: accessToken,
  token_type: z.union([z.literal(""), z.string().regex(/^bearer$/i, { error: "must be Bearer" })]).nullish(),
  expires_in: z
    .union([z.int().positive(), z.string().regex(/^[1-9]\d{0,9}$/)])
    .transform(Number)
    .optional()
    .catch(undefined),
});

const OAuthError = z.looseObject({ error: z.string().max(100), error_description: z.string().optional() });

/** Statuses and codes of a request that did not reach a token endpoint of this form: MIC_BASE_URL is wrong, not the credentials. */
const WRONG_PLACE: ReadonlySet<number | string> = new Set([
  404,
  405,
  410,
  415,
  "invalid_request",
  "unsupported_grant_type",
]);

/** Maps an error of the token endpoint to a failure kind (RFC 6749, 5.2). Some servers return an error with the status 200. */
function toFailureKind(status: number, code = ""): FailureKind {
  if (status === 429) return "rate_limited";
  if (status >= 500) return "upstream_unavailable";
  if (code === "invalid_scope" || status === 403) return "forbidden";
  if (/^(invalid|unauthorized)_client$/.test(code)) return "unauthorized";
  return status >= 400 && !WRONG_PLACE.has(status) && !WRONG_PLACE.has(code) ? "unauthorized" : "contract_violation";
}

const CHECK_API_URL_ADVICE = say`${ask("Check")} MIC_BASE_URL: it must be the URL of the API itself, without /sandbox at its end.`;

function nextStep(kind: FailureKind, waitSeconds: number | undefined, isPage: boolean): Text {
  if (isPage && (kind === "forbidden" || kind === "unauthorized")) return CHECK_BASE_URL_ADVICE;
  switch (kind) {
    case "forbidden":
      return say`${ask("Ask")} the application's owner for this scope.`;
    case "unauthorized":
      return say`${ask("Correct")} the client id and secret: mic-mcp login, or MIC_CLIENT_ID and MIC_CLIENT_SECRET (or MIC_CLIENT_SECRET_FILE or _COMMAND).`;
    case "contract_violation":
      return CHECK_API_URL_ADVICE;
    default:
      return waitSeconds === undefined ? callAgainAdvice() : waitAdvice(waitSeconds);
  }
}

/** Returns the error of an RFC 6749 error response, or undefined if the response is not one. */
function readError(answer: WireResponse): { code: string; description?: string } | undefined {
  try {
    const parsed = OAuthError.safeParse(parseJson(answer.body).value);
    if (!parsed.success) return undefined;
    const { error: code, error_description: description } = parsed.data;
    return { code, description };
  } catch {
    return undefined;
  }
}

/** Whether the endpoint rejected the client's credentials; RFC 6749, 5.2, allows 401 and 400, and some servers send 200. */
export const isClientRefused = (answer: WireResponse): boolean =>
  answer.status === 401 || (answer.status <= 400 && readError(answer)?.code === "invalid_client");

function failureFromResponse(answer: WireResponse, scopes: readonly string[]): Failure {
  const { code, description } = readError(answer) ?? {};
  const details = join([code || undefined, description ? quoted(description, 200) : undefined]);
  const kind = toFailureKind(answer.status, code);
  const waitSeconds = parseRetryAfter(answer.headers, Date.now());
  const isPage = isPageInsteadOfJson(answer);
  const isRedirect = answer.status >= 300 && answer.status < 400;
  const what = join([isRedirect && describeRedirect(answer), isPage && HTML_PAGE], ", ");
  return new Failure({
    kind,
    at: "token endpoint",
    message: say`No access token for scope ${quoted(scopes.join(" "))}: the token endpoint answered HTTP ${answer.status}${what.length > 0 && say`, ${what}`}${details.length > 0 && say`: ${details}`}.`,
    status: answer.status,
    retryable: kind === "rate_limited" || kind === "upstream_unavailable",
    sideEffect: "none",
    code,
    retryAfterSeconds: waitSeconds,
    next: nextStep(kind, waitSeconds, isPage),
  });
}

export const invalidTokenResponse = (reason: Text | Part, next = CHECK_API_URL_ADVICE): Failure =>
  new Failure({
    kind: "contract_violation",
    at: "token endpoint",
    message: say`The token endpoint's answer holds no token that can be sent: ${reason}.`,
    retryable: false,
    sideEffect: "none",
    next,
  });

/** Throws Failure: `contract_violation` for a success without a valid token, otherwise the kind that matches the error. */
export function parseTokenResponse(answer: WireResponse, scopes: readonly string[]): Token {
  if (answer.status < 200 || answer.status > 299 || readError(answer)) throw failureFromResponse(answer, scopes);
  try {
    // The original body is validated, then parsed: a lifetime in digits becomes a number, and one that is not valid is omitted.
    const { access_token, expires_in } = TokenResponse.parse(validateBody(TokenResponse, parseJson(answer.body)).value);
    return { value: access_token, expiresInSeconds: expires_in };
  } catch (error) {
    if (error instanceof InvalidJson)
      throw invalidTokenResponse(jsonErrorOf(answer) ?? raw(error.message), CHECK_BASE_URL_ADVICE);
    throw error instanceof ContractViolation ? invalidTokenResponse(raw(error.message)) : error;
  }
}
