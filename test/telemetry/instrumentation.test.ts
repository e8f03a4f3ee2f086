// Tests the telemetry port: the caller of a span, work that outlives its request, and an SDK that was loaded before.
import { context, trace } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { expect, onTestFinished, test, vi } from "vitest";
import { createTelemetry, readTelemetrySettings } from "../../src/telemetry/otel.ts";
import type { Operation, Telemetry, TelemetryIdentity } from "../../src/telemetry/port.ts";
import { createLatch } from "../support/latch.ts";
import { type Receiver, receiverForTest } from "./receiver.ts";

const operation: Operation = {
  method: "tools/call",
  tool: "get_job",
  id: 1,
  network: "tcp",
  version: () => "2026-07-28",
  meta: undefined,
};

function createTestTelemetry(environment: NodeJS.ProcessEnv): Telemetry {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { settings } = readTelemetrySettings(environment, { hasPort: false });
  if (!settings) throw new Error("the settings are wrong");
  const noop = () => undefined;
  return createTelemetry({ settings, version: "0", onError: noop, onListening: noop });
}

const createReceiver = async (): Promise<{ receiver: Receiver; telemetry: Telemetry }> => {
  const receiver = await receiverForTest();
  return { receiver, telemetry: createTestTelemetry(receiver.env) };
};

const traceCall = (telemetry: Telemetry, work: () => Promise<unknown> = async () => undefined) =>
  telemetry.traceOperation(operation, work, () => undefined);

const recordExchange = (telemetry: Telemetry) =>
  telemetry.traceUpstreamRequest(
    { method: "GET", template: "/v1/x", origin: "https://service.example", resends: 0 },
    async () => ({ status: 200 }),
    () => "connection",
  );

test("the client of an operation is on the spans of that operation only", async () => {
  const { receiver, telemetry } = await createReceiver();
  const recordOperation = (identity: TelemetryIdentity) =>
    traceCall(telemetry.forIdentity(identity), () => recordExchange(telemetry));
  await recordOperation({ caller: "c-1", client: "app-1" });
  await recordOperation({ caller: "c-1" });
  await telemetry.close();
  expect(receiver.spans().map(({ attributes }) => [attributes["mic.caller"], attributes["mic.client"]])).toEqual([
    ["c-1", "app-1"],
    ["c-1", "app-1"],
    ["c-1", undefined],
    ["c-1", undefined],
  ]);
});

test("a hundred teams have separate series, and all other teams share one", async () => {
  const { receiver, telemetry } = await createReceiver();
  for (let team = 0; team < 130; team++) await traceCall(telemetry.forIdentity({ team: `team-${team}` }));
  await telemetry.close();
  const series = receiver.points().filter(({ name }) => name === "mic.team.calls");
  expect(series).toHaveLength(101);
  expect(series.find(({ attributes }) => attributes["mic.team"] === "_OTHER")?.value).toBe(30);
  expect(receiver.spans().at(-1)?.attributes["mic.team"]).toBe("team-129");
});

test("work that outlives its request has a separate trace with a link to the request", async () => {
  const { receiver, telemetry } = await createReceiver();
  const { released, release } = createLatch();
  let after: Promise<unknown> | undefined;
  await traceCall(telemetry, async () => {
    after = released.then(() => recordExchange(telemetry));
  });
  release();
  await after;
  await telemetry.close();
  const [request, later] = receiver.spans();
  expect(later?.parentSpanId).toBe("");
  expect(later?.traceId).not.toBe(request?.traceId);
  expect(later?.links).toMatchObject([{ traceId: request?.traceId, spanId: request?.spanId }]);
});

test("a gauge is read until it is unregistered", async () => {
  const { receiver, telemetry } = await createReceiver();
  const unregister = telemetry.registerGauge("mic.http.streams", () => 7);
  telemetry.forIdentity({ team: "red" }).registerGauge("mic.watched.resources", () => 2);
  unregister();
  await telemetry.close();
  expect(receiver.points()).toEqual([{ name: "mic.watched.resources", attributes: { "mic.team": "red" }, value: 2 }]);
});

test("a telemetry SDK that was loaded before gets the spans, and no other SDK is started", async () => {
  const receiver = await receiverForTest();
  const spans = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
  onTestFinished(() => {
    trace.disable();
    context.disable();
  });
  const telemetry = createTestTelemetry(receiver.env);
  await traceCall(telemetry, () => recordExchange(telemetry));
  await telemetry.close();
  expect(spans.getFinishedSpans().map(({ name }) => name)).toEqual(["GET /v1/x", "tools/call get_job"]);
  expect(receiver.requests()).toBe(0);
});

test("a team has at most 50 series, whatever its callers do", async () => {
  const { receiver, telemetry } = await createReceiver();
  const team = telemetry.forIdentity({ team: "red" });
  const kinds = ["not_found", "conflict", "forbidden", "rate_limited", "internal", "outcome_unknown"];
  const done = async (): Promise<undefined> => undefined;
  for (const tool of Array.from({ length: 25 }, (_, at) => `tool_${at}`)) {
    const exchange = () => recordExchange(team);
    for (const kind of [undefined, ...kinds]) await team.traceOperation({ ...operation, tool }, exchange, () => kind);
    for (const state of ["succeeded", "rejected", "unknown"] as const)
      for (const replayed of [true, false]) await team.traceAction(tool, done, () => ({ state, replayed }));
  }
  await telemetry.close();
  const ofTeam = receiver.points().filter(({ attributes }) => attributes["mic.team"] === "red");
  expect(new Set(ofTeam.map(({ name }) => name))).toEqual(new Set(["mic.team.calls", "mic.action.outcomes"]));
  expect(ofTeam).toHaveLength(kinds.length + 1 + 6);
});

test("database statements and served HTTP requests have spans and durations by the semantic conventions", async () => {
  const { receiver, telemetry } = await createReceiver();
  const secret = "a-value-that-is-not-exported";
  await telemetry.traceStatement(`UPDATE actions SET owner = '${secret}' WHERE key = $1`, async () => []);
  const failed = telemetry.traceStatement("SELECT name FROM teams", () =>
    Promise.reject(Object.assign(new Error(secret), { code: "57014" })),
  );
  await expect(failed).rejects.toThrow(secret);
  telemetry.measureHttpRequest({ method: "POST", route: "/mcp/{team}", status: 503 }, 0.2);
  await telemetry.close();
  expect(receiver.spans().map(({ name, attributes }) => [name, attributes])).toEqual([
    ["UPDATE actions", expect.objectContaining({ "db.system.name": "postgresql", "db.operation.name": "UPDATE" })],
    ["SELECT teams", expect.objectContaining({ "db.collection.name": "teams", "error.type": "57014" })],
  ]);
  const points = receiver.points();
  const attributes = { "http.request.method": "POST", "http.route": "/mcp/{team}", "error.type": "503" };
  expect(points).toContainEqual({
    name: "http.server.request.duration",
    attributes: { ...attributes, "http.response.status_code": 503 },
    value: 1,
  });
  expect(points.filter(({ name }) => name === "db.client.operation.duration")).toHaveLength(2);
  expect(receiver.bytes().includes("service.instance.id")).toBe(true);
  expect(receiver.bytes().includes(secret)).toBe(false);
});
