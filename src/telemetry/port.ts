// What a program without telemetry loads of it: the interface through which work is reported, and whether telemetry is on. Without
// telemetry nothing is wrapped. Only what these types name can be exported (otel.ts).

/** Read when metrics are collected. */
export const GAUGES = {
  "mic.watched.resources": { description: "Resources that are watched for those who listen", unit: "{resource}" },
  "mic.http.streams": { description: "Streams that are open to clients", unit: "{stream}" },
  "mic.geography.available_requests": { description: "Geography requests that may leave now", unit: "{request}" },
  "mic.api.cooldown": { description: "How long the team that the service told to wait longest still waits", unit: "s" },
  "mic.database.waiting": { description: "Statements that wait for a connection to the database", unit: "{request}" },
} as const;
export type GaugeName = keyof typeof GAUGES;

/** Replaces a name that a client made up, and each team after the hundredth. */
export const OTHER = "_OTHER";

/** The caller of the work, in a deployment for teams. */
export interface TelemetryIdentity {
  readonly team?: string | undefined;
  readonly caller?: string | undefined;
  /** The OAuth client. */
  readonly client?: string | undefined;
}

/** By a pipe to a child process, or over HTTP. */
export type Network = "pipe" | "tcp";

/** One MCP request that a handler serves. */
export interface Operation {
  readonly method: string;
  /** The tool or prompt that it names, if there is one of this name. */
  readonly tool?: string | undefined;
  readonly prompt?: string | undefined;
  readonly id: string | number;
  readonly network: Network;
  /** Asked for at its end: an initialize agrees on one. */
  readonly version: () => string | undefined;
  /** The request's `_meta`; its trace context is the parent. */
  readonly meta: Readonly<Record<string, unknown>> | undefined;
}

/** One HTTP request to the service. */
export interface UpstreamRequest {
  readonly method: "GET" | "POST";
  /** The path of its row in the contract, with `{name}` for parameters. */
  readonly template: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** How often the same call has sent before. */
  readonly resends: number;
  /** It asks for an access token. */
  readonly isToken?: boolean;
}

/** How an action stood at the end of one call. */
export interface ActionOutcome {
  readonly state: "succeeded" | "rejected" | "unknown";
  readonly replayed: boolean;
  /** Requests sent for it so far, where that is known. */
  readonly attempts?: number | undefined;
}

/** How work has ended: with a value, or by throwing. */
export type Outcome<R> = { readonly value: R } | { readonly error: unknown };

export type TelemetryLevel = "info" | "warn" | "error";

export interface Telemetry {
  /** The same, of one caller's work. */
  forIdentity(identity: TelemetryIdentity): Telemetry;
  /** Runs what serves an HTTP request. Its headers' trace context is linked to the operation that it brings. */
  runHttpRequest<R>(headers: Readonly<Record<string, unknown>>, run: () => R): R;
  /** Runs what serves an HTTP request, once it is known who sends it: what the operation does is his. */
  runAsIdentity<R>(identity: TelemetryIdentity, run: () => R): R;
  /** Runs what serves a request. `kindOf`: the kind of failure that its result tells of, if it does. */
  traceOperation<R>(
    operation: Operation,
    run: () => Promise<R>,
    errorKindOf: (result: R) => string | undefined,
  ): Promise<R>;
  /** A connection or a session begins. Call the returned function at its end. */
  startSession(network: Network): () => void;
  /** `send` gets the headers that carry the trace context. `errorType`: a name for what it throws. */
  traceUpstreamRequest<A extends { readonly status: number }>(
    request: UpstreamRequest,
    send: (headers: Readonly<Record<string, string>>) => Promise<A>,
    errorType: (error: unknown) => string,
  ): Promise<A>;
  traceAction<R>(tool: string, run: () => Promise<R>, toOutcome: (outcome: Outcome<R>) => ActionOutcome): Promise<R>;
  /** `read` is asked whenever metrics are collected. Call the returned function when there is nothing to read any more. */
  registerGauge(name: GaugeName, read: () => number): () => void;
  /** A line of the log. Of its facts only known names with harmless values leave. */
  log(level: TelemetryLevel, facts: object, message: string): void;
  /** What ties a line of the log on stderr to the span that it belongs to. */
  traceFields(): Readonly<Record<string, string>>;
  /** Sends what is left, in FLUSH_MS at most. */
  close(): Promise<void>;
}

/** How long an end may wait for a collector. */
export const FLUSH_MS = 2_000;

/** Where an SDK that was loaded before (NODE_OPTIONS=--import ...) has put its providers. */
const GLOBAL = Symbol.for("opentelemetry.js.api.1");

export function hasForeignSdk(): boolean {
  const api: unknown = Reflect.get(globalThis, GLOBAL);
  return typeof api === "object" && api !== null && "trace" in api;
}

const ENDPOINT = /^OTEL_EXPORTER_OTLP(?:_(?:TRACES|METRICS|LOGS))?_ENDPOINT$/;
const EXPORTER = /^OTEL_(?:TRACES|METRICS|LOGS)_EXPORTER$/;

/** Off is the default. The default of OpenTelemetry, localhost:4318, would make every server connect to a port that no setting names. */
export function isTelemetryRequested(environment: NodeJS.ProcessEnv): boolean {
  if (environment["OTEL_SDK_DISABLED"]?.trim().toLowerCase() === "true") return false;
  if (hasForeignSdk()) return true;
  return Object.entries(environment).some(([name, value = ""]) => {
    const text = value.trim();
    return text !== "" && (ENDPOINT.test(name) || (EXPORTER.test(name) && text !== "none"));
  });
}
