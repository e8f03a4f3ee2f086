// A minimal MCP client over Streamable HTTP: it reuses connections and reads only the text of an answer.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import type { Client, Command } from "./client.ts";
import { openStream } from "./session-stream.ts";

/** "session": 2025-06-18. "modern": 2026-07-28, which has no sessions. */
export type ProtocolRevision = "session" | "modern";

/** A server that listens on a port of this machine. */
export interface HttpSubject {
  readonly command: (port: number) => Command;
  /** Whether the server, in a session, answers some POSTs with 202 and sends the response on the session's stream. */
  readonly answersOnStream?: boolean;
}

export interface HttpServer {
  readonly pid: number;
  /**
   * Connects a client with its own connections and initializes its session, if it has one. The client's `close` does not stop the
   * server.
   */
  connect(revision: ProtocolRevision, connections: number): Promise<Client>;
  stop(): Promise<void>;
}

/** Requests to every server carry it, so that all read the same bytes. Ours requires it. */
export const TOKEN = "bench-0123456789abcdef";

const CONTENT_HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  authorization: `Bearer ${TOKEN}`,
};
const clientInfo = { name: "bench", version: "1" };
const ACCEPTED = 202;
const SESSION_VERSION = "2025-06-18";
const MODERN_VERSION = "2026-07-28";
const MODERN_META = {
  "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
  "io.modelcontextprotocol/clientInfo": clientInfo,
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Returns the message of an answer that may be a stream: the data of its last event. */
const extractMessage = (text: string): string => {
  if (text.startsWith("{")) return text;
  const at = text.lastIndexOf("\ndata: ");
  return at === -1 ? text.replace(/^data: /, "") : text.slice(at + "\ndata: ".length).trimEnd();
};

const getToolName = (params: object): string | undefined =>
  "name" in params && typeof params.name === "string" ? params.name : undefined;

interface Message {
  readonly jsonrpc: "2.0";
  readonly id: number;
  readonly method: string;
  readonly params: object;
}

interface ConnectionOptions {
  readonly revision: ProtocolRevision;
  readonly connections: number;
  readonly answersOnStream: boolean;
}

async function createHttpClient(
  url: URL,
  pid: number,
  { revision, connections, answersOnStream }: ConnectionOptions,
): Promise<Client> {
  const pool = new Pool(url.origin, { connections });
  let lastId = 0;

  async function post(message: object, headers: Readonly<Record<string, string>>) {
    const answer = await pool.request({
      method: "POST",
      path: url.pathname,
      headers: { ...CONTENT_HEADERS, ...headers },
      body: JSON.stringify(message),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 400) throw new Error(`${answer.statusCode}: ${text.slice(0, 300)}`);
    return { text, status: answer.statusCode, sessionId: answer.headers["mcp-session-id"] };
  }

  async function openSession(): Promise<Readonly<Record<string, string>>> {
    const params = { protocolVersion: SESSION_VERSION, capabilities: {}, clientInfo };
    const { sessionId } = await post({ jsonrpc: "2.0", id: 0, method: "initialize", params }, {});
    const headers = { "mcp-session-id": String(sessionId), "mcp-protocol-version": SESSION_VERSION };
    await post({ jsonrpc: "2.0", method: "notifications/initialized" }, headers);
    return headers;
  }

  const session = revision === "session" ? await openSession() : undefined;
  const stream = session && answersOnStream ? await openStream(url, session) : undefined;

  async function requestInSession(message: Message, headers: Readonly<Record<string, string>>) {
    const { status, text } = await post(message, headers);
    return { line: stream && status === ACCEPTED ? await stream.waitForResponse(message.id) : extractMessage(text) };
  }

  return {
    pid,
    async request(method, params = {}) {
      const id = ++lastId;
      if (session) return await requestInSession({ jsonrpc: "2.0", id, method, params }, session);
      const name = getToolName(params);
      const headers = {
        "mcp-protocol-version": MODERN_VERSION,
        "mcp-method": method,
        ...(name && { "mcp-name": name }),
      };
      const message = { jsonrpc: "2.0", id, method, params: { ...params, _meta: MODERN_META } };
      return { line: extractMessage((await post(message, headers)).text) };
    },
    async close() {
      await stream?.close();
      await pool.close();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (typeof address !== "object" || address === null) throw new Error("no free port");
  return address.port;
}

const START_LIMIT_MS = 10_000;
const POLL_INTERVAL_MS = 20;

/** Resolves when the origin answers, with any status. */
async function waitUntilReady(origin: string): Promise<void> {
  const pool = new Pool(origin);
  const until = performance.now() + START_LIMIT_MS;
  try {
    for (;;) {
      const isUp = await pool.request({ method: "GET", path: "/" }).then(
        ({ body }) => body.dump().then(() => true),
        () => false,
      );
      if (isUp) return;
      if (performance.now() > until) throw new Error(`nothing answers at ${origin}`);
      await sleep(POLL_INTERVAL_MS);
    }
  } finally {
    await pool.destroy();
  }
}

export async function startHttpServer({ command, answersOnStream = false }: HttpSubject): Promise<HttpServer> {
  const port = await freePort();
  const { args, env } = command(port);
  const child = spawn(process.execPath, args, {
    stdio: "ignore",
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
  });
  const { pid } = child;
  if (pid === undefined) throw new Error("not started");
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  await waitUntilReady(url.origin);
  return {
    pid,
    connect: (revision, connections) => createHttpClient(url, pid, { revision, connections, answersOnStream }),
    async stop() {
      if (child.exitCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}
