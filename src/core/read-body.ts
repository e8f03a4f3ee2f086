// This module reads the body of an HTTP request into memory, up to a limit, and ends a response before the request has ended.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";

/** Time for a client that is still sending to read the response. */
const DRAIN_TIMEOUT_MS = 1_000;

/** Ends a response. The rest of the request's body is read and discarded: an immediate close could prevent the client from reading the response. */
export function endResponse(request: IncomingMessage, response: ServerResponse, body: string | Uint8Array): void {
  if (request.complete) return void response.end(body);
  response.write(body);
  const draining = once(request.resume(), "close", { signal: AbortSignal.timeout(DRAIN_TIMEOUT_MS) });
  draining.catch(() => undefined).then(() => response.end());
}

/** Returns the bytes of the body, "too large" as soon as that is certain, or undefined if the connection was closed before its end. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | "too large" | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return Promise.resolve("too large");
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else {
        request.pause().removeAllListeners("data");
        resolve("too large");
      }
    });
    request.once("end", () => resolve(Buffer.concat(chunks)));
    // Reading fails only if the connection fails.
    request.once("error", () => resolve(undefined)).once("close", () => resolve(undefined));
  });
}
