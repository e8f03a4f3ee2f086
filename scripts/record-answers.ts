// Asks the SDK's server what every client asks first, in each setting and protocol version, and keeps what it says: for
// src/cli/start/, which answers before that server is loaded.
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { compose } from "../src/cli/compose.ts";
import {
  type FirstMethod,
  questionOf,
  RECORDED_WORKSPACE,
  type Recording,
  SETTINGS,
  type Setting,
} from "../src/cli/start/recording.ts";
import { readConfig } from "../src/config.ts";
import type { Runtime } from "../src/mcp/runtime.ts";
import { serveOnStdio } from "../src/mcp/stdio/serve.ts";
import { APP_HTML, UI_EXTENSION } from "../src/toolkit/views.ts";

const clientInfo = { name: "mic-mcp-build", version: "1" };
/** Of a client that shows views, or does not. */
const capabilitiesOf = (views: boolean) => (views ? { extensions: { [UI_EXTENSION]: { mimeTypes: [APP_HTML] } } } : {});
const envelope = (version: string, views = false) => ({
  _meta: {
    [PROTOCOL_VERSION_META_KEY]: version,
    [CLIENT_INFO_META_KEY]: clientInfo,
    [CLIENT_CAPABILITIES_META_KEY]: capabilitiesOf(views),
  },
});

const environmentOf = ({ geography, jobs, readOnly, workspace }: Setting) => ({
  MIC_TOOLSETS: [...(geography ? ["geography"] : []), ...(jobs ? ["jobs"] : [])].join(","),
  ...(readOnly && { MIC_READ_ONLY: "1" }),
  ...(workspace && { MIC_WORKSPACE_ID: RECORDED_WORKSPACE }),
});

interface Message {
  readonly method: string;
  readonly params?: object;
  /** One to be answered by a line. */
  readonly id?: number;
}

/** One connection: the lines that answer these messages, in their order. */
async function converse(runtime: Runtime, messages: readonly Message[]): Promise<readonly string[]> {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const end = serveOnStdio(runtime, { stdin, stdout });
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const said: string[] = [];
  for (const message of messages) {
    stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    if (message.id !== undefined) said.push(String((await lines.next()).value));
  }
  await end();
  return said;
}

const Refused = z.object({ error: z.object({ data: z.object({ supported: z.array(z.string()).min(1) }) }) });

/** The SDK names them to a client that asks for another. */
async function modernVersions(runtime: Runtime): Promise<readonly string[]> {
  const [line = ""] = await converse(runtime, [{ id: 0, method: "server/discover", params: envelope("9999-12-31") }]);
  return Refused.parse(JSON.parse(line)).error.data.supported;
}

const Answer = z.object({ result: z.record(z.string(), z.unknown()) });

/** The JSON text of a result, in pieces that other results may have too. */
function piecesOf(line: string, id: number): readonly string[] {
  const { result } = Answer.parse(JSON.parse(line));
  const members = Object.entries(result).map(([name, value]) => {
    const items = name === "tools" && Array.isArray(value) ? value : undefined;
    const parts = items
      ? ["[", ...items.map((item, at) => `${at === 0 ? "" : ","}${JSON.stringify(item)}`), "]"]
      : [JSON.stringify(value)];
    return [`${JSON.stringify(name)}:`, ...parts];
  });
  const pieces = ["{", ...members.flatMap((parts, at) => (at === 0 ? parts : [",", ...parts])), "}"];
  // What src/cli/start/ writes around a result, and looks for in an answer.
  if (line !== `{"result":${pieces.join("")},"jsonrpc":"2.0","id":${id}}`)
    throw new Error(`The SDK writes its answers in another form: ${line.slice(0, 200)}`);
  return pieces;
}

export async function recordAnswers(): Promise<Recording> {
  /** Each once, by its place. */
  const pieces = new Map<string, number>();
  const rows = new Map<string, number>();
  const results: Record<string, number> = {};
  const placeIn = (places: Map<string, number>, text: string): number => {
    const place = places.get(text) ?? places.size;
    places.set(text, place);
    return place;
  };

  function keep(
    setting: Setting,
    method: FirstMethod,
    version: string,
    views: boolean,
    line: string,
    id: number,
  ): void {
    results[questionOf(setting, method, version, views)] = placeIn(
      rows,
      JSON.stringify(piecesOf(line, id).map((piece) => placeIn(pieces, piece))),
    );
  }

  async function record(setting: Setting, runtime: Runtime, views: boolean): Promise<void> {
    for (const protocolVersion of SUPPORTED_PROTOCOL_VERSIONS) {
      const [hello = "", list = ""] = await converse(runtime, [
        { id: 0, method: "initialize", params: { protocolVersion, capabilities: capabilitiesOf(views), clientInfo } },
        { method: "notifications/initialized" },
        { id: 1, method: "tools/list" },
      ]);
      keep(setting, "initialize", protocolVersion, views, hello, 0);
      keep(setting, "tools/list", protocolVersion, views, list, 1);
    }
    for (const version of await modernVersions(runtime)) {
      const params = envelope(version, views);
      const [about = "", list = ""] = await converse(runtime, [
        { id: 0, method: "server/discover", params },
        { id: 1, method: "tools/list", params },
      ]);
      keep(setting, "server/discover", version, views, about, 0);
      keep(setting, "tools/list", version, views, list, 1);
    }
  }

  const options = { notes: [], inProcess: false, keychainLimitMs: 0 };
  const { runtime, close } = compose(readConfig({ MIC_KEYCHAIN: "off", MIC_LOG_LEVEL: "silent" }), options);
  for (const setting of SETTINGS) {
    const config = readConfig(environmentOf(setting));
    for (const views of [false, true])
      await record(setting, { ...runtime, config, workspaceId: async () => config.workspaceId }, views);
  }
  await close();
  return {
    pieces: [...pieces.keys()],
    rows: [...rows.keys()].map((row) => z.array(z.int()).parse(JSON.parse(row))),
    results,
  };
}
