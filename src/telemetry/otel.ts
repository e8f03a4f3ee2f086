// Implements telemetry with OpenTelemetry; loaded only if the environment turns it on. Only this file and export.ts import OpenTelemetry.
// Names follow the semantic conventions for HTTP (stable) and for MCP as of 2026-11-21 (open-telemetry/semantic-conventions-genai, status
// Development: they may change). Names that begin with "mic." are specific to this project.
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attributes,
  type Context,
  context as contexts,
  isSpanContextValid,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { withTimeoutFallback } from "../core/async.ts";
import { createTelemetryPipeline, type TelemetryPipelineOptions } from "./export.ts";
import { FLUSH_MS, GAUGES, OTHER, type Outcome, type Telemetry, type TelemetryIdentity } from "./port.ts";

export { readTelemetrySettings } from "./settings.ts";

/** Bucket bounds in seconds, from the conventions. */
const MCP_BOUNDS_SECONDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const HTTP_BOUNDS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const DATABASE_BOUNDS_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

const HISTOGRAMS = {
  "mcp.server.operation.duration": ["Duration of MCP requests", MCP_BOUNDS_SECONDS],
  "mcp.server.session.duration": ["Duration of connections and sessions", MCP_BOUNDS_SECONDS],
  "http.client.request.duration": ["Duration of requests to the MIC API", HTTP_BOUNDS_SECONDS],
  "http.server.request.duration": ["Duration of HTTP requests that this process served", HTTP_BOUNDS_SECONDS],
  "db.client.operation.duration": [
    "Duration of database statements, with the wait for a connection",
    DATABASE_BOUNDS_SECONDS,
  ],
} satisfies Record<string, [description: string, boundsSeconds: number[]]>;

const HTTP_METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];

const MAX_TEAMS = 100;
const INTERNAL_ERROR = -32603;

const identityAttributes = ({ team, caller, client }: TelemetryIdentity): Attributes => ({
  "mic.team": team,
  "mic.caller": caller,
  "mic.client": client,
});

function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return String(typeof code === "number" && Number.isSafeInteger(code) ? code : INTERNAL_ERROR);
}

/** Returns the SQLSTATE or the code of a socket error: an error's message may contain data. */
function databaseErrorType(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "";
  return /^[A-Z0-9_]{1,32}$/.test(code) ? code : OTHER;
}

type Carrier = Readonly<Record<string, unknown>>;

const propagator = new W3CTraceContextPropagator();
const getter = {
  get: (carrier: Carrier, name: string) => (typeof carrier[name] === "string" ? carrier[name] : undefined),
  keys: (carrier: Carrier) => Object.keys(carrier),
};

/** Returns no tracestate and no baggage: they contain data of the client that is not meant for the API. */
function traceparent(context: Context): Readonly<Record<string, string>> {
  const span = trace.getSpanContext(context);
  if (!span || !isSpanContextValid(span)) return {};
  return { traceparent: `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}` };
}

interface ActiveWork {
  readonly context: Context;
  readonly identity: TelemetryIdentity;
  /** Whether the span has ended. Work that continues afterwards (a watch, a prefetch) starts separate traces, linked to the span. */
  hasEnded: boolean;
}

interface SpanDescription {
  readonly name: string;
  readonly kind: SpanKind;
  readonly parent: Context;
  readonly identity: TelemetryIdentity;
  readonly link?: SpanContext;
  readonly attributes: Attributes;
}

/** Attributes with too many values for a metric. */
const SPAN_ONLY: ReadonlySet<string> = new Set([
  "db.collection.name",
  "jsonrpc.request.id",
  "http.request.resend_count",
  "mic.action.attempts",
]);

type Measure = (seconds: number, attributes: Attributes) => void;

const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1_000;

