// One HTTP exchange: a request's body in, within bounds; a response out, and whether it went out whole.
import type { IncomingMessage, ServerResponse } from "node:http";
import { finished, pipeline } from "node:stream/promises";
import { setTimeout as sleep, setImmediate as turnOfTheLoop } from "node:timers/promises";

export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** A client that takes nothing of an answer for so long is cut off; every stream sends something four times as often. */
const STALLED_MS = 60_000;
/** A client that still sends when it was refused is given so long to read why. */
const LINGER_MS = 1_000;

/** Undefined when it is longer than MAX_BODY_BYTES; no more than that is ever held. Throws when the client breaks off. */
export async function readBody(from: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(from.headers["content-length"]) > MAX_BODY_BYTES) return undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of from.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

/** Without its body. `signal` fires when the client has gone before it was answered. */
export function webRequest(from: IncomingMessage, url: string, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(from.headersDistinct))
    for (const value of values) headers.append(name, value);
  return new Request(url, { method: from.method ?? "", headers, signal });
}

export function goneSignal(to: ServerResponse): AbortSignal {
  const gone = new AbortController();
  to.once("close", () => {
    if (!to.writableFinished) gone.abort();
  });
  return gone.signal;
}

/** Reads on, and throws it away, while the refusal travels: closing at once would take it from the client's hands. */
async function linger(from: IncomingMessage): Promise<void> {
  if (from.complete) return;
  from.resume();
  const over = new AbortController();
  await Promise.race([
    finished(from, { signal: over.signal }).catch(() => undefined),
    sleep(LINGER_MS, undefined, { signal: over.signal }).catch(() => undefined),
  ]);
  over.abort();
}

/** Resolves when it is over: true if all of it was handed to the client's connection. */
export async function send(
  response: Response,
  from: IncomingMessage,
  to: ServerResponse,
  isLast: () => boolean,
): Promise<boolean> {
  // Who has gone already is seen to be gone, before anything counts as sent to them.
  await turnOfTheLoop();
  try {
    if (to.destroyed) throw new Error("the client has gone");
    const isStream = response.headers.get("content-type") === "text/event-stream";
    const whole = isStream ? undefined : Buffer.from(await response.arrayBuffer());
    to.writeHead(response.status, {
      ...Object.fromEntries(response.headers),
      ...(whole && { "content-length": whole.length }),
      ...((isLast() || !from.complete) && { connection: "close" }),
    });
    to.setTimeout(STALLED_MS, () => to.destroy());
    if (whole) {
      to.write(whole);
      await linger(from);
      to.end();
      await finished(to);
    } else {
      to.flushHeaders();
      await pipeline(response.body ?? [], to);
    }
    return true;
  } catch {
    await response.body?.cancel().catch(() => undefined);
    to.destroy();
    return false;
  }
}
