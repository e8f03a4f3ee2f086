// The one exit: every message goes through it as the text that it leaves as, and secrets are taken out wherever they stand.
import type { Redactor } from "../auth/redaction.ts";
import { isJsonObject } from "../contract/json.ts";

/** One JSON-RPC message, or a batch, as JSON in and out. */
export type Exit = (json: string) => string;

export function createExit(redactor: Redactor): Exit {
  /** Names are text like any other. */
  function clean(_name: string, value: unknown): unknown {
    if (typeof value === "string") return redactor.redact(value);
    if (!isJsonObject(value) || !Object.keys(value).some(redactor.finds)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [redactor.redact(name), part]));
  }

  /** The id is the client's own word: under another one it would not know its answer. */
  function cleanMessage(message: unknown): unknown {
    if (Array.isArray(message)) return message.map(cleanMessage);
    const cleaned: unknown = JSON.parse(JSON.stringify(message, clean));
    return isJsonObject(message) && isJsonObject(cleaned) && "id" in message
      ? { ...cleaned, id: message["id"] }
      : cleaned;
  }

  return (json) => (redactor.finds(json) ? JSON.stringify(cleanMessage(JSON.parse(json))) : json);
}

/** The same for a piece of an event stream. */
export const cleanEvents = (events: string, exit: Exit): string =>
  events.replaceAll(/^data: (\{.*\})$/gm, (_, json: string) => `data: ${exit(json)}`);
