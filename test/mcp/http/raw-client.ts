// A low-level MCP client over HTTP: requests of both protocol generations that a test may cut, and raw bytes on a socket.
import type { IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "undici";
import * as z from "zod/v4";
import { modernEnvelope } from "../modern-envelope.ts";

export const ACCEPT = "application/json, text/event-stream";

const Message = z.looseObject({
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string().optional(),
  params: z.looseObject({}).optional(),
  result: z.looseObject({}).optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).optional(),
});
export type Message = z.infer<typeof Message>;

function messagesIn(body: string, isStream: boolean): Message[] {
  if (!isStream) {
    // A refused token is answered with an OAuth error, which is not a JSON-RPC message.
    const message = body.startsWith("{") ? Message.safeParse(JSON.parse(body)).data : undefined;
    return message ? [message] : [];
  }
  // An event without its final blank line is incomplete.
  const events = body.split("\n\n").slice(0, -1);
  const data = events.map((event) => /^data: (.*)$/m.exec(event)?.[1] ?? "");
  return data.filter((text) => text !== "").map((text) => Message.parse(JSON.parse(text)));
}

type Headers = Readonly<Record<string, string>>;

interface Outgoing {
  readonly method?: string;
  readonly headers?: Headers;
  readonly body?: string | Buffer | Readable | null;
}

export type Sent = ReturnType<typeof send>;
export type Answer = Awaited<Sent["answer"]>;

export function send(url: string, { method = "POST", headers = {}, body = null }: Outgoing) {
  const { origin, pathname, search } = new URL(url);
  const client = new Client(origin);
  const response = client.request({ path: pathname + search, method, headers, body });
  let text = "";
  let isStream = false;
  async function readAnswer() {
    const { statusCode: status, headers: received, body: chunks } = await response;
    isStream = String(received["content-type"]).startsWith("text/event-stream");
    chunks.setEncoding("utf8");
    for await (const chunk of chunks) text += chunk;
    client.close().catch(() => undefined);
    const typedHeaders: IncomingHttpHeaders = received;
    return { status, headers: typedHeaders, body: text, messages: messagesIn(text, isStream) };
  }
  const answer = readAnswer();
  const headersReceived = response.then(({ headers: received }) => received);
  // Avoids an unhandled rejection in tests that cut the connection.
  for (const promise of [answer, headersReceived]) promise.catch(() => undefined);
  return {
    /** The headers of the answer, possibly before the answer ends. Rejects if the connection ends before them. */
    headers: headersReceived,
    /** Rejects if the connection ends before the answer does. Its messages are those of the JSON or of the stream. */
    answer,
    /** Resolves to the first matching message, possibly before the answer ends; rejects if the answer ends without one. */
    async message(matches: (message: Message) => boolean) {
      for (;;) {
        const ended = await Promise.race([answer, sleep(5)]);
        const found = (ended?.messages ?? (isStream ? messagesIn(text, isStream) : [])).find(matches);
        if (found) return found;
        if (ended) throw new Error(`no such message in ${ended.body}`);
      }
    },
    cut: () => client.destroy(),
  };
}

export const post = (url: string, message: unknown, headers: Headers = {}): Sent =>
  send(url, {
    headers: { "content-type": "application/json", accept: ACCEPT, ...headers },
    body: JSON.stringify(message),
  });

export const get = (url: string, headers: Headers = {}): Sent =>
  send(url, { method: "GET", headers: { accept: "text/event-stream", ...headers } });

export const initializeMessage = (capabilities: object = {}) => ({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities, clientInfo: { name: "raw", version: "1" } },
});

/** Requests that clients with and without a session can make; the test chooses the ids. */
export interface McpTestClient {
  request(id: number, method: string, params?: Readonly<Record<string, unknown>>): Sent;
  call(id: number, tool: string, args: object): Sent;
}

const toTestClient = (request: McpTestClient["request"]): McpTestClient => ({
  request,
  call: (id, name, args) => request(id, "tools/call", { name, arguments: args }),
});

/** Starts a session, if the server supports sessions. `more`: headers of all its requests. */
export async function connectLegacyClient(url: string, capabilities: object = {}, more: Headers = {}) {
  const { status, headers, body } = await post(url, initializeMessage(capabilities), more).answer;
  if (status !== 200) throw new Error(`not initialized: ${status} ${body}`);
  const sessionId = headers["mcp-session-id"];
  const session: Headers = typeof sessionId === "string" ? { "mcp-session-id": sessionId } : {};
  const own: Headers = { ...more, ...session, "mcp-protocol-version": "2025-06-18" };
  const notify = (method: string, params: object = {}) => post(url, { jsonrpc: "2.0", method, params }, own).answer;
  await notify("notifications/initialized");
  return {
    ...toTestClient((id, method, params = {}) => post(url, { jsonrpc: "2.0", id, method, params }, own)),
    headers: own,
    notify,
  };
}

export const createModernClient = (url: string, capabilities: object = {}, more: Headers = {}): McpTestClient =>
  toTestClient((id, method, params = {}) => {
    const _meta = { ...modernEnvelope(capabilities), ...Object(params["_meta"]) };
    const name = params["taskId"] ?? params["name"] ?? params["uri"];
    const headers = {
      ...more,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
    };
    return post(url, { jsonrpc: "2.0", id, method, params: { ...params, _meta } }, headers);
  });

export const clientFactories = {
  legacy: (url: string) => connectLegacyClient(url),
  modern: async (url: string) => createModernClient(url),
} satisfies Record<string, (url: string) => Promise<McpTestClient>>;

/** Writes the chunks with pauses of `gapMs`, and returns all that the server sends until it closes the connection. */
export async function exchangeBytes(url: string, chunks: readonly (string | Buffer)[], gapMs = 0): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ""));
  let text = "";
  const closed = new Promise<void>((resolve) => {
    // A server that refuses a request may close the connection while this side still sends.
    socket.on("error", () => undefined).once("close", () => resolve());
  });
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  for (const piece of chunks) {
    if (socket.destroyed) break;
    socket.write(piece);
    if (gapMs > 0) await sleep(gapMs);
  }
  await closed;
  return text;
}

export async function resultOf(sent: Sent, id: number): Promise<unknown> {
  const { messages, body } = await sent.answer;
  const found = messages.find((message) => message.id === id);
  if (found?.result === undefined) throw new Error(`no result for ${id} in ${body}`);
  return found.result;
}
