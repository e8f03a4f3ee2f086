// The token endpoint, service.md section 5: client-credentials, HTTP Basic, a minimal answer.
import * as z from "zod/v4";
import { TOKEN_PATH } from "../contract/endpoints/endpoint.ts";
import { excerpt } from "../excerpt.ts";
import { Failure } from "../failure.ts";
import { ContractViolation, checkAgainst, parseJson } from "../service/decode.ts";
import { retryAfterSeconds } from "../service/problems.ts";
import type { WireAnswer, WireRequest } from "../service/transport.ts";

export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface Token {
  readonly value: string;
  /** Lifetime as stated; the contract promises none. */
  readonly expiresInSeconds?: number;
}

/** RFC 6749, 2.3.1: both parts form-encoded before Basic, so that any character survives; unreserved ones stay as they are. */
export function basicHeader({ clientId, clientSecret }: ClientCredentials): string {
  const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

export function tokenRequest(baseUrl: string, credentials: ClientCredentials, scopes: readonly string[]): WireRequest {
  const form = new URLSearchParams({ grant_type: "client_credentials", scope: scopes.join(" ") });
  return {
    method: "POST",
    url: new URL(baseUrl.replace(/\/+$/, "") + TOKEN_PATH),
    headers: {
      accept: "application/json",
      authorization: basicHeader(credentials),
      "content-type": "application/x-www-form-urlencoded",
    },
    body: Buffer.from(form.toString()),
  };
}

// Only access_token is promised; what else an RFC 6749 answer may carry is read when it makes sense.
const TokenAnswer = z.looseObject({
  access_token: z.string().regex(/^[\x21-\x7e]{1,16384}$/, { error: "must be 1-16384 visible ASCII characters" }),
  token_type: z
    .string()
    .regex(/^bearer$/i, { error: "must be Bearer" })
    .optional(),
  expires_in: z
    .union([z.int().positive(), z.string().regex(/^[1-9]\d{0,9}$/)])
    .transform(Number)
    .optional()
    // The contract promises access_token alone: a lifetime that makes no sense is none.
    .catch(undefined),
});

const OAuthError = z.looseObject({ error: z.string().max(100), error_description: z.string().optional() });

function refused(answer: WireAnswer, scopes: readonly string[]): Failure {
  let said = `HTTP ${answer.status}`;
  let code: string | undefined;
  try {
    const parsed = OAuthError.safeParse(parseJson(answer.body));
    if (parsed.success) {
      code = parsed.data.error;
      said += `: ${code}`;
      if (parsed.data.error_description !== undefined)
        said += ` ${JSON.stringify(excerpt(parsed.data.error_description, 200))}`;
    }
  } catch {
    // No JSON: the status says enough.
  }
  const passing = answer.status >= 500 || answer.status === 429;
  const waitSeconds = retryAfterSeconds(answer.headers, Date.now());
  return new Failure({
    kind: passing
      ? answer.status === 429
        ? "rate_limited"
        : "upstream_unavailable"
      : code === "invalid_scope" || answer.status === 403
        ? "forbidden"
        : "unauthorized",
    message: `No access token for scope "${scopes.join(" ")}": the token endpoint answered ${said}.`,
    status: answer.status,
    retryable: passing,
    sideEffect: "none",
    ...(code !== undefined && { code }),
    ...(waitSeconds !== undefined && { retryAfterSeconds: waitSeconds }),
    next: passing
      ? `Wait ${waitSeconds ?? 5} s, then repeat the call.`
      : code === "invalid_scope"
        ? "The application lacks this scope; ask its owner for it."
        : "Check MIC_CLIENT_ID and MIC_CLIENT_SECRET.",
  });
}

export const noToken = (reason: string): Failure =>
  new Failure({
    kind: "contract_violation",
    message: `The token endpoint's answer breaks the contract: ${reason}.`,
    retryable: false,
    sideEffect: "none",
    next: "Check that MIC_BASE_URL points at the service itself.",
  });

/** Throws Failure when the answer is no token. */
export function readTokenAnswer(answer: WireAnswer, scopes: readonly string[]): Token {
  if (answer.status !== 200) throw refused(answer, scopes);
  try {
    const { access_token, expires_in } = checkAgainst(TokenAnswer, parseJson(answer.body)).value;
    return { value: access_token, ...(expires_in !== undefined && { expiresInSeconds: expires_in }) };
  } catch (error) {
    if (!(error instanceof ContractViolation)) throw error;
    throw noToken(error.message);
  }
}
