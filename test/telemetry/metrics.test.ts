// Tests metrics: the counted values, their limited number of series, and how they are scraped.
import { createServer } from "node:http";
import { expect, test } from "vitest";
import { get } from "../mcp/http/raw-client.ts";
import { callMessage } from "../mcp/stdio/child.ts";
import { emulatorForTest } from "../support/emulator.ts";
import { serveForTest } from "../support/http-server.ts";
import { emulatorEnv } from "../support/mcp.ts";
import { connectClient } from "./client.ts";
import { receiverForTest } from "./receiver.ts";

test("calls of a thousand unknown tools are one series", async () => {
  const receiver = await receiverForTest();
  const { program, end } = await connectClient("stdio, older", receiver.env);
  const ids = Array.from({ length: 1_000 }, (_, at) => 100 + at);
  for (const id of ids) program.send(callMessage(id, `tool_${id}`));
  await program.answersTo(ids);
  await end();
  const durations = receiver.points().filter(({ name }) => name === "mcp.server.operation.duration");
  const calls = durations.filter(({ attributes }) => attributes["mcp.method.name"] === "tools/call");
  expect(calls).toEqual([expect.objectContaining({ value: 1_000 })]);
  expect(calls[0]?.attributes).toMatchObject({ "gen_ai.tool.name": "_OTHER", "error.type": "-32602" });
});

test("actions are counted by state and replay, and token requests, resources, permits and sessions have metrics", async () => {
  const receiver = await receiverForTest();
  const emulator = await emulatorForTest();
  const { call, end } = await connectClient("stdio, modern", {
    ...emulatorEnv(emulator),
    MIC_WORKSPACE_ID: emulator.workspaceId,
    ...receiver.env,
  });
  const register = { inputKind: "M4_FILE", referenceId: emulator.files[0]?.id, idempotencyKey: "key-of-this-test-01" };
  await call("register_input", register);
  await call("register_input", register);
  await call("cancel_job", { jobId: "no-such-job", reason: "r", resourceVersion: 1 });
  await call("list_states", {});
  await end();
  const points = receiver.points();
  const of = (name: string) => points.filter((point) => point.name === name);
  const outcomes = of("mic.action.outcomes").map(({ attributes, value }) => [
    attributes["gen_ai.tool.name"],
    attributes["mic.action.state"],
    attributes["mic.action.replayed"],
    value,
  ]);
  expect(outcomes).toEqual([
    ["register_input", "succeeded", false, 1],
    ["register_input", "succeeded", true, 1],
    ["cancel_job", "rejected", false, 1],
  ]);
  expect(of("mic.token.fetches")[0]?.value).toBeGreaterThan(0);
  expect(of("mic.watched.resources")[0]?.value).toBe(0);
  expect(of("mic.geography.available_requests")[0]?.value).toBe(29);
  expect(of("mcp.server.session.duration")[0]?.value).toBe(1);
});

const SCRAPED = {
  OTEL_METRICS_EXPORTER: "prometheus",
  OTEL_EXPORTER_PROMETHEUS_HOST: "127.0.0.1",
  OTEL_EXPORTER_PROMETHEUS_PORT: "0",
  MIC_LOG_LEVEL: "info",
};

test("metrics can be scraped on a separate port in Prometheus' text format, from this machine only", async () => {
  const { call, program, end } = await connectClient("HTTP, older", SCRAPED);
  await call("list_actions", {});
  const [, url = ""] = /"url":"(http[^"]+\/metrics)"/.exec(program.stderr()) ?? [];
  const response = await fetch(url);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const lines = (await response.text()).trim().split("\n");
  const SAMPLE = /^[a-z_:][\w:]*(\{[a-z_]\w*="(\\.|[^"\\])*"(,[a-z_]\w*="(\\.|[^"\\])*")*\})? -?[\d.e+]+$/i;
  expect(lines.filter((line) => !line.startsWith("# ") && !SAMPLE.test(line))).toEqual([]);
  const counts = lines.filter((line) => line.startsWith("mcp_server_operation_duration_count"));
  expect(counts.join("\n")).toContain('gen_ai_tool_name="list_actions"');
  expect(lines.join("\n")).toContain("mic_http_streams");
  const elsewhere = await get(url, { host: "rebound.example" }).answer;
  expect(elsewhere.status).toBe(403);
  expect((await fetch(new URL("/", url))).status).toBe(404);
  expect((await fetch(url, { method: "POST" })).status).toBe(405);
  expect((await end()).code).toBe(0);
});

test("the server serves and logs a warning if the port for metrics is taken", async () => {
  const { port } = new URL(await serveForTest(createServer()));
  const { call, program, end } = await connectClient("HTTP, modern", {
    ...SCRAPED,
    OTEL_EXPORTER_PROMETHEUS_PORT: port,
  });
  expect(await call("list_actions", {})).toContain("actions");
  expect(program.stderr()).toContain(`metrics are not available at 127.0.0.1 port ${port}`);
  expect((await end()).code).toBe(0);
});
