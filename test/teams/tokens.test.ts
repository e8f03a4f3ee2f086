// Tests which access tokens are accepted. A refusal contains the way to a valid token, and no request reaches the API.
// Tests also a caller's rights, which the token's scopes give: a call that needs more is refused and names the scopes.
import { createServer } from "node:http";
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { expect, onTestFinished } from "vitest";
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
import { AGENT, type TokenOptions } from "../support/identity-provider.ts";
import { type Deployment, deploymentForTest, TEAM, testWithDeployment } from "./in-process-deployment.ts";

const test = testWithDeployment();
const MINUTE = 60;

const validClaims = ({ provider, resource }: Deployment) => ({
  iss: provider.issuer,
  sub: "alice",
  aud: resource,
  scope: "mic:read mic:write",
  client_id: AGENT.id,
  exp: Math.floor(Date.now() / 1_000) + 10 * MINUTE,
});

/** A token with valid claims that is signed with this key instead of the provider's. */
const forge = (deployment: Deployment, key: Parameters<SignJWT["sign"]>[0], alg: string) =>
  new SignJWT(validClaims(deployment)).setProtectedHeader({ kid: "key-1", alg }).sign(key);

type TokenFactory = (deployment: Deployment) => Promise<string> | string;
const tokenWith =
  (options: TokenOptions): TokenFactory =>
  ({ provider, resource }) =>
    provider.issueToken(resource, options);
const tokenWithClaims = (claims: TokenOptions["claims"]) => tokenWith({ claims });

const INVALID_TOKENS: readonly (readonly [string, TokenFactory, string?])[] = [
  ["expired a minute ago", tokenWith({ seconds: -MINUTE })],
  ["not yet valid", tokenWithClaims({ nbf: Math.floor(Date.now() / 1_000) + 2 * MINUTE })],
  ["for another audience", ({ provider }) => provider.issueToken("https://other.example/mcp")],
  ["without an audience", tokenWithClaims({ aud: undefined })],
  [
    "valid for two days",
    tokenWith({ seconds: 2 * 1440 * MINUTE }),
    "The token is valid for more than 24 h, and could not be withdrawn in that time.",
  ],
  ["without an expiry", tokenWithClaims({ exp: undefined }), "The token must have a valid claim exp."],
  ["without a subject", tokenWithClaims({ sub: undefined }), "The token must have a valid claim sub."],
  ["of another issuer", tokenWithClaims({ iss: "https://elsewhere.example" }), "The token has another issuer."],
  ["an ID token whose audience is ours", tokenWith({ header: { typ: "JWT" }, claims: { at_hash: "x" } })],
  ["of another type", tokenWith({ header: { typ: "logout+jwt" } })],
  ["bound to a key", tokenWithClaims({ cnf: { jkt: "x" } })],
  ["unsigned (alg: none)", (deployment) => new UnsecuredJWT(validClaims(deployment)).encode()],
  [
    "signed with the public key as a secret (HS256)",
    async (it) => await forge(it, new TextEncoder().encode(await it.provider.exportPublicKey()), "HS256"),
  ],
  [
    "signed with another key under the provider's key id",
    async (it) => await forge(it, (await generateKeyPair("RS256")).privateKey, "RS256"),
  ],
  [
    "with another payload",
    async (deployment) => {
      const [header, , signature] = (await deployment.provider.issueToken(deployment.resource)).split(".");
      const payload = JSON.stringify({ ...validClaims(deployment), sub: "bob" });
      return [header, Buffer.from(payload).toString("base64url"), signature].join(".");
    },
  ],
  ["without its signature", async (it) => (await it.provider.issueToken(it.resource)).replace(/\.[^.]*$/, ".")],
  ["opaque", () => "0123456789abcdef0123456789abcdef"],
  ["of 25,000 letters", () => "x".repeat(25_000)],
];

