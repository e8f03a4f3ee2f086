// Tests the scope table of section 5 against each operation, and the token endpoint (RFC 6749 where the contract is silent).
import { expect } from "vitest";
import { allScopes, jobOperations, operations } from "../operations.ts";
import { createRequest, exampleDataForFile } from "./example.ts";
import { type Answer, expectProblem, parseJson, valueAt } from "./http.ts";
import { basic, serviceForFile, test } from "./service.ts";

const service = serviceForFile();
const exampleData = exampleDataForFile(service);

const callWith = (authorization: string, to = service()) =>
  to.call(operations.getMicPublicCapabilities, { ...to.inWorkspace(), headers: { authorization } });

test("the scopes of an operation are sufficient, and each of them is necessary", {
  tags: [
    "5/scope-covers-operation",
    "5/scopes-cancel-job",
    "5/scopes-capabilities",
    "5/scopes-create-processing-request",
    "5/scopes-download-asset",
    "5/scopes-get-input",
    "5/scopes-get-operation",
    "5/scopes-read-jobs",
    "5/scopes-recipes",
    "5/scopes-register-input",
    "5/scopes-run-jobs",
    "5/scopes-usage",
  ],
}, async () => {
  const executions = () => service().admin("GET", "executions");
  for (const operation of jobOperations) {
    const parts = await createRequest(await exampleData(), operation.id);
    const sufficient = await service().call(operation, { ...parts, scopes: operation.scopes });
    expect(sufficient.status, sufficient.text).toBe(operation.success);
    for (const missing of operation.scopes) {
      const others = allScopes.filter((scope) => scope !== missing);
      const before = await executions();
      const answer = await service().call(operation, { ...parts, scopes: others });
      expectProblem(answer, 403);
      expect(await executions(), "a refused caller changes nothing").toEqual(before);
      expect(answer.headers["www-authenticate"]).toMatch(/^Bearer\b.*error="insufficient_scope"/);
    }
  }
});

test("an operation without a token gets 401 with the authentication scheme", {
  tags: ["5/bearer", "7.2/problem"],
}, async () => {
  for (const operation of jobOperations) {
    const parts = await createRequest(await exampleData(), operation.id);
    const answer = await service().call(operation, { ...parts, headers: { authorization: undefined } });
    expectProblem(answer, 401);
    expect(answer.headers["www-authenticate"]).toMatch(/^Bearer\b/);
    // RFC 6750, section 3.1: the response has no error code if the request had no credentials.
    expect(answer.headers["www-authenticate"]).not.toContain("error=");
  }
});

