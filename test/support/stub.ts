// A strict stub of the API on node:http: answers by script, down to the raw socket, and fails the test on unexpected requests.

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, onTestFinished } from "vitest";
import { withEchoes } from "./echoes.ts";
import { openForFile } from "./for-file.ts";
import { closeServer, freePort, listeningUrl } from "./free-port.ts";

export interface RecordedRequest {
  readonly method: string;
  /** Path and query as in the request line, not decoded. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Number of the connection, from 1. */
  readonly connection: number;
  /** Resolves when the exchange ends: true if the complete answer was sent, false if either side broke it off. */
  readonly closed: Promise<boolean>;
}

export interface Step {
  readonly readsBody: boolean;
  readonly answer: (response: ServerResponse, request: RecordedRequest) => void | Promise<void>;
}
type Script = (request: RecordedRequest) => Step;
type Headers = Readonly<Record<string, string>>;

const step = (answer: Step["answer"]): Step => ({ readsBody: true, answer });

const bytesOf = (body: unknown): Buffer => {
  if (body === undefined) return Buffer.alloc(0);
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
};

const headersFor = (body: unknown, headers: Headers): Headers => ({
  ...(typeof body === "object" && !Buffer.isBuffer(body) && { "content-type": "application/json" }),
  ...headers,
});

/** Strings and buffers are sent unchanged, all other values as JSON, in which the samples' ids become those that the request names. */
export const answer = (status: number, body?: unknown, headers: Headers = {}): Step =>
  step((response, request) => {
    const sent = typeof body === "object" && !Buffer.isBuffer(body) ? withEchoes(body, request) : body;
    response.writeHead(status, headersFor(body, headers)).end(bytesOf(sent));
  });

/** Resets the connection (RST) before a byte of the body is read. */
export const resetBeforeReading: Step = { readsBody: false, answer: ({ socket }) => void socket?.resetAndDestroy() };
/** Resets the connection (RST) after the complete request was read. */
export const resetAfterReading: Step = step(({ socket }) => void socket?.resetAndDestroy());
/** Closes the connection in an orderly way (FIN) without an answer. */
export const hangUp: Step = step(({ socket }) => void socket?.end());
export const neverAnswer: Step = step(() => undefined);

export const sendRawBytes = (bytes: string): Step =>
  step(({ socket }) => void socket?.end(Buffer.from(bytes, "latin1")));

/** Announces the complete length, sends the first bytes of the body and closes the connection. */
export const answerTruncated = (status: number, body: unknown, sentBytes: number, headers: Headers = {}): Step =>
  step((response) => {
    const bytes = bytesOf(body);
    response.writeHead(status, { ...headersFor(body, headers), "content-length": String(bytes.length) });
    response.write(bytes.subarray(0, sentBytes), () => response.socket?.destroy());
  });

export const answerSlowly = (status: number, body: unknown, pieces: number, pauseMs: number): Step =>
  step(async (response) => {
    const bytes = bytesOf(body);
    const size = Math.ceil(bytes.length / pieces);
    response.writeHead(status, headersFor(body, {}));
    for (let at = 0; at < bytes.length && !response.destroyed; at += size) {
      response.write(bytes.subarray(at, at + size));
      await sleep(pauseMs);
    }
    response.end();
  });

/** Sends the chunk repeatedly, no faster than the client reads, until `totalBytes` are sent or the client disconnects. */
export const flood = (status: number, chunk: Buffer, totalBytes: number, headers: Headers = {}): Step =>
  step(async (response) => {
    response.writeHead(status, headers);
    const closed = once(response, "close").catch(() => undefined);
    for (let sent = 0; sent < totalBytes && !response.destroyed; sent += chunk.length) {
      const part = chunk.subarray(0, totalBytes - sent);
      if (!response.write(part)) await Promise.race([once(response, "drain"), closed]);
    }
    response.end();
  });

/** Answers with `then` after `released` resolves. */
export const holdUntil = (released: Promise<unknown>, then: Step): Step =>
  step(async (response, request) => {
    await released;
    await then.answer(response, request);
  });

