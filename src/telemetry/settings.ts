// What the environment asks of telemetry: the standard OTEL_* variables, as far as they are ours to read. Exporters, batches and
// samplers read their own.

export const SIGNALS = ["TRACES", "METRICS", "LOGS"] as const;
export type Signal = (typeof SIGNALS)[number];

export type Protocol = "http/protobuf" | "http/json";

/** How signals are exported; undefined: they are not. */
export interface TelemetrySettings {
  readonly traces: Protocol | undefined;
  readonly metrics: Protocol | undefined;
  readonly logs: Protocol | undefined;
  /** Where metrics wait to be scraped. */
  readonly prometheus: { readonly host: string; readonly port: number } | undefined;
  readonly metricIntervalMs: number;
  /** Trace context is read from requests and given to the service. */
  readonly propagates: boolean;
  /** Header values for collectors: not to be shown. */
  readonly secrets: readonly string[];
}

export interface Asked {
  /** Undefined where something is wrong: `warnings` says what. */
  readonly settings: TelemetrySettings | undefined;
  readonly warnings: readonly string[];
}

const PROTOCOLS: readonly Protocol[] = ["http/protobuf", "http/json"];
const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
];
const DEFAULT_INTERVAL_MS = 60_000;
const PROMETHEUS_PORT = 9464;

/** Collects what is wrong: one wrong value turns all off, since half a telemetry misleads. */
class Reading {
  readonly wrong: string[] = [];
  readonly #environment: NodeJS.ProcessEnv;

  constructor(environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
  }

  text(name: string): string | undefined {
    const text = this.#environment[name]?.trim();
    return text === "" ? undefined : text;
  }

  refuse(name: string, takes: string): undefined {
    this.wrong.push(`${name} takes ${takes}.`);
    return undefined;
  }

  list(name: string, known: readonly string[], takes = known.join(", ")): readonly string[] | undefined {
    const items = this.text(name)
      ?.split(",")
      .map((item) => item.trim());
    if (items?.some((item) => !known.includes(item))) this.refuse(name, takes);
    return items;
  }

  oneOf<T extends string>(name: string, known: readonly T[], takes = known.join(" or ")): T | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    return known.find((each) => each === text) ?? this.refuse(name, takes);
  }

  wholeNumber(name: string, min: number, max: number): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const number = Number(text);
    const fits = /^\d{1,9}$/.test(text) && number >= min && number <= max;
    return fits ? number : this.refuse(name, `a whole number from ${min} to ${max}`);
  }

  url(name: string): string | undefined {
    const text = this.text(name);
    if (text === undefined || (/^https?:\/\//i.test(text) && URL.canParse(text))) return text;
    return this.refuse(name, "an http or https URL");
  }
}

const TAKES: Readonly<Record<Signal, readonly string[]>> = {
  TRACES: ["otlp", "none"],
  METRICS: ["otlp", "prometheus", "none"],
  LOGS: ["otlp", "none"],
};

function protocolOf(reading: Reading, signal: Signal): Protocol {
  const takes = `${PROTOCOLS.join(" or ")} (grpc is not built in)`;
  const all = reading.oneOf("OTEL_EXPORTER_OTLP_PROTOCOL", PROTOCOLS, takes);
  return reading.oneOf(`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`, PROTOCOLS, takes) ?? all ?? "http/protobuf";
}

/** `key=value` pairs, percent-encoded. */
function headerValues(reading: Reading): string[] {
  const names = ["", ...SIGNALS.map((signal) => `${signal}_`)].map((part) => `OTEL_EXPORTER_OTLP_${part}HEADERS`);
  const values = names.flatMap((name) =>
    (reading.text(name) ?? "").split(",").map((pair) => pair.slice(pair.indexOf("=") + 1).trim()),
  );
  return values.flatMap((value) => [value, decoded(value)]);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

const ON_STDIO =
  "OTEL_METRICS_EXPORTER=prometheus has no effect on stdio: each client starts a server of its own, and they cannot share a " +
  "port. Use OTEL_METRICS_EXPORTER=otlp, or serve --http.";

/** `hasPort`: it serves over HTTP, where one process listens for all. */
export function readTelemetry(environment: NodeJS.ProcessEnv, { hasPort }: { hasPort: boolean }): Asked {
  const reading = new Reading(environment);
  const isEverywhere = reading.url("OTEL_EXPORTER_OTLP_ENDPOINT") !== undefined;
  const exporters = (signal: Signal): readonly string[] => {
    const known = TAKES[signal];
    const takes = `${known.join(", ")} (console would write to stdout, which is the protocol's)`;
    const named = reading.list(`OTEL_${signal}_EXPORTER`, known, takes);
    const isHere = reading.url(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`) !== undefined;
    return named ?? (isEverywhere || isHere ? ["otlp"] : []);
  };
  const [traces, metrics, logs] = [exporters("TRACES"), exporters("METRICS"), exporters("LOGS")];
  const by = (signal: Signal, names: readonly string[]): Protocol | undefined =>
    names.includes("otlp") ? protocolOf(reading, signal) : undefined;
  reading.oneOf("OTEL_TRACES_SAMPLER", SAMPLERS, SAMPLERS.join(", "));
  const propagators = reading.list("OTEL_PROPAGATORS", ["tracecontext", "baggage", "none"]) ?? ["tracecontext"];
  const port = reading.wholeNumber("OTEL_EXPORTER_PROMETHEUS_PORT", 0, 65_535) ?? PROMETHEUS_PORT;
  const isScraped = metrics.includes("prometheus");
  const settings: TelemetrySettings = {
    traces: by("TRACES", traces),
    metrics: by("METRICS", metrics),
    logs: by("LOGS", logs),
    prometheus:
      isScraped && hasPort ? { host: reading.text("OTEL_EXPORTER_PROMETHEUS_HOST") ?? "localhost", port } : undefined,
    metricIntervalMs: reading.wholeNumber("OTEL_METRIC_EXPORT_INTERVAL", 1, 86_400_000) ?? DEFAULT_INTERVAL_MS,
    propagates: propagators.includes("tracecontext"),
    secrets: headerValues(reading),
  };
  if (reading.wrong.length > 0)
    return { settings: undefined, warnings: [`Telemetry is off: ${[...new Set(reading.wrong)].join(" ")}`] };
  return { settings, warnings: isScraped && !hasPort ? [ON_STDIO] : [] };
}
