// Tests the limits of one caller at an instance: a request beyond them gets 429 with Retry-After before it has any effect.
// Tests also what an operator learns about refused requests: a log line a minute for each reason, with the token's values and the
// required values, and never the token or its subject.
import { expect, onTestFinished, test } from "vitest";
import { createRedactor } from "../../src/credentials/redaction.ts";
import { connectLegacyClient, createModernClient, type Message, post, resultOf } from "../mcp/http/raw-client.ts";
import type { TokenOptions } from "../support/identity-provider.ts";
import { loadTelemetryForTest, receiverForTest } from "../telemetry/receiver.ts";
import { deploymentForTest } from "./in-process-deployment.ts";

const listening = { notifications: { toolsListChanged: true } };
const isAcknowledged = ({ method }: Message) => method === "notifications/subscriptions/acknowledged";
const toNotification = (method: string, params: object = {}) => ({ jsonrpc: "2.0", method, params });

/** A deployment that allows `rate` calls per minute and `calls` concurrent calls; `pass` advances its clock. */
async function deployWithLimits(rate: number, calls: number, more: Parameters<typeof deploymentForTest>[0] = {}) {
  let nowMs = 0;
  const deployment = await deploymentForTest({ callerLimits: { rate, calls }, monotonicMs: () => nowMs, ...more });
  const advance = (ms: number): void => {
    nowMs += ms;
  };
  return { ...deployment, pass: advance, alice: await deployment.connectAs() };
}

test("a call beyond the rate gets 429 with Retry-After, and another caller is served", async () => {
  const { alice, connectAs, calls, pass } = await deployWithLimits(6, 100);
  for (let id = 1; id <= 6; id++) await resultOf(alice.call(id, "look", {}), id);
  const { status, headers, messages } = await alice.call(7, "look", {}).answer;
  expect([status, headers["retry-after"]]).toEqual([429, "10"]);
  expect(messages).toMatchObject([{ id: 7, error: { message: expect.stringContaining("6 calls per minute") } }]);
  await resultOf((await connectAs({ subject: "bob" })).call(1, "look", {}), 1);
  expect(calls).toHaveLength(7);
  pass(10_000);
  await resultOf(alice.call(8, "look", {}), 8);
  expect((await alice.call(9, "look", {}).answer).status).toBe(429);
});

test("a notification counts as a call, unless it cancels a call or answers a question of the server", async () => {
  const { url, bearer, pass } = await deployWithLimits(6, 1);
  // initialize and notifications/initialized used two calls of the rate.
  const session = await connectLegacyClient(url, {}, await bearer());
  const statusOf = async (body: unknown) => (await post(url, body, session.headers).answer).status;
  const rootsChanged = toNotification("notifications/roots/list_changed");
  expect([await statusOf(rootsChanged), await statusOf([rootsChanged, rootsChanged, rootsChanged])]).toEqual([
    202, 202,
  ]);
  const refused = await post(url, rootsChanged, session.headers).answer;
  expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "10"]);
  expect((await session.call(1, "look", {}).answer).status).toBe(429);
  expect(await statusOf(toNotification("notifications/cancelled", { requestId: 9 }))).toBe(202);
  expect(await statusOf({ jsonrpc: "2.0", id: 9, result: {} })).toBe(202);
  pass(10_000);
  expect([await statusOf(rootsChanged), await statusOf(rootsChanged)]).toEqual([202, 429]);
});

test("a refusal for a missing scope counts as a call, and each refusal is reported once", async () => {
  const refusals: string[] = [];
  const { connectAs, calls } = await deployWithLimits(2, 1, {
    onRefusal: ({ subject }, team, { reason }) => refusals.push(`${subject} ${team} ${reason}`),
  });
  const alice = await connectAs({ scope: "mic:act" });
  const statuses: number[] = [];
  for (const id of [1, 2, 3]) statuses.push((await alice.call(id, "look", {}).answer).status);
  expect(statuses).toEqual([403, 403, 429]);
  expect(refusals).toEqual(["alice undefined insufficient_scope", "alice undefined insufficient_scope"]);
  expect(calls).toEqual([]);
});

test("each message of a batch counts as a concurrent call, and a call that ends frees its slot", async () => {
  const { url, bearer, calls, release } = await deployWithLimits(1_000, 2);
  const { headers } = await connectLegacyClient(url, {}, await bearer());
  const message = (id: number) => ({ ...toNotification("tools/call", { name: "wait", arguments: {} }), id });
  const first = post(url, message(1), headers);
  await expect.poll(() => calls.length).toBe(1);
  const batch = await post(url, [message(2), message(3)], headers).answer;
  expect([batch.status, batch.headers["retry-after"]]).toEqual([429, "1"]);
  expect(calls).toHaveLength(1);
  // A cancellation must be accepted while all slots are in use.
  const cancelled = toNotification("notifications/cancelled", { requestId: 9 });
  expect((await post(url, cancelled, headers).answer).status).toBe(202);
  release();
  await first.answer;
  expect((await post(url, [message(4), message(5)], headers).answer).status).toBe(200);
});

