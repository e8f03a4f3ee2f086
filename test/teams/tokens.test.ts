// Tests which access tokens are accepted. A refusal contains the way to a valid token, and no request reaches the API.
import { createServer } from "node:http";
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { expect, test } from "vitest";
import { type Answer, createModernClient, exchangeBytes, resultOf } from "../mcp/http/raw-client.ts";
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
