// Tests failures and changes of the identity provider. If a token cannot be verified, the response is 503 and never 401, because
// clients discard their tokens after a 401. Tests also introspection: the subject of an opaque token if the response leaves out `sub`,
// which RFC 7662 (2.2) allows, and how an instance authenticates.
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { generateKeyPair, SignJWT } from "jose";
import { expect, onTestFinished, test, vi } from "vitest";
import { callerId } from "../../src/teams/caller.ts";
import { createModernClient, get, resultOf } from "../mcp/http/raw-client.ts";
import { serveForTest } from "../support/http-server.ts";
import { AGENT, DEPLOYMENT } from "../support/identity-provider.ts";
import { type DeploymentOptions, deploymentForTest, providerForTest } from "./in-process-deployment.ts";

const MINUTE_MS = 60_000;
const KEYS_PATH = "GET /jwks";
const INTROSPECTION_PATH = "POST /token/introspection";

/** Starts a deployment whose clocks all advance with `advance`. */
async function setUp({ tokens, ...options }: DeploymentOptions = {}) {
  const startedAt = Date.now();
  let elapsedMs = 0;
  onTestFinished(() => void vi.useRealTimers());
  const deployment = await deploymentForTest({ ...options, tokens: { ...tokens, monotonicMs: () => elapsedMs } });
  const { url, resource, provider } = deployment;
  const callLook = (token: string) =>
    createModernClient(url, {}, { authorization: `Bearer ${token}` }).call(1, "look", {});
  return {
    ...deployment,
    call: callLook,
    advance(ms: number): void {
      elapsedMs += ms;
      vi.setSystemTime(startedAt + elapsedMs);
    },
    statusOf: async (token: string) => (await callLook(token).answer).status,
    token: (...options: [Parameters<typeof provider.issueToken>[1]?]) => provider.issueToken(resource, ...options),
    forged: (kid: string) => provider.issueToken(resource, { subject: "mallory", header: { kid } }),
    requestsTo: (path: string) => provider.requests.filter((request) => request === path).length,
    /** The response to a GET for a path outside /mcp. */
    getPath: (path: string) => get(new URL(path, resource).href).answer,
  };
}

test("while the provider is down at the start, calls and documents get 503 with Retry-After and the instance is not ready", async () => {
  const { statusOf, call, token, getPath, provider, calls } = await setUp();
  const good = await token();
  await provider.stop();
  const { status, headers, messages } = await call(good).answer;
  expect([status, headers["retry-after"], headers["www-authenticate"]]).toEqual([503, "5", undefined]);
  expect(messages[0]?.error?.message).toMatch(/identity provider/);
  const document = await getPath("/.well-known/oauth-protected-resource/mcp");
  expect([document.status, document.headers["retry-after"]]).toEqual([503, "5"]);
  const { status: readiness, body } = await getPath("/readyz");
  expect([readiness, body]).toEqual([503, expect.stringMatching(/"not ready".*identity provider/)]);
  expect(calls).toEqual([]);
  await provider.start();
  expect((await getPath("/readyz")).status).toBe(200);
  expect(await statusOf(good)).toBe(200);
});

test("a request without a token gets 401 even while the provider is down", async () => {
  const { url, provider } = await setUp();
  await provider.stop();
  expect((await createModernClient(url).call(1, "look", {}).answer).status).toBe(401);
});

test("while the provider is down, known keys stay valid for hours and an unknown key gets 503", async () => {
  const { statusOf, token, advance, getPath, provider, resource } = await setUp();
  expect(await statusOf(await token())).toBe(200);
  await provider.stop();
  for (const subject of ["bob", "carol"]) {
    advance(90 * MINUTE_MS);
    expect(await statusOf(await token({ subject, seconds: 86_400 }))).toBe(200);
  }
  const { privateKey } = await generateKeyPair("RS256");
  const unknown = await new SignJWT({ iss: provider.issuer, sub: "dave", aud: resource, scope: "mic:read" })
    .setProtectedHeader({ alg: "RS256", kid: "key-of-tomorrow" })
    .setExpirationTime("1h")
    .sign(privateKey);
  expect(await statusOf(unknown)).toBe(503);
  expect((await getPath("/readyz")).status).toBe(200);
});