test.for(INVALID_TOKENS)(
  "an invalid token (%s) gets 401 with the way to a valid one",
  async ([, createToken, reason = "invalid_token"], { deployment }) => {
    const { calls, resource, provider, look } = deployment;
    const { status, headers, body } = await look(await createToken(deployment)).answer;
    expect([status, body]).toEqual([401, expect.stringContaining(reason)]);
    const metadataUrl = `${new URL(resource).origin}/.well-known/oauth-protected-resource/mcp`;
    expect(headers["www-authenticate"]).toMatch(/^Bearer error="invalid_token".*scope="mic:read"/);
    expect(headers["www-authenticate"]).toContain(`resource_metadata="${metadataUrl}"`);
    expect(calls).toEqual([]);
    // A valid token from the same address is still accepted.
    await resultOf(look(await provider.issueToken(resource)), 1);
    expect(calls).toHaveLength(1);
  },
);

test.for<[string, string[]]>([
  ["missing", []],
  ["empty", ["authorization: Bearer"]],
  ["of another scheme", ["authorization: Basic YTpi"]],
  ["given twice", ["authorization: Bearer a", "authorization: Bearer b"]],
])(
  "a request whose Authorization header is %s gets 401 without an error code",
  async ([, headers], { deployment: { url, resource } }) => {
    const { host, origin } = new URL(resource);
    const head = ["POST /mcp HTTP/1.1", `host: ${host}`, ...headers, "content-length: 0", "connection: close", "", ""];
    const text = await exchangeBytes(url, [head.join("\r\n")]);
    expect(text).toMatch(/^HTTP\/1\.1 401 /);
    const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    // RFC 6750, 3.1: the response has an error code only if the request had a token.
    expect(text.toLowerCase()).toContain(`www-authenticate: bearer scope="mic:read", ${metadata}`);
  },
);

const ALL_RIGHTS = { rights: new Set(["read", "write"]) };
test.for<[string, TokenOptions, object]>([
  ["scopes as text in scope", { scope: "openid mic:read" }, { rights: new Set(["read"]) }],
  ["scopes as text in scp", { scope: "", claims: { scp: "mic:read mic:write" } }, ALL_RIGHTS],
  ["scopes as a list in scp", { scope: "", claims: { scp: ["mic:write", "mic:read"] } }, ALL_RIGHTS],
  ["its client in azp", { claims: { client_id: undefined, azp: "keycloak" } }, { clientId: "keycloak" }],
  ["its client in cid", { claims: { client_id: undefined, cid: "okta" } }, { clientId: "okta" }],
  ["its client in appid", { claims: { client_id: undefined, appid: "entra" } }, { clientId: "entra" }],
  ["the type JWT", { header: { typ: "JWT" } }, {}],
  ["no type", { header: { typ: undefined } }, {}],
  ["an expiry in the last 30 s", { seconds: -10 }, {}],
  ["a group as text", { claims: { groups: "red" } }, { groups: ["red"] }],
  ["groups as text with commas", { claims: { groups: "red,b, g" } }, { groups: ["red,b, g", "red", "b", "g"] }],
  ["groups as text with spaces", { claims: { groups: "red blue" } }, { groups: ["red blue", "red", "blue"] }],
  ["groups that are not strings", { claims: { groups: [1, "red", null] } }, { groups: ["red"] }],
  ["no groups", { claims: { groups: undefined } }, { groups: [] }],
])("a valid token with %s is accepted", async ([, options, caller], { deployment }) => {
  const { calls, resource, provider, look } = deployment;
  await resultOf(look(await provider.issueToken(resource, options)), 1);
  expect(calls).toMatchObject([{ caller: { subject: "alice", issuer: provider.issuer, ...caller } }]);
});

