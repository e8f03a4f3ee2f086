// Tests failures and changes of the identity provider. If a token cannot be verified, the response is 503 and never 401, because
// clients discard their tokens after a 401. Tests also introspection: the subject of an opaque token if the response leaves out `sub`,
// which RFC 7662 (2.2) allows, and how an instance authenticates.
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import { callerId } from "../../src/teams/caller.ts";
import { createHealthCheck } from "../../src/teams/readiness.ts";
import { createModernClient, get, resultOf } from "../mcp/http/raw-client.ts";
import { serveForTest } from "../support/http-server.ts";
import { AGENT, DEPLOYMENT, type TokenOptions } from "../support/identity-provider.ts";
import { type DeploymentOptions, deploymentForTest } from "./in-process-deployment.ts";

const MINUTE_MS = 60_000;
const KEYS_PATH = "GET /jwks";
const INTROSPECTION_PATH = "POST /token/introspection";

/** Starts a deployment whose clocks all advance with `advance`. */
async function setUp(options: DeploymentOptions = {}) {
  const startedAt = Date.now();
  let elapsedMs = 0;
  onTestFinished(() => void vi.useRealTimers());
  const deployment = await deploymentForTest(options);
  const { look, resource, provider } = deployment;
  return {
    ...deployment,
    advance(ms: number): void {
      elapsedMs += ms;
      deployment.advance(ms);
      vi.setSystemTime(startedAt + elapsedMs);
    },
    statusOf: async (token: string) => (await look(token).answer).status,
    token: (options?: TokenOptions) => provider.issueToken(resource, options),
    forgeToken: (kid: string) => provider.issueToken(resource, { subject: "mallory", header: { kid } }),
    countRequestsTo: (path: string) => provider.requests.filter((request) => request === path).length,
    getPath: (path: string) => get(new URL(path, resource).href).answer,
  };
}

test("while the provider is down at the start, calls and documents get 503 with Retry-After and the instance is not ready", async () => {
  const { url, statusOf, look, token, getPath, provider, calls } = await setUp();
  const good = await token();
  await provider.stop();
  const { status, headers, messages } = await look(good).answer;
  expect([status, headers["retry-after"], headers["www-authenticate"]]).toEqual([503, "5", undefined]);
  expect(messages[0]?.error?.message).toMatch(/identity provider/);
  // A request without a token is refused without the provider.
  expect((await createModernClient(url).call(1, "look", {}).answer).status).toBe(401);
  const document = await getPath("/.well-known/oauth-protected-resource/mcp");
  expect([document.status, document.headers["retry-after"]]).toEqual([503, "5"]);
  const { status: readiness, body } = await getPath("/readyz");
  expect([readiness, body]).toEqual([503, expect.stringMatching(/"not ready".*identity provider/)]);
  expect(calls).toEqual([]);
  await provider.start();
  expect((await getPath("/readyz")).status).toBe(200);
  expect(await statusOf(good)).toBe(200);
});

test("a slow dependency is degraded and logged, but not in the first check, which also opens connections", async () => {
  let elapsedMs = 0;
  const log: object[] = [];
  const record = (facts: object) => void log.push(facts);
  const check = createHealthCheck({
    name: "database",
    log: { info: record, warn: record },
    monotonicMs: () => elapsedMs,
    async run() {
      elapsedMs += 600;
      return undefined;
    },
  });
  expect(await check()).toEqual({ status: "ok", ms: 600 });
  expect(log).toEqual([]);
  elapsedMs += MINUTE_MS;
  expect(await check()).toEqual({ status: "degraded", ms: 600, reason: "slow" });
  expect(log).toMatchObject([{ dependency: "database", reason: "slow" }]);
});

test("while the provider is down, /readyz is degraded with the reason, and calls with known keys succeed", async () => {
  const { statusOf, token, advance, getPath, provider } = await setUp();
  const good = await token();
  expect(await statusOf(good)).toBe(200);
  const readiness = async () => {
    const { status, body } = await getPath("/readyz");
    return [status, JSON.parse(body).checks.identityProvider] as const;
  };
  expect(await readiness()).toMatchObject([200, { status: "ok" }]);
  await provider.stop();
  advance(31_000);
  const degraded = { status: "degraded", reason: expect.stringContaining("the identity provider is not available") };
  await expect.poll(readiness).toMatchObject([200, degraded]);
  expect(await statusOf(await token())).toBe(200);
  await provider.start();
  advance(31_000);
  await expect.poll(readiness).toMatchObject([200, { status: "ok" }]);
});

