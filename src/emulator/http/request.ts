// Reads a complete request: its target, its headers, its body up to MAX_BODY_BYTES, and the JSON in the body. The target is not normalized,
// so that "..", %2F and broken escapes stay visible.
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { parse } from "lossless-json";
import { percentDecode } from "../../core/percent-decode.ts";
import { readBody } from "../../core/read-body.ts";
import { MAX_BODY_BYTES } from "../assumptions.ts";

export interface RequestTarget {
  /** The path as it was sent, without the query. */
  readonly rawPath: string;
  /** The path's segments, percent-decoded; undefined if an escape is malformed or a segment is `.` or `..`. */
  readonly segments: readonly string[] | undefined;
  /** The query's pairs in order, decoded; undefined if an escape is malformed. */
  readonly query: readonly (readonly [name: string, value: string])[] | undefined;
}

const hasNoUndefined = <T>(list: readonly (T | undefined)[]): list is readonly T[] => !list.includes(undefined);

function decodePath(rawPath: string): readonly string[] | undefined {
  const segments = rawPath.slice(1).split("/").map(percentDecode);
  return hasNoUndefined(segments) && !segments.some((segment) => segment === "." || segment === "..")
    ? segments
    : undefined;
}

/** Parses pairs of `application/x-www-form-urlencoded`; undefined if an escape is malformed. */
export const parsePairs = (raw: string): readonly (readonly [string, string])[] | undefined =>
  // URLSearchParams would skip a question mark at the beginning.
  percentDecode(raw) === undefined ? undefined : [...new URLSearchParams(`&${raw}`)];

const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;
/** The characters of a request target (RFC 3986, 3.3 and 3.4), and the few others that clients send unescaped. */
const TARGET_CHARACTERS = /^[\x21-\x7e]*$/;

export function parseTarget(url: string): RequestTarget {
  const target = url.replace(ABSOLUTE_FORM, "");
  const queryStart = target.indexOf("?");
  const rawPath = (queryStart < 0 ? target : target.slice(0, queryStart)) || "/";
  const isReadable = TARGET_CHARACTERS.test(target) && !target.includes("#");
  return {
    rawPath,
    segments: isReadable ? decodePath(rawPath) : undefined,
    query: isReadable ? parsePairs(queryStart < 0 ? "" : target.slice(queryStart + 1)) : undefined,
  };
}

export interface HttpRequest {
  readonly method: string;
  readonly target: RequestTarget;
  /** Returns one value for each line of a header; empty if the header is absent. `name` is lowercase. */
  header(name: string): readonly string[];
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly body: Uint8Array | "too large";
  /** Whether the request has exactly one Host, as HTTP/1.1 requires (RFC 9112, 3.2); always true for HTTP/1.0. */
  readonly hasHost: boolean;
  readonly peer: string;
}

/** Node decodes header bytes as Latin-1. Bytes that are valid UTF-8 are decoded as UTF-8 (RFC 9110, 5.5, leaves it to the recipient). */
function decodeHeader(latin1: string): string {
  const bytes = Buffer.from(latin1, "latin1");
  return isUtf8(bytes) ? bytes.toString() : latin1;
}

export async function readRequest(incoming: IncomingMessage): Promise<HttpRequest | undefined> {
  const headers = new Map(
    Object.entries(incoming.headersDistinct).map(([name, values = []]) => [name, values.map(decodeHeader)]),
  );
  const body = await readBody(incoming, MAX_BODY_BYTES);
  if (body === undefined) return undefined;
  return {
    method: incoming.method ?? "",
    target: parseTarget(incoming.url ?? "/"),
    header: (name) => headers.get(name) ?? [],
    headers,
    body,
    hasHost: incoming.httpVersion === "1.0" || headers.get("host")?.length === 1,
    peer: incoming.socket.remoteAddress ?? "",
  };
}

export class JsonError extends Error {
  override readonly name = "JsonError";
}

function parseFiniteNumber(digits: string): number {
  const value = Number(digits);
  if (!Number.isFinite(value)) throw new JsonError("a number is too large");
  return value;
}

/** Parses the JSON of a body, which must be UTF-8 without a byte order mark. Throws JsonError. */
export function parseJson(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) throw new JsonError("the bytes are not UTF-8");
  try {
    return parse(Buffer.from(bytes).toString(), null, parseFiniteNumber);
  } catch (error) {
    // Any other error is a RangeError: the nesting exceeds the stack.
    throw new JsonError(
      error instanceof SyntaxError || error instanceof JsonError ? error.message : "it is nested too deep",
    );
  }
}

/** Returns whether `value` is this media type, without parameters other than charset=utf-8 (RFC 9110, 8.3.1). */
export function isMediaType(value: string, expected: string): boolean {
  const [type = "", ...parameters] = value.split(";").map((part) => part.trim().toLowerCase());
  return type === expected && parameters.every((parameter) => /^(|charset=("?)utf-8\2)$/.test(parameter));
}