test("a new key is found with its first token, and tokens of a withdrawn key are refused when they are not cached anymore", async () => {
  const { statusOf, token, advance, provider } = await setUp();
  const [old, oldOfBob] = [await token(), await token({ subject: "bob" })];
  expect(await statusOf(old)).toBe(200);
  await provider.rotateKeys();
  advance(31_000);
  expect(await statusOf(await token({ subject: "carol" }))).toBe(200);
  // Bob's token arrives after the keys were read. Only the next read shows whether the provider has withdrawn its key.
  expect([await statusOf(oldOfBob), await statusOf(old)]).toEqual([503, 200]);
  advance(31_000);
  expect([await statusOf(oldOfBob), await statusOf(old)]).toEqual([401, 503]);
  advance(31_000);
  expect(await statusOf(old)).toBe(401);
});

test("right after a forged key id, valid tokens of a new key get 503 with Retry-After, never 401, and 200 after that delay", async () => {
  const { statusOf, call, token, forged: forgedToken, advance, provider, requestsTo: countRequestsTo } = await setUp();
  expect(await statusOf(await token())).toBe(200);
  advance(31_000);
  expect(await statusOf(await forgedToken("unknown-key"))).toBe(401);
  await provider.rotateKeys();
  const ofNewKey = await token({ subject: "carol" });
  advance(2_000);
  const { status, headers, body } = await call(ofNewKey).answer;
  expect([status, headers["retry-after"], headers["www-authenticate"]]).toEqual([503, "28", undefined]);
  expect(body).toContain("Try again in 28 s");
  // More forged tokens neither extend the delay nor cause more reads.
  for (let second = 0; second < 27; second++) {
    advance(1_000);
    expect(await statusOf(await forgedToken(`unknown-key-${second}`))).toBe(503);
  }
  expect([await statusOf(ofNewKey), countRequestsTo(KEYS_PATH)]).toEqual([503, 2]);
  advance(1_000);
  expect([await statusOf(ofNewKey), countRequestsTo(KEYS_PATH)]).toEqual([200, 3]);
});

test("a token of a withdrawn key gets 401 after the next read, even if forged tokens cause every read", async () => {
  const { statusOf, token, forged: forgedToken, advance, provider, requestsTo: countRequestsTo } = await setUp();
  const withdrawn = await token();
  await provider.rotateKeys();
  expect(await statusOf(await forgedToken("unknown-key"))).toBe(401);
  expect(await statusOf(withdrawn)).toBe(503);
  advance(30_000);
  expect(await statusOf(await forgedToken("unknown-key-2"))).toBe(401);
  expect([await statusOf(withdrawn), countRequestsTo(KEYS_PATH)]).toEqual([401, 2]);
});

test("a provider that returns no keys is asked again after 5 s at the earliest", async () => {
  const { statusOf, token, forged: forgedToken, advance, provider, requestsTo: countRequestsTo } = await setUp();
  expect(await statusOf(await token())).toBe(200);
  provider.failAt("/jwks");
  advance(31_000);
  for (let at = 0; at < 10; at++) expect(await statusOf(await forgedToken(`key-${at}x`))).toBe(503);
  expect(countRequestsTo(KEYS_PATH)).toBe(2);
  advance(5_000);
  expect(await statusOf(await forgedToken("unknown-key"))).toBe(503);
  expect(countRequestsTo(KEYS_PATH)).toBe(3);
});

test("known keys are read again in the background, so a withdrawn key does not stay valid", async () => {
  const { statusOf, token, advance, provider, requestsTo: countRequestsTo } = await setUp();
  const long = await token({ seconds: 86_400 });
  expect(await statusOf(long)).toBe(200);
  await provider.rotateKeys();
  advance(11 * MINUTE_MS);
  // This request is verified with the known keys, and triggers the read.
  expect(await statusOf(long)).toBe(200);
  await expect.poll(() => countRequestsTo(KEYS_PATH)).toBe(2);
  advance(2 * MINUTE_MS);
  expect(await statusOf(long)).toBe(401);
});

