// One HTTP exchange: reads a request's body within bounds, writes a response, and reports whether all of it was written.

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { finished } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type Redact, redactEvents } from "../messages/redact.ts";
import type { Poured, Whole } from "./port.ts";

export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** The headers of a stream leave with its first event, or alone after so long. */
const HEADERS_MS = 20;
/** How long a refused client that still sends has to read why. */
const LINGER_MS = 1_000;

/** Never holds more than MAX_BODY_BYTES. */
export function readBody(from: IncomingMessage): Promise<Buffer | "too long" | "broken off"> {
  if (Number(from.headers["content-length"]) > MAX_BODY_BYTES) return Promise.resolve("too long");
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    function over(body: Buffer | "too long" | "broken off"): void {
      from.off("data", take).off("end", end).off("error", breakOff).off("close", breakOff);
      resolve(body);
    }
    function take(chunk: Buffer): void {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= MAX_BODY_BYTES) return;
      from.pause();
      over("too long");
    }
    const end = () => over(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, bytes));
    // Reading fails only with its connection.
    const breakOff = () => over("broken off");
    from.on("data", take).on("end", end).on("error", breakOff).on("close", breakOff);
  });
}

/** A request as the SDK takes it, without its body and without the token that let it in: no tool may see that. */
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
  /** Stand on the response where it does not say them itself. */
  headers(response: { readonly isStream: boolean }): Readonly<Record<string, string>> | undefined;
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

interface Parts {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent where there is a stream, or no body. */
  readonly whole?: Buffer;
  readonly events?: ReadableStream<Uint8Array>;
}

async function parts(response: Response | Whole, redact: Redact): Promise<Parts> {
  const { status } = response;
  if (!(response instanceof Response)) {
    const { headers, text } = response;
    return { status, headers, whole: Buffer.from(redact(text)) };
  }
  // Node decides whether the connection stays.
  const { connection, ...headers } = Object.fromEntries(response.headers);
  const isStream = headers["content-type"]?.startsWith("text/event-stream") === true;
  if (isStream) return { status, headers, ...(response.body && { events: response.body }) };
  return { status, headers, whole: Buffer.from(redact(await response.text())) };
}

/** Writes one piece, and waits while the client does not read. */
async function writePiece(piece: string | Uint8Array, to: ServerResponse, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (!to.write(piece)) await once(to, "drain", { signal });
}

async function end(to: ServerResponse): Promise<void> {
  const isFlushed = flushed(to);
  to.end();
  await isFlushed;
}

/** Writes an event stream. Each piece of it holds whole events: the SDK enqueues them so. */
async function stream(
  events: ReadableStream<Uint8Array>,
  to: ServerResponse,
  { redact, signal }: Pick<SendOptions, "redact" | "signal">,
): Promise<void> {
  const reader = events.getReader();
  const decoder = new TextDecoder();
  signal.addEventListener("abort", () => void reader.cancel().catch(() => undefined), { once: true });
  const headers = setTimeout(() => to.flushHeaders(), HEADERS_MS);
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read())
      await writePiece(redactEvents(decoder.decode(part.value), redact), to, signal);
  } finally {
    clearTimeout(headers);
  }
  signal.throwIfAborted();
  await end(to);
}

const isPoured = (response: Response | Whole | Poured): response is Poured => "pieces" in response;

async function pour({ status, headers, length, pieces }: Poured, to: ServerResponse, options: SendOptions) {
  const { signal, stalledTimeoutMs, isLast, headers: common } = options;
  to.writeHead(status, {
    ...common({ isStream: true }),
    ...headers,
    ...(length !== undefined && { "content-length": length }),
    ...(isLast() && { connection: "close" }),
  });
  to.setTimeout(stalledTimeoutMs, () => to.destroy());
  to.flushHeaders();
  for await (const piece of pieces) await writePiece(piece, to, signal);
  await end(to);
}

/** Resolves when all of it was handed to the connection; rejects when that ends before. */
const flushed = (to: ServerResponse): Promise<void> =>
  new Promise((resolve, reject) => {
    to.once("finish", resolve).once("close", () => reject(new Error("the client has gone")));
  });

async function write(
  response: Response | Whole | Poured,
  from: IncomingMessage,
  to: ServerResponse,
  options: SendOptions,
) {
  if (isPoured(response)) return await pour(response, to, options);
  const { redact, isLast, stalledTimeoutMs, headers: common } = options;
  const { status, headers, whole, events } = await parts(response, redact);
  if (isGone(to)) throw new Error("the client has gone");
  to.writeHead(status, {
    ...common({ isStream: events !== undefined }),
    ...headers,
    // RFC 9110, 8.6.
    ...(whole && status !== 204 && { "content-length": whole.length }),
    ...((isLast() || !from.complete) && { connection: "close" }),
  });
  to.setTimeout(stalledTimeoutMs, () => to.destroy());
  if (events) return await stream(events, to, options);
  const isFlushed = flushed(to);
  if (from.complete) to.end(whole);
  else {
    if (whole) to.write(whole);
    await Promise.race([linger(from), isFlushed]);
    to.end();
  }
  await isFlushed;
}

/** Resolves at its end: true if all of it was handed to the client's connection. */
export async function send(
  response: Response | Whole | Poured,
  from: IncomingMessage,
  to: ServerResponse,
  options: SendOptions,
): Promise<boolean> {
  const { signal } = options;
  const isWhole = await new Promise<boolean>((resolve) => {
    const gone = () => resolve(false);
    if (signal.aborted) gone();
    signal.addEventListener("abort", gone, { once: true });
    write(response, from, to, options)
      .then(() => resolve(true), gone)
      .finally(() => signal.removeEventListener("abort", gone));
  });
  if (!isWhole) {
    // Stops the maker of a body that nobody has begun to read.
    if (response instanceof Response) await response.body?.cancel().catch(() => undefined);
    // A reset, and no ordinary end: where no length was said, that alone tells a part from the whole.
    if (isPoured(response)) from.socket.resetAndDestroy();
    to.destroy();
  }
  return isWhole;
}
