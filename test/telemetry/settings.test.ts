// Tests which variables turn telemetry on; an invalid value turns it off with a warning on stderr. Without telemetry the server
// loads no telemetry file, connects to no collector, and sends its client the same bytes.
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { isTelemetryRequested } from "../../src/telemetry/port.ts";
import { readTelemetrySettings } from "../../src/telemetry/settings.ts";
import { job } from "../contract/samples.ts";
import { callMessage, initialize, start } from "../mcp/stdio/child.ts";
import { answer, type Stub, stubForTest } from "../support/stub.ts";
import { connectClient } from "./client.ts";
import { receiverForTest } from "./receiver.ts";

const OTLP = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };

test.each([
  [{}, false],
  [OTLP, true],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:4318/v1/traces" }, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: " " }, false],
  [{ OTEL_TRACES_EXPORTER: "otlp" }, true],
  [{ OTEL_METRICS_EXPORTER: "prometheus" }, true],
  [{ OTEL_LOGS_EXPORTER: "none" }, false],
  [{ ...OTLP, OTEL_SDK_DISABLED: "TRUE" }, false],
  [{ OTEL_SERVICE_NAME: "x", OTEL_TRACES_SAMPLER: "always_on" }, false],
])("with %j telemetry is requested: %s", (environment, expected) => {
  expect(isTelemetryRequested(environment)).toBe(expected);
});

const signals = (environment: NodeJS.ProcessEnv, hasPort = false) => {
  const { settings } = readTelemetrySettings(environment, { hasPort });
  return [settings?.traces, settings?.metrics, settings?.logs];
};

test("a general endpoint exports all signals, and an endpoint or exporter of one signal exports that one", () => {
  expect(signals(OTLP)).toEqual(["http/protobuf", "http/protobuf", "http/protobuf"]);
  expect(signals({ OTEL_TRACES_EXPORTER: "otlp" })).toEqual(["http/protobuf", undefined, undefined]);
  expect(signals({ ...OTLP, OTEL_LOGS_EXPORTER: "none" })).toEqual(["http/protobuf", "http/protobuf", undefined]);
  expect(signals({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "https://c.example/m" })).toEqual([
    undefined,
    "http/protobuf",
    undefined,
  ]);
  const mixed = {
    ...OTLP,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: "http/protobuf",
  };
  expect(signals(mixed)).toEqual(["http/json", "http/json", "http/protobuf"]);
});

test("Prometheus has a separate address over HTTP, and no effect on stdio", () => {
  const configured = { OTEL_METRICS_EXPORTER: "otlp,prometheus", OTEL_EXPORTER_PROMETHEUS_PORT: "9999" };
  expect(readTelemetrySettings(configured, { hasPort: true }).settings?.prometheus).toEqual({
    host: "localhost",
    port: 9999,
  });
  const onStdio = readTelemetrySettings(configured, { hasPort: false });
  expect(onStdio.settings?.prometheus).toBeUndefined();
  expect(onStdio.settings?.metrics).toBe("http/protobuf");
  expect(onStdio.warnings.join()).toContain("no effect on stdio");
});

const INVALID: readonly (readonly [string, string])[] = [
  ["OTEL_TRACES_EXPORTER", "console"],
  ["OTEL_METRICS_EXPORTER", "otlp,statsd"],
  ["OTEL_LOGS_EXPORTER", "prometheus"],
  ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
  ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"],
  ["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "unix:/tmp/x"],
  ["OTEL_TRACES_SAMPLER", "sometimes"],
  ["OTEL_PROPAGATORS", "b3"],
  ["OTEL_METRIC_EXPORT_INTERVAL", "soon"],
];

test.each(INVALID)(
  "%s=%s turns telemetry off, with a warning that names the variable and not the value",
  (name, value) => {
    const { settings, warnings } = readTelemetrySettings({ ...OTLP, [name]: value }, { hasPort: true });
    expect(settings).toBeUndefined();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(new RegExp(`^Telemetry is off: .*${name} must be `));
  },
);

test.each(["stdio, modern", "HTTP, older"] as const)(
  "%s: the server serves with a warning if a telemetry variable is invalid",
  async (mode) => {
    const receiver = await receiverForTest();
    const { request, program, end } = await connectClient(mode, {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
      OTEL_TRACES_EXPORTER: "console",
    });
    expect(await request("prompts/list", {})).toContain("run_job");
    await end();
    expect(program.stderr()).toContain("Telemetry is off: OTEL_TRACES_EXPORTER must be otlp or none");
    expect(receiver.requests()).toBe(0);
  },
);

test("Prometheus on stdio has no effect, and stderr names the alternatives", async () => {
  const { request, program, end } = await connectClient("stdio, older", { OTEL_METRICS_EXPORTER: "prometheus" });
  expect(await request("prompts/list", {})).toContain("run_job");
  await end();
  expect(program.stderr()).toContain("Use OTEL_METRICS_EXPORTER=otlp, or serve --http.");
});

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
