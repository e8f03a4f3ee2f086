// Writes the log as JSON lines without secrets to stderr, crashes included: Node's own output about a crash would not be redacted.
import { pino, stdTimeFunctions } from "pino";
import type { Config, LogLevel } from "../core/config.ts";
import { errorMessage } from "../core/failure.ts";
import { percentDecode } from "../core/percent-decode.ts";
import { escapeText } from "../core/untrusted-text.ts";
import { createRedactor, type Redactor } from "../credentials/redaction.ts";
import type { Log } from "../mcp/runtime.ts";

/** Beyond this many bytes, lines are dropped: some clients never read stderr, and waiting for such a client would stall the server. */
const MAX_BUFFERED_BYTES = 1 << 20;

/** A closed stderr must not crash the server. */
const ignore = () => undefined;

export function createLog(level: LogLevel, redactor: Redactor): Log {
  process.stderr.off("error", ignore).on("error", ignore);
  return pino(
    { level, base: null, timestamp: stdTimeFunctions.isoTime, formatters: { level: (name) => ({ level: name }) } },
    {
      write(line) {
        if (process.stderr.writableLength < MAX_BUFFERED_BYTES)
          process.stderr.write(`${escapeText(redactor.redact(line.trimEnd()))}\n`);
      },
    },
  );
}

/** Returns the same log, with the facts and the message of each line changed. */
export const mapLog = (
  log: Log,
  change: (facts: object, message: string) => [facts: object, message: string],
): Log => ({
  isLevelEnabled: (level) => log.isLevelEnabled(level),
  debug: (facts, message) => log.debug(...change(facts, message)),
  info: (facts, message) => log.info(...change(facts, message)),
  warn: (facts, message) => log.warn(...change(facts, message)),
  error: (facts, message) => log.error(...change(facts, message)),
});

/** Returns the same log for one caller: `labels` are added to each line, and the caller's secrets are redacted. */
export const createCallerLog = (log: Log, redactor: Redactor, labels: Readonly<Record<string, string>>): Log =>
  mapLog(log, (facts, message) => {
    const all = { ...labels, ...facts };
    const text = JSON.stringify(all);
    return [redactor.hasSecret(text) ? JSON.parse(redactor.redact(text)) : all, redactor.redact(message)];
  });

/** Logs crashes with redaction, and exits; Node would print them without redaction. `redact` removes the secrets that `log` does not. */
export function logCrashes(log: Log, redact = (text: string): string => text): void {
  process.removeAllListeners("uncaughtException").on("uncaughtException", (error: unknown) => {
    const reason = (error instanceof Error ? error.stack : undefined) ?? errorMessage(error);
    log.error({ reason: redact(reason) }, "crash");
    process.exit(1);
  });
}

/** Creates a redactor with the secrets of the configuration; other secrets are added when they are obtained. */
export function createConfigRedactor({ credentials, journalUrl, httpToken }: Config): Redactor {
  const redactor = createRedactor();
  if (httpToken !== undefined) redactor.add(httpToken);
  if (typeof credentials?.clientSecret === "string") redactor.add(credentials.clientSecret);
  if (journalUrl !== undefined) {
    const { password } = new URL(journalUrl);
    redactor.add(percentDecode(password) ?? password);
  }
  return redactor;
}
