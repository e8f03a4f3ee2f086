// The log: JSON lines on stderr, secrets taken out by value.
import { pino } from "pino";
import type { LogLevel } from "../config.ts";
import type { Redactor } from "../credentials/redaction.ts";
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

/** The same log for one of several who are served: `facts` stand on each line, and what is secret for him is taken out. */
export function logOf(log: Log, redactor: Redactor, facts: Readonly<Record<string, string>>): Log {
  const clean = (said: object): object => {
    const all = { ...facts, ...said };
    const text = JSON.stringify(all);
    const redacted: object = redactor.finds(text) ? JSON.parse(redactor.redact(text)) : all;
    return redacted;
  };
  return {
    debug: (said, message) => log.debug(clean(said), redactor.redact(message)),
    info: (said, message) => log.info(clean(said), redactor.redact(message)),
    warn: (said, message) => log.warn(clean(said), redactor.redact(message)),
    error: (said, message) => log.error(clean(said), redactor.redact(message)),
  };
}
