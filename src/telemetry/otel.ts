// Telemetry by OpenTelemetry, loaded only where the environment asks for it. Only this file, facts.ts and
// exporting.ts import OpenTelemetry.
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
import { SeverityNumber } from "@opentelemetry/api-logs";
import { createExporting, type ExportingOptions } from "./exporting.ts";
import { type Carrier, codeOf, contextIn, given, loggedFacts, ofWho, traceparent, whoIn } from "./facts.ts";
import { ATTRIBUTE, COUNTERS, EXECUTE_TOOL, GAUGES, HISTOGRAMS, OTHER, TOOL_ERROR } from "./names.ts";
import { type Ending, FLUSH_MS, type Operation, type Telemetry, type TelemetryLevel, type Who } from "./port.ts";

export interface TelemetryOptions extends ExportingOptions {
  readonly redact: (text: string) => string;
}

/** What is at work: its context, and whose work it is. */
interface Current {
  readonly context: Context;
  readonly who: Who;
  /** It has ended: what goes on in its name (a watch, a sweep) begins traces of its own, linked to it. */
  isOver: boolean;
}

/** One piece of work. */
interface Piece {
  readonly name: string;
  readonly kind: SpanKind;
  readonly parent: Context;
  readonly who: Who;
  readonly link?: SpanContext | undefined;
  /** Of span and metric. */
  readonly attributes: Attributes;
  /** Of the span alone: what has too many values for a metric. */
  readonly more?: Attributes;
}

/** What is known of it at its end. `errorType`: it has failed. */
interface End {
  readonly errorType?: string | undefined;
  readonly attributes?: Attributes;
  readonly more?: Attributes;
}

const MAX_TEAMS = 100;
const SEVERITY: Readonly<Record<TelemetryLevel, SeverityNumber>> = {
  info: SeverityNumber.INFO,
  warn: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
};

const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1_000;

