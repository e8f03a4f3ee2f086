// Connects an agent to the real server, which runs in this process as the CLI composes it, or as a separate process. The client
// is that of the older SDK, reports its name as claude-code, and counts the tokens that the agent reads.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Transform } from "node:stream";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod/v4";
import { emulatorNotes } from "../src/cli/backend.ts";
import { compose } from "../src/cli/compose.ts";
import { EMULATED_GEOGRAPHY_RATE, readConfig } from "../src/core/config.ts";
import type { Emulator } from "../src/emulator/index.ts";
import { serveOnStdio } from "../src/transports/stdio/serve.ts";
import { olderValidator } from "../test/support/schema-validators.ts";
import type { AgentClient, ListedTool, ToolArguments, VisibleResult } from "./agent.ts";
import { countModelTokens } from "./count-tokens.ts";

export interface AgentClientOptions {
  readonly emulator: Emulator;
  /** Folder for the server's files. */
  readonly folder: string;
  /** Settings of the server, as environment variables, in addition to those that every server here has. */
  readonly settings: Readonly<Record<string, string>>;
  /** Whether the client shows the server's questions to a user, who declines all of them; otherwise it cannot ask. */
  readonly userDeclines: boolean;
  /** Whether the server runs in a separate process, which can be killed. */
  readonly isProcess: boolean;
}

/** Number of calls, and of tokens that the agent received. */
export interface Usage {
  readonly calls: number;
  readonly tokens: number;
}

export interface ManagedAgentClient extends AgentClient {
  readonly usage: Usage;
  /** The complete tools with output schemas, as the client receives them. */
  readonly toolList: readonly ToolArguments[];
  /** Kills the server's process, to simulate a crash. */
  kill(): void;
  close(): Promise<void>;
}

interface Connection {
  readonly client: Client;
  kill(): void;
  close(): Promise<void>;
}

// The log of each composed server adds a listener to stderr.
process.stderr.setMaxListeners(0);

const Json = z.record(z.string(), z.unknown());
const ToolSchema = z.looseObject({ name: z.string(), description: z.string().default(""), inputSchema: Json });
const CallToolResult = z.looseObject({
  content: z.array(z.looseObject({ text: z.string().optional() })),
  structuredContent: Json.optional(),
  isError: z.boolean().default(false),
});
const ReadResourceResult = z.looseObject({ contents: z.array(z.looseObject({ text: z.string() })) });
const GetPromptResult = z.looseObject({
  messages: z.array(z.looseObject({ content: z.looseObject({ text: z.string() }) })),
});

const root = fileURLToPath(new URL("..", import.meta.url));
function newClient({ userDeclines }: AgentClientOptions): Client {
  const capabilities = userDeclines ? { elicitation: {} } : {};
  const options = { capabilities, jsonSchemaValidator: olderValidator };
  const client = new Client({ name: "claude-code", version: "2.0.0" }, options);
  if (userDeclines) client.setRequestHandler(ElicitRequestSchema, () => ({ action: "decline" }));
  return client;
}

const createEnvironment = ({ emulator, folder, settings }: AgentClientOptions) => ({
  MIC_BASE_URL: emulator.baseUrl,
  MIC_CLIENT_ID: emulator.clientId,
  MIC_CLIENT_SECRET: emulator.clientSecret,
  MIC_WORKSPACE_ID: emulator.workspaceId,
  MIC_STATE_DIR: join(folder, "state"),
  MIC_DOWNLOAD_DIR: join(folder, "downloads"),
  MIC_GEOGRAPHY_RATE_LIMIT: String(EMULATED_GEOGRAPHY_RATE),
  MIC_KEYCHAIN: "off",
  MIC_LOG_LEVEL: "silent",
  ...settings,
});

/** Like a pipe: the reader gets a chunk after the writer's callback has run. */
class Pipe extends Transform {
  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    done();
    setImmediate(() => this.destroyed || this.push(chunk));
  }
}

