// Sessions of the older revisions that no instance holds: two instances in turn for each message of a session, and whose it is.
import { describe, expect, test, vi } from "vitest";
import { ACCEPT, get, initializeMessage, legacySpeaker, post, send } from "../mcp/http/raw.ts";
import { benchForTest } from "../mcp/http/service.ts";
import { CALLER, deploymentForTest, noticesForTest, sealsForTest } from "./sessions/instances.ts";
import { rowsForTest } from "./sessions/rows.ts";

const statusOf = async (...sent: Parameters<typeof post>) => (await post(...sent).answer).status;
const ping = { jsonrpc: "2.0", id: 9, method: "ping" };
const HOUR_MS = 3_600_000;

async function startBoth() {
  const { service, ...bench } = benchForTest();
  const notices = noticesForTest();
  const parts = { serviceOf: () => service, rows: await rowsForTest(), notices };
  const deployment = await deploymentForTest([parts, parts]);
  const [one, other] = deployment.instances;
  if (!one || !other) throw new Error("two instances");
  return { ...bench, ...deployment, notices, one, other };
}

describe("a session's id", () => {
  test("opens at each instance, and none has to know of it", async () => {
    const { url, one, other } = await startBoth();
    const { headers, call } = await legacySpeaker(url);
    for (const instance of [one, other, one]) expect(await statusOf(instance.url, ping, headers)).toBe(200);
    const { messages } = await call(1, "say", { bytes: 3 }).answer;
    expect(messages).toEqual([
      expect.objectContaining({ id: 1, result: { content: [{ type: "text", text: "xxx" }] } }),
    ]);
  });

  test("says nothing to who reads it, fits a header, and no two are alike", async () => {
    const { url } = await startBoth();
    const ids = await Promise.all([1, 2].map(async () => (await legacySpeaker(url)).headers["mcp-session-id"] ?? ""));
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) {
      expect(id.length).toBeLessThan(700);
      expect(id).toMatch(/^[\x21-\x7e]+$/);
      expect(Buffer.from(id.split(".")[3] ?? "", "base64url").toString("latin1")).not.toContain("raw");
    }
  });

  test("of another caller, altered, invented or made for something else: 404, so that the client initializes again", async () => {
    const { url } = await startBoth();
    const { headers } = await legacySpeaker(url);
    const id = headers["mcp-session-id"] ?? "";
    const middle = Math.floor(id.length / 2);
    const altered = `${id.slice(0, middle)}${id[middle] === "A" ? "B" : "A"}${id.slice(middle + 1)}`;
    const value = { id: "x", until: Date.now() + HOUR_MS, protocolVersion: "2025-06-18", capabilities: {} };
    const question = await sealsForTest.seal(
      "question",
      "one",
      { ...value, clientInfo: { name: "a", version: "1" } },
      60,
    );
    for (const foreign of [
      { ...headers, [CALLER]: "two" },
      { ...headers, "mcp-session-id": altered },
      { ...headers, "mcp-session-id": crypto.randomUUID() },
      { ...headers, "mcp-session-id": "" },
      { ...headers, "mcp-session-id": question },
      { ...headers, "mcp-session-id": "x".repeat(15_000) },
    ])
      for (const sent of [
        post(url, ping, foreign),
        get(url, foreign),
        send(url, { method: "DELETE", headers: foreign }),
      ]) {
        const { status, messages } = await sent.answer;
        expect(status).toBe(404);
        expect(messages[0]?.error?.message).toMatch(/Session not found.*nitialize/);
      }
    expect(await statusOf(url, ping, headers)).toBe(200);
  });

  test("is good for a day", async () => {
    const { url } = await startBoth();
    const { headers } = await legacySpeaker(url);
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      vi.setSystemTime(Date.now() + 23 * HOUR_MS);
      expect(await statusOf(url, ping, headers)).toBe(200);
      vi.setSystemTime(Date.now() + 2 * HOUR_MS);
      expect(await statusOf(url, ping, headers)).toBe(404);
    } finally {
      vi.useRealTimers();
    }
  });

  test("does not take the place of initialize: without it nothing is served but that, and with it not that", async () => {
    const { url } = await startBoth();
    for (const sent of [post(url, ping), get(url), send(url, { method: "DELETE" })]) {
      const { status, body } = await sent.answer;
      expect(status).toBe(400);
      expect(body).toMatch(/Mcp-Session-Id.*initialize/);
    }
    const { headers } = await legacySpeaker(url);
    expect(await statusOf(url, initializeMessage(), headers)).toBe(400);
    expect(await statusOf(url, [initializeMessage(), ping])).toBe(400);
  });

  test("is refused to a client that says more of itself than a header holds; what is experimental does not count", async () => {
    const { url } = await startBoth();
    const { status, messages, headers } = await post(
      url,
      initializeMessage({ extensions: { "a/b": { c: "x".repeat(5_000) } } }),
    ).answer;
    expect({ status, id: headers["mcp-session-id"] }).toEqual({ status: 400, id: undefined });
    expect(messages[0]?.error?.message).toContain("too long");
    await legacySpeaker(url, { experimental: { c: { d: "x".repeat(50_000) } } });
  });

  test("has the revision that was agreed on, whatever it was", async () => {
    const { url } = await startBoth();
    for (const protocolVersion of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "1999-01-01"]) {
      const message = initializeMessage();
      const { headers, messages } = await post(url, { ...message, params: { ...message.params, protocolVersion } })
        .answer;
      const agreed = messages[0]?.result?.["protocolVersion"];
      expect(agreed).toBe(protocolVersion === "1999-01-01" ? "2025-11-25" : protocolVersion);
      const own = { "mcp-session-id": String(headers["mcp-session-id"]), "mcp-protocol-version": String(agreed) };
      expect(await statusOf(url, ping, own)).toBe(200);
      expect(await statusOf(url, ping, { ...own, "mcp-protocol-version": "1999-01-01" })).toBe(400);
    }
  });
});

