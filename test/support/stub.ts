// A strict stub of the service on node:http: answers by script, down to the raw socket, records every request, and fails
// the test on a request that nobody expected and on an expected one that never came.
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, onTestFinished } from "vitest";

export interface RecordedRequest {
  readonly method: string;
  /** Path and query as they stood in the request line, undecoded. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The number of the connection that brought it, from 1. */
  readonly connection: number;
  /** When the exchange is over: true if the answer was sent whole, false if either side broke it off. */
  readonly closed: Promise<boolean>;
}

/** How one request is answered. */
export interface Step {
  readonly readsBody: boolean;
  readonly answer: (response: ServerResponse) => void | Promise<void>;
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

/** Strings and buffers go out as they are, anything else as JSON. */
export const answer = (status: number, body?: unknown, headers: Headers = {}): Step =>
  step((response) => {
    response.writeHead(status, headersFor(body, headers)).end(bytesOf(body));
  });

/** Kills the connection (RST) before a byte of the body is read. */
export const resetBeforeReading: Step = { readsBody: false, answer: ({ socket }) => void socket?.resetAndDestroy() };
/** Kills the connection (RST) with the whole request read. */
export const resetAfterReading: Step = step(({ socket }) => void socket?.resetAndDestroy());
/** Closes the connection politely (FIN) without an answer. */
export const hangUp: Step = step(({ socket }) => void socket?.end());
export const neverAnswer: Step = step(() => undefined);

/** Answers with these bytes and closes. */
export const sendRawBytes = (bytes: string): Step =>
  step(({ socket }) => void socket?.end(Buffer.from(bytes, "latin1")));

/** Announces the whole body, sends its first bytes, kills the connection. */
export const answerTruncated = (status: number, body: unknown, sentBytes: number, headers: Headers = {}): Step =>
  step((response) => {
    const bytes = bytesOf(body);
    response.writeHead(status, { ...headersFor(body, headers), "content-length": String(bytes.length) });
    response.write(bytes.subarray(0, sentBytes), () => response.socket?.destroy());
  });

/** Sends the body byte by byte group, pausing between the pieces. */
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

/** Sends the chunk again and again, no faster than the client reads, until `totalBytes` are out or the client goes. */
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

/** Answers with `then` once the test says so. */
export const holdUntil = (released: Promise<unknown>, then: Step): Step =>
  step(async (response) => {
    await released;
    await then.answer(response);
  });

const TOKEN_PATH = "/sandbox/oauth/token";

export interface Stub {
  readonly baseUrl: string;
  /** Everything but token requests, in the order of arrival. */
  readonly requests: readonly RecordedRequest[];
  readonly tokenRequests: readonly RecordedRequest[];
  /** The next requests, one step each. */
  expect(...steps: readonly Step[]): void;
  /** Every request that no step is waiting for. */
  respond(script: Script): void;
  /** Token requests; without it each is answered with a new `stub-token-<n>` and nothing else. */
  respondToToken(script: Script): void;
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

interface RunningStub {
  readonly stub: Stub;
  /** Throws when something unexpected came or something expected did not; forgets everything, for the next test. */
  verifyAndReset(): void;
  close(): Promise<void>;
}

async function startStub(): Promise<RunningStub> {
  const requests: RecordedRequest[] = [];
  const tokenRequests: RecordedRequest[] = [];
  const queue: Step[] = [];
  const unexpected: string[] = [];
  const connections = new Map<Socket, number>();
  const newToken: Script = () => answer(200, { access_token: `stub-token-${tokenRequests.length}` });
  let script: Script | undefined;
  let tokenScript = newToken;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url: target = "", headers } = request;
    const isToken = target === TOKEN_PATH;
    const queued = isToken ? undefined : queue.shift();
    const closed = new Promise<boolean>((resolve) => {
      response.once("close", () => resolve(response.writableFinished));
    });
    const body = queued?.readsBody === false ? Buffer.alloc(0) : await readBody(request);
    const connection = connections.get(request.socket) ?? 0;
    const recorded: RecordedRequest = { method, target, headers, body, connection, closed };
    (isToken ? tokenRequests : requests).push(recorded);
    const chosen = isToken ? tokenScript(recorded) : (queued ?? script?.(recorded));
    if (!chosen) unexpected.push(`${method} ${target}`);
    await (chosen ?? answer(400, "the test expected no such request")).answer(response);
  }

  const server = createServer((request, response) => {
    // A client that goes away while it is answered or read is a part of many tests.
    serve(request, response).catch(() => response.destroy());
  });
  server.on("connection", (socket) => connections.set(socket, connections.size + 1));
  const port = await listen(server);
  return {
    stub: {
      baseUrl: `http://127.0.0.1:${port}`,
      requests,
      tokenRequests,
      expect: (...steps) => void queue.push(...steps),
      respond(newScript) {
        script = newScript;
      },
      respondToToken(newScript) {
        tokenScript = newScript;
      },
    },
    verifyAndReset() {
      script = undefined;
      tokenScript = newToken;
      const [surprises, missing] = [unexpected.splice(0), queue.splice(0)];
      requests.length = 0;
      tokenRequests.length = 0;
      if (surprises.length > 0) throw new Error(`The stub was sent requests that nobody expected: ${surprises}`);
      if (missing.length > 0) throw new Error(`${missing.length} expected requests never came`);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the stub listens on no TCP port");
  return address.port;
}

/** For the running test alone. */
export async function stubForTest(): Promise<Stub> {
  const { stub, verifyAndReset, close } = await startStub();
  onTestFinished(async () => {
    await close();
    verifyAndReset();
  });
  return stub;
}

/** For all tests of a file, new for each of them but in its address; call it at the top level. */
export function stubForFile(): () => Stub {
  let running: RunningStub | undefined;
  beforeAll(async () => {
    running = await startStub();
  });
  afterEach(() => running?.verifyAndReset());
  afterAll(() => running?.close());
  return () => {
    if (running === undefined) throw new Error("the stub is there only while tests run");
    return running.stub;
  };
}

/** A base URL where connections are refused. */
export async function refusingBaseUrl(): Promise<string> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}