/** Composes the server in this process, with the same notes as `serve --emulator`. */
async function connectInProcess(options: AgentClientOptions): Promise<Connection> {
  const config = { ...readConfig(createEnvironment(options)), loginFolder: options.folder };
  const backend = {
    config,
    notes: emulatorNotes(options.emulator),
    files: options.emulator.files.map(({ id, name }) => ({ value: id, name })),
    inProcess: true,
  };
  const { runtime, close } = compose(backend, 1_000);
  const [stdin, stdout] = [new PassThrough(), new Pipe()];
  const closeProtocol = serveOnStdio(runtime, { stdin, stdout });
  const client = newClient(options);
  // The first argument of this transport is the stream to read, also for a client.
  await client.connect(new StdioServerTransport(stdout, stdin));
  return {
    client,
    kill() {
      throw new Error("this server is no process of its own");
    },
    async close() {
      await client.close();
      // Sends a message after the last answer, as a client does that is still alive, before the server closes.
      stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/roots/list_changed" })}\n`);
      await new Promise((resolve) => setImmediate(resolve));
      await closeProtocol();
      await close();
      stdout.destroy();
    },
  };
}

async function connectToProcess(options: AgentClientOptions): Promise<Connection> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(root, "dist", "cli.js"), "serve"],
    env: { PATH: process.env["PATH"] ?? "", HOME: options.folder, ...createEnvironment(options) },
    stderr: "ignore",
  });
  const client = newClient(options);
  await client.connect(transport);
  return {
    client,
    kill() {
      if (transport.pid !== null) process.kill(transport.pid, "SIGKILL");
    },
    close: () => client.close(),
  };
}

export async function openAgentClient(options: AgentClientOptions): Promise<ManagedAgentClient> {
  await mkdir(options.folder, { recursive: true });
  const connect = options.isProcess ? connectToProcess : connectInProcess;
  let connection = await connect(options);
  let hasDied = false;
  const watchClose = (): void => {
    connection.client.onclose = () => {
      hasDied = true;
    };
  };
  watchClose();

  /** Like an MCP host, this starts a server again after it has died. */
  async function getClient(): Promise<Client> {
    if (hasDied) {
      hasDied = false;
      connection = await connect(options);
      watchClose();
    }
    return connection.client;
  }

  const toolList = z.array(ToolSchema).parse((await connection.client.listTools()).tools);
  const usage = { calls: 0, tokens: 0 };
  const recordUsage = <T>(value: T, tokens: number): T => {
    usage.calls += 1;
    usage.tokens += tokens;
    return value;
  };

  async function callTool(tool: string, args: ToolArguments): Promise<VisibleResult> {
    try {
      const client = await getClient();
      const answer = await client.callTool({ name: tool, arguments: { ...args } });
      const { content, structuredContent, isError } = CallToolResult.parse(answer);
      if (isError || structuredContent === undefined)
        return { isError: true, text: content.flatMap(({ text = [] }) => text).join("\n") };
      return { isError: false, data: structuredContent };
    } catch (error) {
      return { isError: true, text: error instanceof Error ? error.message : String(error) };
    }
  }

  return {
    instructions: connection.client.getInstructions() ?? "",
    tools: toolList.map(({ name, description, inputSchema }): ListedTool => ({ name, description, inputSchema })),
    toolList,
    usage,
    async call(tool, args = {}) {
      const result = await callTool(tool, args);
      return recordUsage(result, countModelTokens(result.isError ? result.text : result.data));
    },
    async complete(prompt, argument, typed) {
      const client = await getClient();
      const ref = { type: "ref/prompt", name: prompt } as const;
      const { completion } = await client.complete({ ref, argument: { name: argument, value: typed } });
      // The user picks from the completions; the model never reads them.
      return recordUsage(completion.values, 0);
    },
    async prompt(name, args) {
      const client = await getClient();
      const { messages } = GetPromptResult.parse(await client.getPrompt({ name, arguments: { ...args } }));
      const text = messages.map(({ content }) => content.text).join("\n");
      return recordUsage(text, countModelTokens(text));
    },
    async read(uri) {
      const client = await getClient();
      const { contents } = ReadResourceResult.parse(await client.readResource({ uri }));
      const text = contents.map((content) => content.text).join("\n");
      return recordUsage(text, countModelTokens(text));
    },
    kill: () => connection.kill(),
    close: () => connection.close(),
  };
}
