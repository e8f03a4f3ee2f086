// Reads past the SDK over HTTP: as on stdio, a call past it and one through it bring the same bytes, in both protocol eras. A call
// that asks for progress is always the SDK's.
import { Server } from "@modelcontextprotocol/server";
import { afterAll, describe, expect, test, vi } from "vitest";
import { SessionTransport } from "../../../src/mcp/http/session-transport.ts";
import { Wire } from "../../../src/mcp/http/wire.ts";
import { enveloped, job } from "../../contract/samples.ts";
import { stubEnv } from "../../service/client.ts";
import { gate } from "../../support/gate.ts";
import { serveHttpInside } from "../../support/inside.ts";
import { answer, holdUntil, neverAnswer, stubForTest } from "../../support/stub.ts";
import { TOOL_NAMES } from "../../tools/catalogue.ts";
import { badFor, goodCalls, isRead } from "../read-calls.ts";
import { legacySpeaker, modernSpeaker, type Speaker } from "./raw.ts";
import { ways } from "./ways.ts";

const lasting = ways.filter(([name]) => name !== "without a session");

/** What the SDK answers goes through one of these methods, or has a server made for it. */
const spies = [
  vi.spyOn(SessionTransport.prototype, "send"),
  vi.spyOn(Wire.prototype, "send"),
  vi.spyOn(Server.prototype, "connect"),
];
afterAll(() => {
  for (const spy of spies) spy.mockRestore();
});

type Way = "past" | "through";

/** Sends calls one after the other: `call` gives the message that answers, without the service's ids of requests. */
function caller(speaker: Speaker) {
  let lastId = 100;
  return async (params: object, way: Way) => {
    const id = ++lastId;
    for (const spy of spies) spy.mockClear();
    const through = way === "through" && { _meta: { progressToken: "t" } };
    const { body } = await speaker.request(id, "tools/call", { ...params, ...through }).answer;
    const [text = ""] = body.startsWith("{")
      ? [body]
      : [...body.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => data).slice(-1);
    return {
      isFromSdk: spies.some((spy) => spy.mock.calls.length > 0),
      text: text.replace(new RegExp(`"id":${id}(?=[,}])`), '"id":0').replaceAll(/\b(?:mic)?req_\w+/g, "REQUEST"),
    };
  };
}

const getJob = { name: "get_job", arguments: { jobId: "job-1" } };

describe.each(lasting)("%s", (_, { serve, speak }) => {
  test("a call past the SDK and one through it are answered with the same bytes", { timeout: 60_000 }, async () => {
    const { env, calls } = await goodCalls();
    const call = caller(await speak(await serve(env)));
    expect([...calls.keys()].sort()).toEqual([...TOOL_NAMES].sort());
    for (const [nth, [name, args]] of [...calls].entries()) {
      const good = { name, arguments: args };
      // Of what was made, or is kept from now on, only the first answer says so.
      await call(good, "past");
      const past = await call(good, "past");
      expect(past.text, name).toBe((await call(good, "through")).text);
      expect(past.text, name).toContain('"id":0');
      expect(past.isFromSdk, `the SDK answers ${name}`).toBe(!isRead(name));
      for (const bad of badFor(nth)) {
        const params = bad(name, args);
        expect((await call(params, "past")).text, JSON.stringify(params)).toBe((await call(params, "through")).text);
      }
    }
  });
});

const sessions = lasting.filter(([, { era }]) => era === "legacy");

test.each(sessions)("%s, a cancelled call past the SDK ends, and stays unanswered", async (_, { serve }) => {
  const stub = await stubForTest();
  const session = await legacySpeaker(await serve(stubEnv(stub)));
  const call = caller(session);
  stub.expect(answer(200, enveloped(job)), neverAnswer, answer(200, enveloped(job)));
  await call(getJob, "past");
  for (const spy of spies) spy.mockClear();
  const cancelled = session.request(7, "tools/call", getJob);
  await expect.poll(() => stub.requests.length).toBe(2);
  await session.notify("notifications/cancelled", { requestId: 7 });
  expect(await stub.requests[1]?.closed).toBe(false);
  expect(spies.every((spy) => spy.mock.calls.length === 0)).toBe(true);
  await cancelled.cut();
  expect((await call(getJob, "past")).isFromSdk).toBe(false);
});

test.each(sessions)(
  "%s, a call whose client has gone goes on, and its answer is not that of another call of its id",
  async (_, { serve }) => {
    const stub = await stubForTest();
    const session = await legacySpeaker(await serve(stubEnv(stub)));
    const { opened: released, open: release } = gate();
    const other = enveloped({ ...job, id: "job-2" });
    stub.expect(answer(200, enveloped(job)), holdUntil(released, answer(200, enveloped(job))), answer(200, other));
    const call = caller(session);
    await call(getJob, "past");
    const lost = session.request(7, "tools/call", getJob);
    await expect.poll(() => stub.requests.length).toBe(2);
    await lost.cut();
    const args = { name: "get_job", arguments: { jobId: "job-2" } };
    const again = () => session.request(7, "tools/call", args).answer;
    // The server hears of the cut when it gets there: until then the id is taken.
    await expect
      .poll(async () => (await again()).messages[0]?.result)
      .toMatchObject({ structuredContent: { data: { id: "job-2" } } });
    release();
    expect(await stub.requests[1]?.closed).toBe(true);
  },
);

test("in 2026-07-28, a call past the SDK ends with its client", async () => {
  const stub = await stubForTest();
  const speaker = modernSpeaker(await serveHttpInside(stubEnv(stub)));
  stub.expect(answer(200, enveloped(job)), neverAnswer, answer(200, enveloped(job)));
  const call = caller(speaker);
  await call(getJob, "past");
  for (const spy of spies) spy.mockClear();
  const sent = speaker.request(7, "tools/call", getJob);
  await expect.poll(() => stub.requests.length).toBe(2);
  await sent.cut();
  expect(await stub.requests[1]?.closed).toBe(false);
  expect(spies.every((spy) => spy.mock.calls.length === 0)).toBe(true);
  expect((await call(getJob, "past")).isFromSdk).toBe(false);
});

test("what a client says of itself is the SDK's to judge the first time; several clients may ask in turn", async () => {
  const stub = await stubForTest();
  stub.respond(() => answer(200, enveloped(job)));
  const url = await serveHttpInside(stubEnv(stub));
  const one = caller(modernSpeaker(url));
  const other = caller(modernSpeaker(url, { elicitation: { form: {} } }));
  const broken = caller(modernSpeaker(url, [5]));
  const ways: string[] = [];
  for (const call of [one, one, other, one, broken, other, broken]) {
    const { isFromSdk, text } = await call(getJob, "past");
    ways.push(text.includes('"error":') ? "refused" : isFromSdk ? "through" : "past");
  }
  expect(ways).toEqual(["through", "past", "through", "past", "refused", "past", "refused"]);
});
