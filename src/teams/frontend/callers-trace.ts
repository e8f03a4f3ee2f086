// The trace that a caller's request says it belongs to (W3C Trace Context), for what is written down of the request. It needs no telemetry.
import { AsyncLocalStorage } from "node:async_hooks";

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;
const NONE = /^(?:ff|00-0{32})/;

/** The trace id of a `traceparent`; undefined where it is none. */
function traceIdIn(traceparent: unknown): string | undefined {
  if (typeof traceparent !== "string" || NONE.test(traceparent)) return undefined;
  return TRACEPARENT.exec(traceparent)?.[1];
}

export interface CallersTrace {
  /** Runs what serves a request. `traceparent`: as it was sent; what is none changes nothing. */
  within<R>(traceparent: unknown, serve: () => R): R;
  /** Of the request that is served now. */
  id(): string | undefined;
}

/** Where nobody sends a trace, no context is ever made. */
export function createCallersTrace(): CallersTrace {
  const current = new AsyncLocalStorage<string>();
  return {
    within(traceparent, serve) {
      const id = traceIdIn(traceparent);
      return id === undefined ? serve() : current.run(id, serve);
    },
    id: () => current.getStore(),
  };
}
