// Where spans, metrics and log lines go: providers and exporters of OpenTelemetry, made by the settings; or those of an SDK that
// whoever started the process has loaded before.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { DiagLogLevel, diag, type Meter, metrics, type Tracer, trace } from "@opentelemetry/api";
import { type Logger, logs } from "@opentelemetry/api-logs";
import { OTLPLogExporter as JsonLogs } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter as ProtoLogs } from "@opentelemetry/exporter-logs-otlp-proto";
import { OTLPMetricExporter as JsonMetrics } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPMetricExporter as ProtoMetrics } from "@opentelemetry/exporter-metrics-otlp-proto";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { OTLPTraceExporter as JsonTraces } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtoTraces } from "@opentelemetry/exporter-trace-otlp-proto";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { type IMetricReader, MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { inUrl, LOOPBACK_NAMES } from "../loopback.ts";
import { hasForeignSdk } from "./asked.ts";
import type { TelemetrySettings } from "./settings.ts";

export interface Exporting {
  readonly tracer: Tracer;
  readonly meter: Meter;
  readonly logger: Logger;
  /** Sends what is left. */
  close(): Promise<void>;
}

export interface ExportingOptions {
  readonly settings: TelemetrySettings;
  readonly version: string;
  /** Hears of a collector that cannot be reached and the like. */
  readonly onTrouble: (reason: string) => void;
  /** Where metrics can be scraped. */
  readonly onListening: (url: string) => void;
}

const SCOPE = "mic-mcp";
const TROUBLE_EVERY_MS = 60_000;
const MAX_REASON = 300;

/** OpenTelemetry tells of an error as JSON with its stack. */
function firstLine(said: readonly unknown[]): string {
  const text = said.map((part) => (part instanceof Error ? part.message : String(part))).join(" ");
  return (text.split(/\\n|\n/)[0] ?? "").slice(0, MAX_REASON);
}

/** Once a minute at most: a collector that is down fails every batch. */
function listenToTrouble(onTrouble: (reason: string) => void): void {
  let saidAt = Number.NEGATIVE_INFINITY;
  const say = (...said: readonly unknown[]): void => {
    const now = performance.now();
    if (now - saidAt < TROUBLE_EVERY_MS) return;
    saidAt = now;
    onTrouble(firstLine(said));
  };
  const nothing = () => undefined;
  diag.setLogger(
    { error: say, warn: say, info: nothing, debug: nothing, verbose: nothing },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

const isFlushable = (value: unknown): value is { forceFlush(): Promise<void> } =>
  typeof value === "object" && value !== null && "forceFlush" in value && typeof value.forceFlush === "function";

/** One trace for all that the process does, not two. */
function byForeignSdk(version: string): Exporting {
  const provider = trace.getTracerProvider();
  const owner: unknown =
    "getDelegate" in provider && typeof provider.getDelegate === "function" ? provider.getDelegate() : provider;
  return {
    tracer: trace.getTracer(SCOPE, version),
    meter: metrics.getMeter(SCOPE, version),
    logger: logs.getLogger(SCOPE, version),
    close: async () => {
      if (isFlushable(owner)) await owner.forceFlush();
    },
  };
}

type Prometheus = NonNullable<TelemetrySettings["prometheus"]>;
const PATH = "/metrics";
const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";
const names: ReadonlySet<string> = new Set(LOOPBACK_NAMES);

/** The name in a Host header, without its port. */
const nameIn = (host: string): string => host.replace(/:\d+$/, "").toLowerCase();

/** Serves metrics at GET /metrics. If the port is taken, the server runs without it. */
function createScraped({ host, port }: Prometheus, { onTrouble, onListening }: ExportingOptions) {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer();
  const isOfThisMachine = names.has(inUrl(host));

  async function serve({ method, url = "", headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const refuse = (status: number) => void response.writeHead(status).end();
    // A web page can make a browser send requests here under another host name (DNS rebinding).
    if (isOfThisMachine && !names.has(nameIn(headers.host ?? ""))) return refuse(403);
    if (url.split("?")[0] !== PATH) return refuse(404);
    if (method !== "GET" && method !== "HEAD") return refuse(405);
    const { resourceMetrics } = await exporter.collect();
    response.writeHead(200, { "content-type": CONTENT_TYPE }).end(serializer.serialize(resourceMetrics));
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.on("error", ({ message }) => onTrouble(`no metrics at ${inUrl(host)} port ${port}: ${message}`));
  server.listen(port, host, () => {
    const bound = server.address();
    if (typeof bound === "object" && bound !== null) onListening(`http://${inUrl(host)}:${bound.port}${PATH}`);
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

export function createExporting(options: ExportingOptions): Exporting {
  const { settings, version, onTrouble } = options;
  if (hasForeignSdk()) return byForeignSdk(version);
  listenToTrouble(onTrouble);
  const { traces: tracesBy, metrics: metricsBy, logs: logsBy, prometheus, metricIntervalMs } = settings;
  // The environment's words win; no detector looks at the host, its user or the command line.
  const own = resourceFromAttributes({ "service.name": SCOPE, "service.version": version });
  const resource = own.merge(detectResources({ detectors: [envDetector] }));

  const spans = tracesBy && new BatchSpanProcessor(tracesBy === "http/json" ? new JsonTraces() : new ProtoTraces());
  const tracing = new BasicTracerProvider({ resource, spanProcessors: spans ? [spans] : [] });

  const readers: IMetricReader[] = [];
  if (metricsBy) {
    const exporter = metricsBy === "http/json" ? new JsonMetrics() : new ProtoMetrics();
    // The timeout must not be longer than the interval.
    const exportTimeoutMillis = Math.min(metricIntervalMs, 30_000);
    readers.push(
      new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: metricIntervalMs, exportTimeoutMillis }),
    );
  }
  const scraped = prometheus && createScraped(prometheus, options);
  if (scraped) readers.push(scraped.reader);
  const metering = new MeterProvider({ resource, readers });

  const lines =
    logsBy && new BatchLogRecordProcessor({ exporter: logsBy === "http/json" ? new JsonLogs() : new ProtoLogs() });
  const logging = new LoggerProvider({ resource, processors: lines ? [lines] : [] });

  return {
    // Without exporters nothing is sampled: the client's context is handed on as it is.
    tracer: (spans ? tracing : trace).getTracer(SCOPE, version),
    meter: metering.getMeter(SCOPE, version),
    logger: logging.getLogger(SCOPE, version),
    async close() {
      scraped?.close();
      // One that fails must not keep the others from sending.
      await Promise.allSettled([tracing.shutdown(), metering.shutdown(), logging.shutdown()]);
    },
  };
}
