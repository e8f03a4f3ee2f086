// Tests which access tokens are accepted. A refusal contains the way to a valid token, and no request reaches the API.
// Tests also a caller's rights, which the token's scopes give: a call that needs more is refused and names the scopes.
import { createServer } from "node:http";
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { createCallerService } from "../../src/teams/commands/serve.ts";
import {
  type Answer,
  connectLegacyClient,
  createModernClient,
  exchangeBytes,
  post,
  resultOf,
} from "../mcp/http/raw-client.ts";
import { composeForTest } from "../support/compose.ts";
import { serveForTest } from "../support/http-server.ts";
import { AGENT, type IdentityProvider, type TokenOptions } from "../support/identity-provider.ts";
import { type Deployment, deploymentForTest, TEAM } from "./in-process-deployment.ts";

const MINUTE = 60;

const clientWithToken = (url: string, token: string) =>
  createModernClient(url, {}, { authorization: `Bearer ${token}` });
const callLook = (url: string, token: string): Promise<Answer> =>
  clientWithToken(url, token).call(1, "look", {}).answer;

const validClaims = (provider: IdentityProvider, audience: string) => ({
  iss: provider.issuer,
  sub: "alice",
  aud: audience,
  scope: "mic:read mic:act",
  client_id: AGENT.id,
  exp: Math.floor(Date.now() / 1_000) + 10 * MINUTE,
});

type TokenFactory = (deployment: Deployment) => Promise<string> | string;
const tokenWith =
  (options: TokenOptions): TokenFactory =>
  ({ provider, resource }) =>
    provider.issueToken(resource, options);

const INVALID_TOKENS: Readonly<Record<string, TokenFactory>> = {
  "expired a minute ago": tokenWith({ seconds: -MINUTE }),
  "not yet valid": tokenWith({ claims: { nbf: Math.floor(Date.now() / 1_000) + 2 * MINUTE } }),
  "for another audience": ({ provider }) => provider.issueToken("https://other.example/mcp"),
  "without an audience": tokenWith({ claims: { aud: undefined } }),
  "for another team's path": ({ provider, resource }) => provider.issueToken(`${resource}/${TEAM}`),
  "without an expiry": tokenWith({ claims: { exp: undefined } }),
  "without a subject": tokenWith({ claims: { sub: undefined } }),
  "of another issuer": tokenWith({ claims: { iss: "https://elsewhere.example" } }),
  "an ID token": ({ provider }) => provider.issueToken(AGENT.id, { header: { typ: "JWT" }, claims: { nonce: "1" } }),
  "an ID token whose audience is ours": tokenWith({ header: { typ: "JWT" }, claims: { nonce: "1", at_hash: "x" } }),
  "of another type": tokenWith({ header: { typ: "logout+jwt" } }),
  "bound to a key": tokenWith({ claims: { cnf: { jkt: "x" } } }),
  "of an unknown key": tokenWith({ header: { kid: "unknown-key" } }),
  "unsigned (alg: none)": ({ provider, resource }) => new UnsecuredJWT(validClaims(provider, resource)).encode(),
  "signed with the public key as a secret (HS256)": async ({ provider, resource }) =>
    await new SignJWT(validClaims(provider, resource))
      .setProtectedHeader({ alg: "HS256", kid: "key-1" })
      .sign(new TextEncoder().encode(await provider.exportPublicKey())),
  "signed with another key under the provider's key id": async ({ provider, resource }) => {
    const { privateKey } = await generateKeyPair("RS256");
    return await new SignJWT(validClaims(provider, resource))
      .setProtectedHeader({ alg: "RS256", kid: "key-1" })
      .sign(privateKey);
  },
  "with another payload": async ({ provider, resource }) => {
    const [header, , signature] = (await provider.issueToken(resource)).split(".");
    const payload = Buffer.from(JSON.stringify({ ...validClaims(provider, resource), sub: "bob" })).toString(
      "base64url",
    );
    return [header, payload, signature].join(".");
  },
  "without its signature": async ({ provider, resource }) =>
    (await provider.issueToken(resource)).replace(/\.[^.]*$/, "."),
  opaque: () => "0123456789abcdef0123456789abcdef",
  "of 25,000 letters": () => "x".repeat(25_000),
};