const TOKEN_PATH = "/sandbox/oauth/token";
/** A client reads it before it sends an action again; only the Date header of the answer matters. */
const CLOCK_PATH = "/sandbox/v1/mic/operations/clock";

async function startStub() {
  const requests: RecordedRequest[] = [];
  const tokenRequests: RecordedRequest[] = [];
  const queue: Step[] = [];
  const unexpected: string[] = [];
  const connections = new Map<Socket, number>();
  const clock = { aheadMs: 0 };
  let clockAnswer = answer(404);
  const newToken: Script = () => answer(200, { access_token: `stub-token-${tokenRequests.length}` });
  let script: Script | undefined;
  let tokenScript = newToken;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url: target = "", headers } = request;
    response.setHeader("date", new Date(Date.now() + clock.aheadMs).toUTCString());
    const isToken = target === TOKEN_PATH;
    const queued = isToken || target === CLOCK_PATH ? undefined : queue.shift();
    const closed = new Promise<boolean>((resolve) => {
      response.once("close", () => resolve(response.writableFinished));
    });
    const body = queued?.readsBody === false ? Buffer.alloc(0) : await buffer(request);
    const connection = connections.get(request.socket) ?? 0;
    const recorded: RecordedRequest = { method, target, headers, body, connection, closed };
    if (target === CLOCK_PATH) return await clockAnswer.answer(response, recorded);
    (isToken ? tokenRequests : requests).push(recorded);
    const chosen = isToken ? tokenScript(recorded) : (queued ?? script?.(recorded));
    if (!chosen) unexpected.push(`${method} ${target}`);
    await (chosen ?? answer(400, "the test expected no such request")).answer(response, recorded);
  }

  const server = createServer((request, response) => {
    // Many tests disconnect a client while its request is read or answered.
    serve(request, response).catch(() => response.destroy());
  });
  server.on("connection", (socket) => connections.set(socket, connections.size + 1));
  const baseUrl = await listeningUrl(server);
  const stub = {
    baseUrl,
    /** All requests except token requests and reads of the clock, in order of arrival. */
    requests,
    tokenRequests,
    /** The clock in the Date headers. */
    clock,
    /** Sets the answers to the next requests, one step each. */
    expect: (...steps: readonly Step[]) => void queue.push(...steps),
    /** Sets the answer to reads of the clock (default: 404). */
    expectClock(newAnswer: Step) {
      clockAnswer = newAnswer;
    },
    /** Sets the answers to all requests for which there is no step. */
    respond(newScript: Script) {
      script = newScript;
    },
    /** Sets the answers to token requests (default: a new `stub-token-<n>` for each). */
    respondToToken(newScript: Script) {
      tokenScript = newScript;
    },
  };
  return {
    stub,
    /** Throws Error if an unexpected request arrived or an expected one did not. Resets everything for the next test. */
    verifyAndReset() {
      script = undefined;
      tokenScript = newToken;
      clock.aheadMs = 0;
      clockAnswer = answer(404);
      const [surprises, missing] = [unexpected.splice(0), queue.splice(0)];
      requests.length = 0;
      tokenRequests.length = 0;
      if (surprises.length > 0) throw new Error(`The stub was sent unexpected requests: ${surprises}`);
      if (missing.length > 0) throw new Error(`${missing.length} expected requests never came`);
    },
    close: () => closeServer(server),
  };
}

export type Stub = Awaited<ReturnType<typeof startStub>>["stub"];

export async function stubForTest(): Promise<Stub> {
  const { stub, verifyAndReset, close } = await startStub();
  onTestFinished(async () => {
    await close();
    verifyAndReset();
  });
  return stub;
}

/** Starts a stub for all tests of a file, which keeps its address and is reset for each test. Call it at the top level. */
export function stubForFile(): () => Stub {
  const running = openForFile(startStub, ({ close }) => close());
  afterEach(() => running().verifyAndReset());
  return () => running().stub;
}

export async function refusingBaseUrl(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`;
}
