// Tests the limits of one caller, of an instance and of a team's share of it: a request beyond them gets 429 with Retry-After before it
// has any effect.
// Tests also what an operator learns about refused requests: a log line a minute for each reason, with the token's values and the
// required values, and never the token or its subject.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createRedactor } from "../../src/credentials/redaction.ts";
import { createTeamShares, pauseSlotFor } from "../../src/teams/tenancy/team-shares.ts";
import { connectLegacyClient, createModernClient, type Message, post, resultOf } from "../mcp/http/raw-client.ts";
import { loadTelemetryForTest, receiverForTest } from "../telemetry/receiver.ts";
import { type DeploymentOptions, deploymentForTest } from "./in-process-deployment.ts";

const listening = { notifications: { toolsListChanged: true } };
const isAcknowledged = ({ method }: Message) => method === "notifications/subscriptions/acknowledged";
const toNotification = (method: string, params: object = {}) => ({ jsonrpc: "2.0", method, params });
const cancellation = toNotification("notifications/cancelled", { requestId: 9 });

/** A deployment that allows `rate` calls per minute of a caller, and `allCalls` concurrent calls. */
async function deployWithLimits(rate: number, allCalls: number, more: DeploymentOptions = {}) {
  const deployment = await deploymentForTest({ callerLimits: { rate, allCalls }, ...more });
  return { ...deployment, alice: await deployment.connectAs() };
}

test("a call beyond the rate gets 429 with Retry-After, and another caller is served", async () => {
  const { alice, connectAs, calls, advance } = await deployWithLimits(6, 100);
  for (let id = 1; id <= 6; id++) await resultOf(alice.call(id, "look", {}), id);
  const { status, headers, messages } = await alice.call(7, "look", {}).answer;
  expect([status, headers["retry-after"]]).toEqual([429, "10"]);
  expect(messages).toMatchObject([{ id: 7, error: { message: expect.stringContaining("6 calls per minute") } }]);
  await resultOf((await connectAs({ subject: "bob" })).call(1, "look", {}), 1);
  expect(calls).toHaveLength(7);
  advance(10_000);
  await resultOf(alice.call(8, "look", {}), 8);
  expect((await alice.call(9, "look", {}).answer).status).toBe(429);
});

test("a notification counts as a call, unless it cancels a call or answers a question of the server", async () => {
  const { url, bearer, advance } = await deployWithLimits(6, 1);
  // initialize and notifications/initialized used two calls of the rate.
  const session = await connectLegacyClient(url, {}, await bearer());
  const statusOf = async (body: unknown) => (await post(url, body, session.headers).answer).status;
  const rootsChanged = toNotification("notifications/roots/list_changed");
  expect([await statusOf(rootsChanged), await statusOf([rootsChanged, rootsChanged, rootsChanged])]).toEqual([
    202, 202,
  ]);
  expect([await statusOf(rootsChanged), (await session.call(1, "look", {}).answer).status]).toEqual([429, 429]);
  expect(await statusOf(cancellation)).toBe(202);
  expect(await statusOf({ jsonrpc: "2.0", id: 9, result: {} })).toBe(202);
  advance(10_000);
  expect([await statusOf(rootsChanged), await statusOf(rootsChanged)]).toEqual([202, 429]);
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
  expect((await post(url, cancellation, headers).answer).status).toBe(202);
  release();
  await first.answer;
  expect((await post(url, [message(4), message(5)], headers).answer).status).toBe(200);
});

test("a client that disconnects during a call frees its slot, and streams use no slots", async () => {
  const { alice, calls } = await deployWithLimits(1_000, 1);
  const streams = [11, 12].map((id) => alice.request(id, "subscriptions/listen", listening));
  onTestFinished(async () => {
    for (const stream of streams) await stream.cut();
  });
  for (const stream of streams) await stream.message(isAcknowledged);
  const call = alice.call(1, "wait", {});
  await expect.poll(() => calls.length).toBe(1);
  expect((await alice.call(2, "look", {}).answer).status).toBe(429);
  await call.cut();
  await expect.poll(async () => (await alice.call(3, "look", {}).answer).status).toBe(200);
});

test("a stream ends when the token that opened it expires, and opens again with another token", async () => {
  const { connectAs } = await deploymentForTest();
  // Resolves only when the server ends the stream, because the test does not end it.
  const streamResponse = await (await connectAs({ seconds: 2 })).request(1, "subscriptions/listen", listening).answer;
  expect(streamResponse.status).toBe(200);
  const stream = (await connectAs()).request(2, "subscriptions/listen", listening);
  onTestFinished(() => stream.cut());
  await stream.message(isAcknowledged);
});

