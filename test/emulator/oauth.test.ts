// Tests the token endpoint, docs/contract.md, 5; if the contract does not specify something, RFC 6749 applies.
import { expect } from "vitest";
import { operations } from "../operations.ts";
import { type Answer, expectProblem, parseJson, valueAt } from "./http.ts";
import { basic, serviceForFile, test } from "./service.ts";

const fileService = serviceForFile();
const FORM = "grant_type=client_credentials&scope=mic.usage%3Aread";
const callWith = (authorization: string, service = fileService()) =>
  service.call(operations.getMicPublicUsage, { ...service.inWorkspace({ window: "DAY" }), headers: { authorization } });

/** Expects an error of RFC 6749, section 5.2: JSON with `error`. */
function expectOAuthError(answer: Answer, status: number, error: string): void {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.headers["content-type"]).toMatch(/^application\/json(;|$)/);
  expect(parseJson(answer.text)).toEqual({ error, error_description: expect.any(String) });
}

test("Basic credentials and a form give a token for the operation [5/token-endpoint, 5/token-basic, 5/token-form, 5/token-response, 5/bearer]", async () => {
  const answer = await fileService().requestToken(FORM);
  expect(answer.status).toBe(200);
  expect(answer.headers["content-type"]).toMatch(/^application\/json(;|$)/);
  expect(answer.headers["cache-control"]).toContain("no-store");
  const body = parseJson(answer.text);
  expect(valueAt(body, "token_type")).toMatch(/^bearer$/i);
  expect(valueAt(body, "expires_in")).toBeGreaterThan(0);
  expect(valueAt(body, "scope") ?? "mic.usage:read").toBe("mic.usage:read");
  expect((await callWith(`Bearer ${valueAt(body, "access_token")}`)).status).toBe(200);
});

test("wrong, missing and malformed client credentials are refused as invalid_client [5/token-basic]", async () => {
  const { clientId, clientSecret } = fileService().emulator;
  for (const authorization of [
    undefined,
    basic(clientId, ""),
    basic("nobody", clientSecret),
    basic(clientId, clientSecret.slice(0, -1)),
    `Basic ${Buffer.from(clientId).toString("base64")}`,
    "Basic !!!!",
    basic(clientId, clientSecret).replace("Basic", "Bearer"),
  ]) {
    const answer = await fileService().requestToken(FORM, { authorization });
    expectOAuthError(answer, 401, "invalid_client");
    expect(answer.headers["www-authenticate"]).toMatch(/^Basic\b/);
  }
  const inBody = `${FORM}&client_id=${clientId}&client_secret=${encodeURIComponent(clientSecret)}`;
  const withoutHeader = await fileService().requestToken(inBody, { authorization: undefined });
  expectOAuthError(withoutHeader, 401, "invalid_client");
  expectOAuthError(await fileService().requestToken(inBody), 400, "invalid_request");
});

test("a wrong grant, scope, form or content type is refused with the error of RFC 6749 [5/token-form]", async () => {
  const grant = "grant_type=client_credentials";
  for (const [body, error] of [
    [FORM.replace("client_credentials", "password"), "unsupported_grant_type"],
    ["scope=mic.usage%3Aread", "invalid_request"],
    ["", "invalid_request"],
    [`${grant}&scope=mic.everything`, "invalid_scope"],
    [`${grant}&scope=mic.usage%3Aread+mic.everything`, "invalid_scope"],
    [`${grant}&scope=`, "invalid_scope"],
    [grant, "invalid_scope"],
    [`${FORM}&${grant}`, "invalid_request"],
    [`${FORM}&scope=mic.jobs%3Aread`, "invalid_request"],
  ] as const)
    expectOAuthError(await fileService().requestToken(body), 400, error);
  for (const type of ["application/json", "text/plain", undefined])
    expectOAuthError(await fileService().requestToken(FORM, { "content-type": type }), 400, "invalid_request");
  const withCharset = { "content-type": "application/x-www-form-urlencoded; charset=UTF-8" };
  expect((await fileService().requestToken(FORM, withCharset)).status).toBe(200);
});

test("a token works until it expires, and then a new one can be requested [5/token-renewed]", async ({ service }) => {
  const requestExpiringToken = async () => {
    const body = parseJson((await service.requestToken(FORM)).text);
    return { token: `Bearer ${valueAt(body, "access_token")}`, lifeMs: Number(valueAt(body, "expires_in")) * 1000 };
  };
  const first = await requestExpiringToken();
  service.clock.advance(first.lifeMs - 1000);
  expect((await callWith(first.token, service)).status).toBe(200);
  service.clock.advance(1001);
  const expired = await callWith(first.token, service);
  expectProblem(expired, 401);
  expect(expired.headers["www-authenticate"]).toMatch(/^Bearer\b.*error="invalid_token"/);
  expect((await callWith((await requestExpiringToken()).token, service)).status).toBe(200);
});