export function createTelemetry(options: TelemetryOptions): Telemetry {
  const { settings, redact } = options;
  const { tracer, meter, logger, close } = createExporting(options);
  const current = new AsyncLocalStorage<Current>();
  /** An HTTP request: who sends it, and its trace context until the operation that it brought has taken it. */
  const arriving = new AsyncLocalStorage<{ link: SpanContext | undefined; readonly who: Who }>();
  const histogram = ({ name, about, bounds }: (typeof HISTOGRAMS)[keyof typeof HISTOGRAMS]) =>
    meter.createHistogram(name, {
      description: about,
      unit: "s",
      advice: { explicitBucketBoundaries: [...bounds] },
    });
  const durations = {
    operation: histogram(HISTOGRAMS.operation),
    session: histogram(HISTOGRAMS.session),
    exchange: histogram(HISTOGRAMS.exchange),
  };
  const outcomes = meter.createCounter(COUNTERS.outcomes.name, { description: COUNTERS.outcomes.about });
  const fetches = meter.createCounter(COUNTERS.tokens.name, { description: COUNTERS.tokens.about });
  const gauges = Object.fromEntries(
    Object.entries(GAUGES).map(([name, { about, unit }]) => [
      name,
      meter.createObservableGauge(name, { description: about, unit }),
    ]),
  );
  const teams = new Set<string>();

  /** A series for each team, but not for any number of them. */
  function ofTeam({ team }: Who): Attributes {
    if (team === undefined) return {};
    if (teams.size < MAX_TEAMS) teams.add(team);
    return { [ATTRIBUTE.team]: teams.has(team) ? team : OTHER };
  }

  const extract = (carrier: Carrier | undefined): Context =>
    carrier && settings.propagates ? contextIn(carrier) : ROOT_CONTEXT;

  /** Runs a piece of work as a span, which everything within it belongs to. `measure` gets its seconds and attributes. */
  async function run<R>(
    { name, kind, parent, who, link, attributes, more }: Piece,
    work: (context: Context) => Promise<R>,
    endOf: (ending: Ending<R>) => End,
    measure: (seconds: number, attributes: Attributes) => void,
  ): Promise<R> {
    const links = link && isSpanContextValid(link) ? [{ context: link }] : [];
    const span = tracer.startSpan(name, { kind, links, attributes: { ...attributes, ...more, ...ofWho(who) } }, parent);
    const context = trace.setSpan(parent, span);
    const startedAt = performance.now();
    const mine: Current = { context, who, isOver: false };
    function end(ending: Ending<R>): void {
      mine.isOver = true;
      const { errorType, attributes: known = {}, more: further } = endOf(ending);
      const all = given({ ...attributes, ...known, [ATTRIBUTE.errorType]: errorType });
      span.setAttributes({ ...all, ...further });
      // Without a description: messages quote the service.
      if (errorType !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
      measure(secondsSince(startedAt), { ...all, ...ofTeam(who) });
    }
    try {
      // The global context is for an SDK of the user's; ours is by itself.
      const value = await current.run(mine, () => contexts.with(context, () => work(context)));
      end({ value });
      return value;
    } catch (error) {
      end({ error });
      throw error;
    }
  }

  function bound(own: Who): Telemetry {
    const whose = (): Who => ({ ...arriving.getStore()?.who, ...current.getStore()?.who, ...own });
    const around = (): Context => current.getStore()?.context ?? ROOT_CONTEXT;
    const within = (): Pick<Piece, "parent" | "link"> =>
      current.getStore()?.isOver
        ? { parent: ROOT_CONTEXT, link: trace.getSpanContext(around()) }
        : { parent: around() };
    return {
      of: (who) => bound({ ...own, ...who }),

      arrived(headers, serve) {
        return arriving.run({ link: trace.getSpanContext(extract(headers)), who: {} }, serve);
      },

      named: (who, serve) => arriving.run({ link: arriving.getStore()?.link, who }, serve),

      async operation<R>(asked: Operation, serve: () => Promise<R>, kindOf: (result: R) => string | undefined) {
        const { method, tool, prompt, id, network, version, meta } = asked;
        const arrival = arriving.getStore();
        const link = arrival?.link;
        if (arrival) arrival.link = undefined;
        const target = tool ?? prompt;
        const piece: Piece = {
          name: target === undefined ? method : `${method} ${target}`,
          kind: SpanKind.SERVER,
          parent: extract(meta),
          who: whose(),
          link,
          attributes: {
            [ATTRIBUTE.method]: method,
            [ATTRIBUTE.network]: network,
            [ATTRIBUTE.tool]: tool,
            [ATTRIBUTE.operation]: tool === undefined ? undefined : EXECUTE_TOOL,
            [ATTRIBUTE.prompt]: prompt,
          },
          // A number counts; a text may say anything.
          more: { [ATTRIBUTE.request]: typeof id === "number" ? String(id) : undefined },
        };
        const endOf = (ending: Ending<R>): End => {
          const common = { [ATTRIBUTE.version]: version() };
          if ("error" in ending) {
            const code = String(codeOf(ending.error));
            return { errorType: code, attributes: { ...common, [ATTRIBUTE.rpcStatus]: code } };
          }
          const kind = kindOf(ending.value);
          if (kind === undefined) return { attributes: common };
          return { errorType: TOOL_ERROR, attributes: { ...common, [ATTRIBUTE.errorKind]: kind } };
        };
        return await run(piece, serve, endOf, (seconds, attributes) => durations.operation.record(seconds, attributes));
      },

      session(network) {
        const startedAt = performance.now();
        return () =>
          durations.session.record(secondsSince(startedAt), { [ATTRIBUTE.network]: network, ...ofTeam(own) });
      },

      async exchange({ method, template, origin, resends, isToken = false }, send, errorType) {
        const { hostname, port, protocol } = new URL(origin);
        const piece: Piece = {
          name: `${method} ${template}`,
          kind: SpanKind.CLIENT,
          ...within(),
          who: whose(),
          attributes: {
            [ATTRIBUTE.httpMethod]: method,
            [ATTRIBUTE.template]: template,
            [ATTRIBUTE.address]: hostname,
            [ATTRIBUTE.port]: Number(port) || (protocol === "https:" ? 443 : 80),
          },
          more: { [ATTRIBUTE.resends]: resends === 0 ? undefined : resends },
        };
        const endOf = (ending: Ending<{ readonly status: number }>): End => {
          if ("error" in ending) return { errorType: errorType(ending.error) };
          const { status } = ending.value;
          const attributes = { [ATTRIBUTE.httpStatus]: status };
          return status < 400 ? { attributes } : { attributes, errorType: String(status) };
        };
        if (isToken) fetches.add(1, ofTeam(piece.who));
        return await run(
          piece,
          (context) => send(isToken || !settings.propagates ? {} : traceparent(context)),
          endOf,
          (seconds, attributes) => durations.exchange.record(seconds, attributes),
        );
      },

      async action(tool, perform, endOf) {
        const piece: Piece = {
          name: "action",
          kind: SpanKind.INTERNAL,
          ...within(),
          who: whose(),
          attributes: { [ATTRIBUTE.tool]: tool },
        };
        return await run(
          piece,
          perform,
          (ending) => {
            const { state, replayed, attempts } = endOf(ending);
            const attributes = { [ATTRIBUTE.actionState]: state, [ATTRIBUTE.actionReplayed]: replayed };
            const more = given({ [ATTRIBUTE.actionAttempts]: attempts });
            return { attributes, more, ...(state === "unknown" && { errorType: "outcome_unknown" }) };
          },
          (_, attributes) => outcomes.add(1, attributes),
        );
      },

      gauge(name, read) {
        const observed = gauges[name];
        const observe = (result: { observe(value: number, attributes: Attributes): void }) =>
          result.observe(read(), ofTeam(own));
        observed?.addCallback(observe);
        return () => observed?.removeCallback(observe);
      },

      log(level, facts, message) {
        logger.emit({
          severityNumber: SEVERITY[level],
          severityText: level.toUpperCase(),
          body: redact(message),
          attributes: given({ ...ofWho({ ...whoIn(facts), ...whose() }), ...loggedFacts(facts) }),
          context: around(),
        });
      },

      marks() {
        const span = trace.getSpanContext(around());
        return span && isSpanContextValid(span) ? { trace_id: span.traceId, span_id: span.spanId } : {};
      },

      async close() {
        let alarm: NodeJS.Timeout | undefined;
        const late = new Promise<void>((resolve) => {
          alarm = setTimeout(resolve, FLUSH_MS);
        });
        await Promise.race([close().catch(() => undefined), late]);
        clearTimeout(alarm);
      },
    };
  }
  return bound({});
}