test("an instance with as many calls as it accepts answers 429 and stays ready, and serves again when a call ends", async () => {
  const limits = { rate: 1_000, allCalls: 2 };
  const { url, connectAs, calls, release, log } = await deploymentForTest({ callerLimits: limits });
  const callers = await Promise.all(["alice", "bob", "cleo"].map((subject) => connectAs({ subject })));
  const [alice, bob, cleo] = callers;
  const running = [alice?.call(1, "wait", {}), bob?.call(1, "wait", {})];
  await expect.poll(() => calls.length).toBe(2);
  const refused = await cleo?.call(2, "look", {}).answer;
  expect([refused?.status, refused?.headers["retry-after"]]).toEqual([429, "1"]);
  expect(refused?.messages).toMatchObject([{ id: 2, error: { message: expect.stringContaining("in this instance") } }]);
  expect(log).toMatchObject([{ refusal: "instance_full", reason: "at most 2 concurrent calls in this instance" }]);
  // The balancer keeps an instance that is full.
  expect((await fetch(new URL("/readyz", url))).status).toBe(200);
  release();
  for (const call of running) expect((await call?.answer)?.status).toBe(200);
  expect((await cleo?.call(3, "look", {}).answer)?.status).toBe(200);
});

const HOUR_MS = 3_600_000;

/** A deployment in which the callers of two teams share four running calls. Two more of each team wait. */
async function deployWithShares(more: DeploymentOptions["teamShares"] = {}) {
  const teamShares = { running: 4, smallest: 1, waiting: 2, waitMs: HOUR_MS, runMs: HOUR_MS, ...more };
  const deployment = await deployWithTelemetry({
    callerLimits: { rate: 1_000 },
    teamShares,
    teamOf: ({ subject }) => subject,
  });
  const { connectAs } = deployment;
  const [red, blue] = [await connectAs({ subject: "red" }), await connectAs({ subject: "blue" })];
  return { ...deployment, red, blue };
}

test("a team with more calls than its share waits and is then refused, while another team is served at once", async () => {
  const { red, blue, calls, log, release, readCounts } = await deployWithShares();
  const busy = [1, 2, 3, 4, 5, 6].map((id) => red.call(id, "wait", {}));
  await expect.poll(() => calls.length).toBe(4);
  await expect.poll(async () => (await red.call(7, "look", {}).answer).status).toBe(429);
  const refused = await red.call(8, "look", {}).answer;
  expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
  const limit = "at most 4 running and 2 waiting calls of the team red in this instance";
  expect(refused.messages).toMatchObject([{ id: 8, error: { message: expect.stringContaining(limit) } }]);
  expect(log).toMatchObject([{ refusal: "team_limited", team: "red", reason: limit }]);
  for (const id of [1, 2, 3]) expect((await blue.call(id, "look", {}).answer).status).toBe(200);
  expect(calls).toHaveLength(7);
  release();
  for (const call of busy) expect((await call.answer).status).toBe(200);
  expect((await readCounts())["team_limited"]).toBeGreaterThan(0);
});

test("a team's share is smaller while another team has calls", async () => {
  const { red, blue, calls, release } = await deployWithShares();
  const others = [1, 2].map((id) => blue.call(id, "wait", {}));
  await expect.poll(() => calls.length).toBe(2);
  const busy = [1, 2, 3, 4].map((id) => red.call(id, "wait", {}));
  await expect.poll(() => calls.length).toBe(4);
  await expect.poll(async () => (await red.call(5, "look", {}).answer).status).toBe(429);
  expect(calls).toHaveLength(4);
  release();
  for (const call of [...busy, ...others]) expect((await call.answer).status).toBe(200);
});

test.each([
  ["runs for a long time no longer counts as running", { runMs: 50 }, 200],
  ["waits for too long is refused", { waitMs: 50 }, 429],
] as const)("a call that %s", async (_what, limits, status) => {
  const { red, calls, release } = await deployWithShares({ running: 1, ...limits });
  const first = red.call(1, "wait", {});
  await expect.poll(() => calls.length).toBe(1);
  expect((await red.call(2, "look", {}).answer).status).toBe(status);
  release();
  expect((await first.answer).status).toBe(200);
});

test("a call does not count as running while it waits for the API", async () => {
  const { red, calls, release } = await deployWithShares({ running: 1 });
  const first = red.call(1, "fetch", {});
  await expect.poll(() => calls.length).toBe(1);
  expect((await red.call(2, "look", {}).answer).status).toBe(200);
  release();
  expect((await first.answer).status).toBe(200);
});

test("one call of a busy team starts or continues in each turn of the event loop, so that other requests are read in between", async () => {
  const shares = createTeamShares({ running: 1 });
  const turns: number[] = [];
  let turn = 0;
  let isDone = false;
  const countTurns = (): void => {
    turn += 1;
    if (!isDone) setImmediate(countTurns);
  };
  countTurns();
  const call = () =>
    shares.runRequest(async () => {
      const slot = await shares.enter("red", new AbortController().signal);
      if (!("release" in slot)) throw new Error(slot.why);
      turns.push(turn);
      await pauseSlotFor(async () => undefined);
      turns.push(turn);
      slot.release();
    });
  await Promise.all(Array.from({ length: 10 }, call));
  isDone = true;
  const callsByTurn = turns.map((each) => turns.filter((other) => other === each).length);
  // Two calls begin at once, because the smallest share is 2.
  expect(turns).toHaveLength(20);
  expect(Math.max(...callsByTurn)).toBe(2);
  expect(new Set(turns).size).toBe(19);
});

