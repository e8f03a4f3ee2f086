// Tests failures and changes of the identity provider. If a token cannot be verified, the response is 503 and never 401, because
// clients discard their tokens after a 401.
import { expect, onTestFinished, test, vi } from "vitest";
import { createHealthCheck } from "../../src/teams/readiness.ts";
import { createModernClient, get, resultOf } from "../mcp/http/raw-client.ts";
import type { TokenOptions } from "../support/identity-provider.ts";
import { type DeploymentOptions, deploymentForTest } from "./in-process-deployment.ts";

const MINUTE_MS = 60_000;
const KEYS_PATH = "GET /jwks";

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