describe("requests", () => {
  test("many at once, each at the next instance, get each their own answer", async () => {
    const { url } = await startBoth();
    const { call } = await legacySpeaker(url);
    const calls = Array.from({ length: 20 }, (_, at) => ({ id: at + 1, sent: call(at + 1, "say", { bytes: at }) }));
    for (const { id, sent } of calls)
      expect((await sent.answer).messages).toEqual([
        { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "x".repeat(id - 1) }] } },
      ]);
  });

  test("a batch is answered in one stream; one that asks for nothing is taken", async () => {
    const { url } = await startBoth();
    const { headers } = await legacySpeaker(url);
    const pings = [1, 2].map((id) => ({ ...ping, id }));
    const notification = { jsonrpc: "2.0", method: "notifications/roots/list_changed" };
    const { messages } = await post(url, [...pings, notification], headers).answer;
    expect(messages.map(({ id }) => id).sort()).toEqual([1, 2]);
    expect(await statusOf(url, [notification, notification], headers)).toBe(202);
    expect(await statusOf(url, [...pings, ...pings], headers)).toBe(400);
    expect(
      await statusOf(
        url,
        Array.from({ length: 101 }, (_, id) => ({ ...ping, id })),
        headers,
      ),
    ).toBe(400);
  });

  test("what is no JSON-RPC, or for a client that takes no stream, is refused as ever", async () => {
    const { url } = await startBoth();
    const { headers } = await legacySpeaker(url);
    expect(await statusOf(url, { jsonrpc: "2.0" }, headers)).toBe(400);
    expect(await statusOf(url, ping, { ...headers, accept: "application/json" })).toBe(406);
    expect(await statusOf(url, initializeMessage(), { accept: "application/json" })).toBe(406);
    expect((await get(url, { ...headers, accept: "application/json" }).answer).status).toBe(406);
    // Refused, a request is over: its id is free.
    expect(await statusOf(url, ping, { ...headers, accept: ACCEPT })).toBe(200);
  });

  test("two under one id are not taken by one instance at once", async () => {
    const { one, begun, release } = await startBoth();
    const { call } = await legacySpeaker(one.url);
    const calling = call(1, "wait", {});
    await expect.poll(() => begun).toEqual([1]);
    const { status, messages } = await call(1, "say", { bytes: 1 }).answer;
    expect(status).toBe(400);
    expect(messages[0]?.error).toMatchObject({ code: -32600, message: expect.stringContaining("id 1") });
    release();
    expect((await calling.answer).messages).toHaveLength(1);
    // Answered: the id is free.
    expect((await call(1, "say", { bytes: 1 }).answer).messages).toHaveLength(1);
  });

  test("a lost connection is no cancellation: the call goes on", async () => {
    const { url, begun, finished, release } = await startBoth();
    const { call, request } = await legacySpeaker(url);
    const lost = call(1, "wait", {});
    await expect.poll(() => begun).toEqual([1]);
    await lost.cut();
    const kept = call(2, "wait", {});
    await expect.poll(() => begun).toEqual([1, 2]);
    release();
    expect((await kept.answer).messages).toHaveLength(1);
    await expect.poll(() => finished).toEqual([1, 2]);
    expect((await request(3, "ping").answer).status).toBe(200);
  });
});

