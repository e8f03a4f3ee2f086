// Defines the interface through which work is reported to telemetry, and detects whether telemetry is on. If it is off, no other file of
// telemetry is loaded and nothing is wrapped. Only the data that these types name can be exported (otel.ts).

export const GAUGES = {
  "mic.watched.resources": { description: "Resources that are watched for subscribers", unit: "{resource}" },
  "mic.http.streams": { description: "Open streams to clients", unit: "{stream}" },
  "mic.geography.available_requests": {
    description: "Geography requests available within the rate limit",
    unit: "{request}",
  },
  "mic.api.cooldown": { description: "Longest remaining API cooldown of any team", unit: "s" },
  "mic.database.degraded": { description: "1 if the database is slow or not usable, otherwise 0", unit: "1" },
  "mic.identity_provider.degraded": {
    description: "1 if the identity provider is slow or cannot be reached, otherwise 0",
    unit: "1",
  },
  "mic.actions.unknown": { description: "Actions in the journal whose outcome is unknown", unit: "{action}" },
  "mic.actions.lost": { description: "1 while the journal lacks actions after a restore or failover", unit: "1" },
  "mic.database.replicas": { description: "Replicas that are connected to PostgreSQL", unit: "{replica}" },
  "mic.database.replication_lag": { description: "Longest delay of a replica, if the role may read it", unit: "s" },
  "mic.database.connections": { description: "Share of PostgreSQL's max_connections in use, from 0 to 1", unit: "1" },
  "mic.database.waiting": { description: "Statements waiting for a database connection", unit: "{request}" },
} as const;
export type GaugeName = keyof typeof GAUGES;

/** Replaces a name that does not exist, and the name of each team after the first 100. */
export const OTHER = "_OTHER";

export interface TelemetryIdentity {
  readonly team?: string;
  readonly caller?: string;
  /** The OAuth client. */
  readonly client?: string;
}

/** The transport of a connection: a pipe to a child process, or HTTP. */
export type Network = "pipe" | "tcp";

export interface Operation {
  readonly method: string;
  /** The tool that the request names; OTHER if there is no such tool. The same applies to `prompt`. */
  readonly tool?: string;
  readonly prompt?: string;
  readonly id: string | number;
  readonly network: Network;
  /** Returns the protocol revision. Called at the end of the request, because `initialize` negotiates the revision. */
  readonly version: () => string | undefined;
  /** The request's `_meta`; its trace context is the parent of the span. */
  readonly meta: Readonly<Record<string, unknown>> | undefined;
}

export interface HttpRequest {
  readonly method: string | undefined;
  readonly route: string | undefined;
  readonly status: number;
}

export interface UpstreamRequest {
  readonly method: "GET" | "POST";
  /** The path of the operation in the contract, with `{name}` for parameters. */
  readonly template: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** Number of requests that the same call has sent before. */
  readonly resends: number;
  /** Whether this is a request for an access token (default false). */
  readonly isToken?: boolean;
}

/** The state of an action at the end of one call. */
export interface ActionOutcome {
  readonly state: "succeeded" | "rejected" | "unknown";
  readonly replayed: boolean;
  /** Number of requests sent for the action so far, if known. */
  readonly attempts?: number;
}

export type Outcome<R> = { readonly value: R } | { readonly error: unknown };

export interface Telemetry {
  forIdentity(identity: TelemetryIdentity): Telemetry;
  /** Runs the handler of an HTTP request. The trace context of the headers is linked to the MCP operation in the request. */
  runHttpRequest<R>(headers: Readonly<Record<string, unknown>>, run: () => R): R;
  /** Measures an HTTP request that this process has served. `route`: undefined for an unknown path. */
  measureHttpRequest(request: HttpRequest, seconds: number): void;
  /** Counts refused HTTP requests. `reason`: one of a fixed set of names. A count of 0 creates the counter of the reason. */
  countRefusals(reason: string, count: number): void;
  /** Runs a database statement in a span. Only the names of the operation and the table are exported. */
  traceStatement<R>(sql: string, run: () => Promise<R>): Promise<R>;
  /** Runs the handler of an MCP request in a span. `errorKindOf` returns the kind of failure that the result reports, if any. */
  traceOperation<R>(
    operation: Operation,
    run: () => Promise<R>,
    errorKindOf: (result: R) => string | undefined,
  ): Promise<R>;
  /** Measures the duration of a connection or a session. Call the returned function at its end. */
  startSession(network: Network): () => void;
  /** Runs `send` in a span, with the headers that contain the trace context. `errorType` names the error that `send` throws. */
  traceUpstreamRequest<A extends { readonly status: number }>(
    request: UpstreamRequest,
    send: (headers: Readonly<Record<string, string>>) => Promise<A>,
    errorType: (error: unknown) => string,
  ): Promise<A>;
  traceAction<R>(tool: string, run: () => Promise<R>, toOutcome: (outcome: Outcome<R>) => ActionOutcome): Promise<R>;
  /** Calls `read` whenever metrics are collected. Call the returned function to remove the gauge. */
  registerGauge(name: GaugeName, read: () => number): () => void;
  /** Returns the fields that connect a log line on stderr to its span; none outside a span. */
  traceFields(): Readonly<Record<string, string>>;
  /** Exports the remaining data within FLUSH_MS. */
  close(): Promise<void>;
}

/** How long a shutdown waits for a collector. */
export const FLUSH_MS = 2_000;

/** The key of the global object in which an SDK that was loaded earlier (NODE_OPTIONS=--import ...) registers its providers. */
const GLOBAL = Symbol.for("opentelemetry.js.api.1");

export function hasForeignSdk(): boolean {
  const api: unknown = Reflect.get(globalThis, GLOBAL);
  return typeof api === "object" && api !== null && "trace" in api;
}

const ENDPOINT = /^OTEL_EXPORTER_OTLP(?:_(?:TRACES|METRICS|LOGS))?_ENDPOINT$/;
const EXPORTER = /^OTEL_(?:TRACES|METRICS|LOGS)_EXPORTER$/;

/** Whether telemetry is on (default off). OpenTelemetry's default, localhost:4318, would make every server export to an unused port. */
export function isTelemetryRequested(environment: NodeJS.ProcessEnv): boolean {
  if (environment["OTEL_SDK_DISABLED"]?.trim().toLowerCase() === "true") return false;
  if (hasForeignSdk()) return true;
  return Object.entries(environment).some(([name, value = ""]) => {
    const text = value.trim();
    return text !== "" && (ENDPOINT.test(name) || (EXPORTER.test(name) && text !== "none"));
  });
}