test("while the provider is down, known keys stay valid for hours and an unknown key gets 503", async () => {
  const { statusOf, token, forgeToken, advance, getPath, provider } = await setUp();
  expect(await statusOf(await token())).toBe(200);
  await provider.stop();
  for (const subject of ["bob", "carol"]) {
    advance(90 * MINUTE_MS);
    expect(await statusOf(await token({ subject, seconds: 86_400 }))).toBe(200);
  }
  expect(await statusOf(await forgeToken("key-of-tomorrow"))).toBe(503);
  expect((await getPath("/readyz")).status).toBe(200);
});

test("a new key is found with its first token, and tokens of a withdrawn key are refused when they are not cached anymore", async () => {
  const { statusOf, token, forgeToken, advance, provider } = await setUp();
  const [old, oldOfBob] = [await token(), await token({ subject: "bob" })];
  expect(await statusOf(old)).toBe(200);
  await provider.rotateKeys();
  advance(31_000);
  expect(await statusOf(await token({ subject: "carol" }))).toBe(200);
  // Bob's token arrives after the keys were read. Only the next read shows whether the provider has withdrawn its key.
  expect([await statusOf(oldOfBob), await statusOf(old)]).toEqual([503, 200]);
  advance(31_000);
  // A forged token may cause the next read, too.
  expect(await statusOf(await forgeToken("unknown-key"))).toBe(401);
  expect([await statusOf(oldOfBob), await statusOf(old)]).toEqual([401, 503]);
  advance(31_000);
  expect(await statusOf(old)).toBe(401);
});

test("right after a forged key id, valid tokens of a new key get 503 with Retry-After, never 401, and 200 after that delay", async () => {
  const { statusOf, look, token, forgeToken, advance, provider, countRequestsTo } = await setUp();
  expect(await statusOf(await token())).toBe(200);
  advance(31_000);
  expect(await statusOf(await forgeToken("unknown-key"))).toBe(401);
  await provider.rotateKeys();
  const ofNewKey = await token({ subject: "carol" });
  advance(2_000);
  const { status, headers, body } = await look(ofNewKey).answer;
  expect([status, headers["retry-after"], headers["www-authenticate"]]).toEqual([503, "28", undefined]);
  expect(body).toContain("Try again in 28 s");
  // More forged tokens neither extend the delay nor cause more reads.
  for (let second = 0; second < 27; second++) {
    advance(1_000);
    expect(await statusOf(await forgeToken(`unknown-key-${second}`))).toBe(503);
  }
  expect([await statusOf(ofNewKey), countRequestsTo(KEYS_PATH)]).toEqual([503, 2]);
  advance(1_000);
  expect([await statusOf(ofNewKey), countRequestsTo(KEYS_PATH)]).toEqual([200, 3]);
});

test("a provider that returns no keys is asked again after 5 s at the earliest", async () => {
  const { statusOf, token, forgeToken, advance, provider, countRequestsTo } = await setUp();
  expect(await statusOf(await token())).toBe(200);
  provider.failAt("/jwks");
  advance(31_000);
  for (let at = 0; at < 10; at++) expect(await statusOf(await forgeToken(`key-${at}x`))).toBe(503);
  expect(countRequestsTo(KEYS_PATH)).toBe(2);
  advance(5_000);
  expect(await statusOf(await forgeToken("unknown-key"))).toBe(503);
  expect(countRequestsTo(KEYS_PATH)).toBe(3);
});

test("known keys are read again in the background, so a withdrawn key does not stay valid", async () => {
  const { statusOf, token, advance, provider, countRequestsTo } = await setUp();
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
  const { look, token, countRequestsTo } = await setUp();
  const tokens = await Promise.all(["alice", "bob"].map((subject) => token({ subject })));
  await Promise.all([...tokens, ...tokens, ...tokens].map((each) => resultOf(look(each), 1)));
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
  const { provider } = await deploymentForTest();
  const { getPath } = await setUp({ tokens: { issuer: `${provider.issuer}/` } });
  const { status, body } = await getPath("/readyz");
  expect([status, body]).toEqual([503, expect.stringContaining("MIC_AUTH_ISSUER must be identical to it")]);
});

test("introspection runs once per 30 s for a valid token and per 10 s for an invalid one, which evicts no valid token", async () => {
  const { statusOf, advance, provider, resource, calls, countRequestsTo } = await setUp({
    provider: { format: "opaque", groupsOf: () => ["red"] },
    tokens: { tokens: "introspection", client: DEPLOYMENT },
  });
  advance(0);
  const good = await provider.fetchRobotToken(resource);
  const expectRequests = async (token: string, status: number, count: number) =>
    expect([await statusOf(token), countRequestsTo(INTROSPECTION_PATH)]).toEqual([status, count]);
  for (let round = 0; round < 3; round++) await expectRequests(good, 200, 1);
  expect(calls[0]?.caller).toMatchObject({ subject: "client:robot", clientId: "robot", groups: ["red"] });
  for (let round = 0; round < 50; round++) await expectRequests("unknown", 401, 2);
  await expectRequests(good, 200, 2);
  advance(10_001);
  await expectRequests("unknown", 401, 3);
  advance(21_000);
  await expectRequests(good, 200, 4);
});

