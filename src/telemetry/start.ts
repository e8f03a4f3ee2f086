// What the program loads where telemetry is asked for: a part of its own in dist/.
export { createTelemetry } from "./otel.ts";
export { readTelemetry } from "./settings.ts";
