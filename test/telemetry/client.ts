// Starts the built server with telemetry, and sends raw requests with trace context, over stdio and HTTP.
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/server";
import { startHttp } from "../mcp/http/server.ts";
import {
  type Exit,
  initialize,
  initializedMessage,
  initializeMessage,
  type Program,
  start,
} from "../mcp/stdio/child.ts";

export const CLIENT_MODES = ["stdio, older", "stdio, modern", "HTTP, older", "HTTP, modern"] as const;
export type ClientMode = (typeof CLIENT_MODES)[number];

export interface Extra {
  /** Added to the request's `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** HTTP headers; only for the HTTP modes. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TelemetryClient {
  readonly program: Program;
  /** The unparsed response. */
  request(method: string, params: Readonly<Record<string, unknown>>, extra?: Extra): Promise<string>;
  call(tool: string, args: object, extra?: Extra): Promise<string>;
  /** Ends the program with SIGTERM. */
  end(): Promise<Exit>;
}

type Params = Readonly<Record<string, unknown>>;
type Send = (id: number, method: string, params: Params, headers: Extra["headers"]) => Promise<string>;

const MODERN = "2026-07-28";
const envelope = {
  [PROTOCOL_VERSION_META_KEY]: MODERN,
  [CLIENT_INFO_META_KEY]: { name: "raw", version: "1" },
  [CLIENT_CAPABILITIES_META_KEY]: {},
};

const sendOverStdio =
  (program: Program): Send =>
  async (id, method, params) => {
    program.send({ jsonrpc: "2.0", id, method, params });
    return JSON.stringify((await program.answersTo([id])).get(id));
  };

function sendOverHttp(url: string, fixedHeaders: Readonly<Record<string, string>>): Send {
  return async (id, method, params, headers) => {
    const name = params["name"];
    const response = await fetch(url, {
      method: "POST",
      headers: {
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        ...fixedHeaders,
        ...("mcp-protocol-version" in fixedHeaders && {
          "mcp-method": method,
          ...(typeof name === "string" && { "mcp-name": name }),
        }),
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
    });
    return await response.text();
  };
}

async function initializeSession(url: string, entry: Readonly<Record<string, string>>) {
  const post = (message: object, headers = {}) =>
    fetch(url, {
      method: "POST",
      headers: {
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        ...entry,
        ...headers,
      },
      body: JSON.stringify(message),
    });
  const initializeResponse = await post(initializeMessage);
  await initializeResponse.text();
  const session = { ...entry, "mcp-session-id": initializeResponse.headers.get("mcp-session-id") ?? "" };
  await (await post(initializedMessage, session)).text();
  return session;
}

async function startProgram(
  mode: ClientMode,
  env: Readonly<Record<string, string>>,
): Promise<{ program: Program; send: Send }> {
  const { MIC_HTTP_TOKEN: token } = env;
  const entry = token === undefined ? {} : { authorization: `Bearer ${token}` };
  if (mode === "HTTP, older") {
    const program = await startHttp({ env });
    return { program, send: sendOverHttp(program.url, await initializeSession(program.url, entry)) };
  }
  if (mode === "HTTP, modern") {
    const program = await startHttp({ env });
    return { program, send: sendOverHttp(program.url, { ...entry, "mcp-protocol-version": MODERN }) };
  }
  const program = start(["serve"], { env });
  if (mode === "stdio, older") await initialize(program);
  return { program, send: sendOverStdio(program) };
}

/** Starts a client whose program is killed when the running test ends. */
export async function connectClient(mode: ClientMode, env: Readonly<Record<string, string>>): Promise<TelemetryClient> {
  const { program, send } = await startProgram(mode, env);
  let lastId = 100;
  const request: TelemetryClient["request"] = (method, params, { meta = {}, headers } = {}) => {
    const all = mode.endsWith("modern") ? { ...envelope, ...meta } : meta;
    const withMeta = Object.keys(all).length > 0 ? { ...params, _meta: all } : params;
    return send(++lastId, method, withMeta, headers);
  };
  return {
    program,
    request,
    call: (name, args, extra) => request("tools/call", { name, arguments: args }, extra),
    async end() {
      program.process.kill("SIGTERM");
      return await program.exit;
    },
  };
}
