// Telemetry for a server. It is loaded only if the standard OTEL_* variables turn it on.
import type { LogLevel } from "../core/config.ts";
import type { Redactor } from "../credentials/redaction.ts";
import type { Log } from "../mcp/runtime.ts";
import { isTelemetryRequested, type Telemetry } from "../telemetry/port.ts";
import { version } from "./version.ts";

/** Begins it with what a composition has; undefined where a variable is wrong, which the log then says. */
export type StartTelemetry = (parts: { readonly log: Log; readonly redactor: Redactor }) => Telemetry | undefined;

interface TelemetryOptions {
  /** It serves over HTTP. */
  readonly hasPort: boolean;
}

/** Undefined where nobody asks for telemetry. */
export async function loadTelemetry(
  environment: NodeJS.ProcessEnv,
  { hasPort }: TelemetryOptions,
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

/** Writes on stderr which span a line belongs to, and gives telemetry what is written there, from info on. */
export function observeLog(log: Log, level: LogLevel, telemetry: Telemetry): Log {
  const observeLevel = (entryLevel: "info" | "warn" | "error") => (facts: object, message: string) => {
    log[entryLevel]({ ...facts, ...telemetry.traceFields() }, message);
    if (RANK[entryLevel] >= RANK[level]) telemetry.log(entryLevel, facts, message);
  };
  return {
    debug: (facts, message) => log.debug({ ...facts, ...telemetry.traceFields() }, message),
    info: observeLevel("info"),
    warn: observeLevel("warn"),
    error: observeLevel("error"),
  };
}