describe("a cancellation", () => {
  test("ends the call at whichever instance it is, unanswered, and no other session's", async () => {
    const { one, other, begun, finished, release } = await startBoth();
    const { call, headers } = await legacySpeaker(one.url);
    const stranger = await legacySpeaker(other.url);
    const [first, second] = [call(1, "wait", {}), call(2, "wait", {})];
    await expect.poll(() => [...begun].sort()).toEqual([1, 2]);
    const cancelled = (requestId: number) => ({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId },
    });
    expect(await statusOf(other.url, cancelled(2), stranger.headers)).toBe(202);
    expect(await statusOf(other.url, cancelled(1), { ...headers, [CALLER]: "two" })).toBe(404);
    expect(await statusOf(other.url, cancelled(1), headers)).toBe(202);
    expect((await first.answer).messages).toEqual([]);
    release();
    expect((await second.answer).messages).toHaveLength(1);
    await expect.poll(() => finished).toEqual([2]);
  });

  test("that no instance can be told of is not taken", async () => {
    const { service } = benchForTest();
    const notices = noticesForTest();
    const broken = { ...notices, send: () => Promise.reject(new Error("no database")) };
    const { url } = await deploymentForTest([{ serviceOf: () => service, rows: await rowsForTest(), notices: broken }]);
    const { headers } = await legacySpeaker(url);
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 5 } };
    expect(await statusOf(url, cancelled, headers)).toBe(503);
    expect(await statusOf(url, ping, headers)).toBe(200);
  });
});

test("how far the person has come reaches the call that asks", async () => {
  const { one, other, progress } = await startBoth();
  const { call, headers } = await legacySpeaker(one.url, { elicitation: { form: {} } });
  const calling = call(1, "ask", {});
  const { id, params } = await calling.message(({ method }) => method === "elicitation/create");
  expect(params?.["_meta"]).toEqual({ progressToken: id });
  const notify = (progressToken: unknown, at: number) => ({
    jsonrpc: "2.0",
    method: "notifications/progress",
    params: { progressToken, progress: at },
  });
  for (const [at, { url }] of [one, other].entries()) {
    expect(await statusOf(url, notify(id, at + 1), headers)).toBe(202);
    // Of nobody's question.
    for (const token of [0, "0", `q-${crypto.randomUUID()}`])
      expect(await statusOf(url, notify(token, 9), headers)).toBe(202);
  }
  await expect.poll(() => progress).toEqual([1, 2]);
  const stranger = await legacySpeaker(other.url);
  expect(await statusOf(other.url, notify(id, 9), stranger.headers)).toBe(202);
  expect(await statusOf(other.url, { jsonrpc: "2.0", id, result: { action: "decline" } }, headers)).toBe(202);
  expect((await calling.answer).messages.at(-1)?.result).toMatchObject({ content: [{ text: "decline" }] });
  expect(progress).toEqual([1, 2]);
});

describe("its end", () => {
  test("by DELETE: its stream ends, its calls are aborted, and each instance refuses it from then on", async () => {
    const { one, other, begun, finished } = await startBoth();
    const { call, headers } = await legacySpeaker(one.url);
    const stream = get(other.url, headers);
    const calling = call(1, "wait", {});
    await expect.poll(() => begun).toEqual([1]);
    expect((await send(other.url, { method: "DELETE", headers }).answer).status).toBe(204);
    expect((await stream.answer).messages).toEqual([]);
    expect((await calling.answer).messages).toEqual([]);
    for (const { url } of [one, other]) {
      expect(await statusOf(url, ping, headers)).toBe(404);
      expect((await get(url, headers).answer).status).toBe(404);
      expect((await send(url, { method: "DELETE", headers }).answer).status).toBe(404);
    }
    expect(finished).toEqual([]);
  });

  test("of an instance aborts what is under way there; the session goes on at the other", async () => {
    const { one, other, begun, finished } = await startBoth();
    const { call, headers } = await legacySpeaker(one.url);
    const stream = get(one.url, headers);
    const calling = call(1, "wait", {});
    await expect.poll(() => begun).toEqual([1]);
    one.endStreams();
    expect((await stream.answer).messages).toEqual([]);
    await one.close();
    await calling.answer.catch(() => undefined);
    expect(finished).toEqual([]);
    expect(await statusOf(other.url, { ...ping, id: 1 }, headers)).toBe(200);
  });
});

test("a stream takes the place of an earlier one, wherever that is", async () => {
  const { one, other } = await startBoth();
  const headers = { ...(await legacySpeaker(one.url)).headers, accept: "text/event-stream" };
  const first = await fetch(one.url, { headers });
  const second = await fetch(other.url, { headers });
  expect(await first.text()).toBe("");
  const third = await fetch(other.url, { headers });
  expect(await second.text()).toBe("");
  await third.body?.cancel();
});
