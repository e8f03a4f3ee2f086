// Decodes bodies that something in between has encoded, although each request asks for no content coding (RFC 9110, 8.4).
import type { Transform } from "node:stream";
import {
  brotliDecompressSync,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  gunzipSync,
  inflateSync,
} from "node:zlib";

interface Decoder {
  /** Throws the error of zlib, also if the result is larger than allowed. */
  readonly decode: (body: Buffer, limits: { readonly maxOutputLength: number }) => Buffer;
  readonly createStream: () => Transform;
}

const gzip: Decoder = { decode: gunzipSync, createStream: createGunzip };
const DECODERS: ReadonlyMap<string, Decoder> = new Map([
  ["gzip", gzip],
  ["x-gzip", gzip],
  ["deflate", { decode: inflateSync, createStream: createInflate }],
  ["br", { decode: brotliDecompressSync, createStream: createBrotliDecompress }],
]);

/** Maximum number of codings of one body: each costs memory and time. */
const MAX_CODINGS = 5;

interface Head {
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns the content codings of a body, in the order in which they were applied. */
const codingsOf = ({ headers }: Head): readonly string[] =>
  (headers["content-encoding"] ?? "")
    .split(",")
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== "" && coding !== "identity");

/** Returns the content codings of a body as one text; undefined if it has none. */
export function contentCodingOf(head: Head): string | undefined {
  const codings = codingsOf(head);
  return codings.length === 0 ? undefined : codings.join(", ");
}

/** Returns the decoders of a body in the order of use; undefined if it has a coding that is not supported. */
export function decodersOf(head: Head): readonly Decoder[] | undefined {
  const codings = codingsOf(head);
  const decoders = codings.flatMap((coding) => DECODERS.get(coding) ?? []);
  return decoders.length === codings.length && codings.length <= MAX_CODINGS ? decoders.reverse() : undefined;
}

/** Returns the headers that a decoded body has. */
export function decodedHeaders({
  "content-encoding": _,
  "content-length": __,
  ...headers
}: Head["headers"]): Head["headers"] {
  return headers;
}

/** Decodes a body. Returns the response unchanged, with its content coding, if that is not possible. */
export function decodeBody<T extends Head & { readonly body: Buffer }>(response: T, maxOutputLength: number): T {
  const decoders = decodersOf(response);
  if (decoders === undefined) return response;
  try {
    const body = decoders.reduce((coded, { decode }) => decode(coded, { maxOutputLength }), response.body);
    return { ...response, headers: decodedHeaders(response.headers), body };
  } catch {
    return response;
  }
}
