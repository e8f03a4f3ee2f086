// Tests sessions of the older revisions: start, lookup, limit, idle time, end, unknown ids.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLatch } from "../../support/latch.ts";
import { serveForTest } from "./in-process-server.ts";
import { connectLegacyClient, createModernClient, get, initializeMessage, post, send } from "./raw-client.ts";

const statusOf = async (...sent: Parameters<typeof post>) => (await post(...sent).answer).status;
const ping = { jsonrpc: "2.0", id: 9, method: "ping" };
const pings = (...ids: readonly number[]) => ids.map((id) => ({ ...ping, id }));

test("an unknown session returns 404, so that the client initializes again, and a missing id returns 400", async () => {
  const { url } = await serveForTest();
  const remove = (headers = {}) => send(url, { method: "DELETE", headers });
  for (const [sent, status, text] of [
    [post(url, ping, { "mcp-session-id": crypto.randomUUID() }), 404, /"id":9.*Session not found.*nitialize/],
    [get(url, { "mcp-session-id": "no-such-session" }), 404, /Session not found.*nitialize/],
    [remove({ "mcp-session-id": "__proto__" }), 404, /Session not found.*nitialize/],
    [post(url, ping), 400, /Mcp-Session-Id.*initialize/],
    [get(url), 400, /Mcp-Session-Id.*initialize/],
    [remove(), 400, /Mcp-Session-Id.*initialize/],
  ] as const)
    expect(await sent.answer).toMatchObject({ status, body: expect.stringMatching(text) });
});

test("DELETE ends a session: its stream ends, its calls are aborted, and its id becomes unknown", async () => {
  const { url, begunIds, finished } = await serveForTest();
  const { call, headers } = await connectLegacyClient(url);
  const inFlight = [get(url, headers), call(1, "wait", {})];
  await expect.poll(() => begunIds).toEqual([1]);
  expect((await send(url, { method: "DELETE", headers }).answer).status).toBe(200);
  for (const { answer } of inFlight) expect((await answer).messages).toEqual([]);
  expect(await statusOf(url, ping, headers)).toBe(404);
  expect(finished).toEqual([]);
});

test("a session has one listening stream at a time; the next stream can start when the first is cut", async () => {
  const { url } = await serveForTest();
  const { headers } = await connectLegacyClient(url);
  const first = get(url, headers);
  await expect.poll(async () => (await get(url, headers).answer).status).toBe(409);
  await first.cut();
  const isRefused = async () => Promise.race([get(url, headers).answer.then(() => true), sleep(200, false)]);
  await expect.poll(isRefused).toBe(false);
});

test("a session refuses a second request with the id of a request in flight", async () => {
  const { url, begunIds, release, finished } = await serveForTest();
  const { call, headers } = await connectLegacyClient(url);
  const first = call(1, "wait", {});
  await expect.poll(() => begunIds).toEqual([1]);
  const duplicate = await call(1, "say", { bytes: 1 }).answer;
  expect(duplicate.status).toBe(400);
  expect(duplicate.messages[0]?.error).toMatchObject({ code: -32600, message: expect.stringContaining("id 1") });
  expect(await statusOf(url, pings(5, 5), headers)).toBe(400);
  release();
  expect((await first.answer).messages).toHaveLength(1);
  await expect.poll(() => finished).toEqual([1]);
  // The first request is answered, so its id is free.
  expect((await call(1, "say", { bytes: 1 }).answer).status).toBe(200);
});

test("a batch is answered in one stream; initialize is refused in a batch and in a session", async () => {
  const { url } = await serveForTest();
  const { headers } = await connectLegacyClient(url);
  const { messages } = await post(url, pings(1, 2), headers).answer;
  expect(messages.map(({ id }) => id).sort()).toEqual([1, 2]);
  expect(await statusOf(url, [initializeMessage(), ping])).toBe(400);
  expect(await statusOf(url, initializeMessage(), headers)).toBe(400);
});

