// Tests the protocol with handwritten messages: older revisions, 2026-07-28, and calls that no SDK client makes.
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { serveInProcess } from "../support/in-process.ts";
import { TOOL_NAMES } from "../tools/catalogue.ts";
import { modernEnvelope } from "./modern-envelope.ts";

const Message = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.number(), z.string(), z.null()]).optional(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).optional(),
});
type Message = z.infer<typeof Message>;

function serverForTest() {
  const { stdin, stdout, close } = serveInProcess({});
  onTestFinished(close);
  const waiting = new Map<number, (message: Message) => void>();
  let lastId = 0;
  // A line that is not a message fails the test, because parse throws.
  createInterface(stdout).on("line", (line) => {
    const message = Message.parse(JSON.parse(line));
    if (typeof message.id === "number") waiting.get(message.id)?.(message);
  });
  const send = (message: object): void => void stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  return {
    send,
    request(method: string, params: object = {}): Promise<Message> {
      const id = ++lastId;
      const answered = new Promise<Message>((resolve) => waiting.set(id, resolve));
      send({ id, method, params });
      return answered;
    },
  };
}
type RawServer = ReturnType<typeof serverForTest>;

const clientInfo = { name: "raw", version: "1" };
const initialize = (server: RawServer, protocolVersion: string): Promise<Message> =>
  server.request("initialize", { protocolVersion, capabilities: {}, clientInfo });

const Tools = z.object({ tools: z.array(z.looseObject({ name: z.string() })) });

test.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])(
  "revision %s is served as requested",
  async (version) => {
    const server = serverForTest();
    const { result } = await initialize(server, version);
    expect(result).toMatchObject({
      protocolVersion: version,
      capabilities: { tools: {} },
      serverInfo: { name: "mic-mcp" },
      instructions: expect.stringContaining("submit_job"),
    });
    server.send({ method: "notifications/initialized" });
    expect((await server.request("ping")).result).toEqual({});
    const listed = Tools.parse((await server.request("tools/list")).result);
    expect(listed.tools.map(({ name }) => name)).toEqual(TOOL_NAMES);
    const called = await server.request("tools/call", { name: "get_job", arguments: { jobId: "" } });
    expect(called.result).toMatchObject({ isError: true, _meta: { "mic-mcp/error": { kind: "not_configured" } } });
    expect(called.result).not.toHaveProperty("structuredContent");
    const unknown = await server.request("tools/call", { name: "nope", arguments: {} });
    expect(unknown.error).toMatchObject({ code: -32602, message: expect.stringContaining("nope") });
    expect((await server.request("no/such/method")).error).toMatchObject({ code: -32601 });
  },
);

test("an unknown revision is answered with the newest one that has a handshake", async () => {
  const server = serverForTest();
  expect((await initialize(server, "1999-01-01")).result).toMatchObject({ protocolVersion: "2025-11-25" });
});

test("2026-07-28 works without a handshake: discover, list with cache hints, call", async () => {
  const server = serverForTest();
  const _meta = modernEnvelope();
  const discovered = await server.request("server/discover", { _meta });
  expect(discovered.result).toMatchObject({
    resultType: "complete",
    supportedVersions: expect.arrayContaining(["2026-07-28"]),
    capabilities: { tools: {} },
    instructions: expect.stringContaining("submit_job"),
  });
  const listed = await server.request("tools/list", { _meta });
  expect(listed.result).toMatchObject({ resultType: "complete", cacheScope: "private" });
  expect(listed.result?.["ttlMs"]).toBeGreaterThan(0);
  const called = await server.request("tools/call", { _meta, name: "get_job", arguments: { jobId: 5 } });
  expect(called.result).toMatchObject({ resultType: "complete", isError: true });
});

test("arguments that are not objects are refused", async () => {
  const server = serverForTest();
  await initialize(server, "2025-06-18");
  server.send({ method: "notifications/initialized" });
  for (const wrong of [[], "text", 5, null]) {
    const { result, error } = await server.request("tools/call", { name: "list_states", arguments: wrong });
    expect(error?.code ?? Object(result).isError).toBe(error ? -32602 : true);
  }
  expect((await server.request("tools/call", { name: "get_job" })).result).toMatchObject({ isError: true });
  expect((await server.request("ping")).result).toEqual({});
});
