// Exports spans and metrics through the providers of OpenTelemetry, or through those of an SDK that was loaded earlier.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { DiagLogLevel, diag, type Meter, metrics, type Tracer, trace } from "@opentelemetry/api";
import { OTLPMetricExporter as JsonMetrics } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPMetricExporter as ProtoMetrics } from "@opentelemetry/exporter-metrics-otlp-proto";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { OTLPTraceExporter as JsonTraces } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtoTraces } from "@opentelemetry/exporter-trace-otlp-proto";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { type IMetricReader, MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { LOOPBACK_NAMES, parseHostHeader, toUrlHost } from "../core/loopback.ts";
import { hasForeignSdk } from "./port.ts";
import type { TelemetrySettings } from "./settings.ts";

interface TelemetryPipeline {
  readonly tracer: Tracer;
  readonly meter: Meter;
  close(): Promise<void>;
}

export interface TelemetryPipelineOptions {
  readonly settings: TelemetrySettings;
  readonly version: string;
  /** Receives errors of exporters, such as an unreachable collector: at most one a minute. */
  readonly onError: (reason: string) => void;
  readonly onListening: (url: string) => void;
}

const SCOPE = "mic-mcp";
const ERROR_REPORT_INTERVAL_MS = 60_000;
const MAX_REASON = 300;

/** A collector that is down fails every batch. OpenTelemetry reports an error as JSON with its stack; only the first line is kept. */
function reportSdkErrors(onError: (reason: string) => void): void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  const report = (...parts: readonly unknown[]): void => {
    if (performance.now() - reportedAt < ERROR_REPORT_INTERVAL_MS) return;
    reportedAt = performance.now();
    const text = parts.map((part) => (part instanceof Error ? part.message : String(part))).join(" ");
    onError((text.split(/\\n|\n/)[0] ?? "").slice(0, MAX_REASON));
  };
  const ignore = () => undefined;
  diag.setLogger(
    { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

const isFlushable = (value: unknown): value is { forceFlush(): Promise<void> } =>
  typeof value === "object" && value !== null && "forceFlush" in value && typeof value.forceFlush === "function";

/** Uses the providers of the SDK that was loaded earlier, so that its spans and these are in the same traces. */
function createForeignSdkPipeline(version: string): TelemetryPipeline {
  const provider = trace.getTracerProvider();
  const owner: unknown =
    "getDelegate" in provider && typeof provider.getDelegate === "function" ? provider.getDelegate() : provider;
  return {
    tracer: trace.getTracer(SCOPE, version),
    meter: metrics.getMeter(SCOPE, version),
    close: async () => {
      if (isFlushable(owner)) await owner.forceFlush();
    },
  };
}

const METRICS_PATH = "/metrics";
const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Serves metrics at GET /metrics. If the port is taken, the program reports this and runs without the endpoint. */
function createPrometheusEndpoint(
  { host, port }: NonNullable<TelemetrySettings["prometheus"]>,
  { onError, onListening }: TelemetryPipelineOptions,
) {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer();
  const isLoopback = LOOPBACK_NAMES.includes(toUrlHost(host));
  const server = createServer(({ method = "", url = "", headers }, response) => {
    // A web page can make a browser send requests here under another host name (DNS rebinding).
    const isForeign = isLoopback && !LOOPBACK_NAMES.includes(parseHostHeader(headers.host ?? "").name);
    const refusal = isForeign
      ? 403
      : url.split("?")[0] !== METRICS_PATH
        ? 404
        : /^(GET|HEAD)$/.test(method)
          ? undefined
          : 405;
    if (refusal !== undefined) return void response.writeHead(refusal).end();
    exporter.collect().then(
      ({ resourceMetrics }) =>
        response.writeHead(200, { "content-type": CONTENT_TYPE }).end(serializer.serialize(resourceMetrics)),
      () => response.destroy(),
    );
  });
  server.on("error", ({ message }) =>
    onError(`metrics are not available at ${toUrlHost(host)} port ${port}: ${message}`),
  );
  server.listen(port, host, () => {
    const address = server.address();
    if (typeof address === "object" && address !== null)
      onListening(`http://${toUrlHost(host)}:${address.port}${METRICS_PATH}`);
  });
  server.unref();
  return {
    reader: exporter,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export function createTelemetryPipeline(options: TelemetryPipelineOptions): TelemetryPipeline {
  const { settings, version, onError } = options;
  if (hasForeignSdk()) return createForeignSdkPipeline(version);
  reportSdkErrors(onError);
  const { traces, metrics: measured, prometheus, metricIntervalMs } = settings;
  // The environment takes precedence. No detector reads the host, its user or the command line.
  const own = resourceFromAttributes({
    "service.name": SCOPE,
    "service.version": version,
    // Several instances export to one collector.
    "service.instance.id": randomUUID(),
  });
  const resource = own.merge(detectResources({ detectors: [envDetector] }));

  const spanProcessors =
    traces === undefined ? [] : [new BatchSpanProcessor(traces === "http/json" ? new JsonTraces() : new ProtoTraces())];
  const tracerProvider = new BasicTracerProvider({ resource, spanProcessors });

  const readers: IMetricReader[] = [];
  if (measured !== undefined)
    readers.push(
      new PeriodicExportingMetricReader({
        exporter: measured === "http/json" ? new JsonMetrics() : new ProtoMetrics(),
        exportIntervalMillis: metricIntervalMs,
        // Must not be longer than the interval.
        exportTimeoutMillis: Math.min(metricIntervalMs, 30_000),
      }),
    );
  const prometheusEndpoint = prometheus && createPrometheusEndpoint(prometheus, options);
  if (prometheusEndpoint) readers.push(prometheusEndpoint.reader);
  const meterProvider = new MeterProvider({ resource, readers });

  return {
    // Without an exporter nothing is sampled, and the client's context is passed on unchanged.
    tracer: (traces === undefined ? trace : tracerProvider).getTracer(SCOPE, version),
    meter: meterProvider.getMeter(SCOPE, version),
    async close() {
      prometheusEndpoint?.close();
      // A provider that fails must not prevent the other from exporting.
      await Promise.allSettled([tracerProvider.shutdown(), meterProvider.shutdown()]);
    },
  };
}
