// Tests the server without telemetry: it loads no telemetry file, connects to no collector, and sends its client the same bytes.
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { job } from "../contract/samples.ts";
import { callMessage, initialize, start } from "../mcp/stdio/child.ts";
import { answer, type Stub, stubForTest } from "../support/stub.ts";
import { receiverForTest } from "./receiver.ts";

const PRELOAD = fileURLToPath(new URL("report-loaded.cjs", import.meta.url));
const Seen = z.object({ loaded: z.array(z.string()), connected: z.array(z.unknown()) });

/**
 * Runs a short session. Returns the bytes for the client, the loaded telemetry files, and the ports that the program connected
 * to.
 */
async function runSession(stub: Stub, env: Readonly<Record<string, string>>) {
  const program = start(["serve"], {
    node: ["--require", PRELOAD],
    env: { MIC_BASE_URL: stub.baseUrl, MIC_CLIENT_ID: "id-1", MIC_CLIENT_SECRET: "secret-1", ...env },
  });
  await initialize(program);
  program.send({ jsonrpc: "2.0", id: 2, method: "tools/list" });
  await program.answersTo([2]);
  for (const id of [3, 4, 5]) {
    program.send(callMessage(id, "get_job", { jobId: job.id }));
    await program.answersTo([id]);
  }
  program.process.stdin.end();
  await program.exit;
  const { loaded, connected } = Seen.parse(JSON.parse(program.stderr().trim().split("\n").at(-1) ?? ""));
  return {
    stdout: program.stdout(),
    parts: loaded.filter((file) => /dist\/telemetry\.js|opentelemetry/.test(file)),
    connected,
  };
}

async function startStubWithJob(): Promise<Stub> {
  const stub = await stubForTest();
  stub.respond(() => answer(200, { data: job, meta: { requestId: "r-1" } }));
  return stub;
}

/** Listens at the default address of the OpenTelemetry SDK, if it is free, and counts connections. */
async function defaultCollector(): Promise<() => number> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.once("error", () => resolve()).listen(4318, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return () => connections;
}

test.each([
  ["no variable is set", {}],
  ["OTEL_SDK_DISABLED is true", { OTEL_SDK_DISABLED: "true", OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" }],
  [
    "all exporters are none",
    { OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none", OTEL_LOGS_EXPORTER: "none" },
  ],
  ["only a service name and attributes are set", { OTEL_SERVICE_NAME: "mine", OTEL_RESOURCE_ATTRIBUTES: "a=b" }],
])("if %s, no telemetry is loaded and no collector is connected", async (_, env) => {
  const connectionCount = await defaultCollector();
  const stub = await startStubWithJob();
  const { parts, connected } = await runSession(stub, env);
  expect(parts).toEqual([]);
  expect(new Set(connected)).toEqual(new Set([new URL(stub.baseUrl).port]));
  expect(connectionCount()).toBe(0);
  for (const { headers } of stub.requests) expect(headers["traceparent"]).toBeUndefined();
});

test("the client reads the same bytes with and without telemetry, and only with it telemetry is loaded", async () => {
  const stub = await startStubWithJob();
  const receiver = await receiverForTest();
  const off = await runSession(stub, {});
  const on = await runSession(stub, receiver.env);
  expect(on.parts).not.toEqual([]);
  expect(on.connected).toContain(Number(new URL(receiver.endpoint).port));
  expect(on.stdout).toBe(off.stdout);
  expect(receiver.spans().length).toBeGreaterThan(3);
});
