// The log: JSON lines on stderr without secrets, crashes included. What Node itself prints about a crash is not redacted.
import { pino } from "pino";
import type { Config, LogLevel } from "../core/config.ts";
import { errorMessage } from "../core/failure.ts";
import { escapeText } from "../core/untrusted-text.ts";
import { createRedactor, type Redactor } from "../credentials/redaction.ts";
import type { Log } from "../mcp/runtime.ts";

/** Some clients never read stderr: further lines are dropped, because waiting for such a client would stop the server. */
const MAX_BUFFERED_BYTES = 1 << 20;

/** A closed stderr must not take the server down. */
const ignore = () => undefined;

export function createLog(level: LogLevel, redactor: Redactor): Log {
  process.stderr.off("error", ignore).on("error", ignore);
  return pino(
    { level, base: null },
    {
      write(line) {
        if (process.stderr.writableLength < MAX_BUFFERED_BYTES)
          process.stderr.write(`${escapeText(redactor.redact(line.trimEnd()))}\n`);
      },
    },
  );
}

/** The same log for one caller: `facts` are on each line, and the caller's secrets are removed. */
export function createCallerLog(log: Log, redactor: Redactor, facts: Readonly<Record<string, string>>): Log {
  const redactFacts = (entry: object): object => {
    const all = { ...facts, ...entry };
    const text = JSON.stringify(all);
    const redacted: object = redactor.hasSecret(text) ? JSON.parse(redactor.redact(text)) : all;
    return redacted;
  };
  return {
    debug: (entry, message) => log.debug(redactFacts(entry), redactor.redact(message)),
    info: (entry, message) => log.info(redactFacts(entry), redactor.redact(message)),
    warn: (entry, message) => log.warn(redactFacts(entry), redactor.redact(message)),
    error: (entry, message) => log.error(redactFacts(entry), redactor.redact(message)),
  };
}

export const crashReason = (error: unknown): string =>
  (error instanceof Error ? error.stack : undefined) ?? errorMessage(error);

/** With the secrets in the environment; others are added when they are learned. */
export function createConfigRedactor({ credentials, journalUrl, httpToken }: Config): Redactor {
  const redactor = createRedactor();
  if (httpToken !== undefined) redactor.add(httpToken);
  if (credentials) redactor.add(credentials.clientSecret);
  if (journalUrl !== undefined) redactor.add(decodeURIComponent(new URL(journalUrl).password));
  return redactor;
}
