// Redacts secrets anywhere in an outgoing message.

import { isJsonObject } from "../../contract/json.ts";
import type { Redactor } from "../../credentials/redaction.ts";

/** Takes and returns the JSON text of one JSON-RPC message, or of a batch. */
export type Redact = (json: string) => string;

/** Only these members can contain a secret: the others contain protocol keywords and the id that the client chose. */
const PAYLOADS: ReadonlySet<string> = new Set(["result", "error", "params"]);

export function createRedact(redactor: Redactor): Redact {
  /** Also redacts the names of members. */
  function redactValue(_name: string, value: unknown): unknown {
    if (typeof value === "string") return redactor.redact(value);
    if (!isJsonObject(value) || !Object.keys(value).some(redactor.hasSecret)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [redactor.redact(name), part]));
  }

  function redactMessage(message: unknown): unknown {
    if (Array.isArray(message)) return message.map(redactMessage);
    if (!isJsonObject(message)) return message;
    const parts = Object.entries(message).map(([name, part]): [string, unknown] => [
      name,
      PAYLOADS.has(name) ? JSON.parse(JSON.stringify(part, redactValue)) : part,
    ]);
    return Object.fromEntries(parts);
  }

  return (json) => (redactor.hasSecret(json) ? JSON.stringify(redactMessage(JSON.parse(json))) : json);
}

/** Redacts each event in a piece of an event stream. `events` must consist of complete events. */
export const redactEvents = (events: string, redact: Redact): string =>
  events.replaceAll(/^data: (\{.*\})$/gm, (_, json: string) => `data: ${redact(json)}`);
