// Tests the token endpoint, docs/contract.md, 5; if the contract does not specify something, RFC 6749 applies.
import * as oauth from "oauth4webapi";
import { expect, test } from "vitest";
import { allScopes, operations } from "../operations.ts";
import { type Answer, expectProblem, parseJson, valueAt } from "./http.ts";
import { basic, type Service, serviceForFile, serviceForTest } from "./service.ts";

const service = serviceForFile();
const tokenForm = (scope: string) => new URLSearchParams({ grant_type: "client_credentials", scope }).toString();
const usageQuery = (testService: Service) => ({
  query: { workspaceId: testService.emulator.workspaceId, window: "DAY" },
});

/** Expects an error of RFC 6749, section 5.2: JSON with `error`, never cached. */
function expectOAuthError(answer: Answer, status: number, ...errors: readonly string[]): void {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.headers["content-type"]).toMatch(/^application\/json(;|$)/);
  expect(errors).toContain(valueAt(parseJson(answer.text), "error"));
  expect(valueAt(parseJson(answer.text), "access_token")).toBeUndefined();
}

test("Basic credentials and a form give a token for the operation [5/token-endpoint, 5/token-basic, 5/token-form, 5/token-response, 5/bearer]", async () => {
  const answer = await service().requestToken("grant_type=client_credentials&scope=mic.usage%3Aread");
  expect(answer.status).toBe(200);
  expect(answer.headers["content-type"]).toMatch(/^application\/json(;|$)/);
  expect(answer.headers["cache-control"]).toContain("no-store");
  const body = parseJson(answer.text);
  expect(valueAt(body, "token_type")).toMatch(/^bearer$/i);
  expect(valueAt(body, "expires_in")).toBeGreaterThan(0);
  expect(valueAt(body, "scope") ?? "mic.usage:read").toBe("mic.usage:read");
  const headers = { authorization: `Bearer ${valueAt(body, "access_token")}` };
  expect((await service().call(operations.getMicPublicUsage, { ...usageQuery(service()), headers })).status).toBe(200);
});

test("several scopes are separated by spaces, in any order [5/token-form]", async () => {
  for (const scope of [allScopes.join(" "), [...allScopes].reverse().join(" ")]) {
    const answer = await service().requestToken(tokenForm(scope));
    expect(answer.status).toBe(200);
    expect(
      String(valueAt(parseJson(answer.text), "scope") ?? scope)
        .split(" ")
        .sort(),
    ).toEqual(allScopes);
  }
});

test("each request gives a different token", async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => service().requestToken(tokenForm("mic.usage:read"))),
  );
  expect(new Set(answers.map(({ text }) => valueAt(parseJson(text), "access_token"))).size).toBe(20);
});

test("wrong, missing and malformed client credentials are refused as invalid_client [5/token-basic]", async () => {
  const { clientId, clientSecret } = service().emulator;
  const wrong = [
    basic(clientId, "wrong"),
    basic(clientId, ""),
    basic("nobody", clientSecret),
    basic(clientId, `${clientSecret}x`),
    basic(clientId, clientSecret.slice(0, -1)),
    `Basic ${Buffer.from(clientId).toString("base64")}`,
    "Basic",
    "Basic !!!!",
    `Bearer ${Buffer.from(`${clientId}:x`).toString("base64")}`,
  ];
  for (const authorization of wrong) {
    const answer = await service().requestToken(tokenForm("mic.usage:read"), { authorization });
    expectOAuthError(answer, 401, "invalid_client");
    expect(answer.headers["www-authenticate"]).toMatch(/^Basic\b/);
  }
  const none = await service().requestToken(tokenForm("mic.usage:read"), { authorization: undefined });
  expectOAuthError(none, 401, "invalid_client");
  const inBody = `${tokenForm("mic.usage:read")}&client_id=${clientId}&client_secret=${encodeURIComponent(clientSecret)}`;
  expectOAuthError(
    await service().requestToken(inBody, { authorization: undefined }),
    401,
    "invalid_client",
    "invalid_request",
  );
});

test("a wrong grant, scope or form is refused with the error of RFC 6749 [5/token-form]", async () => {
  const rows = [
    ["grant_type=password&scope=mic.usage%3Aread", "unsupported_grant_type"],
    ["grant_type=authorization_code&scope=mic.usage%3Aread&code=1", "unsupported_grant_type"],
    ["scope=mic.usage%3Aread", "invalid_request"],
    ["grant_type=&scope=mic.usage%3Aread", "invalid_request unsupported_grant_type"],
    ["", "invalid_request"],
    ["grant_type=client_credentials&scope=mic.everything", "invalid_scope"],
    ["grant_type=client_credentials&scope=mic.usage%3Aread+mic.everything", "invalid_scope"],
    ["grant_type=client_credentials&scope=%22", "invalid_scope invalid_request"],
    ["grant_type=client_credentials&scope=", "invalid_scope invalid_request"],
    ["grant_type=client_credentials", "invalid_scope invalid_request"],
    ["grant_type=client_credentials&grant_type=client_credentials&scope=mic.usage%3Aread", "invalid_request"],
    ["grant_type=client_credentials&scope=mic.usage%3Aread&scope=mic.jobs%3Aread", "invalid_request"],
  ] as const;
  for (const [body, errors] of rows) expectOAuthError(await service().requestToken(body), 400, ...errors.split(" "));
});

