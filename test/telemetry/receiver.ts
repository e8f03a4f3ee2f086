// A collector: receives OTLP over HTTP as JSON, and returns plain spans and points. It keeps only the bytes of protobuf.

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { onTestFinished, vi } from "vitest";
import * as z from "zod/v4";
import { loadTelemetry } from "../../src/cli/telemetry.ts";
import { serveForTest } from "../support/http-server.ts";

const Text = z.string().default("");
const Value = z.union([
  z.object({ intValue: z.coerce.number() }).transform(({ intValue }) => intValue),
  // The only other field is the value: stringValue, doubleValue or boolValue.
  z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).transform((value) => Object.values(value)[0]),
]);
const Attributes = z
  .array(z.looseObject({ key: z.string(), value: Value }))
  .default([])
  .transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, value])));
const Span = z.looseObject({
  name: z.string(),
  kind: z.number(),
  traceId: Text,
  spanId: Text,
  parentSpanId: Text,
  attributes: Attributes,
  status: z.looseObject({ code: z.number().default(0), message: Text }).default({ code: 0, message: "" }),
  links: z.array(z.looseObject({ traceId: Text, spanId: Text })).default([]),
});
export type Span = z.infer<typeof Span>;
const Point = z.looseObject({
  attributes: Attributes,
  count: z.coerce.number().optional(),
  asDouble: z.number().optional(),
  asInt: z.coerce.number().optional(),
});
type Point = z.infer<typeof Point>;
const Data = z.looseObject({ dataPoints: z.array(Point).default([]) }).optional();
const Metric = z.looseObject({ name: z.string(), histogram: Data, sum: Data, gauge: Data });

/** The items at the end of a path of nested lists: `resourceSpans`, `scopeSpans`, `spans`. */
const itemsAt = (bodies: readonly unknown[], ...path: readonly string[]): readonly unknown[] =>
  path.reduce<readonly unknown[]>((items, name) => items.flatMap((item) => Object(item)[name] ?? []), bodies);

/** Starts a collector until the running test ends. `answer` sends the response (default 200). */
export async function receiverForTest(answer = (response: ServerResponse) => void response.end()) {
  const bodies: unknown[] = [];
  const raw: Buffer[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let requests = 0;
  async function receiveBatch(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requests += 1;
    const bytes = await buffer(request);
    raw.push(bytes);
    headers.push(request.headers);
    if (request.headers["content-type"] === "application/json") bodies.push(JSON.parse(bytes.toString()));
    answer(response);
  }
  const server = createServer((request, response) => {
    receiveBatch(request, response).catch((error: unknown) => void response.writeHead(400).end(String(error)));
  });
  const endpoint = await serveForTest(server);
  return {
    endpoint,
    /** The variables with which a program exports to it as JSON. */
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" },
    spans: () => itemsAt(bodies, "resourceSpans", "scopeSpans", "spans").map((item) => Span.parse(item)),
    /** The latest point of each series; the value of a histogram is its count. */
    points() {
      const metrics = itemsAt(bodies, "resourceMetrics", "scopeMetrics", "metrics").map((item) => Metric.parse(item));
      const latest = new Map<string, Pick<Point, "attributes"> & { name: string; value: number }>();
      for (const { name, histogram, sum, gauge } of metrics)
        for (const { attributes, count, asDouble, asInt } of (histogram ?? sum ?? gauge)?.dataPoints ?? []) {
          const value = count ?? asDouble ?? asInt ?? Number.NaN;
          latest.set(JSON.stringify([name, attributes]), { name, attributes, value });
        }
      return [...latest.values()];
    },
    bytes: () => Buffer.concat(raw),
    headers: () => headers,
    requests: () => requests,
  };
}
export type Receiver = Awaited<ReturnType<typeof receiverForTest>>;

/** Loads telemetry in the test's process, as a server does that exports to this collector, until the running test ends. */
export async function loadTelemetryForTest({ env }: Receiver): ReturnType<typeof loadTelemetry> {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  return await loadTelemetry(process.env, true);
}