type Client = Readonly<Record<"id" | "secret", string>>;
type Credentials = Readonly<Record<"authorization" | "body", string>>;

const agentClaims = { client_id: AGENT.id, scope: "mic:read mic:write" };

/**
 * Starts a deployment whose identity provider returns these introspection responses. `accepts`: whether it accepts the credentials
 * of a request.
 */
async function introspectingDeployment(
  accepts: (credentials: Credentials) => boolean = () => true,
  client: Client = DEPLOYMENT,
) {
  const answers = new Map<string, object>();
  const server = createServer(async (request, response) => {
    const issuer = `http://${request.headers.host}`;
    const credentials = { authorization: request.headers.authorization ?? "", body: await text(request) };
    const endpoints = { authorization_endpoint: issuer, token_endpoint: issuer };
    const answer = answers.get(new URLSearchParams(credentials.body).get("token") ?? "");
    const isIntrospection = request.url === "/introspect";
    const body = isIntrospection
      ? { active: answer !== undefined, aud: "the-audience", ...agentClaims, ...answer }
      : { issuer, ...endpoints, introspection_endpoint: `${issuer}/introspect` };
    response
      .writeHead(isIntrospection && !accepts(credentials) ? 401 : 200, { "content-type": "application/json" })
      .end(JSON.stringify(body));
  });
  const issuer = await serveForTest(server);
  const deployment = await deploymentForTest({
    tokens: { tokens: "introspection", client, issuer },
    audience: "the-audience",
  });
  return {
    issuer,
    calls: deployment.calls,
    /** The response to a call with a new token that has this introspection response. */
    async look(answer: object) {
      const token = `token-${answers.size}`;
      answers.set(token, answer);
      return await deployment.look(token).answer;
    },
    probe: () => get(new URL("/readyz", deployment.url).href).answer,
  };
}

test.each([
  ["sub, even if there is a username", { sub: "4711", username: "anna" }, "4711"],
  ["username if sub is null", { sub: null, username: "anna" }, "username:anna"],
  ["username if sub is empty", { sub: "", username: "anna" }, "username:anna"],
  ["client_id if no user is named", {}, "client:agent"],
  ["client_id if sub and username are null", { sub: null, username: null }, "client:agent"],
])("the subject of an introspected token is %s", async (_what, answer, subject) => {
  const { issuer, calls, look } = await introspectingDeployment();
  expect((await look(answer)).status).toBe(200);
  expect(calls).toMatchObject([{ caller: { subject, id: callerId(issuer, subject), clientId: AGENT.id } }]);
});

test("an introspection response that names no user unambiguously is refused with 401 and the reason", async () => {
  const { calls, look } = await introspectingDeployment();
  for (const [answer, reason] of [
    [{ user_name: "anna" }, "introspection must return sub or username"],
    [{ email: "anna@example.org" }, "introspection must return sub or username"],
    [{ client_id: undefined }, "introspection must return sub or username"],
    [{ sub: "username:anna" }, "this server reserves"],
    [{ sub: "client:agent" }, "this server reserves"],
  ] as const)
    expect(await look(answer)).toMatchObject({ status: 401, body: expect.stringContaining(reason) });
  expect(calls).toEqual([]);
});

const client = { id: "mic-mcp", secret: "a-secret_with.a/slash" };
const isInBody = ({ body }: Credentials) => new URLSearchParams(body).get("client_secret") === client.secret;
const basic = ({ id, secret }: Client) => `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`;
const encoded = basic({ ...client, secret: "a-secret_with.a%2Fslash" });
const plain = { id: "mic-mcp", secret: "a-secret_with.dots~" };

test.each<[string, Client, (credentials: Credentials) => boolean]>([
  ["compares Basic credentials without decoding them", plain, ({ authorization }) => authorization === basic(plain)],
  ["decodes Basic credentials", client, ({ authorization }) => authorization === encoded],
  ["accepts credentials only in the body", client, isInBody],
])("a provider that %s verifies tokens, and the instance is ready", async (_what, own, accepts) => {
  const { look, probe } = await introspectingDeployment(accepts, own);
  for (const sub of ["one", "two"]) expect((await look({ sub })).status).toBe(200);
  expect((await probe()).status).toBe(200);
});

test("an instance with a wrong secret is not ready, and the reason names the variables", async () => {
  const { status, body } = await (await introspectingDeployment(() => false)).probe();
  expect(status).toBe(503);
  expect(body).toContain("HTTP 401; check MIC_AUTH_CLIENT_ID and MIC_AUTH_CLIENT_SECRET");
});