test.each(Object.entries(INVALID_TOKENS))(
  "an invalid token (%s) gets 401 with the way to a valid one",
  async (_what, createToken) => {
    const deployment = await deploymentForTest();
    const { url, calls, resource, provider } = deployment;
    const { status, headers, body } = await callLook(url, await createToken(deployment));
    expect([status, body]).toEqual([401, expect.stringContaining("invalid_token")]);
    const { origin } = new URL(resource);
    expect(headers["www-authenticate"]).toMatch(/^Bearer error="invalid_token"/);
    expect(headers["www-authenticate"]).toContain('scope="mic:read"');
    expect(headers["www-authenticate"]).toContain(
      `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
    );
    expect(calls).toEqual([]);
    // A valid token from the same address is still accepted.
    await resultOf(clientWithToken(url, await provider.issueToken(resource)).call(1, "look", {}), 1);
    expect(calls).toHaveLength(1);
  },
);

test.each([
  ["missing", []],
  ["empty", ["authorization: Bearer"]],
  ["of another scheme", ["authorization: Basic YTpi"]],
  ["given twice", ["authorization: Bearer a", "authorization: Bearer b"]],
])("a request whose Authorization header is %s gets 401 without an error code", async (_what, headers) => {
  const { url, resource } = await deploymentForTest();
  const { host, origin } = new URL(resource);
  const head = ["POST /mcp HTTP/1.1", `host: ${host}`, ...headers, "content-length: 0", "connection: close", "", ""];
  const text = await exchangeBytes(url, [head.join("\r\n")]);
  expect(text).toMatch(/^HTTP\/1\.1 401 /);
  const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
  // RFC 6750, 3.1: the response has an error code only if the request had a token.
  expect(text.toLowerCase()).toContain(`www-authenticate: bearer scope="mic:read", ${metadata}`);
});

test("a request with a token of 1 MiB gets 431 and is not read", async () => {
  const { url, calls, resource } = await deploymentForTest();
  const { host } = new URL(resource);
  const text = await exchangeBytes(url, [
    `POST /mcp HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${"x".repeat(1024 * 1024)}\r\n\r\n`,
  ]);
  expect(text).toMatch(/^HTTP\/1\.1 431 /);
  expect(calls).toEqual([]);
});

test.each<[string, TokenOptions, object]>([
  ["scopes as text in scope", { scope: "openid mic:read" }, { rights: new Set(["read"]) }],
  ["scopes as text in scp", { scope: "", claims: { scp: "mic:read mic:act" } }, { rights: new Set(["read", "act"]) }],
  [
    "scopes as a list in scp",
    { scope: "", claims: { scp: ["mic:act", "mic:read"] } },
    { rights: new Set(["read", "act"]) },
  ],
  ["its client in azp", { claims: { client_id: undefined, azp: "keycloak" } }, { clientId: "keycloak" }],
  ["its client in cid", { claims: { client_id: undefined, cid: "okta" } }, { clientId: "okta" }],
  ["its client in appid", { claims: { client_id: undefined, appid: "entra" } }, { clientId: "entra" }],
  ["several audiences", { claims: { aud: ["https://other.example"] } }, {}],
  ["the type JWT", { header: { typ: "JWT" } }, {}],
  ["no type", { header: { typ: undefined } }, {}],
  ["an expiry in the last 30 s", { seconds: -10 }, {}],
  ["a group as text", { claims: { groups: "red" } }, { groups: ["red"] }],
  [
    "groups as text with commas",
    { claims: { groups: "red,blue, green" } },
    { groups: expect.arrayContaining(["red", "blue", "green"]) },
  ],
  [
    "groups as text with spaces",
    { claims: { groups: "red blue" } },
    { groups: expect.arrayContaining(["red", "blue"]) },
  ],
  ["groups that are not strings", { claims: { groups: [1, "red", null] } }, { groups: ["red"] }],
  ["no groups", { claims: { groups: undefined } }, { groups: [] }],
])("a valid token with %s is accepted", async (_what, options, caller) => {
  const { url, calls, resource, provider } = await deploymentForTest();
  const { aud, ...claims } = { aud: undefined, ...options.claims };
  const audiences = aud === undefined ? {} : { aud: [...aud, resource] };
  await resultOf(
    clientWithToken(url, await provider.issueToken(resource, { ...options, claims: { ...claims, ...audiences } })).call(
      1,
      "look",
      {},
    ),
    1,
  );
  expect(calls).toMatchObject([{ caller: { subject: "alice", issuer: provider.issuer, ...caller } }]);
});

test.each(["RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"])(
  "a token that is signed with %s is accepted",
  async (alg) => {
    const { privateKey, publicKey } = await generateKeyPair(alg);
    const jwk = { ...(await exportJWK(publicKey)), kid: "key", alg };
    const server = createServer(({ url, headers }, response) => {
      const issuer = `http://${headers.host}`;
      const endpoints = { authorization_endpoint: issuer, token_endpoint: issuer, jwks_uri: `${issuer}/jwks` };
      response.end(JSON.stringify(url === "/jwks" ? { keys: [jwk] } : { issuer, ...endpoints }));
    });
    const issuer = await serveForTest(server);
    const { url, resource, provider, calls } = await deploymentForTest({ tokens: { issuer } });
    const claims = { ...validClaims(provider, resource), iss: issuer };
    await callLook(url, await new SignJWT(claims).setProtectedHeader({ alg, kid: "key" }).sign(privateKey));
    expect(calls).toHaveLength(1);
  },
);