test("an Authorization header without a valid bearer token of this service gets 401, and the scheme is not case-sensitive", {
  tags: ["5/bearer", "5/secret-stays-in-server"],
}, async () => {
  const { clientId, clientSecret, workspaceId } = service().emulator;
  const token = await service().token(["mic.capabilities:read"]);
  for (const scheme of ["bearer", "BEARER"]) expect((await callWith(`${scheme} ${token}`)).status).toBe(200);
  for (const authorization of [
    "Bearer",
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${token} ${token}`,
    `Bearer ${clientSecret}`,
    token,
    `Token ${token}`,
    basic(clientId, clientSecret),
    `Bearer ${"a".repeat(8000)}`,
  ]) {
    const answer = await callWith(authorization);
    expectProblem(answer, 401);
    expect(answer.text).not.toContain(token);
  }
  const query = `workspaceId=${workspaceId}&access_token=${token}`;
  const headers = { authorization: undefined };
  expectProblem(await service().call(operations.getMicPublicCapabilities, { query, headers }), 401);
});

const FORM = "grant_type=client_credentials&scope=mic.capabilities%3Aread";

function expectOAuthError(answer: Answer, status: number, error: string): void {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.headers["content-type"]).toMatch(/^application\/json(;|$)/);
  expect(parseJson(answer.text)).toEqual({ error, error_description: expect.any(String) });
}

test("Basic credentials and a form give a token for the operation", {
  tags: ["5/token-endpoint", "5/token-basic", "5/token-form", "5/token-response", "5/bearer"],
}, async () => {
  const answer = await service().requestToken(FORM);
  expect(answer.status).toBe(200);
  expect(answer.headers["content-type"]).toMatch(/^application\/json(;|$)/);
  expect(answer.headers["cache-control"]).toContain("no-store");
  const body = parseJson(answer.text);
  expect(valueAt(body, "token_type")).toMatch(/^bearer$/i);
  expect(valueAt(body, "expires_in")).toBeGreaterThan(0);
  expect(valueAt(body, "scope") ?? "mic.capabilities:read").toBe("mic.capabilities:read");
  expect((await callWith(`Bearer ${valueAt(body, "access_token")}`)).status).toBe(200);
});

test("wrong, missing and malformed client credentials are refused as invalid_client", {
  tags: ["5/token-basic"],
}, async () => {
  const { clientId, clientSecret } = service().emulator;
  for (const authorization of [
    undefined,
    basic(clientId, ""),
    basic("unknown-client", clientSecret),
    basic(clientId, clientSecret.slice(0, -1)),
    `Basic ${Buffer.from(clientId).toString("base64")}`,
    "Basic !!!!",
    basic(clientId, clientSecret).replace("Basic", "Bearer"),
  ]) {
    const answer = await service().requestToken(FORM, { authorization });
    expectOAuthError(answer, 401, "invalid_client");
    expect(answer.headers["www-authenticate"]).toMatch(/^Basic\b/);
  }
  const inBody = `${FORM}&client_id=${clientId}&client_secret=${encodeURIComponent(clientSecret)}`;
  const withoutHeader = await service().requestToken(inBody, { authorization: undefined });
  expectOAuthError(withoutHeader, 401, "invalid_client");
  expectOAuthError(await service().requestToken(inBody), 400, "invalid_request");
});

test("a wrong grant, scope, form or content type is refused with the error of RFC 6749", {
  tags: ["5/token-form"],
}, async () => {
  const grant = "grant_type=client_credentials";
  for (const [body, error] of [
    [FORM.replace("client_credentials", "password"), "unsupported_grant_type"],
    ["scope=mic.capabilities%3Aread", "invalid_request"],
    ["", "invalid_request"],
    [`${grant}&scope=mic.everything`, "invalid_scope"],
    [`${grant}&scope=mic.capabilities%3Aread+mic.everything`, "invalid_scope"],
    [`${grant}&scope=`, "invalid_scope"],
    [grant, "invalid_scope"],
    [`${FORM}&${grant}`, "invalid_request"],
    [`${FORM}&scope=mic.jobs%3Aread`, "invalid_request"],
  ] as const)
    expectOAuthError(await service().requestToken(body), 400, error);
  for (const type of ["application/json", "text/plain", undefined])
    expectOAuthError(await service().requestToken(FORM, { "content-type": type }), 400, "invalid_request");
  const withCharset = { "content-type": "application/x-www-form-urlencoded; charset=UTF-8" };
  expect((await service().requestToken(FORM, withCharset)).status).toBe(200);
});

test("a token works until it expires, and then a new one can be requested", { tags: ["5/token-renewed"] }, async ({
  service: own,
}) => {
  const requestExpiringToken = async () => {
    const body = parseJson((await own.requestToken(FORM)).text);
    return { token: `Bearer ${valueAt(body, "access_token")}`, lifeMs: Number(valueAt(body, "expires_in")) * 1000 };
  };
  const first = await requestExpiringToken();
  own.clock.advance(first.lifeMs - 1000);
  expect((await callWith(first.token, own)).status).toBe(200);
  own.clock.advance(1001);
  const expired = await callWith(first.token, own);
  expectProblem(expired, 401);
  expect(expired.headers["www-authenticate"]).toMatch(/^Bearer\b.*error="invalid_token"/);
  expect((await callWith((await requestExpiringToken()).token, own)).status).toBe(200);
});
