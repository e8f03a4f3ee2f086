// The request target, read from its raw bytes: nothing is normalised, so that "..", %2F and broken escapes stay visible.

export interface RequestTarget {
  /** As it was sent, without the query. */
  readonly rawPath: string;
  /** The path's segments, percent-decoded; undefined when an escape is malformed or a segment is `.` or `..`. */
  readonly segments: readonly string[] | undefined;
  /** The query's pairs in order, decoded; undefined when an escape is malformed. */
  readonly query: readonly (readonly [name: string, value: string])[] | undefined;
}

/** RFC 3986, 2.1: each % stands before two hexadecimal digits and the bytes are UTF-8. */
function percentDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const isWhole = <T>(list: readonly (T | undefined)[]): list is readonly T[] => !list.includes(undefined);

function splitPath(rawPath: string): readonly string[] | undefined {
  const segments = rawPath.slice(1).split("/").map(percentDecode);
  return isWhole(segments) && !segments.some((segment) => segment === "." || segment === "..") ? segments : undefined;
}

function splitQuery(raw: string): readonly (readonly [string, string])[] | undefined {
  const pairs: (readonly [string, string])[] = [];
  for (const part of raw.split("&")) {
    if (part === "") continue;
    const plain = part.replaceAll("+", " ");
    const equals = plain.indexOf("=");
    const name = percentDecode(equals < 0 ? plain : plain.slice(0, equals));
    const value = percentDecode(equals < 0 ? "" : plain.slice(equals + 1));
    if (name === undefined || value === undefined) return undefined;
    pairs.push([name, value]);
  }
  return pairs;
}

const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;
/** What a request target may hold (RFC 3986, 3.3 and 3.4), and the few more characters that clients send unescaped. */
const TARGET_CHARACTERS = /^[\x21-\x7e]*$/;

export function readTarget(url: string): RequestTarget {
  const target = url.replace(ABSOLUTE_FORM, "");
  const mark = target.indexOf("?");
  const rawPath = (mark < 0 ? target : target.slice(0, mark)) || "/";
  const readable = TARGET_CHARACTERS.test(target) && !target.includes("#");
  return {
    rawPath,
    segments: readable ? splitPath(rawPath) : undefined,
    query: readable ? splitQuery(mark < 0 ? "" : target.slice(mark + 1)) : undefined,
  };
}
