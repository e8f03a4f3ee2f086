// The identity provider's bad days: what it says of itself is kept, and where nobody can tell whose a token is, the answer is 503 and
// never 401, on which clients throw their login away.
import { generateKeyPair, SignJWT } from "jose";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { get, modernSpeaker, resultOf } from "../mcp/http/raw.ts";
import { DEPLOYMENT, type IdentityProvider } from "../support/identity-provider.ts";
import { type Deployment, deploymentForTest, providerForTest } from "./bench.ts";

const MINUTE_MS = 60_000;
const KEYS_PATH = "GET /jwks";

const call = (url: string, token: string) =>
  modernSpeaker(url, {}, { authorization: `Bearer ${token}` }).call(1, "look", {});
const statusOf = async (url: string, token: string) => (await call(url, token).answer).status;
const ready = async ({ resource }: Deployment) => {
  const { status, body } = await get(new URL("/readyz", resource).href).answer;
  return { status, body };
};

/** Lets time pass for every clock of a deployment. */
function clock() {
  const startedAt = Date.now();
  let aheadMs = 0;
  onTestFinished(() => void vi.useRealTimers());
  return {
    monotonicMs: () => aheadMs,
    pass(ms: number) {
      aheadMs += ms;
      vi.setSystemTime(startedAt + aheadMs);
    },
  };
}

describe("down at the start", () => {
  test("calls and documents are 503 with Retry-After, and it is not ready; all is well once the provider is there", async () => {
    const provider = await providerForTest();
    const deployment = await deploymentForTest({ provider });
    const { url, resource, calls } = deployment;
    const token = await provider.token(resource);
    await provider.stop();
    const { status, headers, messages } = await call(url, token).answer;
    expect([status, headers["retry-after"]]).toEqual([503, "5"]);
    expect(headers["www-authenticate"]).toBeUndefined();
    expect(messages[0]?.error?.message).toMatch(/identity provider/);
    const document = await get(new URL("/.well-known/oauth-protected-resource/mcp", resource).href).answer;
    expect([document.status, document.headers["retry-after"]]).toEqual([503, "5"]);
    expect(await ready(deployment)).toEqual({
      status: 503,
      body: expect.stringMatching(/"not ready".*identity provider/),
    });
    expect(calls).toEqual([]);
    await provider.start();
    expect((await ready(deployment)).status).toBe(200);
    await resultOf(call(url, token), 1);
  });

  test("without a token the answer is 401 all the same: that needs nobody", async () => {
    const provider = await providerForTest();
    const { url } = await deploymentForTest({ provider });
    await provider.stop();
    expect((await modernSpeaker(url).call(1, "look", {}).answer).status).toBe(401);
  });
});

describe("down later", () => {
  test("known keys go on, hours after they were read; a key that nobody knows is 503", async () => {
    const time = clock();
    const deployment = await deploymentForTest({ tokens: time });
    const { url, resource, provider } = deployment;
    await resultOf(call(url, await provider.token(resource)), 1);
    await provider.stop();
    for (const subject of ["bob", "carol"]) {
      time.pass(90 * MINUTE_MS);
      expect(await statusOf(url, await provider.token(resource, { subject, seconds: 86_400 }))).toBe(200);
    }
    const { privateKey } = await generateKeyPair("RS256");
    const unknown = await new SignJWT({ iss: provider.issuer, sub: "dave", aud: resource, scope: "mic:read" })
      .setProtectedHeader({ alg: "RS256", kid: "key-of-tomorrow" })
      .setExpirationTime("1h")
      .sign(privateKey);
    expect(await statusOf(url, unknown)).toBe(503);
    expect((await ready(deployment)).status).toBe(200);
  });
});

