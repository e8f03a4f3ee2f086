// One HTTP exchange: reads a request's body within bounds, writes a response, and knows whether it left whole.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { setTimeout as sleep, setImmediate as turnOfTheLoop } from "node:timers/promises";
import { type Redact, redactEvents } from "../messages/redact.ts";

export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** How long a refused client that still sends has to read why. */
const LINGER_MS = 1_000;

/** Never holds more than MAX_BODY_BYTES. */
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
    // Reading fails only with its connection.
    return "broken off";
  }
  return Buffer.concat(chunks, bytes);
}

/** Leaves out the body, and the token that let it in: no tool may see that. `signal`: see goneSignal. */
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
  // A response that waits behind another one on the same connection does not learn of that connection's end.
  socket.once("close", onClose);
  to.once("close", onClose);
  return gone.signal;
}

/** Reads on and discards while the refusal travels: a close at once could keep the client from reading it. */
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
  readonly redact: Redact;
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

/** Lets the event loop see all that has arrived, an end of the connection included. Throws when the client has gone. */
async function assertConnected(to: ServerResponse): Promise<void> {
  await turnOfTheLoop();
  await turnOfTheLoop();
  if (isGone(to)) throw new Error("the client has gone");
}

/** Each piece holds whole events: the SDK enqueues them so. */
const redactedWhileConnected = (to: ServerResponse, redact: Redact) =>
  new TransformStream<Uint8Array, Uint8Array>({
    async transform(piece, next) {
      await assertConnected(to);
      const events = Buffer.from(piece).toString();
      const clean = redactEvents(events, redact);
      next.enqueue(clean === events ? piece : Buffer.from(clean));
    },
  });

async function write(response: Response, from: IncomingMessage, to: ServerResponse, options: SendOptions) {
  const { signal, redact, isLast, stalledTimeoutMs } = options;
  const { body } = response;
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const whole = isStream ? undefined : Buffer.from(redact(await response.text()));
  await assertConnected(to);
  // Node decides whether the connection stays.
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
    await pipeline(Readable.fromWeb(body.pipeThrough(redactedWhileConnected(to, redact))), to, { signal });
  }
}

/**
 * Resolves at its end: true if all of it was handed to the connection of a client that was still there, as far as can be
 * known.
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
    // Stops the maker of a body that nobody has begun to read.
    await response.body?.cancel().catch(() => undefined);
    to.destroy();
  }
  return isWhole;
}
