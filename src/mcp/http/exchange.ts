// One HTTP exchange: a request's body in, within bounds; a response out, and whether it went out whole.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { setTimeout as sleep, setImmediate as turnOfTheLoop } from "node:timers/promises";
import { cleanEvents, type Exit } from "../messages/redact.ts";

export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** A client that still sends when it was refused is given so long to read why. */
const LINGER_MS = 1_000;

/** No more than MAX_BODY_BYTES are ever held. */
export async function readBody(from: IncomingMessage): Promise<Buffer | "too long" | "broken off"> {
  if (Number(from.headers["content-length"]) > MAX_BODY_BYTES) return "too long";
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of from.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) return "too long";
      chunks.push(chunk);
    }
  } catch {
    // All that can go wrong with reading is its connection.
    return "broken off";
  }
  return Buffer.concat(chunks, bytes);
}

/** Without its body, and without the token that let it in: that is nothing for a tool. `signal` fires when the client has gone before it was answered. */
export function webRequest(from: IncomingMessage, url: string, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(from.headersDistinct))
    if (name !== "authorization") for (const value of values) headers.append(name, value);
  return new Request(url, { method: from.method ?? "", headers, signal });
}

/** Fires when the client has gone before its answer. */
export function goneSignal({ socket }: IncomingMessage, to: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const onClose = () => {
    if (!to.writableFinished) gone.abort();
    socket.off("close", onClose);
  };
  // A response that still waits behind another one on the same connection is not told of its end.
  socket.once("close", onClose);
  to.once("close", onClose);
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

export interface SendOptions {
  readonly exit: Exit;
  /** The client has gone: see goneSignal. */
  readonly signal: AbortSignal;
  /** Nothing more comes on this connection. */
  readonly isLast: () => boolean;
  /** A client that takes nothing of its answer for so long is cut off. */
  readonly stalledTimeoutMs: number;
}

// The socket is the request's: a response has none while it waits behind another one on the same connection.
const isGone = ({ destroyed, req: { socket } }: ServerResponse): boolean =>
  destroyed || socket.destroyed || socket.readableEnded;

/** Lets the loop look once at all that has arrived, and that is seen first which went before. Throws when the client did. */
async function seeThatItIsThere(to: ServerResponse): Promise<void> {
  await turnOfTheLoop();
  await turnOfTheLoop();
  if (isGone(to)) throw new Error("the client has gone");
}

/** A piece is whole events: as such it was put in. */
const outWhileThere = (to: ServerResponse, exit: Exit) =>
  new TransformStream<Uint8Array, Uint8Array>({
    async transform(piece, next) {
      await seeThatItIsThere(to);
      const events = Buffer.from(piece).toString();
      const clean = cleanEvents(events, exit);
      next.enqueue(clean === events ? piece : Buffer.from(clean));
    },
  });

async function write(response: Response, from: IncomingMessage, to: ServerResponse, options: SendOptions) {
  const { signal, exit, isLast, stalledTimeoutMs } = options;
  const { body } = response;
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const whole = isStream ? undefined : Buffer.from(exit(await response.text()));
  await seeThatItIsThere(to);
  // Whether the connection stays is between the client and node.
  response.headers.delete("connection");
  to.writeHead(response.status, {
    ...Object.fromEntries(response.headers),
    ...(whole && { "content-length": whole.length }),
    ...((isLast() || !from.complete) && { connection: "close" }),
  });
  to.setTimeout(stalledTimeoutMs, () => to.destroy());
  if (whole || !body) {
    if (whole) to.write(whole);
    await linger(from);
    to.end();
    await finished(to);
  } else {
    to.flushHeaders();
    await pipeline(Readable.fromWeb(body.pipeThrough(outWhileThere(to, exit))), to, { signal });
  }
}

/**
 * Resolves when it is over: true if all of it was handed to the connection of a client that, for all that could be known,
 * was still there.
 */
export async function send(
  response: Response,
  from: IncomingMessage,
  to: ServerResponse,
  options: SendOptions,
): Promise<boolean> {
  const { signal } = options;
  const gone = signal.aborted ? Promise.resolve() : once(signal, "abort");
  const isWhole = await Promise.race([
    write(response, from, to, options).then(
      () => true,
      () => false,
    ),
    gone.then(() => false),
  ]);
  if (!isWhole) {
    // Whoever makes the body is to stop, if nobody has begun to read it.
    await response.body?.cancel().catch(() => undefined);
    to.destroy();
  }
  return isWhole;
}
