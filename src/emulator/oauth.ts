// Implements POST {base}/sandbox/oauth/token: the client-credentials grant of RFC 6749, section 4.4, authenticated by HTTP Basic.
import { percentDecode } from "../core/percent-decode.ts";
import { REALM, TOKEN_LIFETIME_SECONDS } from "./assumptions.ts";
import type { IssuedTokens } from "./authorization.ts";
import type { Client } from "./clients.ts";
import { type HttpRequest, isMediaType, parsePairs } from "./http/request.ts";
import { type HttpResponse, jsonResponse } from "./http/response.ts";

const FORM_MEDIA_TYPE = "application/x-www-form-urlencoded";

/** RFC 6749, 5.2. */
export function oauthErrorResponse(error: string, description: string, status = 400, headers = {}): HttpResponse {
  return jsonResponse(status, { error, error_description: description }, { Pragma: "no-cache", ...headers });
}

const invalidRequestResponse = (description: string): HttpResponse =>
  oauthErrorResponse("invalid_request", description);

const invalidClientResponse = (description: string): HttpResponse =>
  oauthErrorResponse("invalid_client", description, 401, {
    "WWW-Authenticate": `Basic realm="${REALM}", charset="UTF-8"`,
  });

/** Compares a credential as sent and form-decoded: RFC 6749, 2.3.1, requires encoding, but many clients do not encode. */
const matchesCredential = (sent: string, expected: string): boolean =>
  sent === expected || percentDecode(sent.replaceAll("+", " ")) === expected;

function findClient(authorization: string, clients: readonly Client[]): Client | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1];
  const pair = Buffer.from(encoded ?? "", "base64").toString("utf8");
  const colon = pair.indexOf(":");
  if (colon < 0) return undefined;
  const [id, secret] = [pair.slice(0, colon), pair.slice(colon + 1)];
  return clients.find(
    ({ credentials: { clientId, clientSecret } }) =>
      matchesCredential(id, clientId) && matchesCredential(secret, clientSecret),
  );
}

/** Returns the form's parameters, or undefined if an escape is malformed or a parameter is repeated (RFC 6749, 3.2). */
function readForm(body: Uint8Array): ReadonlyMap<string, string> | undefined {
  const pairs = parsePairs(Buffer.from(body).toString("latin1"));
  const form = new Map(pairs);
  return form.size === pairs?.length ? form : undefined;
}

export function handleTokenRequest(
  request: HttpRequest,
  clients: readonly Client[],
  tokens: IssuedTokens,
  grantableScopes: readonly string[],
): HttpResponse {
  if (request.target.query === undefined || request.target.query.length > 0)
    return invalidRequestResponse("Parameters are sent in the body, not in the URI.");
  const [contentType = "", secondType] = request.header("content-type");
  if (secondType !== undefined || !isMediaType(contentType, FORM_MEDIA_TYPE))
    return invalidRequestResponse(`Content-Type must be ${FORM_MEDIA_TYPE}.`);
  if (request.body === "too large") return oauthErrorResponse("invalid_request", "The body is larger than 1 MiB.", 413);
  const form = readForm(request.body);
  if (form === undefined) return invalidRequestResponse("The form is malformed or repeats a parameter.");

  const [authorization, second] = request.header("authorization");
  if (authorization === undefined) return invalidClientResponse("Authenticate with HTTP Basic.");
  if (second !== undefined || form.has("client_secret"))
    return invalidRequestResponse("Authenticate once, with HTTP Basic alone.");
  const client = findClient(authorization, clients);
  if (client === undefined) return invalidClientResponse("The client id or the client secret is wrong.");

  const grantType = form.get("grant_type");
  if (grantType === undefined || grantType === "") return invalidRequestResponse("grant_type is required.");
  if (grantType !== "client_credentials")
    return oauthErrorResponse("unsupported_grant_type", "grant_type must be client_credentials.");
  const scopes = form.get("scope")?.split(" ") ?? [];
  if (scopes.length === 0) return oauthErrorResponse("invalid_scope", "scope is required.");
  if (!scopes.every((scope) => grantableScopes.includes(scope)))
    return oauthErrorResponse("invalid_scope", "A requested scope is unknown or not granted to this client.");

  const granted = new Set(scopes);
  const body = {
    access_token: tokens.issue(client, granted),
    token_type: "Bearer",
    expires_in: TOKEN_LIFETIME_SECONDS,
    scope: [...granted].join(" "),
  };
  return jsonResponse(200, body, { Pragma: "no-cache" });
}
