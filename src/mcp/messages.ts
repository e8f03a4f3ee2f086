// Checks and changes JSON-RPC messages in the ways that all transports need: limits, cancellations, error codes and redaction.
import {
  type JSONRPCMessage,
  ProtocolError,
  type RequestId,
  ResourceNotFoundError,
} from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { isJsonObject } from "../contract/json.ts";
import type { Redactor } from "../credentials/redaction.ts";

/** Deeper than any schema, and shallow enough for recursive functions that read a message. */
const MAX_DEPTH = 2_500;
/** Number of objects, lists and members: more than any agent writes, and few enough to parse within 0.1 s. */
const MAX_PARTS = 200_000;

const QUOTE = 0x22;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** A text that is nested too deeply or has too many parts would block all other requests. Text that is not JSON may pass. */
export function findExceededLimit(json: string): string | undefined {
  let depth = 0;
  let parts = 0;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (isText) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) isText = false;
    } else if (code === QUOTE) isText = true;
    else if (code === COLON) parts++;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      parts++;
      depth++;
      if (depth > MAX_DEPTH) return `This message is nested deeper than ${MAX_DEPTH} levels; nothing was done.`;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
    if (parts > MAX_PARTS)
      return `This message has more than ${MAX_PARTS} objects, lists and members; nothing was done.`;
  }
  return undefined;
}

const CancelledNotification = z.object({ params: z.object({ requestId: z.union([z.string(), z.number()]) }) });

export function canceledId(message: JSONRPCMessage): RequestId | undefined {
  const isCancellation = "method" in message && message.method === "notifications/cancelled";
  return isCancellation ? CancelledNotification.safeParse(message).data?.params.requestId : undefined;
}

const LEGACY_NOT_FOUND = -32002;

/** Converts the error code that differs in revisions up to 2025-11-25: the SDK sends the code of 2026-07-28 to all clients. */
export function withLegacyCode(message: JSONRPCMessage): JSONRPCMessage {
  if (!("error" in message)) return message;
  const { code, message: text, data } = message.error;
  const isNotFound = ProtocolError.fromError(code, text, data) instanceof ResourceNotFoundError;
  return isNotFound ? { ...message, error: { ...message.error, code: LEGACY_NOT_FOUND } } : message;
}

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