test("concurrent requests of several callers read the provider's keys once", async () => {
  const { call, token, requestsTo: countRequestsTo } = await setUp();
  const tokens = await Promise.all(["alice", "bob"].map((subject) => token({ subject })));
  await Promise.all([...tokens, ...tokens, ...tokens].map((each) => resultOf(call(each), 1)));
  expect(countRequestsTo(KEYS_PATH)).toBe(1);
});

test("a verified token is not cached beyond its expiry", async () => {
  const { statusOf, token, advance } = await setUp();
  const short = await token({ seconds: 10 });
  expect(await statusOf(short)).toBe(200);
  // The time is past the expiry, the tolerance of 30 s and 6 s more.
  advance(46_000);
  expect(await statusOf(short)).toBe(401);
});

test("provider metadata of another issuer is refused with an error that has both names", async () => {
  const provider = await providerForTest();
  const { getPath } = await setUp({ provider, tokens: { issuer: `${provider.issuer}/` } });
  const { status, body } = await getPath("/readyz");
  expect([status, body]).toEqual([503, expect.stringContaining("MIC_AUTH_ISSUER must be identical to it")]);
});

const opaque = (groups: readonly string[] = []) =>
  setUp({
    provider: { format: "opaque", groupsOf: () => groups },
    tokens: { tokens: "introspection", client: DEPLOYMENT },
  });

test("introspection is requested once in 30 s for a valid token", async () => {
  const { statusOf, advance, provider, resource, calls, requestsTo: countRequestsTo } = await opaque(["red"]);
  const token = await provider.fetchRobotToken(resource);
  for (let round = 0; round < 3; round++) expect(await statusOf(token)).toBe(200);
  expect(countRequestsTo(INTROSPECTION_PATH)).toBe(1);
  expect(calls[0]?.caller).toMatchObject({ subject: "client:robot", clientId: "robot", groups: ["red"] });
  advance(31_000);
  expect([await statusOf(token), countRequestsTo(INTROSPECTION_PATH)]).toEqual([200, 2]);
});

test("introspection is requested once in 10 s for an invalid token, and invalid tokens evict no valid one from the cache", async () => {
  const { statusOf, advance, provider, resource, requestsTo: countRequestsTo } = await opaque();
  advance(0);
  const good = await provider.fetchRobotToken(resource);
  expect([await statusOf(good), countRequestsTo(INTROSPECTION_PATH)]).toEqual([200, 1]);
  for (let round = 0; round < 50; round++) expect(await statusOf("unknown")).toBe(401);
  expect([await statusOf(good), countRequestsTo(INTROSPECTION_PATH)]).toEqual([200, 2]);
  advance(10_001);
  expect([await statusOf("unknown"), countRequestsTo(INTROSPECTION_PATH)]).toEqual([401, 3]);
  expect(await statusOf(await provider.fetchRobotToken(resource))).toBe(200);
});

type Credentials = Readonly<Record<"authorization" | "body", string>>;

/**
 * Starts an identity provider whose introspection returns this response for each token. `accepts`: whether it accepts the credentials of
 * the request. Returns its issuer.
 */
async function startIntrospectionProvider(
  answer: Readonly<Record<string, unknown>>,
  accepts: (credentials: Credentials) => boolean = () => true,
): Promise<string> {
  const server = createServer(async (request, response) => {
    const issuer = `http://${request.headers.host}`;
    const metadata = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      introspection_endpoint: `${issuer}/introspect`,
    };
    const isIntrospection = request.url === "/introspect";
    const credentials = { authorization: request.headers.authorization ?? "", body: await text(request) };
    const body = isIntrospection ? { active: true, ...answer } : metadata;
    response
      .writeHead(isIntrospection && !accepts(credentials) ? 401 : 200, { "content-type": "application/json" })
      .end(JSON.stringify(body));
  });
  return await serveForTest(server);
}

const introspectionOptions = { tokens: "introspection", client: DEPLOYMENT } as const;
const agentClaims = { client_id: AGENT.id, scope: "mic:read mic:act" };

/**
 * Makes a call whose token has this introspection response. Returns the resolved caller, or the status and the body of the
 * refusal.
 */
