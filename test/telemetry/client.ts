// Starts the built server with telemetry, and sends raw requests with trace context, over stdio and HTTP.
import { connectLegacyClient, createModernClient, post } from "../mcp/http/raw-client.ts";
import { startHttp } from "../mcp/http/server.ts";
import { modernEnvelope } from "../mcp/modern-envelope.ts";
import { type Exit, initialize, type Program, start } from "../mcp/stdio/child.ts";
import { runCount } from "../support/thorough.ts";

const CLIENT_MODES = ["stdio, modern", "HTTP, older", "stdio, older", "HTTP, modern"] as const;
export type ClientMode = (typeof CLIENT_MODES)[number];
/** Each transport once, and each generation of the protocol once; in the thorough run all four. */
export const clientModes = CLIENT_MODES.slice(0, runCount(2, 4));

export interface Extra {
  /** Added to the request's `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** HTTP headers; only for the HTTP modes. */
  readonly headers?: Readonly<Record<string, string>>;
}

type Params = Readonly<Record<string, unknown>>;

/** Sends a request without further values in `_meta`, and returns the unparsed response. */
type Send = (id: number, method: string, params: Params, headers: Extra["headers"]) => Promise<string>;

async function startProgram(mode: ClientMode, env: Readonly<Record<string, string>>): Promise<[Program, Send]> {
  const { MIC_HTTP_TOKEN: token } = env;
  const entry: Readonly<Record<string, string>> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  if (mode.startsWith("HTTP")) {
    const program = await startHttp({ env });
    const session = mode === "HTTP, older" && (await connectLegacyClient(program.url, {}, entry)).headers;
    const send: Send = async (id, method, params, headers) => {
      const sent = session
        ? post(program.url, { jsonrpc: "2.0", id, method, params }, { ...session, ...headers })
        : createModernClient(program.url, {}, { ...entry, ...headers }).request(id, method, params);
      return (await sent.answer).body;
    };
    return [program, send];
  }
  const program = start(["serve"], { env });
  if (mode === "stdio, older") await initialize(program);
  const send: Send = async (id, method, params) => {
    program.send({ jsonrpc: "2.0", id, method, params });
    return JSON.stringify((await program.answersTo([id])).get(id));
  };
  return [program, send];
}

/** Starts a client whose program is killed when the running test ends. Requests and calls resolve with the unparsed response. */
export async function connectClient(mode: ClientMode, env: Readonly<Record<string, string>>) {
  const [program, send] = await startProgram(mode, env);
  let lastId = 100;
  const request = (method: string, params: Params, { meta = {}, headers }: Extra = {}): Promise<string> => {
    const all = mode === "stdio, modern" ? { ...modernEnvelope(), ...meta } : meta;
    const withMeta = Object.keys(all).length > 0 ? { ...params, _meta: all } : params;
    return send(++lastId, method, withMeta, headers);
  };
  return {
    program,
    request,
    call: (name: string, args: object, extra?: Extra) => request("tools/call", { name, arguments: args }, extra),
    async end(): Promise<Exit> {
      program.process.kill("SIGTERM");
      return await program.exit;
    },
  };
}