test("another content type is refused [5/token-form]", async () => {
  const json = JSON.stringify({ grant_type: "client_credentials", scope: "mic.usage:read" });
  for (const [body, type] of [
    [json, "application/json"],
    [tokenForm("mic.usage:read"), "text/plain"],
    [tokenForm("mic.usage:read"), undefined],
  ] as const)
    expectOAuthError(await service().requestToken(body, { "content-type": type }), 400, "invalid_request");
  const withCharset = { "content-type": "application/x-www-form-urlencoded; charset=UTF-8" };
  expect((await service().requestToken(tokenForm("mic.usage:read"), withCharset)).status).toBe(200);
});

test("only POST requests a token [5/token-endpoint]", async () => {
  for (const method of ["GET", "PUT", "DELETE"] as const) {
    const answer = await service().send({ method, path: "/sandbox/oauth/token" });
    expect(answer.status).toBe(405);
    expect(answer.headers["allow"]).toContain("POST");
  }
  expect((await service().send({ method: "POST", path: "/oauth/token" })).status).toBe(404);
});

test("a token works until it expires, and then a new one can be requested [5/token-renewed]", async () => {
  const own = await serviceForTest();
  const requestExpiringToken = async () => {
    const body = parseJson((await own.requestToken(tokenForm("mic.usage:read"))).text);
    return { token: String(valueAt(body, "access_token")), lifeMs: Number(valueAt(body, "expires_in")) * 1000 };
  };
  const callWithToken = (token: string) =>
    own.call(operations.getMicPublicUsage, { ...usageQuery(own), headers: { authorization: `Bearer ${token}` } });
  const first = await requestExpiringToken();
  own.clock.advance(first.lifeMs - 1000);
  expect((await callWithToken(first.token)).status).toBe(200);
  own.clock.advance(1001);
  const expired = await callWithToken(first.token);
  expectProblem(expired, 401);
  expect(expired.headers["www-authenticate"]).toMatch(/^Bearer\b.*error="invalid_token"/);
  expect((await callWithToken((await requestExpiringToken()).token)).status).toBe(200);
});

test("the client secret is not a token, and no response repeats it [5/secret-stays-in-server]", async () => {
  const { clientId, clientSecret } = service().emulator;
  for (const authorization of [`Bearer ${clientSecret}`, basic(clientId, clientSecret)]) {
    const answer = await service().call(operations.getMicPublicUsage, {
      ...usageQuery(service()),
      headers: { authorization },
    });
    expectProblem(answer, 401);
    expect(answer.text + JSON.stringify(answer.headers)).not.toContain(clientSecret);
  }
  const wrongGrant = await service().requestToken(`grant_type=${encodeURIComponent(clientSecret)}`);
  expect(wrongGrant.status).toBe(400);
});

test("an independent OAuth client gets a token and uses it", async () => {
  const { baseUrl, clientId, clientSecret, workspaceId } = service().emulator;
  const server = { issuer: baseUrl, token_endpoint: `${baseUrl}/sandbox/oauth/token` };
  const client = { client_id: clientId };
  const response = await oauth.clientCredentialsGrantRequest(
    server,
    client,
    oauth.ClientSecretBasic(clientSecret),
    new URLSearchParams({ scope: "mic.capabilities:read" }),
    { [oauth.allowInsecureRequests]: true },
  );
  const { access_token: token } = await oauth.processClientCredentialsResponse(server, client, response);
  const answer = await oauth.protectedResourceRequest(
    token,
    "GET",
    new URL(`${baseUrl}/sandbox/v1/mic/capabilities?workspaceId=${workspaceId}`),
    undefined,
    null,
    { [oauth.allowInsecureRequests]: true },
  );
  expect(answer.status).toBe(200);
  const refused = await oauth.clientCredentialsGrantRequest(
    server,
    client,
    oauth.ClientSecretBasic("wrong"),
    new URLSearchParams({ scope: "mic.capabilities:read" }),
    { [oauth.allowInsecureRequests]: true },
  );
  await expect(oauth.processClientCredentialsResponse(server, client, refused)).rejects.toThrow();
});

test("credentials with special characters work, plain or form-encoded [5/token-basic]", async () => {
  const credentials = { clientId: "client-id_1.2~x", clientSecret: "s3:cr/et+=~! %41-_" };
  const own = await serviceForTest({ credentials });
  expect([own.emulator.clientId, own.emulator.clientSecret]).toEqual([credentials.clientId, credentials.clientSecret]);
  const encode = (text: string) => new URLSearchParams([["", text]]).toString().slice(1);
  for (const authorization of [
    basic(credentials.clientId, credentials.clientSecret),
    basic(encode(credentials.clientId), encode(credentials.clientSecret)),
  ])
    expect((await own.requestToken(tokenForm("mic.usage:read"), { authorization })).status).toBe(200);
});
