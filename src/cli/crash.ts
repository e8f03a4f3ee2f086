// What node would print of a crash is not redacted: so a crash is told here, with what a configuration knows to be secret taken out.

import type { Config } from "../config.ts";
import { createRedactor, type Redactor } from "../credentials/redaction.ts";
import { reasonOf } from "../failure.ts";
import { escaped } from "../outside.ts";

export const crashReason = (error: unknown): string =>
  (error instanceof Error ? error.stack : undefined) ?? reasonOf(error);

/** With the secrets that the environment gives; others come as they are learned. */
export function redactorOf({ credentials, journalUrl, httpToken }: Config): Redactor {
  const redactor = createRedactor();
  if (httpToken !== undefined) redactor.add(httpToken);
  if (credentials) redactor.add(credentials.clientSecret);
  if (journalUrl !== undefined) redactor.add(decodeURIComponent(new URL(journalUrl).password));
  return redactor;
}

/** Before there is a log: one line in its form. */
export function crashBeforeLog(redactor: Redactor): (error: unknown) => never {
  return (error) => {
    const line = JSON.stringify({ level: 50, time: Date.now(), reason: crashReason(error), msg: "crash" });
    process.stderr.write(`${escaped(redactor.redact(line))}\n`);
    process.exit(1);
  };
}