test("a token that is signed with any asymmetric algorithm is accepted", async () => {
  const ALGORITHMS = ["RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
  const pairs = await Promise.all(ALGORITHMS.map(async (alg) => ({ alg, ...(await generateKeyPair(alg)) })));
  const keys = await Promise.all(
    pairs.map(async ({ alg, publicKey }) => ({ ...(await exportJWK(publicKey)), kid: alg, alg })),
  );
  const server = createServer(({ url, headers }, response) => {
    const issuer = `http://${headers.host}`;
    const endpoints = { authorization_endpoint: issuer, token_endpoint: issuer, jwks_uri: `${issuer}/jwks` };
    response.end(JSON.stringify(url === "/jwks" ? { keys } : { issuer, ...endpoints }));
  });
  const issuer = await serveForTest(server);
  const deployment = await deploymentForTest({ tokens: { issuer } });
  for (const { alg, privateKey } of pairs) {
    const claims = { ...validClaims(deployment), iss: issuer };
    const token = await new SignJWT(claims).setProtectedHeader({ alg, kid: alg }).sign(privateKey);
    expect((await deployment.look(token).answer).status, alg).toBe(200);
  }
});

const STEP_UP_RESPONSE = [
  403,
  expect.stringMatching(/^Bearer error="insufficient_scope".*, scope="mic:read mic:write", resource_metadata="/),
];
const challengeIn = ({ status, headers }: Answer) => [status, headers["www-authenticate"]];
const toolCall = (name: string) => ({ jsonrpc: "2.0", method: "tools/call", params: { name, arguments: {} } });

const READ = { scope: "mic:read" };

test("an action without mic:write gets 403 with all scopes that it needs, in any revision, in a batch or without an id", async ({
  deployment: { connectAs, url, bearer, calls },
}) => {
  const modern = await connectAs(READ);
  expect(challengeIn(await modern.call(1, "act", {}).answer)).toEqual(STEP_UP_RESPONSE);
  const { headers } = await connectLegacyClient(url, {}, await bearer(READ));
  const act = { ...toolCall("act"), id: 1 };
  for (const body of [act, [{ ...toolCall("look"), id: 2 }, act], toolCall("act")])
    expect(challengeIn(await post(url, body, headers).answer)).toEqual(STEP_UP_RESPONSE);
  // A header that names another tool does not change the required scopes.
  const names = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "look" };
  expect((await post(url, act, { ...(await bearer(READ)), ...names }).answer).status).toBe(403);
  expect(calls).toEqual([]);
  await resultOf(modern.call(2, "look", {}), 2);
});

test("canceling a task needs mic:write and reading it does not, and all tools are listed so that a client can step up", async ({
  deployment,
}) => {
  const modern = await deployment.connectAs(READ);
  expect((await modern.request(1, "tasks/cancel", { taskId: "x" }).answer).status).toBe(403);
  expect((await modern.request(2, "tasks/get", { taskId: "x" }).answer).status).not.toBe(403);
  const tools = ["look", "act", "wait", "fetch"].map((name) => ({ name }));
  expect(await resultOf(modern.request(3, "tools/list"), 3)).toMatchObject({ tools });
});

test("a token without mic:read gets nothing, with or without mic:write", async ({ deployment: { connectAs } }) => {
  for (const scope of ["openid", "mic:write", ""])
    expect(challengeIn(await (await connectAs({ scope })).call(1, "look", {}).answer)).toEqual([
      403,
      expect.stringMatching(/scope="mic:read",/),
    ]);
});

test("a team's path accepts tokens for itself and for the deployment, and names itself in its challenge", async ({
  deployment: { url, bearer, resource, calls },
}) => {
  const statusFor = async (path: string, ...token: Parameters<typeof bearer>) =>
    (await createModernClient(url + path, {}, await bearer(...token)).call(1, "look", {}).answer).status;
  const own = `${resource}/${TEAM}`;
  const severalAudiences = { claims: { aud: ["https://other.example", resource] } };
  expect([
    await statusFor(`/${TEAM}`, {}, own),
    await statusFor(`/${TEAM}`),
    await statusFor("", severalAudiences),
  ]).toEqual([200, 200, 200]);
  expect(calls.map(({ team }) => team)).toEqual([TEAM, TEAM, undefined]);
  expect([await statusFor("", {}, own), await statusFor("/blue", {}, own)]).toEqual([401, 401]);
  // The caller is authenticated, but the team does not exist.
  expect(await statusFor("/blue")).toBe(404);
  const { headers } = await createModernClient(own).call(1, "look", {}).answer;
  expect(headers["www-authenticate"]).toContain(`/.well-known/oauth-protected-resource/mcp/${TEAM}"`);
});

test("tools that change nothing at the API need mic:read, and all other tools need mic:write", () => {
  const { runtime, close } = composeForTest({});
  onTestFinished(close);
  const { rightFor } = createCallerService({ ...runtime, team: "" });
  const wrong = runtime.tools.filter(
    ({ name, effect }) =>
      rightFor({ method: "tools/call", params: { name } }) !== (["read", "save"].includes(effect) ? "read" : "write"),
  );
  expect(runtime.tools.length).toBeGreaterThan(20);
  expect(wrong).toEqual([]);
});