describe("keys that change", () => {
  test("a new one is found at its first token; what a withdrawn one signed is bad, once it is no longer remembered", async () => {
    const time = clock();
    const { url, resource, provider } = await deploymentForTest({ tokens: time });
    const [old, oldOfBob] = [await provider.token(resource), await provider.token(resource, { subject: "bob" })];
    expect(await statusOf(url, old)).toBe(200);
    await provider.rotate();
    time.pass(31_000);
    expect(await statusOf(url, await provider.token(resource, { subject: "carol" }))).toBe(200);
    // Bob's token comes after the keys were read: whether the provider has withdrawn its key is known with the next read.
    expect([await statusOf(url, oldOfBob), await statusOf(url, old)]).toEqual([503, 200]);
    time.pass(31_000);
    expect([await statusOf(url, oldOfBob), await statusOf(url, old)]).toEqual([401, 503]);
    time.pass(31_000);
    expect(await statusOf(url, old)).toBe(401);
  });

  describe("right after a stranger's token with an unknown key", () => {
    const readsOf = ({ requests }: IdentityProvider) => requests.filter((request) => request === KEYS_PATH).length;
    const forged = (provider: IdentityProvider, resource: string, kid: string) =>
      provider.token(resource, { subject: "mallory", header: { kid } });

    test("good tokens of the new key get 503 with Retry-After, never 401, and 200 after it", async () => {
      const time = clock();
      const { url, resource, provider } = await deploymentForTest({ tokens: time });
      expect(await statusOf(url, await provider.token(resource))).toBe(200);
      time.pass(31_000);
      expect(await statusOf(url, await forged(provider, resource, "key-of-nobody"))).toBe(401);
      await provider.rotate();
      const token = await provider.token(resource, { subject: "carol" });
      time.pass(2_000);
      const { status, headers, body } = await call(url, token).answer;
      expect([status, headers["retry-after"], headers["www-authenticate"]]).toEqual([503, "28", undefined]);
      expect(body).toContain("Call again in 28 s");
      // Strangers do not prolong it, nor do they cause more reads.
      for (let second = 0; second < 27; second++) {
        time.pass(1_000);
        expect(await statusOf(url, await forged(provider, resource, `key-of-nobody-${second}`))).toBe(503);
      }
      expect([await statusOf(url, token), readsOf(provider)]).toEqual([503, 2]);
      time.pass(1_000);
      expect([await statusOf(url, token), readsOf(provider)]).toEqual([200, 3]);
    });

    test("a token of a withdrawn key gets 401 after the next read, although strangers cause every read", async () => {
      const time = clock();
      const { url, resource, provider } = await deploymentForTest({ tokens: time });
      const token = await provider.token(resource);
      await provider.rotate();
      expect(await statusOf(url, await forged(provider, resource, "key-of-nobody"))).toBe(401);
      expect(await statusOf(url, token)).toBe(503);
      time.pass(30_000);
      expect(await statusOf(url, await forged(provider, resource, "key-of-nobody-2"))).toBe(401);
      expect([await statusOf(url, token), readsOf(provider)]).toEqual([401, 2]);
    });

    test("a provider that gives no keys is asked again after 5 s at the earliest", async () => {
      const time = clock();
      const { url, resource, provider } = await deploymentForTest({ tokens: time });
      expect(await statusOf(url, await provider.token(resource))).toBe(200);
      provider.failAt("/jwks");
      time.pass(31_000);
      for (let at = 0; at < 10; at++)
        expect(await statusOf(url, await forged(provider, resource, `key-${at}x`))).toBe(503);
      expect(readsOf(provider)).toBe(2);
      time.pass(5_000);
      expect(await statusOf(url, await forged(provider, resource, "key-of-nobody"))).toBe(503);
      expect(readsOf(provider)).toBe(3);
    });
  });

  test("they are read again in the background, so that a withdrawn one is not good for ever", async () => {
    const time = clock();
    const { url, resource, provider } = await deploymentForTest({ tokens: time });
    const token = await provider.token(resource, { seconds: 86_400 });
    expect(await statusOf(url, token)).toBe(200);
    await provider.rotate();
    time.pass(11 * MINUTE_MS);
    // This one is still held against what is known, and has it read again.
    expect(await statusOf(url, token)).toBe(200);
    await expect.poll(() => provider.requests.filter((request) => request === KEYS_PATH).length).toBe(2);
    time.pass(2 * MINUTE_MS);
    expect(await statusOf(url, token)).toBe(401);
  });
});

test("of a token, the provider's keys are asked for once, whoever comes how often", async () => {
  const { url, resource, provider } = await deploymentForTest();
  const tokens = await Promise.all(["alice", "bob"].map((subject) => provider.token(resource, { subject })));
  await Promise.all([...tokens, ...tokens, ...tokens].map((token) => resultOf(call(url, token), 1)));
  expect(provider.requests.filter((request) => request === KEYS_PATH)).toHaveLength(1);
});

test("a verified token is remembered, and never beyond its end", async () => {
  const time = clock();
  const { url, resource, provider } = await deploymentForTest({ tokens: time });
  const token = await provider.token(resource, { seconds: 10 });
  expect(await statusOf(url, token)).toBe(200);
  // Half a minute of tolerance, and six seconds.
  time.pass(46_000);
  expect(await statusOf(url, token)).toBe(401);
});

test("a provider that names itself otherwise is told apart, with both names", async () => {
  const provider = await providerForTest();
  const deployment = await deploymentForTest({ provider, tokens: { issuer: `${provider.issuer}/` } });
  const { status, body } = await ready(deployment);
  expect(status).toBe(503);
  expect(body).toContain("MIC_AUTH_ISSUER must be the same text");
});

describe("introspection", () => {
  const asking = { tokens: "introspection", client: DEPLOYMENT } as const;

  test("an opaque token is asked about once in half a minute", async () => {
    const time = clock();
    const { url, resource, provider, calls } = await deploymentForTest({
      provider: { format: "opaque", groupsOf: () => ["red"] },
      tokens: { ...asking, ...time },
    });
    const token = await provider.robotToken(resource);
    for (let round = 0; round < 3; round++) expect(await statusOf(url, token)).toBe(200);
    const asked = () => provider.requests.filter((request) => request === "POST /token/introspection").length;
    expect(asked()).toBe(1);
    expect(calls[0]?.caller).toMatchObject({ subject: "client:robot", clientId: "robot", groups: ["red"] });
    time.pass(31_000);
    expect([await statusOf(url, token), asked()]).toEqual([200, 2]);
  });

  test("a token that is not in force is asked about once in 10 s, and pushes out none that is", async () => {
    const time = clock();
    const { url, resource, provider } = await deploymentForTest({
      provider: { format: "opaque" },
      tokens: { ...asking, ...time },
    });
    const asked = () => provider.requests.filter((request) => request === "POST /token/introspection").length;
    time.pass(0);
    const good = await provider.robotToken(resource);
    expect([await statusOf(url, good), asked()]).toEqual([200, 1]);
    for (let round = 0; round < 50; round++) expect(await statusOf(url, "of-nobody")).toBe(401);
    expect([await statusOf(url, good), asked()]).toEqual([200, 2]);
    time.pass(10_001);
    expect([await statusOf(url, "of-nobody"), asked()]).toEqual([401, 3]);
    expect(await statusOf(url, await provider.robotToken(resource))).toBe(200);
  });
});
