// The log: JSON lines on stderr, secrets taken out by value.
import { pino } from "pino";
import type { Redactor } from "../auth/redaction.ts";
import type { LogLevel } from "../config.ts";
import type { Log } from "../mcp/runtime.ts";
import { escaped } from "../outside.ts";

/** Some clients never read stderr: what they leave unread beyond this is dropped. Waiting for them would stop the server. */
const MAX_UNREAD_BYTES = 1 << 20;

/** A closed stderr must not take the server down. */
const ignore = () => undefined;

export function createLog(level: LogLevel, redactor: Redactor): Log {
  process.stderr.off("error", ignore).on("error", ignore);
  return pino(
    { level, base: null },
    {
      write(line) {
        if (process.stderr.writableLength < MAX_UNREAD_BYTES)
          process.stderr.write(`${escaped(redactor.redact(line.trimEnd()))}\n`);
      },
    },
  );
}