test.each([
  ["sub", { sub: undefined }, "The token must have a valid claim sub."],
  ["exp", { exp: undefined }, "The token must have a valid claim exp."],
  ["the right iss", { iss: "https://elsewhere.example" }, "The token has another issuer."],
])("a refusal names the claim if a token does not have %s", async (_claim, claims, message) => {
  const { url, resource, provider } = await deploymentForTest();
  expect((await callLook(url, await provider.issueToken(resource, { claims }))).body).toContain(message);
});

const STEP_UP_RESPONSE = [
  403,
  expect.stringMatching(/^Bearer error="insufficient_scope".*, scope="mic:read mic:act", resource_metadata="/),
];
const challengeIn = ({ status, headers }: { status: number; headers: NodeJS.Dict<string | string[]> }) => [
  status,
  headers["www-authenticate"],
];
const toolCall = (name: string) => ({ jsonrpc: "2.0", method: "tools/call", params: { name, arguments: {} } });

const READ = { scope: "mic:read" };

test("an action without mic:act is 403 with all scopes that it needs, in any revision, in a batch or without an id", async () => {
  const { connectAs, url, bearer, calls } = await deploymentForTest();
  const modern = await connectAs(READ);
  expect(challengeIn(await modern.call(1, "act", {}).answer)).toEqual(STEP_UP_RESPONSE);
  const { headers } = await connectLegacyClient(url, {}, await bearer(READ));
  const act = { ...toolCall("act"), id: 1 };
  for (const body of [act, [{ ...toolCall("look"), id: 2 }, act], toolCall("act")])
    expect(challengeIn(await post(url, body, headers).answer)).toEqual(STEP_UP_RESPONSE);
  expect(calls).toEqual([]);
  await resultOf(modern.call(2, "look", {}), 2);
});

test("a header that names another tool than the body does not change the required scopes", async () => {
  const { url, bearer, calls } = await deploymentForTest();
  const names = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "look" };
  const { status } = await post(url, { ...toolCall("act"), id: 1 }, { ...(await bearer(READ)), ...names }).answer;
  expect(status).toBe(403);
  expect(calls).toEqual([]);
});

test("canceling a task needs mic:act and reading it does not, and all tools are listed so that a client can step up", async () => {
  const modern = await (await deploymentForTest()).connectAs(READ);
  expect((await modern.request(1, "tasks/cancel", { taskId: "x" }).answer).status).toBe(403);
  expect((await modern.request(2, "tasks/get", { taskId: "x" }).answer).status).not.toBe(403);
  expect(await resultOf(modern.request(3, "tools/list"), 3)).toMatchObject({
    tools: [{ name: "look" }, { name: "act" }, { name: "wait" }],
  });
});

test("a token without mic:read gets nothing, with or without mic:act", async () => {
  const { connectAs } = await deploymentForTest();
  for (const scope of ["openid", "mic:act", ""])
    expect(challengeIn(await (await connectAs({ scope })).call(1, "look", {}).answer)).toEqual([
      403,
      expect.stringMatching(/scope="mic:read",/),
    ]);
});

test("a team's path accepts tokens for itself and for the deployment, and names itself in its challenge", async () => {
  const { url, provider, resource, calls } = await deploymentForTest();
  const statusFor = async (path: string, audience: string) => {
    const authorization = `Bearer ${await provider.issueToken(audience)}`;
    return (await createModernClient(url + path, {}, { authorization }).call(1, "look", {}).answer).status;
  };
  const own = `${resource}/${TEAM}`;
  expect([
    await statusFor(`/${TEAM}`, own),
    await statusFor(`/${TEAM}`, resource),
    await statusFor("", resource),
  ]).toEqual([200, 200, 200]);
  expect(calls.map(({ team }) => team)).toEqual([TEAM, TEAM, undefined]);
  expect([await statusFor("", own), await statusFor("/blue", own)]).toEqual([401, 401]);
  // The caller is authenticated, but the team does not exist.
  expect(await statusFor("/blue", resource)).toBe(404);
  const { headers } = await createModernClient(own).call(1, "look", {}).answer;
  expect(headers["www-authenticate"]).toContain(`/.well-known/oauth-protected-resource/mcp/${TEAM}"`);
});

test("tools that change nothing at the API need mic:read, and all other tools need mic:act", () => {
  const { runtime, close } = composeForTest({});
  onTestFinished(close);
  const { rightFor } = createCallerService(runtime);
  const wrong = runtime.tools.filter(
    ({ name, effect }) =>
      rightFor({ method: "tools/call", params: { name } }) !== (["read", "save"].includes(effect) ? "read" : "act"),
  );
  expect(runtime.tools.length).toBeGreaterThan(20);
  expect(wrong).toEqual([]);
});
