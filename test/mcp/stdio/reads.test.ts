// Reads past the SDK: the same calls, once past it and once through it, bring the same bytes, in both protocol eras. A call that
// asks for progress is always the SDK's: that is how a test chooses the way, and a spy on what the SDK sends shows it.
import { createInterface } from "node:readline";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { StdioTransport } from "../../../src/mcp/stdio/transport.ts";
import { enveloped, job } from "../../contract/samples.ts";
import { stubEnv } from "../../service/client.ts";
import { serveInside } from "../../support/inside.ts";
import { answer, neverAnswer, stubForTest } from "../../support/stub.ts";
import { TOOL_NAMES } from "../../tools/catalogue.ts";
import { badFor, goodCalls, isRead } from "../read-calls.ts";
import { initializedMessage, initializeMessage } from "./child.ts";

/** The SDK sends its answers through the transport's own method. */
const sending = vi.spyOn(StdioTransport.prototype, "send");
beforeEach(() => {
  sending.mockClear();
});
afterAll(() => sending.mockRestore());
const isFromSdk = (id: number): boolean => sending.mock.calls.some(([message]) => "id" in message && message.id === id);

const ERAS = ["2025-06-18", "2024-11-05", "2026-07-28"] as const;
type Era = (typeof ERAS)[number];

const envelopeOf = (era: Era) =>
  era === "2026-07-28"
    ? {
        "io.modelcontextprotocol/protocolVersion": era,
        "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
      }
    : undefined;

/** A session in raw lines. */
async function talk(era: Era, env: Readonly<Record<string, string>>) {
  const server = serveInside(env);
  onTestFinished(server.close);
  const heard = new Map<unknown, (line: string) => void>();
  const lines: string[] = [];
  createInterface({ input: server.stdout }).on("line", (line) => {
    lines.push(line);
    heard.get(JSON.parse(line).id)?.(line);
  });
  const send = (message: object): void =>
    void server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const ask = (id: number, method: string, params: object): Promise<string> =>
    new Promise((resolve) => {
      heard.set(id, resolve);
      send({ id, method, params });
    });
  let lastId = 100;
  const envelope = envelopeOf(era);
  const plain = envelope && { _meta: envelope };
  if (!envelope) {
    await ask(1, "initialize", { ...initializeMessage.params, protocolVersion: era });
    send(initializedMessage);
  }
  return {
    server,
    lines,
    send,
    ask,
    plain,
    nextId: () => ++lastId,
    /** The line that answers; without its id, and without the service's ids of requests. */
    async call(params: object, way: "past" | "through", id = ++lastId): Promise<string> {
      const through = { _meta: { ...envelope, progressToken: "t" } };
      const line = await ask(id, "tools/call", { ...params, ...(way === "past" ? plain : through) });
      return line.replace(new RegExp(`"id":${id}(?=[,}])`), '"id":0').replaceAll(/\b(?:mic)?req_\w+/g, "REQUEST");
    },
  };
}

describe.each(ERAS)("in %s", (era) => {
  test("a call past the SDK and one through it are answered with the same bytes", { timeout: 60_000 }, async () => {
    const { env, calls } = await goodCalls();
    const session = await talk(era, env);
    expect([...calls.keys()].sort()).toEqual([...TOOL_NAMES].sort());
    for (const [nth, [name, args]] of [...calls].entries()) {
      const good = { name, arguments: args };
      // Of what was made, or is kept from now on, only the first answer says so.
      await session.call(good, "past");
      const id = session.nextId();
      expect(await session.call(good, "past", id), name).toBe(await session.call(good, "through"));
      expect(isFromSdk(id), `the SDK answers ${name}`).toBe(!isRead(name));
      for (const bad of badFor(nth)) {
        const params = bad(name, args);
        expect(await session.call(params, "past"), JSON.stringify(params)).toBe(await session.call(params, "through"));
      }
    }
  });

  test.each(["past", "through"] as const)(
    "%s it, a cancelled call ends, unanswered, and its id is free",
    async (way) => {
      const stub = await stubForTest();
      const session = await talk(era, stubEnv(stub));
      const params = { name: "get_job", arguments: { jobId: "job-1" } };
      stub.expect(answer(200, enveloped(job)), neverAnswer, answer(200, enveloped(job)));
      const usual = await session.call(params, "past");
      void session.call(params, way, 7);
      await expect.poll(() => stub.requests.length).toBe(2);
      session.send({ method: "notifications/cancelled", params: { requestId: 7, reason: "enough" } });
      expect(await stub.requests[1]?.closed).toBe(false);
      expect(await session.call(params, way, 7)).toBe(usual);
      expect(session.lines.filter((line) => line.includes('"id":7}'))).toHaveLength(1);
      expect(isFromSdk(7)).toBe(way === "through");
    },
  );

  test.each(["past", "through"] as const)("%s it, a call ends with its client", async (way) => {
    const stub = await stubForTest();
    const session = await talk(era, stubEnv(stub));
    const params = { name: "get_job", arguments: { jobId: "job-1" } };
    stub.expect(answer(200, enveloped(job)), neverAnswer);
    await session.call(params, "past");
    void session.call(params, way, 7);
    await expect.poll(() => stub.requests.length).toBe(2);
    session.server.stdin.end();
    expect(await stub.requests[1]?.closed).toBe(false);
    expect(session.lines.some((line) => line.includes('"id":7}'))).toBe(false);
  });
});

test("what a client says of itself is the SDK's to judge, each time that it says something else", async () => {
  const stub = await stubForTest();
  stub.respond(() => answer(200, enveloped(job)));
  const session = await talk("2026-07-28", stubEnv(stub));
  const params = { name: "get_job", arguments: { jobId: "job-1" } };
  const saying = async (envelope: object | undefined) => {
    const id = session.nextId();
    const line = await session.ask(id, "tools/call", { ...params, ...(envelope && { _meta: envelope }) });
    return [isFromSdk(id) ? "through" : "past", "error" in JSON.parse(line) ? "refused" : "answered"].join(", ");
  };
  const known = envelopeOf("2026-07-28");
  expect(await saying(known)).toBe("through, answered");
  expect(await saying(known)).toBe("past, answered");
  expect(await saying({ ...known, "io.modelcontextprotocol/clientCapabilities": 5 })).toBe("through, refused");
  expect(await saying({ ...known, "io.modelcontextprotocol/clientCapabilities": 5 })).toBe("through, refused");
  expect(await saying(undefined)).toBe("through, refused");
  expect(await saying(known)).toBe("past, answered");
  expect(await saying({ ...known, "example/trace": "1" })).toBe("through, answered");
  expect(await saying({ ...known, "example/trace": "1" })).toBe("past, answered");
});

test("an answer to another request of the same id proves nothing of a call that was refused", async () => {
  const session = await talk("2026-07-28", stubEnv(await stubForTest()));
  const { plain = {} } = session;
  const broken = {
    name: "get_job",
    arguments: { jobId: "job-1" },
    _meta: { ...envelopeOf("2026-07-28"), "io.modelcontextprotocol/clientCapabilities": 5 },
  };
  await session.ask(6, "tools/list", plain);
  await session.ask(7, "tools/call", broken);
  await session.ask(7, "tools/list", plain);
  await session.ask(9, "tools/call", broken);
  expect(isFromSdk(9)).toBe(true);
});
