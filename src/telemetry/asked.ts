// Whether anybody asks for telemetry: all of it that a program without telemetry has loaded.

/** Where an SDK that was loaded before us (NODE_OPTIONS=--import …) has put its providers. */
const GLOBAL = Symbol.for("opentelemetry.js.api.1");

export function hasForeignSdk(): boolean {
  const api: unknown = Reflect.get(globalThis, GLOBAL);
  return typeof api === "object" && api !== null && "trace" in api;
}

const ENDPOINT = /^OTEL_EXPORTER_OTLP(?:_(?:TRACES|METRICS|LOGS))?_ENDPOINT$/;
const EXPORTER = /^OTEL_(?:TRACES|METRICS|LOGS)_EXPORTER$/;

/** Off is the default: the SDK's own, which knocks at localhost:4318, would make every server knock at a port that nobody named. */
export function asksForTelemetry(environment: NodeJS.ProcessEnv): boolean {
  if (environment["OTEL_SDK_DISABLED"]?.trim().toLowerCase() === "true") return false;
  if (hasForeignSdk()) return true;
  return Object.entries(environment).some(([name, value = ""]) => {
    const text = value.trim();
    return text !== "" && (ENDPOINT.test(name) || (EXPORTER.test(name) && text !== "none"));
  });
}