export function createTelemetry(options: TelemetryPipelineOptions): Telemetry {
  const { settings } = options;
  const { tracer, meter, close } = createTelemetryPipeline(options);
  const activeWork = new AsyncLocalStorage<ActiveWork>();
  /** The trace context of the current HTTP request, until an operation is linked to it. */
  const httpRequests = new AsyncLocalStorage<{ link: SpanContext | undefined }>();

  function createMeasure(name: keyof typeof HISTOGRAMS): Measure {
    const [description, explicitBucketBoundaries] = HISTOGRAMS[name];
    const advice = { explicitBucketBoundaries };
    const instrument = meter.createHistogram(name, { description, unit: "s", advice });
    return (seconds, attributes) => instrument.record(seconds, attributes);
  }
  const measureOperation = createMeasure("mcp.server.operation.duration");
  const measureSession = createMeasure("mcp.server.session.duration");
  const measureExchange = createMeasure("http.client.request.duration");
  const measureHttpRequest = createMeasure("http.server.request.duration");
  const measureStatement = createMeasure("db.client.operation.duration");
  const refusals = meter.createCounter("mic.http.refusals", { description: "Refused HTTP requests, by reason" });
  const calls = meter.createCounter("mic.team.calls", { description: "Tool calls of a team, by kind of error" });
  const outcomes = meter.createCounter("mic.action.outcomes", {
    description: "Calls of action tools, by the state of the action at the end of the call",
  });
  const fetches = meter.createCounter("mic.token.fetches", { description: "Requests for an access token" });
  // All gauges are created at startup, so that a scrape lists each one with its description.
  const gauges = new Map(
    Object.entries(GAUGES).map(([name, about]) => [name, meter.createObservableGauge(name, about)]),
  );

  const teams = new Set<string>();
  /** Returns a separate label for each of the first MAX_TEAMS teams, and OTHER for all later teams. */
  function teamAttributes({ team }: TelemetryIdentity): Attributes {
    if (team === undefined) return {};
    if (teams.size < MAX_TEAMS) teams.add(team);
    return { "mic.team": teams.has(team) ? team : OTHER };
  }

  const extract = (carrier: Carrier | undefined): Context =>
    carrier && settings.propagates ? propagator.extract(ROOT_CONTEXT, carrier, getter) : ROOT_CONTEXT;

  /** Runs work in a span that is the parent of all spans within it. `attributesOf` includes "error.type" if the work failed. */
  async function runInSpan<R>(
    { name, kind, parent, identity, link, attributes }: SpanDescription,
    work: (context: Context) => Promise<R>,
    attributesOf: (outcome: Outcome<R>) => Attributes,
    measure: Measure,
  ): Promise<R> {
    const links = link && isSpanContextValid(link) ? [{ context: link }] : [];
    const span = tracer.startSpan(
      name,
      { kind, links, attributes: { ...attributes, ...identityAttributes(identity) } },
      parent,
    );
    const context = trace.setSpan(parent, span);
    const startedAt = performance.now();
    const own: ActiveWork = { context, identity, hasEnded: false };
    function endSpan(outcome: Outcome<R>): void {
      own.hasEnded = true;
      const all = Object.entries({ ...attributes, ...attributesOf(outcome) }).filter(
        ([, value]) => value !== undefined,
      );
      const ended = Object.fromEntries(all);
      span.setAttributes(ended);
      // The status has no description, because error messages quote the API.
      if (ended["error.type"] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
      measure(secondsSince(startedAt), Object.fromEntries(all.filter(([key]) => !SPAN_ONLY.has(key))));
    }
    try {
      // The global context is for an SDK that the user has loaded.
      const value = await activeWork.run(own, () => contexts.with(context, () => work(context)));
      endSpan({ value });
      return value;
    } catch (error) {
      endSpan({ error });
      throw error;
    }
  }

  function createBoundTelemetry(own: TelemetryIdentity): Telemetry {
    const currentIdentity = (): TelemetryIdentity => ({ ...activeWork.getStore()?.identity, ...own });
    const currentContext = (): Context => activeWork.getStore()?.context ?? ROOT_CONTEXT;
    const spanParent = (): Pick<SpanDescription, "parent" | "link" | "identity"> => {
      const isOver = activeWork.getStore()?.hasEnded === true;
      return {
        identity: currentIdentity(),
        parent: isOver ? ROOT_CONTEXT : currentContext(),
        link: isOver ? trace.getSpanContext(currentContext()) : undefined,
      };
    };
    return {
      forIdentity: (identity) => createBoundTelemetry({ ...own, ...identity }),

      runHttpRequest: (headers, serve) => httpRequests.run({ link: trace.getSpanContext(extract(headers)) }, serve),

      measureHttpRequest({ method = "", route, status }, seconds) {
        measureHttpRequest(seconds, {
          "http.request.method": HTTP_METHODS.includes(method) ? method : OTHER,
          "http.response.status_code": status,
          ...(route !== undefined && { "http.route": route }),
          ...(status >= 500 && { "error.type": String(status) }),
        });
      },

      countRefusals: (reason, count) => refusals.add(count, { "mic.refusal.reason": reason }),

      async traceStatement(sql, run) {
        const [operation = OTHER] = /\b(?:SELECT|INSERT|UPDATE|DELETE)\b/.exec(sql) ?? [];
        const [, table] = /\b(?:FROM|INTO|UPDATE)\s+([a-z_]+)\b(?!\()/.exec(sql) ?? [];
        return await runInSpan(
          {
            name: table === undefined ? operation : `${operation} ${table}`,
            kind: SpanKind.CLIENT,
            ...spanParent(),
            attributes: {
              "db.system.name": "postgresql",
              "db.operation.name": operation,
              "db.collection.name": table,
            },
          },
          run,
          (outcome) => ("error" in outcome ? { "error.type": databaseErrorType(outcome.error) } : {}),
          measureStatement,
        );
      },

      async traceOperation({ method, tool, prompt, id, network, version, meta }, serve, errorKindOf) {
        const httpRequest = httpRequests.getStore();
        const link = httpRequest?.link;
        if (httpRequest) httpRequest.link = undefined;
        const target = tool ?? prompt;
        const work: SpanDescription = {
          name: target === undefined ? method : `${method} ${target}`,
          kind: SpanKind.SERVER,
          parent: extract(meta),
          identity: currentIdentity(),
          link,
          attributes: {
            "mcp.method.name": method,
            "network.transport": network,
            "gen_ai.tool.name": tool,
            "gen_ai.operation.name": tool === undefined ? undefined : "execute_tool",
            "gen_ai.prompt.name": prompt,
            // A number is only a counter; a string could contain anything.
            "jsonrpc.request.id": typeof id === "number" ? String(id) : undefined,
          },
        };
        return await runInSpan(
          work,
          serve,
          (outcome) => {
            const common = { "mcp.protocol.version": version() };
            if ("error" in outcome) {
              const code = codeOf(outcome.error);
              return { ...common, "error.type": code, "rpc.response.status_code": code };
            }
            const kind = errorKindOf(outcome.value);
            return kind === undefined ? common : { ...common, "error.type": "tool_error", "mic.error.kind": kind };
          },
          (seconds, attributes) => {
            measureOperation(seconds, attributes);
            const team = teamAttributes(work.identity);
            const kind = attributes["mic.error.kind"];
            if (tool !== undefined && team["mic.team"] !== undefined)
              calls.add(1, { ...team, ...(kind !== undefined && { "mic.error.kind": kind }) });
          },
        );
      },

      startSession(network) {
        const startedAt = performance.now();
        return () => measureSession(secondsSince(startedAt), { "network.transport": network });
      },

      async traceUpstreamRequest({ method, template, origin, resends, isToken = false }, send, errorType) {
        const { hostname, port, protocol } = new URL(origin);
        const work: SpanDescription = {
          name: `${method} ${template}`,
          kind: SpanKind.CLIENT,
          ...spanParent(),
          attributes: {
            "http.request.method": method,
            "url.template": template,
            "server.address": hostname,
            "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
            "http.request.resend_count": resends === 0 ? undefined : resends,
          },
        };
        if (isToken) fetches.add(1, teamAttributes(work.identity));
        return await runInSpan(
          work,
          (context) => send(isToken || !settings.propagates ? {} : traceparent(context)),
          (outcome) => {
            if ("error" in outcome) return { "error.type": errorType(outcome.error) };
            const { status } = outcome.value;
            return { "http.response.status_code": status, "error.type": status < 400 ? undefined : String(status) };
          },
          measureExchange,
        );
      },

      async traceAction(tool, perform, toOutcome) {
        const attributes = { "gen_ai.tool.name": tool };
        const team = teamAttributes(currentIdentity());
        return await runInSpan(
          { name: "action", kind: SpanKind.INTERNAL, ...spanParent(), attributes },
          perform,
          (outcome) => {
            const { state, replayed, attempts } = toOutcome(outcome);
            return {
              "mic.action.state": state,
              "mic.action.replayed": replayed,
              "mic.action.attempts": attempts,
              "error.type": state === "unknown" ? "outcome_unknown" : undefined,
            };
          },
          // A team has a series for each state, and not for each tool.
          (_, { "gen_ai.tool.name": name, ...state }) =>
            outcomes.add(1, { ...state, ...(team["mic.team"] === undefined ? { "gen_ai.tool.name": name } : team) }),
        );
      },

      registerGauge(name, read) {
        const observe = (result: { observe(value: number, attributes: Attributes): void }) =>
          result.observe(read(), teamAttributes(own));
        gauges.get(name)?.addCallback(observe);
        return () => gauges.get(name)?.removeCallback(observe);
      },

      traceFields(): Readonly<Record<string, string>> {
        const span = trace.getSpanContext(currentContext());
        return span && isSpanContextValid(span) ? { trace_id: span.traceId, span_id: span.spanId } : {};
      },

      close: () => withTimeoutFallback(close(), undefined, FLUSH_MS),
    };
  }
  return createBoundTelemetry({});
}