test("an answer within a second is JSON; a longer call is a stream, which ends when the call is canceled", async () => {
  const { url, begunIds, release } = await serveForTest();
  const { call, notify } = await connectLegacyClient(url);
  expect((await call(1, "say", { bytes: 1 }).answer).headers["content-type"]).toBe("application/json");
  const [finished, canceled] = [call(2, "wait", {}), call(3, "wait", {})];
  await expect.poll(() => begunIds).toEqual([1, 2, 3]);
  await sleep(1_200);
  await notify("notifications/cancelled", { requestId: 3 });
  expect((await canceled.answer).messages).toEqual([]);
  release();
  const { headers, messages } = await finished.answer;
  expect(headers["content-type"]).toBe("text/event-stream");
  expect(messages).toHaveLength(1);
});

test("sessions have random UUIDs; at their maximum number a new one replaces the one that was idle longest", async () => {
  const { url } = await serveForTest({ maxSessions: 2 });
  const [oldest, older] = [await connectLegacyClient(url), await connectLegacyClient(url)];
  const ids = [oldest, older].map(({ headers }) => headers["mcp-session-id"]);
  expect(ids[0]).not.toBe(ids[1]);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(await statusOf(url, ping, oldest.headers)).toBe(200);
  const newest = await connectLegacyClient(url);
  const statuses = [oldest, older, newest].map(({ headers }) => statusOf(url, ping, headers));
  expect(await Promise.all(statuses)).toEqual([200, 404, 200]);
});

test("at the maximum number of sessions a new one is refused while all are in use, until a client disconnects", async () => {
  const { url, begunIds, release } = await serveForTest({ maxSessions: 2 });
  const [listening, calling] = [await connectLegacyClient(url), await connectLegacyClient(url)];
  const stream = get(url, listening.headers);
  const call = calling.call(1, "wait", {});
  await expect.poll(() => begunIds).toEqual([1]);
  const full = await post(url, initializeMessage()).answer;
  expect(full).toMatchObject({ status: 503, headers: { "retry-after": expect.any(String) } });
  const message = expect.stringContaining("All 2 sessions are in use");
  expect(full.messages[0]).toMatchObject({ id: 0, error: { message } });
  // A request without a session is served.
  expect((await createModernClient(url).request(1, "tools/list").answer).status).toBe(200);
  await stream.cut();
  await expect.poll(() => statusOf(url, initializeMessage())).toBe(200);
  release();
  expect((await call.answer).messages).toHaveLength(1);
});

test("a failed initialize does not use up a session", async () => {
  const { url } = await serveForTest({ maxSessions: 1 });
  const { headers } = await connectLegacyClient(url);
  expect(await statusOf(url, initializeMessage(), { accept: "text/html" })).toBe(406);
  expect(await statusOf(url, ping, headers)).toBe(200);
});

test("a session whose client disconnected before the answer does not count toward the limit", async () => {
  const { released: ready, release } = createLatch();
  const { url, servers, log } = await serveForTest({ maxSessions: 1, ready });
  const lost = post(url, initializeMessage());
  await expect.poll(servers).toBe(1);
  await lost.cut();
  release();
  await expect.poll(() => statusOf(url, initializeMessage())).toBe(200);
  // The log has no eviction: the session had already ended.
  expect(log).toEqual([]);
});

test("an idle session ends; a session with a stream or a call does not", async () => {
  const { url, begunIds, release, log } = await serveForTest({ sessionIdleMs: 1_000 });
  const connect = () => connectLegacyClient(url);
  const [idle, listening, calling] = await Promise.all([connect(), connect(), connect()]);
  get(url, listening.headers);
  const call = calling.call(1, "wait", {});
  await expect.poll(() => begunIds).toEqual([1]);
  await expect.poll(() => log).toEqual(["ended an idle session"]);
  expect(await statusOf(url, ping, idle.headers)).toBe(404);
  expect(await statusOf(url, ping, listening.headers)).toBe(200);
  release();
  expect((await call.answer).messages).toHaveLength(1);
  expect(await statusOf(url, ping, calling.headers)).toBe(200);
});