test("a client that disconnects during a call frees its slot", async () => {
  const { alice, calls } = await deployWithLimits(1_000, 1);
  const call = alice.call(1, "wait", {});
  await expect.poll(() => calls.length).toBe(1);
  expect((await alice.call(2, "look", {}).answer).status).toBe(429);
  await call.cut();
  await expect.poll(async () => (await alice.call(3, "look", {}).answer).status).toBe(200);
});

test("streams do not count as calls", async () => {
  const { alice } = await deployWithLimits(1_000, 1);
  const streams = [1, 2, 3].map((id) => alice.request(id, "subscriptions/listen", listening));
  onTestFinished(async () => {
    for (const stream of streams) await stream.cut();
  });
  for (const stream of streams) await stream.message(isAcknowledged);
  expect((await alice.call(4, "look", {}).answer).status).toBe(200);
});

test("a stream ends when the token that opened it expires, and opens again with another token", async () => {
  const { connectAs } = await deploymentForTest();
  // Resolves only when the server ends the stream, because the test does not end it.
  const streamResponse = await (await connectAs({ seconds: 2 })).request(1, "subscriptions/listen", listening).answer;
  expect(streamResponse.status).toBe(200);
  const alice = await connectAs();
  const stream = alice.request(2, "subscriptions/listen", listening);
  onTestFinished(() => stream.cut());
  await stream.message(isAcknowledged);
  await resultOf(alice.call(3, "look", {}), 3);
});

/** Starts a deployment, and collects the lines of its log at `warn`, and the counted reasons. */
async function setUp() {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const receiver = await receiverForTest();
  const startTelemetry = await loadTelemetryForTest(receiver);
  let nowMs = 0;
  const noop = (): void => undefined;
  const warn = (facts: object, message: string) => void lines.push({ message, ...facts });
  const log = { debug: noop, info: noop, warn, error: noop };
  const telemetry = startTelemetry?.({ log, redactor: createRedactor() });
  const deployment = await deploymentForTest({
    callerLimits: { rate: 3, calls: 100 },
    log,
    monotonicMs: () => nowMs,
    telemetry,
  });
  const callWith = async (authorization: string, tool = "look") =>
    (await createModernClient(deployment.url, {}, { authorization }).call(1, tool, {}).answer).status;
  return {
    ...deployment,
    lines,
    /** The number of refusals, by reason. */
    async readCounts() {
      await telemetry?.close();
      const points = receiver.points().filter(({ name }) => name === "mic.http.refusals");
      return Object.fromEntries(points.map(({ attributes, value }) => [attributes["mic.refusal.reason"], value]));
    },
    advance(ms: number): void {
      nowMs += ms;
    },
    callWith,
    callAs: async (options: TokenOptions, audience = deployment.resource, tool = "look") =>
      await callWith(`Bearer ${await deployment.provider.issueToken(audience, options)}`, tool),
  };
}

test("a refused token is logged with its audience, groups and scopes and with the required ones, once a minute", async () => {
  const { lines, readCounts, callAs, advance, resource, provider } = await setUp();
  const options = { groups: ["greens"], scope: "email" };
  for (let count = 0; count < 3; count++) expect(await callAs(options, "https://other.example")).toBe(401);
  expect(lines).toEqual([
    {
      message: "requests were refused",
      refusal: "wrong_audience",
      count: 1,
      address: "127.0.0.1",
      reason: "The token was issued for another server.",
      token: { issuer: [provider.issuer], audiences: ["https://other.example"], scopes: ["email"], groups: ["greens"] },
      required: { audiences: [resource], scopes: ["mic:read", "mic:act"], groupsClaim: "groups" },
    },
  ]);
  advance(60_001);
  expect(await callAs(options, "https://other.example")).toBe(401);
  expect(lines).toMatchObject([{ count: 1 }, { count: 3 }]);
  expect(await readCounts()).toEqual({ wrong_audience: 4 });
  expect(JSON.stringify(lines)).not.toContain("alice");
});

test("a missing scope and an exceeded rate are logged and counted by reason", async () => {
  const { lines, readCounts, callAs } = await setUp();
  const reader = { scope: "mic:read", groups: ["red"] };
  expect(await callAs(reader, undefined, "act")).toBe(403);
  for (const status of [200, 200, 429]) expect(await callAs(reader)).toBe(status);
  expect(await readCounts()).toEqual({ insufficient_scope: 1, rate_limited: 1 });
  expect(lines).toMatchObject([
    { refusal: "insufficient_scope", token: { scopes: ["mic:read"], groups: ["red"] } },
    { refusal: "rate_limited", reason: "at most 3 calls per minute for each caller" },
  ]);
});

test("requests without a token and with an expired one are counted and not logged, because each sign-in begins with one", async () => {
  const { lines, readCounts, callWith, callAs } = await setUp();
  expect(await callWith("")).toBe(401);
  expect(await callAs({ seconds: -3_600 })).toBe(401);
  expect(await readCounts()).toEqual({ no_token: 1, expired_token: 1 });
  expect(lines).toEqual([]);
});
