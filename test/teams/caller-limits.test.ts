// How much a caller may ask of an instance: beyond it 429 with Retry-After, for him alone, before anything is done.
import { expect, onTestFinished, test } from "vitest";
import { legacySpeaker, type Message, modernSpeaker, post, resultOf } from "../mcp/http/raw.ts";
import { type Deployment, deploymentForTest } from "./bench.ts";

const listening = { notifications: { toolsListChanged: true } };
const isAcknowledged = ({ method }: Message) => method === "notifications/subscriptions/acknowledged";

const bearer = async ({ provider, resource }: Deployment, subject = "alice") => ({
  authorization: `Bearer ${await provider.token(resource, { subject })}`,
});

test("calls a minute: the next is told when, and another caller goes on", async () => {
  let nowMs = 0;
  const deployment = await deploymentForTest({
    callerLimits: { rate: 6, calls: 100 },
    monotonicMs: () => nowMs,
  });
  const { url, calls } = deployment;
  const alice = modernSpeaker(url, {}, await bearer(deployment));
  for (let id = 1; id <= 6; id++) await resultOf(alice.call(id, "look", {}), id);
  const refused = await alice.call(7, "look", {}).answer;
  expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "10"]);
  expect(refused.messages).toMatchObject([
    { id: 7, error: { message: expect.stringContaining("6 calls within a minute") } },
  ]);
  await resultOf(modernSpeaker(url, {}, await bearer(deployment, "bob")).call(1, "look", {}), 1);
  expect(calls).toHaveLength(7);
  nowMs += 10_000;
  await resultOf(alice.call(8, "look", {}), 8);
  expect((await alice.call(9, "look", {}).answer).status).toBe(429);
});

test("a notification counts as a call of the minute, but for what ends a call or answers its question", async () => {
  let nowMs = 0;
  const deployment = await deploymentForTest({ callerLimits: { rate: 6, calls: 1 }, monotonicMs: () => nowMs });
  // initialize and notifications/initialized took two.
  const session = await legacySpeaker(deployment.url, {}, await bearer(deployment));
  const note = (method: string, params: object = {}) => ({ jsonrpc: "2.0", method, params });
  const said = async (body: unknown) => (await post(deployment.url, body, session.headers).answer).status;
  const moved = note("notifications/roots/list_changed");
  expect([await said(moved), await said([moved, moved, moved])]).toEqual([202, 202]);
  const refused = await post(deployment.url, moved, session.headers).answer;
  expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "10"]);
  expect((await session.call(1, "look", {}).answer).status).toBe(429);
  expect(await said(note("notifications/cancelled", { requestId: 9 }))).toBe(202);
  expect(await said({ jsonrpc: "2.0", id: 9, result: {} })).toBe(202);
  nowMs += 10_000;
  expect([await said(moved), await said(moved)]).toEqual([202, 429]);
});

test("a refusal for lack of a scope counts as a call of the minute, and is told once for each", async () => {
  const refused: string[] = [];
  const deployment = await deploymentForTest({
    callerLimits: { rate: 2, calls: 1 },
    monotonicMs: () => 0,
    onRefusal: ({ subject }, team, { why }) => refused.push(`${subject} ${team} ${why}`),
  });
  const authorization = `Bearer ${await deployment.provider.token(deployment.resource, { scope: "mic:act" })}`;
  const alice = modernSpeaker(deployment.url, {}, { authorization });
  const statuses: number[] = [];
  for (const id of [1, 2, 3]) statuses.push((await alice.call(id, "look", {}).answer).status);
  expect(statuses).toEqual([403, 403, 429]);
  expect(refused).toEqual(["alice undefined insufficient_scope", "alice undefined insufficient_scope"]);
  expect(deployment.calls).toEqual([]);
});

test("calls at once, each message of a batch counted: one that ends makes room", async () => {
  const deployment = await deploymentForTest({ callerLimits: { rate: 1_000, calls: 2 } });
  const { url, calls, release } = deployment;
  const { headers } = await legacySpeaker(url, {}, await bearer(deployment));
  const message = (id: number) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "wait", arguments: {} },
  });
  const first = post(url, message(1), headers);
  await expect.poll(() => calls.length).toBe(1);
  const batch = await post(url, [message(2), message(3)], headers).answer;
  expect([batch.status, batch.headers["retry-after"]]).toEqual([429, "1"]);
  expect(calls).toHaveLength(1);
  // What tells a call to end must get in whatever is under way.
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 9 } };
  expect((await post(url, cancelled, headers).answer).status).toBe(202);
  release();
  await first.answer;
  expect((await post(url, [message(4), message(5)], headers).answer).status).toBe(200);
});

test("a client that goes in the middle makes room, too", async () => {
  const deployment = await deploymentForTest({ callerLimits: { rate: 1_000, calls: 1 } });
  const { url, calls } = deployment;
  const alice = modernSpeaker(url, {}, await bearer(deployment));
  const gone = alice.call(1, "wait", {});
  await expect.poll(() => calls.length).toBe(1);
  expect((await alice.call(2, "look", {}).answer).status).toBe(429);
  await gone.cut();
  await expect.poll(async () => (await alice.call(3, "look", {}).answer).status).toBe(200);
});

test("streams are counted apart from calls, and are no calls", async () => {
  const deployment = await deploymentForTest({ callerLimits: { rate: 1_000, calls: 1 } });
  const alice = modernSpeaker(deployment.url, {}, await bearer(deployment));
  const streams = [1, 2, 3].map((id) => alice.request(id, "subscriptions/listen", listening));
  onTestFinished(async () => {
    for (const stream of streams) await stream.cut();
  });
  for (const stream of streams) await stream.message(isAcknowledged);
  expect((await alice.call(4, "look", {}).answer).status).toBe(200);
});

test("a stream ends with the token that opened it, and opens again with another", async () => {
  const deployment = await deploymentForTest();
  const { url, provider, resource } = deployment;
  const short = { authorization: `Bearer ${await provider.token(resource, { seconds: 2 })}` };
  // It resolves at its end: nobody here cuts it.
  const ended = await modernSpeaker(url, {}, short).request(1, "subscriptions/listen", listening).answer;
  expect(ended.status).toBe(200);
  const alice = modernSpeaker(url, {}, await bearer(deployment));
  const stream = alice.request(2, "subscriptions/listen", listening);
  onTestFinished(() => stream.cut());
  await stream.message(isAcknowledged);
  await resultOf(alice.call(3, "look", {}), 3);
});
