// The one exit: every message goes through it as the text that it leaves as, and secrets are taken out wherever they stand.
import type { Redactor } from "../../auth/redaction.ts";
import { isJsonObject } from "../../contract/json.ts";

/** One JSON-RPC message, or a batch, as JSON in and out. */
export type Exit = (json: string) => string;

/** What a message says. The rest of it is the protocol's own words, and the id that the client chose. */
const PAYLOADS: ReadonlySet<string> = new Set(["result", "error", "params"]);

export function createExit(redactor: Redactor): Exit {
  /** Names are text like any other. */
  function clean(_name: string, value: unknown): unknown {
    if (typeof value === "string") return redactor.redact(value);
    if (!isJsonObject(value) || !Object.keys(value).some(redactor.finds)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [redactor.redact(name), part]));
  }

  function cleanMessage(message: unknown): unknown {
    if (Array.isArray(message)) return message.map(cleanMessage);
    if (!isJsonObject(message)) return message;
    const parts = Object.entries(message).map(([name, part]): [string, unknown] => [
      name,
      PAYLOADS.has(name) ? JSON.parse(JSON.stringify(part, clean)) : part,
    ]);
    return Object.fromEntries(parts);
  }

  return (json) => (redactor.finds(json) ? JSON.stringify(cleanMessage(JSON.parse(json))) : json);
}

/** The same for a piece of an event stream. */
export const cleanEvents = (events: string, exit: Exit): string =>
  events.replaceAll(/^data: (\{.*\})$/gm, (_, json: string) => `data: ${exit(json)}`);
