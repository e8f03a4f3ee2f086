// Reads are answered with plain JSON, by another way than what may stream: each tool's call is sent both ways and gets the same.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Emulator, startEmulator } from "../../../src/emulator/index.ts";
import { tools } from "../../../tools/index.ts";
import { enveloped, job } from "../../contract/samples.ts";
import { Service } from "../../emulator/service.ts";
import { FILE, listOffers, registerInput, submitJob } from "../../emulator/work.ts";
import { stubEnv } from "../../service/client.ts";
import { manualClock } from "../../support/emulator.ts";
import { serveHttpInside } from "../../support/inside.ts";
import { emulatorEnv } from "../../support/mcp.ts";
import { answer, neverAnswer, stubForTest } from "../../support/stub.ts";
import { ACCEPT, type Answer, legacySpeaker, modernSpeaker, post, type Speaker, send, speakers } from "./raw.ts";
import { startHttp } from "./server.ts";
import { ways } from "./ways.ts";

const clock = manualClock();
let emulator: Emulator;
let calls: Readonly<Record<string, object>>;

beforeAll(async () => {
  emulator = await startEmulator({ clock });
  const service = new Service(emulator, clock);
  const { workspaceId } = emulator;
  const { id: jobId } = await submitJob(service, FILE.succeeds);
  const { id: inputId } = await registerInput(service, FILE.succeeds);
  const [offer] = await listOffers(service);
  calls = {
    list_states: {},
    list_districts: { state: "KL" },
    get_geography_openapi: {},
    get_capabilities: { workspaceId },
    get_input: { inputId },
    // Nothing is saved: a second file would have another name.
    download_asset: { assetId: "no-such-asset" },
    list_recipes: { workspaceId },
    get_recipe: { versionId: offer?.recipe.versionId },
    list_jobs: { workspaceId, limit: 5 },
    get_job: { jobId },
    get_operation: { operationId: "no-such-operation" },
    get_usage: { workspaceId, window: "DAY" },
    get_file_processing_request: { requestId: "not an id" },
    find_district: { query: "Ernakulam" },
    rank_divisions: { state: "KL" },
    list_actions: {},
    wait_for_jobs: { jobIds: [jobId], waitSeconds: 0 },
    show_job: { jobId },
    show_divisions: { level: "state", by: "mandals" },
    show_usage: { workspaceId },
    show_actions: {},
  };
});
afterAll(() => emulator.close());
const env = () => ({ ...emulatorEnv(emulator), MIC_GEOGRAPHY_RATE: "600" });

const typeOf = ({ headers }: Answer) => headers["content-type"];

/** Of what differs from call to call: the service's ids of requests, and instants. */
const withoutChance = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/micreq_[0-9a-f]+/g, "micreq")
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "instant"),
  );

const plainly = (speaker: Speaker, name: string, args: object): Promise<Answer> => speaker.call(1, name, args).answer;
/** Who asks for progress may get a stream. */
const withProgress = (speaker: Speaker, name: string, args: object): Promise<Answer> =>
  speaker.request(1, "tools/call", { name, arguments: args, _meta: { progressToken: "p" } }).answer;
const answerIn = ({ messages }: Answer) => messages.find(({ id }) => id === 1);

test("each tool that changes nothing at the service is tried here", () => {
  const reading = tools.filter(({ effect }) => effect === "read" || effect === "export" || effect === "save");
  expect(Object.keys(calls).sort()).toEqual(reading.map(({ name }) => name).sort());
});

