// Loads telemetry for a server, but only if the standard OTEL_* variables turn it on.
import type { Redactor } from "../credentials/redaction.ts";
import type { Log } from "../mcp/runtime.ts";
import { isTelemetryRequested, type Telemetry } from "../telemetry/port.ts";
import { mapLog } from "./log.ts";
import { version } from "./version.ts";

/** Starts telemetry with the log and the redactor of a process. Logs invalid variables; returns undefined if they prevent telemetry. */
export type StartTelemetry = (parts: { readonly log: Log; readonly redactor: Redactor }) => Telemetry | undefined;

/** `hasPort`: the server serves over HTTP. Returns undefined if telemetry is not requested. */
export async function loadTelemetry(
  environment: NodeJS.ProcessEnv,
  hasPort: boolean,
): Promise<StartTelemetry | undefined> {
  if (!isTelemetryRequested(environment)) return undefined;
  const { createTelemetry, readTelemetrySettings } = await import("../telemetry/otel.ts");
  const { settings, warnings } = readTelemetrySettings(environment, { hasPort });
  return ({ log, redactor }) => {
    for (const warning of warnings) log.warn({}, warning);
    if (!settings) return undefined;
    for (const secret of settings.secrets) redactor.add(secret);
    return createTelemetry({
      settings,
      version,
      onError: (reason) => log.warn({ reason }, "telemetry"),
      onListening: (url) => log.info({ url }, "metrics can be scraped"),
    });
  };
}

/** Adds the current trace context to each line on stderr. */
export const observeLog = (log: Log, telemetry: Telemetry): Log =>
  mapLog(log, (facts, message) => [{ ...facts, ...telemetry.traceFields() }, message]);