async function introspectedCaller(answer: Readonly<Record<string, unknown>>) {
  const issuer = await startIntrospectionProvider({ aud: "the-audience", ...agentClaims, ...answer });
  const { url, calls } = await deploymentForTest({
    tokens: { ...introspectionOptions, issuer },
    audience: "the-audience",
  });
  const { status, body } = await createModernClient(url, {}, { authorization: "Bearer the-token" }).call(1, "look", {})
    .answer;
  const caller = calls[0]?.caller;
  return { issuer, status, body, subject: caller?.subject, id: caller?.id, clientId: caller?.clientId };
}

test.each([
  ["sub, although there is a username", { sub: "4711", username: "anna" }, "4711"],
  ["username if there is no sub", { username: "anna" }, "username:anna"],
  ["username if sub is null", { sub: null, username: "anna" }, "username:anna"],
  ["username if sub is empty", { sub: "", username: "anna" }, "username:anna"],
  ["client_id if no user is named", {}, "client:agent"],
  ["client_id if sub and username are null", { sub: null, username: null }, "client:agent"],
])("the subject of an introspected token is %s", async (_what, answer, subject) => {
  const { issuer, ...caller } = await introspectedCaller(answer);
  expect(caller).toMatchObject({ status: 200, subject, id: callerId(issuer, subject), clientId: AGENT.id });
});

test.each([
  ["names its user by another claim", { user_name: "anna" }, "introspection must return sub or username"],
  ["names its user by an e-mail address", { email: "anna@example.org" }, "introspection must return sub or username"],
  ["names neither a user nor a client", { client_id: undefined }, "introspection must return sub or username"],
  ["has a sub that looks like a username's subject", { sub: "username:anna" }, "this server reserves"],
  ["has a sub that looks like a client's subject", { sub: "client:agent" }, "this server reserves"],
])("an introspection response that %s is refused with 401 and the reason", async (_what, answer, reason) => {
  const { status, body, subject } = await introspectedCaller(answer);
  expect({ status, subject }).toEqual({ status: 401, subject: undefined });
  expect(body).toContain(reason);
});

const client = { id: "mic-mcp", secret: "a-secret_with.a/slash" };
const isInBody = ({ body }: Credentials, secret = client.secret) =>
  new URLSearchParams(body).get("client_secret") === secret;
const rawBasic = ({ id, secret }: typeof client) => `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`;
const plain = { id: "mic-mcp", secret: "a-secret_with.dots~" };

test.each<[string, typeof client, (credentials: Credentials) => boolean]>([
  ["compares Basic credentials without decoding them", plain, ({ authorization }) => authorization === rawBasic(plain)],
  [
    "decodes Basic credentials",
    client,
    ({ authorization }) => authorization === rawBasic({ ...client, secret: "a-secret_with.a%2Fslash" }),
  ],
  ["accepts them only in the body", client, isInBody],
])("a provider that %s verifies tokens, and the instance is ready", async (_what, own, accepts) => {
  const issuer = await startIntrospectionProvider({ ...agentClaims, aud: "the-audience", sub: "4711" }, accepts);
  const { url, calls } = await deploymentForTest({
    tokens: { tokens: "introspection", client: own, issuer },
    audience: "the-audience",
  });
  const callWith = (token: string) =>
    createModernClient(url, {}, { authorization: `Bearer ${token}` }).call(1, "look", {}).answer;
  for (const token of ["one", "two"]) expect((await callWith(token)).status).toBe(200);
  expect(calls).toHaveLength(2);
  expect((await get(new URL("/readyz", url).href).answer).status).toBe(200);
});

test("an instance with a wrong secret is not ready, and the reason names the variables", async () => {
  const issuer = await startIntrospectionProvider({ sub: "4711" }, () => false);
  const { url } = await deploymentForTest({ tokens: { ...introspectionOptions, issuer } });
  const { status, body } = await get(new URL("/readyz", url).href).answer;
  expect(status).toBe(503);
  expect(body).toContain("HTTP 401; check MIC_AUTH_CLIENT_ID and MIC_AUTH_CLIENT_SECRET");
});
