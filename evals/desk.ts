// A desk: the real server, composed as the command does it or started as its user does, behind the older SDK's client,
// which calls itself Claude Code. It counts what its agent reads.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Transform } from "node:stream";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import * as z from "zod/v4";
import { emulatorNotes } from "../src/cli/backend.ts";
import { compose } from "../src/cli/compose.ts";
import { readConfig } from "../src/core/config.ts";
import type { Emulator } from "../src/emulator/index.ts";
import { serveOnStdio } from "../src/transports/stdio/serve.ts";
import type { Args, Desk, OfferedTool, Shown } from "./agent.ts";
import { weigh } from "./weigh.ts";

export interface DeskOptions {
  readonly emulator: Emulator;
  /** Where its server keeps its files. */
  readonly folder: string;
  readonly geographyRate: number;
  /** A process of its own, which can be killed. */
  readonly isProcess: boolean;
}

/** What an agent was given. */
export interface Count {
  readonly calls: number;
  readonly tokens: number;
}

export interface OpenDesk extends Desk {
  readonly count: Count;
  /** The tools whole, output schemas too: what a client gets. */
  readonly listing: readonly Args[];
  /** Ends the server's process as a crash does. */
  kill(): void;
  close(): Promise<void>;
}

interface Connection {
  readonly client: Client;
  kill(): void;
  close(): Promise<void>;
}

// Each composition's log listens to it.
process.stderr.setMaxListeners(0);

const Json = z.record(z.string(), z.unknown());
const Listed = z.looseObject({ name: z.string(), description: z.string().default(""), inputSchema: Json });
const Result = z.looseObject({
  content: z.array(z.looseObject({ text: z.string().optional() })),
  structuredContent: Json.optional(),
  isError: z.boolean().default(false),
});
const Read = z.looseObject({ contents: z.array(z.looseObject({ text: z.string() })) });
const Prompt = z.looseObject({ messages: z.array(z.looseObject({ content: z.looseObject({ text: z.string() }) })) });

const root = fileURLToPath(new URL("..", import.meta.url));
const newClient = (): Client => new Client({ name: "claude-code", version: "2.0.0" });

const environment = ({ emulator, folder, geographyRate }: DeskOptions) => ({
  MIC_BASE_URL: emulator.baseUrl,
  MIC_CLIENT_ID: emulator.clientId,
  MIC_CLIENT_SECRET: emulator.clientSecret,
  MIC_WORKSPACE_ID: emulator.workspaceId,
  MIC_STATE_DIR: join(folder, "state"),
  MIC_DOWNLOAD_DIR: join(folder, "downloads"),
  MIC_GEOGRAPHY_RATE: String(geographyRate),
  MIC_KEYCHAIN: "off",
  MIC_LOG_LEVEL: "silent",
});

/** As from a pipe, the reader gets a thing after its writer knows that it has left. */
class Pipe extends Transform {
  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    done();
    setImmediate(() => this.destroyed || this.push(chunk));
  }
}

/** Inside this process, and with the words that `serve --emulator` has. */
async function connectInside(options: DeskOptions): Promise<Connection> {
  const config = { ...readConfig(environment(options)), loginFolder: options.folder };
  const { runtime, close } = compose(config, {
    notes: emulatorNotes(options.emulator),
    files: options.emulator.files.map(({ id, name }) => ({ value: id, name })),
    inProcess: true,
    keychainLimitMs: 1_000,
  });
  const [stdin, stdout] = [new PassThrough(), new Pipe()];
  const closeProtocol = serveOnStdio(runtime, { stdin, stdout });
  const client = newClient();
  // To this class a stream to read comes first, whoever is at its other end.
  await client.connect(new StdioServerTransport(stdout, stdin));
  return {
    client,
    kill() {
      throw new Error("this server is no process of its own");
    },
    async close() {
      await client.close();
      // A client that lives after an answer has read it: nobody has to look for its death.
      stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/roots/list_changed" })}\n`);
      await new Promise((resolve) => setImmediate(resolve));
      await closeProtocol();
      await close();
      stdout.destroy();
    },
  };
}

async function connectProcess(options: DeskOptions): Promise<Connection> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(root, "dist", "cli.js"), "serve"],
    env: { PATH: process.env["PATH"] ?? "", HOME: options.folder, ...environment(options) },
    stderr: "ignore",
  });
  const client = newClient();
  await client.connect(transport);
  return {
    client,
    kill() {
      if (transport.pid !== null) process.kill(transport.pid, "SIGKILL");
    },
    close: () => client.close(),
  };
}

export async function openDesk(options: DeskOptions): Promise<OpenDesk> {
  await mkdir(options.folder, { recursive: true });
  const connect = options.isProcess ? connectProcess : connectInside;
  let connection = await connect(options);
  let hasDied = false;
  const watch = (): void => {
    connection.client.onclose = () => {
      hasDied = true;
    };
  };
  watch();

  /** As a host does: a server that has gone is started again. */
  async function server(): Promise<Client> {
    if (hasDied) {
      hasDied = false;
      connection = await connect(options);
      watch();
    }
    return connection.client;
  }

  const listing = z.array(Listed).parse((await connection.client.listTools()).tools);
  const count = { calls: 0, tokens: 0 };
  const counted = <T>(given: T, weight: number): T => {
    count.calls += 1;
    count.tokens += weight;
    return given;
  };

  async function called(tool: string, args: Args): Promise<Shown> {
    try {
      const client = await server();
      const answer = await client.callTool({ name: tool, arguments: { ...args } });
      const { content, structuredContent, isError } = Result.parse(answer);
      if (isError || structuredContent === undefined)
        return { isError: true, text: content.flatMap(({ text = [] }) => text).join("\n") };
      return { isError: false, data: structuredContent };
    } catch (error) {
      return { isError: true, text: error instanceof Error ? error.message : String(error) };
    }
  }

  return {
    instructions: connection.client.getInstructions() ?? "",
    tools: listing.map(({ name, description, inputSchema }): OfferedTool => ({ name, description, inputSchema })),
    listing,
    count,
    async call(tool, args = {}) {
      const shown = await called(tool, args);
      return counted(shown, weigh(shown.isError ? shown.text : shown.data));
    },
    async complete(prompt, argument, typed) {
      const client = await server();
      const ref = { type: "ref/prompt", name: prompt } as const;
      const { completion } = await client.complete({ ref, argument: { name: argument, value: typed } });
      // A person picks from them: the model never reads them.
      return counted(completion.values, 0);
    },
    async prompt(name, args) {
      const client = await server();
      const { messages } = Prompt.parse(await client.getPrompt({ name, arguments: { ...args } }));
      const text = messages.map(({ content }) => content.text).join("\n");
      return counted(text, weigh(text));
    },
    async read(uri) {
      const client = await server();
      const { contents } = Read.parse(await client.readResource({ uri }));
      const text = contents.map((content) => content.text).join("\n");
      return counted(text, weigh(text));
    },
    kill: () => connection.kill(),
    close: () => connection.close(),
  };
}
