// This module reads the body of an HTTP request into memory, up to a limit.
import type { IncomingMessage } from "node:http";

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
