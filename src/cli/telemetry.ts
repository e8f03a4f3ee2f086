// Loads telemetry for a server, but only if the standard OTEL_* variables turn it on.
import type { LogLevel } from "../core/config.ts";
import type { Redactor } from "../credentials/redaction.ts";
import type { Log } from "../mcp/runtime.ts";
import { isTelemetryRequested, type Telemetry } from "../telemetry/port.ts";
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
      redact: redactor.redact,
      onError: (reason) => log.warn({ reason }, "telemetry"),
      onListening: (url) => log.info({ url }, "metrics can be scraped"),
    });
  };
}

const RANK: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 };

/** Adds the current trace context to each line on stderr, and exports the lines of level `info` and above that are written there. */
export function observeLog(log: Log, level: LogLevel, telemetry: Telemetry): Log {
  const observeLevel = (entryLevel: "info" | "warn" | "error") => (facts: object, message: string) => {
    log[entryLevel]({ ...facts, ...telemetry.traceFields() }, message);
    if (RANK[entryLevel] >= RANK[level]) telemetry.log(entryLevel, facts, message);
  };
  return {
    isLevelEnabled: (entryLevel) => log.isLevelEnabled(entryLevel),
    debug: (facts, message) => log.debug({ ...facts, ...telemetry.traceFields() }, message),
    info: observeLevel("info"),
    warn: observeLevel("warn"),
    error: observeLevel("error"),
  };
}
