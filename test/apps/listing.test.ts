// Tests which clients list the tools with a view, and that the list has no additional bytes for all other clients.
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { modernEnvelope } from "../mcp/modern-envelope.ts";
import { type ClientRevision, clientRevisions, connectInProcess, inProcessClientForTest } from "../support/mcp.ts";
import { createLineClient, openInProcessChannel } from "../support/server.ts";
import { TOOL_NAMES, VIEW_TOOLS } from "../tools/catalogue.ts";

const VIEWS = Object.keys(VIEW_TOOLS);
const APP_HTML = "text/html;profile=mcp-app";
const UI = "io.modelcontextprotocol/ui";

async function listNames(revision: ClientRevision, showsViews: boolean, env: Readonly<Record<string, string>> = {}) {
  const connection = await connectInProcess(revision, { showsViews, env });
  const tools = await connection.listTools();
  await connection.close();
  return tools.map(({ name }) => name);
}

test.each(clientRevisions)("for client %s that shows views, the view tools are listed last", async (revision) => {
  expect(await listNames(revision, true)).toEqual([...TOOL_NAMES, ...VIEWS]);
  expect(await listNames(revision, false)).toEqual(TOOL_NAMES);
  expect(await listNames(revision, true, { MIC_EXCLUDE_TOOLS: VIEWS.join() })).toEqual(TOOL_NAMES);
});

test("a toolset has its own views, and a read-only server has all of them", async () => {
  const geography = await listNames("v2-modern", true, { MIC_TOOLSETS: "geography" });
  expect(geography.filter((name) => VIEWS.includes(name))).toEqual(["show_divisions"]);
  const readOnly = await listNames("v2-modern", true, { MIC_READ_ONLY: "1" });
  expect(readOnly.filter((name) => VIEWS.includes(name))).toEqual(VIEWS);
});

test("each view tool names its view, which is one page that loads nothing else", async () => {
  const connection = await connectInProcess("v2-modern", { showsViews: true });
  const listed = await connection.listTools();
  for (const name of VIEWS) {
    const { _meta: meta, annotations } = listed.find((tool) => tool.name === name) ?? {};
    const uri = `ui://mic-mcp/${name.slice("show_".length)}.html`;
    expect(meta).toEqual({ ui: { resourceUri: uri } });
    expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
    const { mimeType, text, meta: resourceMeta } = await connection.readResource(uri);
    expect(mimeType).toBe(APP_HTML);
    expect(resourceMeta).toEqual({ ui: { csp: {}, prefersBorder: true } });
    expect(text).toMatch(/^<!doctype html>/);
    expect(text).not.toMatch(/<(?:script|link|img|iframe)[^>]*\s(?:src|href)=|@import|url\(/);
    expect(gzipSync(text).length).toBeLessThanOrEqual(16 * 1024);
  }
  expect((await connection.listResources()).filter(({ uri }) => uri.startsWith("ui:"))).toEqual([]);
  await connection.close();
});

test("a view tool called by a client without views returns its result, and an unknown tool's error names no view tool", async () => {
  const connection = await inProcessClientForTest("v2-modern", {});
  expect((await connection.callTool("show_actions")).view).toMatchObject({ actions: [] });
  await expect(connection.callTool("no_such_tool")).rejects.toThrow(/^(?!.*show_job)/s);
  await expect(connection.readResource("ui://mic-mcp/other.html")).rejects.toThrow(/not found/i);
});

const withViews = (...mimeTypes: readonly string[]) => ({ extensions: { [UI]: { mimeTypes } } });

/** The tools as a client of this revision and with these capabilities receives them. */
async function readToolList(revision: string, capabilities: object, env: Readonly<Record<string, string>> = {}) {
  const channel = openInProcessChannel(env);
  const client = createLineClient(channel);
  const isModern = revision === "2026-07-28";
  const clientInfo = { name: "listing-test", version: "1" };
  if (!isModern) await client.request("initialize", { protocolVersion: revision, capabilities, clientInfo });
  const { result } = await client.request("tools/list", isModern ? { _meta: modernEnvelope(capabilities) } : {});
  await channel.end();
  return JSON.stringify(result);
}

test.each(["2025-11-25", "2026-07-28"])(
  "a client of %s without the capability, or with another type of view, gets the list without view tools",
  async (revision) => {
    const listWithoutApps = await readToolList(revision, withViews(APP_HTML), { MIC_EXCLUDE_TOOLS: VIEWS.join() });
    expect(listWithoutApps).toContain("get_job");
    expect(listWithoutApps).not.toContain("show_job");
    expect(await readToolList(revision, {})).toBe(listWithoutApps);
    expect(await readToolList(revision, withViews("text/html"))).toBe(listWithoutApps);
    expect(await readToolList(revision, withViews(APP_HTML))).toContain("show_job");
  },
);
