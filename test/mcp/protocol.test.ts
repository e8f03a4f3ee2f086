// Tests the protocol with handwritten messages: older revisions, 2026-07-28, and calls that no SDK client makes.
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { createLineClient, type LineClient, openInProcessChannel } from "../support/server.ts";
import { TOOL_NAMES } from "../tools/catalogue.ts";
import { modernEnvelope } from "./modern-envelope.ts";

function serverForTest(): LineClient {
  const channel = openInProcessChannel({});
  onTestFinished(channel.end);
  return createLineClient(channel);
}

const clientInfo = { name: "raw", version: "1" };
const initialize = (server: LineClient, protocolVersion: string) =>
  server.request("initialize", { protocolVersion, capabilities: {}, clientInfo });

const Tools = z.object({ tools: z.array(z.looseObject({ name: z.string() })) });

test.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])(
  "revision %s is served as requested",
  async (version) => {
    const server = serverForTest();
    const { result } = await initialize(server, version);
    const instructions = expect.stringContaining("submit_job");
    const serverInfo = { name: "mic-mcp" };
    expect(result).toMatchObject({ protocolVersion: version, capabilities: { tools: {} }, serverInfo, instructions });
    server.send({ method: "notifications/initialized" });
    expect((await server.request("ping")).result).toEqual({});
    const listed = Tools.parse((await server.request("tools/list")).result);
    expect(listed.tools.map(({ name }) => name)).toEqual(TOOL_NAMES);
    const called = await server.request("tools/call", { name: "get_job", arguments: { jobId: "" } });
    expect(called.result).toMatchObject({ isError: true, _meta: { "mic-mcp/error": { kind: "not_configured" } } });
    expect(called.result).not.toHaveProperty("structuredContent");
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
  const supportedVersions = expect.arrayContaining(["2026-07-28"]);
  expect(discovered.result).toMatchObject({ resultType: "complete", supportedVersions, capabilities: { tools: {} } });
  const listed = await server.request("tools/list", { _meta });
  expect(listed.result).toMatchObject({ resultType: "complete", cacheScope: "private" });
  expect(listed.result?.["ttlMs"]).toBeGreaterThan(0);
  const called = await server.request("tools/call", { _meta, name: "get_job", arguments: { jobId: 5 } });
  expect(called.result).toMatchObject({ resultType: "complete", isError: true });
});
