// Parses, checks and changes JSON-RPC messages in the ways that all transports need: limits, absent members, request ids, cancellations,
// error codes and redaction.
import {
  type JSONRPCMessage,
  ProtocolError,
  type RequestId,
  ResourceNotFoundError,
} from "@modelcontextprotocol/server";
import { isLosslessNumber } from "lossless-json";
import * as z from "zod/v4";
import { isJsonObject, memberAt } from "../contract/json.ts";
import type { Redactor } from "../credentials/redaction.ts";
import { parseLossy } from "../toolkit/exact-json.ts";

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

/** In JSON, this letter outside of texts is part of null. */
const FIRST_OF_NULL = 0x6e;

/** The message of the error states the limit. */
export class LimitExceeded extends Error {
  override readonly name = "LimitExceeded";
}

/**
 * Checks the limits, because a text that is nested too deeply or has too many parts would block all other requests. Returns whether the
 * text contains null. Text that is not JSON may pass. Throws LimitExceeded.
 */
function scan(json: string): boolean {
  let depth = 0;
  let parts = 0;
  let isText = false;
  let hasNull = false;
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
      if (depth > MAX_DEPTH)
        throw new LimitExceeded(`This message is nested deeper than ${MAX_DEPTH} levels; nothing was done.`);
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
    else if (code === FIRST_OF_NULL) hasNull = true;
    if (parts > MAX_PARTS)
      throw new LimitExceeded(`This message has more than ${MAX_PARTS} objects, lists and members; nothing was done.`);
  }
  return hasNull;
}

/**
 * Removes members that are null: clients in many languages write an absent member as null. An `id` stays, because a request would
 * become a notification.
 */
function omitNulls(value: unknown, untouched: unknown): void {
  if (value === untouched) return;
  if (Array.isArray(value)) for (const item of value) omitNulls(item, untouched);
  if (!isJsonObject(value)) return;
  for (const [name, member] of Object.entries(value))
    if (member !== null) omitNulls(member, untouched);
    else if (name !== "id") Reflect.deleteProperty(value, name);
}

/** Precedes the digits of an integer above 2^53-1, which a number would change. Unicode assigns no character to this code. */
const LONG_ID = "\uFDD0";
const LONG_ID_MEMBER = new RegExp(`"(id|requestId|progressToken)":"${LONG_ID}([-+.eE\\d]+)"`, "g");

/** Where a message contains an id that the client chose, or numbers that are sent to the API. */
const EXACT_PATHS = [["id"], ["params", "requestId"], ["params", "_meta", "progressToken"], ["params", "arguments"]];

/** Replaces a long id by a text with its digits, and the arguments by those in `exact`, the same message without loss of digits. */
function keepDigits(message: unknown, exact: unknown): void {
  for (const path of EXACT_PATHS) {
    const value = memberAt(exact, ...path);
    const parent = memberAt(message, ...path.slice(0, -1));
    if (value !== undefined && isJsonObject(parent))
      Reflect.set(parent, path.at(-1) ?? "", isLosslessNumber(value) ? `${LONG_ID}${value.value}` : value);
  }
}

/**
 * Parses the JSON text of a message or a batch. In arguments, a number that would lose digits is a LosslessNumber. Null counts as absent,
 * except in the arguments of a tool, which decides about it. Throws LimitExceeded, or another error if the text is not JSON.
 */
export function parseMessages(json: string): unknown {
  const hasNull = scan(json);
  const value: unknown = JSON.parse(json);
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value];
  const exact = parseLossy(json);
  for (const [at, message] of messages.entries()) {
    if (!isJsonObject(message)) continue;
    if (exact !== undefined) keepDigits(message, Array.isArray(exact) ? exact[at] : exact);
    const isCall = message["method"] === "tools/call";
    if (hasNull) omitNulls(message, isCall ? memberAt(message, "params", "arguments") : undefined);
  }
  return value;
}

const restoreLongIds = (json: string): string =>
  json.includes(LONG_ID) ? json.replaceAll(LONG_ID_MEMBER, '"$1":$2') : json;

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

/** Takes the JSON text of one JSON-RPC message, or of a batch, and returns the text that the client gets. */
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

  return (json) => restoreLongIds(redactor.hasSecret(json) ? JSON.stringify(redactMessage(JSON.parse(json))) : json);
}

/** Redacts each event in a piece of an event stream. `events` must consist of complete events. */
export const redactEvents = (events: string, redact: Redact): string =>
  events.replaceAll(/^data: (\{.*\})$/gm, (_, json: string) => `data: ${redact(json)}`);