describe.each(ways.filter(([name]) => name !== "without a session"))("%s", (_, { era, serve, speak }) => {
  let url: string;
  beforeEach(async () => {
    url = await serve(env());
  });

  test("plain JSON says what a stream would say, of each tool, and of arguments that are wrong", async () => {
    const speaker = await speak(url);
    for (const [name, args] of [
      ...Object.entries(calls),
      ["get_job", { jobId: 5 }],
      ["get_job", { other: 1 }],
    ] as const) {
      // What is kept from now on is kept for both.
      await plainly(speaker, name, args);
      const plain = await plainly(speaker, name, args);
      const streamed = await withProgress(speaker, name, args);
      expect(typeOf(plain), name).toBe("application/json");
      if (era === "legacy") expect(typeOf(streamed), name).toBe("text/event-stream");
      expect(withoutChance(answerIn(plain)), name).toEqual(withoutChance(answerIn(streamed)));
      expect(answerIn(plain)?.result ?? answerIn(plain)?.error, name).toBeDefined();
    }
  });

  test("many at once get each his own answer, under ids of their own", async () => {
    const speaker = await speak(url);
    const asked = ["Kerala", "Telangana", "Goa", "Karnataka"].map((state, at) => ({
      state,
      sent: speaker.call(at + 10, "list_districts", { state }),
    }));
    for (const [at, { state, sent }] of asked.entries()) {
      const { messages } = await sent.answer;
      expect(messages).toEqual([
        expect.objectContaining({
          id: at + 10,
          result: expect.objectContaining({ structuredContent: expect.objectContaining({ state }) }),
        }),
      ]);
    }
  });

  test("an unknown tool is refused as ever", async () => {
    const { messages } = await (await speak(url)).call(1, "no_such_tool", {}).answer;
    expect(messages[0]?.error).toMatchObject({ code: -32602, message: expect.stringContaining("Unknown tool") });
  });

  test("an answer that takes long gets a stream, which has it at its end", async () => {
    const stub = await stubForTest();
    stub.respond(() => ({
      readsBody: true,
      async answer(response) {
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        await answer(200, enveloped(job)).answer(response);
      },
    }));
    const slow = await plainly(await speak(await serve(stubEnv(stub))), "get_job", { jobId: "job-1" });
    expect(typeOf(slow)).toBe("text/event-stream");
    expect(answerIn(slow)?.result).toMatchObject({ structuredContent: { data: { id: "job-1" } } });
  });
});

test.each(Object.entries(speakers))(
  "%s: a read under way when its server ends at once is told so",
  async (_, speak) => {
    const stub = await stubForTest();
    stub.respond(() => neverAnswer);
    const program = await startHttp({ env: stubEnv(stub) });
    const sent = (await speak(program.url)).call(1, "get_job", { jobId: "job-1" });
    await expect.poll(() => stub.requests.length).toBe(1);
    program.process.kill("SIGTERM");
    // Two at once would be taken for one.
    await expect.poll(async () => (await send(program.url, { method: "GET" }).answer).status).toBe(503);
    program.process.kill("SIGTERM");
    expect((await sent.answer).messages).not.toContainEqual(expect.objectContaining({ result: expect.anything() }));
    expect(await program.exit).toEqual({ code: 0, signal: null });
  },
);

test("in 2026-07-28 a client that goes while a slow answer's stream is open ends the service's request", async () => {
  const stub = await stubForTest();
  stub.respond(() => neverAnswer);
  const sent = modernSpeaker(await serveHttpInside(stubEnv(stub))).call(1, "get_job", { jobId: "job-1" });
  await expect.poll(() => stub.requests.length).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  await sent.cut();
  expect(await stub.requests[0]?.closed).toBe(false);
});

describe("what the SDK refuses of a request is refused of a read", () => {
  let url: string;
  beforeEach(async () => {
    url = await serveHttpInside(env());
  });
  const read = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_states", arguments: {} } };
  const envelope = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const modern = { ...read, params: { ...read.params, _meta: envelope } };
  const version = { "mcp-protocol-version": "2026-07-28" };
  const named = { "mcp-method": "tools/call", "mcp-name": "list_states" };

  test.each([
    ["no version in its headers", modern, named],
    ["no method in its headers", modern, { ...version, "mcp-name": "list_states" }],
    ["another method in its headers", modern, { ...version, ...named, "mcp-method": "tools/list" }],
    ["no name in its headers", modern, { ...version, "mcp-method": "tools/call" }],
    ["another name in its headers", modern, { ...version, ...named, "mcp-name": "get_job" }],
    ["headers of 2026-07-28 and no envelope", read, { ...version, ...named }],
  ])("%s", async (_, message, headers) => {
    const { status, messages } = await post(url, message, headers).answer;
    expect({ status, error: messages[0]?.error !== undefined }).toEqual({ status: 400, error: true });
  });

  test.each([
    ["a version that nobody speaks", { "mcp-protocol-version": "1999-01-01" }, 400],
    ["an Accept without streams", { accept: "application/json" }, 406],
    ["an Accept without JSON", { accept: "text/event-stream" }, 406],
  ])("in a session: %s", async (_, headers, status) => {
    const { headers: own } = await legacySpeaker(url);
    expect((await post(url, read, { accept: ACCEPT, ...own, ...headers }).answer).status).toBe(status);
  });
});
