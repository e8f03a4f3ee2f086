// The log: JSON lines on stderr, secrets taken out by value.
import { destination, pino } from "pino";
import type { Redactor } from "../auth/redaction.ts";
import type { LogLevel } from "../config.ts";
import type { Log } from "../mcp/runtime.ts";

export function createLog(level: LogLevel, redactor: Redactor): Log {
  const stderr = destination({ fd: 2, sync: true });
  // A closed stderr must not take the server down.
  stderr.on("error", () => undefined);
  return pino({ level, base: null }, { write: (line) => stderr.write(redactor.redact(line)) });
}
