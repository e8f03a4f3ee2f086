// Tests that stdout contains only protocol messages: each line of a complete session is parsed.
import { JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, test } from "vitest";
import { callMessage, initialize, start } from "./child.ts";

test("with the log level debug, every line that a session writes to stdout is one JSON-RPC 2.0 message", async () => {
  // A variable that causes a warning, and debug output of dependencies.
  const env = { MIC_LOG_LEVEL: "debug", MIC_UNKNOWN: "1", NODE_DEBUG: "http,net,undici" };
  const program = start(["serve", "--emulator"], { env });
  await initialize(program);
  const calls = [
    { jsonrpc: "2.0", id: 2, method: "tools/list" },
    { jsonrpc: "2.0", id: 3, method: "ping" },
    { jsonrpc: "2.0", id: 4, method: "no/such/method" },
    callMessage(5, "list_states"),
    callMessage(6, "list_districts", { state: "tg" }),
    callMessage(7, "list_jobs", { view: "full" }),
    callMessage(9, "get_usage", { window: "DAY" }),
    callMessage(10, "get_job", { jobId: "no-such-job" }),
    callMessage(11, "get_job", { wrong: true }),
    callMessage(12, "no_such_tool"),
    callMessage(13, "download_asset", { assetId: "no-such-asset" }),
    callMessage(16, "cancel_job", { jobId: "no-such-job", reason: "none", resourceVersion: 1 }),
    { ...callMessage(14, "list_states"), params: { name: "list_states", arguments: "none" } },
  ];
  for (const call of calls) program.send(call);
  await program.answersTo(calls.map(({ id }) => id));
  program.process.stdin.end();
  await program.exit;
  const lines = program.stdout().split("\n");
  expect(lines.pop()).toBe("");
  for (const line of lines) expect(() => JSONRPCMessageSchema.parse(JSON.parse(line))).not.toThrow();
  expect(lines.length).toBeGreaterThanOrEqual(calls.length + 1);
  expect(program.stderr()).toContain("MIC_UNKNOWN");
});
