// Tests which variables turn telemetry on; an invalid value turns it off with a warning on stderr. Without telemetry the server
// loads no telemetry file, connects to no collector, and sends its client the same bytes.
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { isTelemetryRequested } from "../../src/telemetry/port.ts";
import { readTelemetrySettings } from "../../src/telemetry/settings.ts";
import { stubEnv } from "../api-client/client.ts";
import { enveloped, job } from "../contract/samples.ts";
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
])("with the variables %j, telemetry is requested: %s", (environment, expected) => {
  expect(isTelemetryRequested(environment)).toBe(expected);
});

const ALL = "http/protobuf";
test.each([
  ["a general endpoint exports all signals", OTLP, [ALL, ALL]],
  ["an exporter of one signal exports that one", { OTEL_TRACES_EXPORTER: "otlp" }, [ALL, undefined]],
  ["the exporter none turns a signal off", { ...OTLP, OTEL_METRICS_EXPORTER: "none" }, [ALL, undefined]],
  [
    "an endpoint of one signal exports that one",
    { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "https://c.example/m" },
    [undefined, ALL],
  ],
  [
    "a signal may have another protocol",
    { ...OTLP, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: ALL },
    ["http/json", ALL],
  ],
])("%s", (_what, environment, protocols) => {
  const { settings } = readTelemetrySettings(environment, { hasPort: false });
  expect([settings?.traces, settings?.metrics]).toEqual(protocols);
});

test("Prometheus has a separate address over HTTP", () => {
  const configured = { OTEL_METRICS_EXPORTER: "otlp,prometheus", OTEL_EXPORTER_PROMETHEUS_PORT: "9999" };
  const { settings } = readTelemetrySettings(configured, { hasPort: true });
  expect(settings).toMatchObject({ metrics: "http/protobuf", prometheus: { host: "localhost", port: 9999 } });
});

test("an exporter of logs has no effect, with a warning that names the alternative", () => {
  for (const name of ["OTEL_LOGS_EXPORTER", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"]) {
    expect(isTelemetryRequested({ [name]: "otlp" })).toBe(true);
    const { warnings } = readTelemetrySettings({ [name]: "otlp" }, { hasPort: true });
    expect(warnings).toEqual([expect.stringContaining("stderr")]);
  }
});

test.each([
  ["OTEL_TRACES_EXPORTER", "console"],
  ["OTEL_METRICS_EXPORTER", "otlp,statsd"],
  ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
  ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"],
  ["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "unix:/tmp/x"],
  ["OTEL_TRACES_SAMPLER", "sometimes"],
  ["OTEL_PROPAGATORS", "b3"],
  ["OTEL_METRIC_EXPORT_INTERVAL", "soon"],
])("%s=%s turns telemetry off, with a warning that names the variable", (name, value) => {
  const { settings, warnings } = readTelemetrySettings({ ...OTLP, [name]: value }, { hasPort: true });
  expect(settings).toBeUndefined();
  expect(warnings).toEqual([expect.stringMatching(new RegExp(`^Telemetry is off: ${name} must be `))]);
});

test("the server serves with a warning if a telemetry variable is invalid", async () => {
  const receiver = await receiverForTest();
  const { request, program, end } = await connectClient("HTTP, older", {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
    OTEL_TRACES_EXPORTER: "console",
  });
  expect(await request("prompts/list", {})).toContain("run_job");
  await end();
  expect(program.stderr()).toContain("Telemetry is off: OTEL_TRACES_EXPORTER must be otlp or none");
  expect(receiver.requests()).toBe(0);
});

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
  const program = start(["serve"], { node: ["--require", PRELOAD], env: { ...stubEnv(stub), ...env } });
  await initialize(program);
  for (const id of [2, 3, 4]) {
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

test("the client reads the same bytes with and without telemetry, which is loaded and connected only if it is requested", async () => {
  const stub = await stubForTest();
  stub.respond(() => answer(200, enveloped(job)));
  const receiver = await receiverForTest();
  const off = await runSession(stub, { ...receiver.env, OTEL_SDK_DISABLED: "true" });
  expect(off.parts).toEqual([]);
  expect(new Set(off.connected)).toEqual(new Set([new URL(stub.baseUrl).port]));
  for (const { headers } of stub.requests) expect(headers["traceparent"]).toBeUndefined();
  expect(receiver.requests()).toBe(0);
  const on = await runSession(stub, receiver.env);
  expect(on.parts).not.toEqual([]);
  expect(on.connected).toContain(Number(new URL(receiver.endpoint).port));
  expect(on.stdout).toBe(off.stdout);
  expect(receiver.spans().length).toBeGreaterThan(3);
});
