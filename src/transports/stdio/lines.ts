// Splits the bytes of stdin into lines, and parses each line as JSON-RPC messages or returns the refusal. The refusal of a request has
// the request's own id if it can be read, because the client waits for an answer with that id.
import {
  type JSONRPCMessage,
  ProtocolErrorCode,
  parseJSONRPCMessage,
  type RequestId,
} from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { isJsonObject } from "../../contract/json.ts";
import { LimitExceeded, parseMessages } from "../../mcp/messages.ts";

const NEWLINE = 0x0a;
/** Bytes kept of each end of an overlong line: enough to contain a request's id, and few enough for a regular expression. */
const END_SIZE = 4_096;
const FIRST_BUFFER_BYTES = 64 * 1024;

/** Only the two ends of a line with more than `maxBytes` are kept and passed as its text. A last line without a newline is ignored. */
export function createLineSplitter(
  maxBytes: number,
  onLine: (text: string, bytes: number) => void,
): (chunk: Buffer) => void {
  let buffer = Buffer.allocUnsafe(FIRST_BUFFER_BYTES);
  let used = 0;
  let bytes = 0;

  function append(part: Buffer): void {
    if (used + part.length > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, used + part.length));
      buffer.copy(larger, 0, 0, used);
      buffer = larger;
    }
    used += part.copy(buffer, used);
  }

  function reset(): void {
    used = 0;
    if (buffer.length > FIRST_BUFFER_BYTES) buffer = Buffer.allocUnsafe(FIRST_BUFFER_BYTES);
  }

  function add(part: Buffer): void {
    bytes += part.length;
    if (bytes <= maxBytes) {
      append(part);
      return;
    }
    const all = Buffer.concat([buffer.subarray(0, used), part]);
    reset();
    append(all.subarray(0, END_SIZE));
    append(all.subarray(Math.max(END_SIZE, all.length - END_SIZE)));
  }

  return (chunk) => {
    let rest = chunk;
    for (let at = rest.indexOf(NEWLINE); at !== -1; at = rest.indexOf(NEWLINE)) {
      add(rest.subarray(0, at));
      rest = rest.subarray(at + 1);
      const [text, length] = [buffer.toString("utf8", 0, used), bytes];
      reset();
      bytes = 0;
      onLine(text, length);
    }
    if (rest.length > 0) add(rest);
  };
}

export interface ParsedLine {
  readonly messages: readonly JSONRPCMessage[];
  readonly refusals: readonly JSONRPCMessage[];
}

/** JSON-RPC requires `id: null` if the id cannot be read. MCP does not allow a null id and omits it. */
export const createErrorMessage = (code: number, message: string, id: RequestId | undefined): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id,
  error: { code, message },
});

const rejectLine = (code: number, message: string, id?: RequestId): ParsedLine => ({
  messages: [],
  refusals: [createErrorMessage(code, message, id)],
});

const Id = z.union([z.string(), z.int()]);
const IdMember = z.object({ id: Id });

function parseMessage(value: unknown): ParsedLine {
  try {
    return { messages: [parseJSONRPCMessage(value)], refusals: [] };
  } catch {
    // The id of a response was chosen by this server: a refusal with it would answer a different request of the client.
    const id = isJsonObject(value) && "method" in value ? Id.safeParse(value["id"]).data : undefined;
    const reason = "This is not a JSON-RPC 2.0 request, notification or response.";
    return rejectLine(ProtocolErrorCode.InvalidRequest, reason, id);
  }
}

// Clients write the id before or after the arguments. Only scalars are between the id and that end of the line, so it is the id of
// the message.
const SCALAR = String.raw`(?:"(?:[^"\\]|\\.)*"|-?\d+)`;
const MEMBER = String.raw`"\w+"\s*:\s*${SCALAR}\s*`;
const ID = String.raw`"id"\s*:\s*(?<id>${SCALAR})\s*`;
const ID_AT_HEAD = new RegExp(String.raw`^\s*\{\s*(?:${MEMBER},\s*){0,3}?${ID},`);
const ID_AT_TAIL = new RegExp(String.raw`,\s*${ID}(?:,\s*${MEMBER}){0,3}\}\s*$`);
const IS_RESPONSE = new RegExp(String.raw`^\s*\{\s*(?:${MEMBER},\s*){0,3}?"(?:result|error)"\s*:`);

/** Finds the id of a request in the two ends of its line, without parsing the line. */
function findRequestId(line: string): RequestId | undefined {
  const head = line.slice(0, END_SIZE);
  if (IS_RESPONSE.test(head)) return undefined;
  const text = (ID_AT_HEAD.exec(head) ?? ID_AT_TAIL.exec(line.slice(-END_SIZE)))?.groups?.["id"];
  try {
    return text === undefined ? undefined : IdMember.parse(parseMessages(`{"id":${text}}`)).id;
  } catch {
    return undefined;
  }
}

/** A longer batch could cause much output with little input: each number in an array gets an answer. */
const MAX_BATCH = 100;

/** Some programs on Windows write it before the first message, or before each. */
const BYTE_ORDER_MARK = "\uFEFF";

/** An array is a batch of revision 2025-03-26, answered one by one. If `bytes` exceeds `maxBytes`, `line` has only its two ends. */
export function parseLine(line: string, bytes: number, maxBytes: number): ParsedLine {
  const text = line.startsWith(BYTE_ORDER_MARK) ? line.slice(1) : line;
  if (text.trim() === "") return { messages: [], refusals: [] };
  let value: unknown;
  try {
    if (bytes > maxBytes)
      throw new LimitExceeded(
        `This message has ${bytes} bytes; the maximum is ${maxBytes} bytes. Nothing was changed.`,
      );
    value = parseMessages(text);
  } catch (error) {
    if (error instanceof LimitExceeded)
      return rejectLine(ProtocolErrorCode.InvalidRequest, error.message, findRequestId(text));
    const reason = "This line is not valid JSON. On stdio, each line must be one JSON-RPC message.";
    return rejectLine(ProtocolErrorCode.ParseError, reason);
  }
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_BATCH) return parseMessage(value);
  const read = value.map(parseMessage);
  return { messages: read.flatMap(({ messages }) => messages), refusals: read.flatMap(({ refusals }) => refusals) };
}
