// Reads a line as JSON-RPC messages, or says why it cannot. A request is refused under its own id wherever that can be read,
// since its sender waits for that.
import {
  type JSONRPCMessage,
  ProtocolErrorCode,
  parseJSONRPCMessage,
  type RequestId,
} from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { isJsonObject } from "../../contract/json.ts";
import { exceededBound } from "../messages/bounds.ts";
import { END_BYTES, type LongLine } from "./lines.ts";

export interface Reading {
  readonly messages: readonly JSONRPCMessage[];
  readonly refusals: readonly JSONRPCMessage[];
}

/** JSON-RPC wants `id: null` where none can be read; MCP does not allow that id, and leaves it out. */
const refusal = (code: number, message: string, id: RequestId | undefined): JSONRPCMessage => ({
  jsonrpc: "2.0",
  ...(id !== undefined && { id }),
  error: { code, message },
});

// A response carries an id of ours: a refusal under it would answer another request.
const Requestlike = z.object({ method: z.unknown(), id: z.union([z.string(), z.int()]) });

const requestId = (value: unknown): RequestId | undefined =>
  isJsonObject(value) && "method" in value ? Requestlike.safeParse(value).data?.id : undefined;

function readOne(value: unknown): Reading {
  try {
    return { messages: [parseJSONRPCMessage(value)], refusals: [] };
  } catch {
    const reason = "This is no JSON-RPC 2.0 request, notification or response.";
    return { messages: [], refusals: [refusal(ProtocolErrorCode.InvalidRequest, reason, requestId(value))] };
  }
}

function parse(line: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(line) };
  } catch {
    return undefined;
  }
}

/** A longer one could ask for much with little: an array of numbers would get as many answers. */
const MAX_BATCH = 100;

/** Reads an array as a batch of revision 2025-03-26: its messages are taken and answered one by one. */
export function readLine(line: string): Reading {
  if (line.trim() === "") return { messages: [], refusals: [] };
  const fault = exceededBound(line);
  if (fault !== undefined)
    return { messages: [], refusals: [refusal(ProtocolErrorCode.InvalidRequest, fault, idIn(line))] };
  const parsed = parse(line);
  if (!parsed) {
    const reason = "This line is no JSON; on stdio one line is one JSON-RPC message.";
    return { messages: [], refusals: [refusal(ProtocolErrorCode.ParseError, reason, undefined)] };
  }
  const { value } = parsed;
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_BATCH) return readOne(value);
  const read = value.map(readOne);
  return { messages: read.flatMap(({ messages }) => messages), refusals: read.flatMap(({ refusals }) => refusals) };
}

// Clients write the id before or after the arguments. Only scalars stand between it and that end of the line, so it is the
// message's own.
const SCALAR = String.raw`(?:"(?:[^"\\]|\\.)*"|-?\d+)`;
const MEMBER = String.raw`"\w+"\s*:\s*${SCALAR}\s*`;
const ID = String.raw`"id"\s*:\s*(?<id>${SCALAR})\s*`;
const ID_AT_HEAD = new RegExp(String.raw`^\s*\{\s*(?:${MEMBER},\s*){0,3}?${ID},`);
const ID_AT_TAIL = new RegExp(String.raw`,\s*${ID}(?:,\s*${MEMBER}){0,3}\}\s*$`);
const IS_RESPONSE = new RegExp(String.raw`^\s*\{\s*(?:${MEMBER},\s*){0,3}?"(?:result|error)"\s*:`);

function idOf({ head, tail }: Pick<LongLine, "head" | "tail">): RequestId | undefined {
  if (IS_RESPONSE.test(head)) return undefined;
  const text = ID_AT_HEAD.exec(head)?.groups?.["id"] ?? ID_AT_TAIL.exec(tail)?.groups?.["id"];
  return text === undefined ? undefined : Requestlike.shape.id.safeParse(parse(text)?.value).data;
}

const idIn = (line: string): RequestId | undefined =>
  idOf({ head: line.slice(0, END_BYTES), tail: line.slice(-END_BYTES) });

const FAULT = "mic-mcp failed in reading this message; nothing was done.";

/** Answers to a fault of our own, in reading a line or in taking in a request. */
export const refuseLine = (line: string): JSONRPCMessage => refusal(ProtocolErrorCode.InternalError, FAULT, idIn(line));
export const refuseRequest = (id: RequestId): JSONRPCMessage =>
  refusal(ProtocolErrorCode.InternalError, "mic-mcp failed in taking in this request.", id);

export const refuseLongLine = (line: LongLine, maxBytes: number): JSONRPCMessage =>
  refusal(
    ProtocolErrorCode.InvalidRequest,
    `This message has ${line.bytes} bytes, and ${maxBytes} is the most that is read; nothing was done.`,
    idOf(line),
  );
