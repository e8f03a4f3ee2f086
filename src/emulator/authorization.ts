// Issues access tokens and authorizes requests for job-processing operations (RFC 6750; docs/contract.md, 5).
import { randomBytes } from "node:crypto";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { BoundedMap } from "../core/bounded-map.ts";
import { MAX_ENTRIES, REALM, TOKEN_BYTES, TOKEN_LIFETIME_SECONDS } from "./assumptions.ts";
import type { Client } from "./clients.ts";
import { type Clock, SECOND } from "./clock.ts";
import type { HttpRequest } from "./http/request.ts";
import { createFieldProblem, ProblemError } from "./problems.ts";

interface Grant {
  readonly client: Client;
  readonly scopes: ReadonlySet<string>;
  readonly expiresAt: number;
}

/** Stores access tokens, which are opaque and random, in memory until they expire. */
export function createIssuedTokens(clock: Clock) {
  const grants = new BoundedMap<string, Grant>(MAX_ENTRIES.tokens);
  return {
    issue(client: Client, scopes: ReadonlySet<string>): string {
      const now = clock.now();
      grants.deleteOldestWhile((grant) => grant.expiresAt <= now);
      const token = randomBytes(TOKEN_BYTES).toString("base64url");
      grants.set(token, { client, scopes, expiresAt: now + TOKEN_LIFETIME_SECONDS * SECOND });
      return token;
    },
    findGrant(token: string): Grant | undefined {
      const grant = grants.get(token);
      return grant !== undefined && clock.now() < grant.expiresAt ? grant : undefined;
    },
    expireAll: (): void => grants.clear(),
  };
}
export type IssuedTokens = ReturnType<typeof createIssuedTokens>;

function challengeHeaders(parameters: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const all = Object.entries({ realm: REALM, ...parameters }).map(([name, value]) => `${name}="${value}"`);
  return { "WWW-Authenticate": `Bearer ${all.join(", ")}` };
}

const POINTER = "/header/Authorization";

const createTokenProblem = (message: string, parameters?: Readonly<Record<string, string>>): ProblemError =>
  createFieldProblem("UNAUTHENTICATED", POINTER, message, challengeHeaders(parameters));

export function authorize(endpoint: Endpoint, request: HttpRequest, tokens: IssuedTokens): Client {
  const [value, second] = request.header("authorization");
  if (value === undefined) throw createTokenProblem("Send Authorization: Bearer <ACCESS_TOKEN>.");
  if (second !== undefined)
    throw createFieldProblem(
      "INVALID_REQUEST",
      POINTER,
      "Send this header once.",
      challengeHeaders({ error: "invalid_request" }),
    );
  const token = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(value)?.[1];
  // RFC 6750, 3.1: without Bearer credentials, the challenge has no error code.
  if (token === undefined)
    throw /^bearer( |$)/i.test(value)
      ? createTokenProblem("The access token is malformed.", { error: "invalid_token" })
      : createTokenProblem("Send Authorization: Bearer <ACCESS_TOKEN>.");
  const grant = tokens.findGrant(token);
  if (grant === undefined)
    throw createTokenProblem("The access token is unknown or has expired: request a new one.", {
      error: "invalid_token",
      error_description: "The access token is unknown or has expired",
    });
  const required = endpoint.scopesToRequest;
  const missing = required.filter((scope) => !grant.scopes.has(scope));
  if (missing.length === 0) return grant.client;
  throw new ProblemError("INSUFFICIENT_SCOPE", {
    headers: challengeHeaders({ error: "insufficient_scope", scope: required.join(" ") }),
    fieldErrors: missing.map((scope) => ({
      pointer: POINTER,
      code: "INSUFFICIENT_SCOPE",
      message: `The access token lacks the scope ${scope}.`,
    })),
  });
}
