// A request, read whole: what the frame judges. Bodies are held up to MAX_BODY_BYTES; beyond that reading stops.
import type { IncomingMessage } from "node:http";
import { MAX_BODY_BYTES } from "../choices.ts";
import { type RequestTarget, readTarget } from "./target.ts";

export interface HttpRequest {
  readonly method: string;
  readonly target: RequestTarget;
  /** A header's values, one for each line it came in; empty when it is absent. The name is lower-case. */
  header(name: string): readonly string[];
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly body: Uint8Array | "too large";
  /** RFC 9112, 3.2: an HTTP/1.1 request has exactly one Host. */
  readonly hasHost: boolean;
  /** The address of the connected peer. */
  readonly peer: string;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Node gives a header's bytes as Latin-1; what is UTF-8 is read as that (RFC 9110, 5.5, leaves it to the recipient). */
function headerText(latin1: string): string {
  if (!/[\x80-\xff]/.test(latin1)) return latin1;
  try {
    return utf8.decode(Buffer.from(latin1, "latin1"));
  } catch {
    return latin1;
  }
}

function readHeaders(rawHeaders: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const headers = new Map<string, string[]>();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? "";
    const values = headers.get(name) ?? [];
    values.push(headerText(rawHeaders[index + 1] ?? ""));
    headers.set(name, values);
  }
  return headers;
}

/** The body's bytes; "too large" as soon as that is known; undefined when the client went away. */
function readBody(incoming: IncomingMessage): Promise<Uint8Array | "too large" | undefined> {
  if (Number(incoming.headers["content-length"] ?? 0) > MAX_BODY_BYTES) return Promise.resolve("too large");
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      if (size <= MAX_BODY_BYTES) {
        chunks.push(chunk);
        return;
      }
      incoming.off("data", take);
      incoming.pause();
      resolve("too large");
    };
    incoming.on("data", take);
    incoming.once("end", () => resolve(Buffer.concat(chunks)));
    incoming.once("close", () => resolve(undefined));
    incoming.once("error", () => resolve(undefined));
  });
}

export async function readRequest(incoming: IncomingMessage): Promise<HttpRequest | undefined> {
  const headers = readHeaders(incoming.rawHeaders);
  const body = await readBody(incoming);
  if (body === undefined) return undefined;
  return {
    method: incoming.method ?? "",
    target: readTarget(incoming.url ?? "/"),
    header: (name) => headers.get(name) ?? [],
    headers,
    body,
    hasHost: incoming.httpVersion === "1.0" || headers.get("host")?.length === 1,
    peer: incoming.socket.remoteAddress ?? "",
  };
}
