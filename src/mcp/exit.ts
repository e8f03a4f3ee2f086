// The one exit: registered secrets are taken out of everything that leaves, wherever they stand in it.
import type { Redactor } from "../auth/redaction.ts";

export function redacted<T extends object>(result: T, redactor: Redactor): T {
  const text = JSON.stringify(result);
  const clean = redactor.redact(text);
  return clean === text ? result : JSON.parse(clean);
}
