// Tests requests that are refused for their headers.
import { expect, test } from "vitest";
import { serviceForFile } from "../../emulator/service.ts";
import { serveHttpInProcess } from "../../support/in-process.ts";
import { emulatorEnv } from "../../support/mcp.ts";
import { modernEnvelope } from "../modern-envelope.ts";
import { ACCEPT, connectLegacyClient, post } from "./raw-client.ts";

const service = serviceForFile();
const env = () => ({ ...emulatorEnv(service().emulator), MIC_GEOGRAPHY_RATE_LIMIT: "600" });

const read = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_states", arguments: {} } };

test("a request of 2026-07-28 is refused if its headers do not match its body", async () => {
  const url = await serveHttpInProcess(env());
  const modern = { ...read, params: { ...read.params, _meta: modernEnvelope() } };
  const version = { "mcp-protocol-version": "2026-07-28" };
  const method = { "mcp-method": "tools/call" };
  const name = { "mcp-name": "list_states" };
  const headers = { ...version, ...method, ...name };
  for (const [message, wrong] of [
    [modern, { ...method, ...name }],
    [modern, { ...version, ...name }],
    [modern, { ...headers, "mcp-method": "tools/list" }],
    [modern, { ...version, ...method }],
    [modern, { ...headers, "mcp-name": "get_job" }],
    [read, headers],
  ] as const) {
    const { status, messages } = await post(url, message, wrong).answer;
    expect([status, messages[0]?.error]).toEqual([400, expect.anything()]);
  }
  expect((await post(url, modern, headers).answer).status).toBe(200);
});

test.each([
  ["an unknown version", { "mcp-protocol-version": "1999-01-01" }, 400],
  ["an Accept without streams", { accept: "application/json" }, 406],
  ["an Accept without JSON", { accept: "text/event-stream" }, 406],
])("a request in a session is refused if it has %s", async (_, headers, status) => {
  const url = await serveHttpInProcess(env());
  const { headers: own } = await connectLegacyClient(url);
  expect((await post(url, read, { accept: ACCEPT, ...own, ...headers }).answer).status).toBe(status);
});