test("a client that disconnects while its call waits leaves the queue, and its call never runs", async () => {
  const { red, calls, release } = await deployWithShares({ running: 1, waiting: 1 });
  const first = red.call(1, "wait", {});
  await expect.poll(() => calls.length).toBe(1);
  const waiting = red.call(2, "act", {});
  await expect.poll(async () => (await red.call(3, "look", {}).answer).status).toBe(429);
  await waiting.cut();
  let next = first;
  // The next call waits in the place that became free, instead of being refused.
  await expect
    .poll(() => {
      next = red.call(4, "look", {});
      return Promise.race([next.answer, sleep(100, "waits")]);
    })
    .toBe("waits");
  release();
  expect((await next.answer).status).toBe(200);
  expect(calls.map(({ tool }) => tool)).toEqual(["wait", "look"]);
});

/** A deployment that allows 3 calls per minute. `readCounts` returns the number of refusals by reason. */
async function deployWithTelemetry(more: DeploymentOptions = {}) {
  const receiver = await receiverForTest();
  const startTelemetry = await loadTelemetryForTest(receiver);
  const noop = (): void => undefined;
  const log = { isLevelEnabled: () => true, debug: noop, info: noop, warn: noop, error: noop };
  const telemetry = startTelemetry?.({ log, redactor: createRedactor() });
  const deployment = await deploymentForTest({ callerLimits: { rate: 3 }, telemetry, ...more });
  const { connectAs } = deployment;
  return {
    ...deployment,
    async readCounts() {
      await telemetry?.close();
      // The counter of each reason begins with 0.
      const points = receiver.points().filter(({ name, value }) => name === "mic.http.refusals" && value !== 0);
      return Object.fromEntries(points.map(({ attributes, value }) => [attributes["mic.refusal.reason"], value]));
    },
    statusFor: async (tool: string, ...token: Parameters<typeof connectAs>) =>
      (await (await connectAs(...token)).call(1, tool, {}).answer).status,
  };
}

test("a refused token is logged with its audience, groups and scopes and with the required ones, once a minute", async () => {
  const { url, log, readCounts, statusFor, advance, resource, provider } = await deployWithTelemetry();
  const look = () => statusFor("look", { groups: ["greens"], scope: "email" }, "https://other.example");
  for (let count = 0; count < 3; count++) expect(await look()).toBe(401);
  expect(log).toEqual([
    {
      message: "requests were refused",
      refusal: "wrong_audience",
      count: 1,
      address: "127.0.0.1",
      reason: "The token was issued for another server.",
      token: { issuer: [provider.issuer], audiences: ["https://other.example"], scopes: ["email"], groups: ["greens"] },
      required: { audiences: [resource], scopes: ["mic:read", "mic:write"], groupsClaim: "groups" },
    },
  ]);
  advance(60_001);
  expect(await look()).toBe(401);
  // Each sign-in begins with a request without a token or with an expired one, so these are not logged.
  expect((await createModernClient(url).call(1, "look", {}).answer).status).toBe(401);
  expect(await statusFor("look", { seconds: -3_600 })).toBe(401);
  expect(log).toMatchObject([{ count: 1 }, { count: 3 }]);
  expect(await readCounts()).toEqual({ wrong_audience: 4, no_token: 1, expired_token: 1 });
  expect(JSON.stringify(log)).not.toContain("alice");
});

test("a missing scope counts as a call; missing scopes and exceeded rates are logged, reported and counted by reason", async () => {
  const refusals: string[] = [];
  const { log, readCounts, statusFor, calls } = await deployWithTelemetry({
    onMissingScope: ({ subject }, team, tool) => refusals.push(`${subject} ${team} ${tool}`),
  });
  const reader = { scope: "mic:read", groups: ["red"] };
  for (const status of [403, 403, 403, 429]) expect(await statusFor("act", reader)).toBe(status);
  expect(await statusFor("look", reader)).toBe(429);
  expect(calls).toEqual([]);
  expect(refusals).toEqual(Array.from({ length: 3 }, () => "alice undefined act"));
  expect(await readCounts()).toEqual({ insufficient_scope: 3, rate_limited: 2 });
  expect(log).toMatchObject([
    { refusal: "insufficient_scope", token: { scopes: ["mic:read"], groups: ["red"] } },
    { refusal: "rate_limited", reason: "at most 3 calls per minute for each caller" },
  ]);
});
