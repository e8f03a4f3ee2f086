// What is read and written for one span, metric or log line: attributes, and the trace context on the wire (W3C Trace Context).
import { type Attributes, type Context, isSpanContextValid, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { ATTRIBUTE, LOGGED } from "./names.ts";
import type { Who } from "./port.ts";

const INTERNAL_ERROR = -32603;
const WORD = /^[\w./-]{1,64}$/;

export const given = (attributes: Attributes): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));

export const ofWho = ({ team, caller, client }: Who): Attributes => ({
  [ATTRIBUTE.team]: team,
  [ATTRIBUTE.caller]: caller,
  [ATTRIBUTE.client]: client,
});

/** The code of a JSON-RPC error that this becomes. */
export function codeOf(error: unknown): number {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "number" && Number.isSafeInteger(code) ? code : INTERNAL_ERROR;
}

/** The facts of a log line that may leave. */
export function loggedFacts(facts: object): Attributes {
  const kept = Object.entries(facts).filter(([name, value]) =>
    LOGGED[name] === "number"
      ? typeof value === "number"
      : LOGGED[name] === "word" && typeof value === "string" && WORD.test(value),
  );
  return Object.fromEntries(kept.map(([name, value]) => [`mic.log.${name}`, value]));
}

/** Of a log line that is one caller's. */
export function whoIn(facts: object): Who {
  const { team, caller } = { team: undefined, caller: undefined, ...facts };
  return {
    ...(typeof team === "string" && { team }),
    ...(typeof caller === "string" && { caller }),
  };
}

export type Carrier = Readonly<Record<string, unknown>>;

const propagator = new W3CTraceContextPropagator();
const getter = {
  get(carrier: Carrier, name: string) {
    const value = carrier[name];
    return typeof value === "string" ? value : undefined;
  },
  keys: (carrier: Carrier) => Object.keys(carrier),
};

/** Empty where there is none, or a malformed one. */
export const contextIn = (carrier: Carrier): Context => propagator.extract(ROOT_CONTEXT, carrier, getter);

/** Never tracestate nor baggage: these are the client's words, and not for the service. */
export function traceparent(context: Context): Readonly<Record<string, string>> {
  const span = trace.getSpanContext(context);
  if (!span || !isSpanContextValid(span)) return {};
  return { traceparent: `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}` };
}
