// Reads the standard OTEL_* variables that select exporters. OpenTelemetry itself reads all others (batches, samplers, headers).
import { percentDecode } from "../core/percent-decode.ts";

type Protocol = "http/protobuf" | "http/json";

export type TelemetrySettings = NonNullable<ReturnType<typeof readTelemetrySettings>["settings"]>;

type Validator = (text: string) => boolean;
const SAMPLERS = ["", "parentbased_"].flatMap((kind) =>
  ["always_on", "always_off", "traceidratio"].map((name) => kind + name),
);
const STDOUT = "(console is not supported: it writes to stdout, which carries the protocol)";

const splitList = (text: string): readonly string[] => text.split(",").map((item) => item.trim());
const isListOf =
  (...known: string[]): Validator =>
  (text) =>
    splitList(text).every((item) => known.includes(item));
const isIntegerBetween =
  (min: number, max: number): Validator =>
  (text) =>
    /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max;
const isUrl: Validator = (text) => /^https?:\/\//i.test(text) && URL.canParse(text);
const isProtocol = (text: string): text is Protocol => text === "http/protobuf" || text === "http/json";

/** The valid values of each variable. One invalid value turns telemetry off, because incomplete telemetry is misleading. */
const RULES: readonly (readonly [name: RegExp, fits: Validator, takes: string])[] = [
  [/^OTEL_TRACES_EXPORTER$/, isListOf("otlp", "none"), `otlp or none ${STDOUT}`],
  [/^OTEL_METRICS_EXPORTER$/, isListOf("otlp", "prometheus", "none"), `otlp, prometheus or none ${STDOUT}`],
  [/^OTEL_EXPORTER_OTLP_((TRACES|METRICS)_)?ENDPOINT$/, isUrl, "an http or https URL"],
  [
    /^OTEL_EXPORTER_OTLP_((TRACES|METRICS)_)?PROTOCOL$/,
    isProtocol,
    "http/protobuf or http/json (grpc is not supported)",
  ],
  [/^OTEL_TRACES_SAMPLER$/, (text) => SAMPLERS.includes(text), `one of ${SAMPLERS.join(", ")}`],
  [/^OTEL_PROPAGATORS$/, isListOf("tracecontext", "baggage", "none"), "tracecontext, baggage or none"],
  [/^OTEL_EXPORTER_PROMETHEUS_PORT$/, isIntegerBetween(0, 65_535), "a whole number from 0 to 65535"],
  [/^OTEL_METRIC_EXPORT_INTERVAL$/, isIntegerBetween(1, 86_400_000), "a whole number from 1 to 86400000"],
];

const PROMETHEUS_ON_STDIO_WARNING =
  "OTEL_METRICS_EXPORTER=prometheus has no effect on stdio: each client starts its own server, and servers cannot share a " +
  "port. Use OTEL_METRICS_EXPORTER=otlp, or serve --http.";

const LOGS_WARNING = "Logs are not exported: collect the lines that the server writes to stderr.";

/** `hasPort`: one process serves all clients over HTTP, so it can listen for Prometheus. `settings` is undefined if a value is invalid. */
export function readTelemetrySettings(environment: NodeJS.ProcessEnv, { hasPort }: { readonly hasPort: boolean }) {
  const read = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const invalid = Object.keys(environment).flatMap((name) =>
    RULES.filter(([pattern, fits]) => pattern.test(name) && read(name) !== undefined && !fits(read(name) ?? "")).map(
      ([, , takes]) => `${name} must be ${takes}.`,
    ),
  );
  if (invalid.length > 0) return { settings: undefined, warnings: [`Telemetry is off: ${invalid.join(" ")}`] };

  const exportersOf = (signal: string): readonly string[] => {
    const hasEndpoint = read(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`) ?? read("OTEL_EXPORTER_OTLP_ENDPOINT");
    return splitList(read(`OTEL_${signal}_EXPORTER`) ?? (hasEndpoint === undefined ? "none" : "otlp"));
  };
  const protocolOf = (signal: string): Protocol | undefined => {
    if (!exportersOf(signal).includes("otlp")) return undefined;
    const protocol = read(`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`) ?? read("OTEL_EXPORTER_OTLP_PROTOCOL");
    return protocol === "http/json" ? protocol : "http/protobuf";
  };
  const isScraped = exportersOf("METRICS").includes("prometheus");
  const settings = {
    // The export protocol of each signal; undefined if the signal is not exported.
    traces: protocolOf("TRACES"),
    metrics: protocolOf("METRICS"),
    /** The address where Prometheus can scrape metrics; undefined if there is none. */
    prometheus:
      isScraped && hasPort
        ? {
            host: read("OTEL_EXPORTER_PROMETHEUS_HOST") ?? "localhost",
            port: Number(read("OTEL_EXPORTER_PROMETHEUS_PORT") ?? 9464),
          }
        : undefined,
    metricIntervalMs: Number(read("OTEL_METRIC_EXPORT_INTERVAL") ?? 60_000),
    /** Whether trace context is read from requests and sent to the API. */
    propagates: splitList(read("OTEL_PROPAGATORS") ?? "tracecontext").includes("tracecontext"),
    // Each variable contains percent-encoded `key=value` pairs.
    secrets: ["", "TRACES_", "METRICS_"]
      .flatMap((signal) => (read(`OTEL_EXPORTER_OTLP_${signal}HEADERS`) ?? "").split(","))
      .map((pair) => pair.slice(pair.indexOf("=") + 1).trim())
      .flatMap((value) => [value, percentDecode(value) ?? value]),
  };
  const wantsLogs =
    read("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT") !== undefined || (read("OTEL_LOGS_EXPORTER") ?? "none") !== "none";
  const warnings = [
    ...(isScraped && !hasPort ? [PROMETHEUS_ON_STDIO_WARNING] : []),
    ...(wantsLogs ? [LOGS_WARNING] : []),
  ];
  return { settings, warnings };
}
