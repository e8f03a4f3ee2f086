// Connects real MCP clients to the real server, in a separate process or at a URL: two SDKs, two protocol revisions.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type McpSubscription,
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttpTransport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OlderHttpTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioServerTransport as OlderStreams } from "@modelcontextprotocol/sdk/server/stdio.js";
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { StdioServerTransport as ModernStreams } from "@modelcontextprotocol/server/stdio";
import { onTestFinished } from "vitest";
import * as z from "zod/v4";
import { homeVariables } from "./empty-home.ts";
import { openForFile } from "./for-file.ts";
import { serveInProcess } from "./in-process.ts";
import { type CallResult, readResult } from "./results.ts";
import { modernValidator, olderValidator } from "./schema-validators.ts";

/** @modelcontextprotocol/sdk 1.x; @modelcontextprotocol/client 2.x as a 2025 client; the same, pinned to 2026-07-28. */
export const clientRevisions = ["v1-client", "v2-legacy", "v2-modern"] as const;
export type ClientRevision = (typeof clientRevisions)[number];

const Json = z.record(z.string(), z.unknown());
type Json = z.infer<typeof Json>;

const Listed = z.looseObject({ name: z.string(), title: z.string(), description: z.string() });
const Resource = Listed.extend({ uri: z.string(), mimeType: z.string() });
const Template = Listed.extend({ uriTemplate: z.string(), mimeType: z.string() });
const Prompt = Listed.extend({
  arguments: z.array(z.looseObject({ name: z.string(), description: z.string(), required: z.boolean() })),
});
const ReadResource = z.looseObject({
  contents: z.tuple([
    z.looseObject({ uri: z.string(), mimeType: z.string(), text: z.string(), _meta: Json.optional() }),
  ]),
  ttlMs: z.number().optional(),
  cacheScope: z.string().optional(),
});
const PromptResult = z.looseObject({
  messages: z.array(
    z.object({ role: z.literal("user"), content: z.object({ type: z.literal("text"), text: z.string() }) }),
  ),
});
const CompletionResult = z.object({
  completion: z.object({ values: z.array(z.string()), total: z.number(), hasMore: z.boolean() }),
});

export type Reference =
  | { readonly type: "ref/resource"; readonly uri: string }
  | { readonly type: "ref/prompt"; readonly name: string };

/** The user's reply to an elicitation. */
export interface Reply {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Record<string, boolean | string | number>;
}

const ListedTool = Listed.partial({ title: true, description: true }).extend({
  inputSchema: Json,
  outputSchema: Json.optional(),
  annotations: Json.optional(),
  _meta: Json.optional(),
});
export type ListedTool = z.infer<typeof ListedTool>;

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: Progress) => void;
}

/** A client, independent of the transport. */
export interface TestClient extends ReturnType<typeof wrapClient> {
  /** URIs of all updates so far, in order of arrival. */
  readonly updates: readonly string[];
  /** Rejects on a protocol error. A tool error is a result. */
  callTool(name: string, args?: Readonly<Json>, options?: CallOptions): Promise<CallResult>;
  listTools(): Promise<readonly ListedTool[]>;
}

export interface Connection extends TestClient {
  stderr(): string;
  readonly pid: number;
  /** The server's HOME: empty at the start, removed by `close`. */
  readonly home: string;
}

interface CapabilityOptions {
  /** Answers elicitations in place of the user. Without it, the client does not support elicitation. */
  readonly onElicitation?: (question: string) => Reply | Promise<Reply>;
  /** Declares support for views (MCP Apps). */
  readonly showsViews?: boolean;
}

export interface ConnectOptions extends CapabilityOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments after the entry point (default `serve`). */
  readonly args?: readonly string[];
}

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The arguments of node for the built server. */
export const entryArguments = (): readonly string[] => [join(root, "dist", "cli.js")];

const clientInfo = { name: "mic-mcp-tests", version: "1.0.0" };

/** The code cache, shared by all tests. Without it each program that a test starts would compile the build again. */
export const CODE_CACHE = join(root, "node_modules", ".cache", "mic-mcp-tests");

/** Environment of a program under test. It prevents tests from writing to a developer's own keychain. */
export const bareEnvironment = (home: string) => ({
  PATH: process.env["PATH"] ?? "",
  ...homeVariables(home),
  XDG_CACHE_HOME: CODE_CACHE,
  MIC_KEYCHAIN: "off",
});

/**
 * Starts a server with only PATH, HOME (an empty folder), XDG_CACHE_HOME, MIC_KEYCHAIN=off and `env`, and connects a client to
 * it.
 */
export async function connect(
  revision: ClientRevision,
  { env = {}, args = ["serve"], ...capabilityOptions }: ConnectOptions = {},
): Promise<Connection> {
  const home = await mkdtemp(join(tmpdir(), "mic-mcp-test-"));
  const variables = { ...bareEnvironment(home), ...env };
  const program = [...entryArguments(), ...args];
  const options = { cwd: home, stderr: "pipe" as const };
  // The SDKs' transports pass on more of the environment; env -i does not.
  const assignments = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const parameters =
    process.platform === "win32"
      ? { ...options, command: process.execPath, args: program, env: variables }
      : { ...options, command: "env", args: ["-i", ...assignments, process.execPath, ...program] };
  const transport = revision === "v1-client" ? new OlderTransport(parameters) : new SameProcessTransport(parameters);
  const stderr = collectStderr(transport);
  const opened = await (transport instanceof OlderTransport
    ? connectV1Client(transport, capabilityOptions)
    : connectV2Client(transport, revision === "v2-legacy", capabilityOptions)
  ).catch((error: unknown) => {
    throw new Error(`the server did not start; on stderr: ${stderr()}`, { cause: error });
  });
  const close = () => opened.close().then(() => rm(home, { recursive: true, force: true }));
  return { ...opened, stderr, pid: transport.pid ?? 0, home, close };
}

/** Connects a client to a server in this process. */
export async function connectInProcess(
  revision: ClientRevision,
  { env = {}, ...capabilityOptions }: Omit<ConnectOptions, "args"> = {},
): Promise<TestClient> {
  const { stdin, stdout, close } = serveInProcess(env);
  // The first parameter of these classes is the stream that they read.
  const opened = await (revision === "v1-client"
    ? connectV1Client(new OlderStreams(stdout, stdin), capabilityOptions)
    : connectV2Client(new ModernStreams(stdout, stdin), revision === "v2-legacy", capabilityOptions));
  return { ...opened, close: () => opened.close().then(close) };
}

interface HttpOptions extends CapabilityOptions {
  /** The bearer token of its requests. */
  readonly token?: string;
}

/** Connects a client to a server at a URL. Closing the client also ends its session, if any. */
export async function connectHttp(
  revision: ClientRevision,
  url: string,
  { token, ...capabilityOptions }: HttpOptions = {},
): Promise<TestClient & { readonly sessionId: () => string | undefined }> {
  const requestInit = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } };
  const Transport = revision === "v1-client" ? OlderHttpTransport : ModernHttpTransport;
  const transport = new Transport(new URL(url), { requestInit });
  const opened = await (transport instanceof OlderHttpTransport
    ? connectV1Client(transport, capabilityOptions)
    : connectV2Client(transport, revision === "v2-legacy", capabilityOptions));
  return {
    ...opened,
    sessionId: () => transport.sessionId,
    async close() {
      if (transport.sessionId !== undefined) await transport.terminateSession();
      await opened.close();
    },
  };
}

/**
 * The SDK's own class starts a separate process to negotiate the revision. With a subclass, the SDK asks the process that it
 * keeps.
 */
class SameProcessTransport extends ModernTransport {}

function collectStderr({ stderr }: Pick<OlderTransport, "stderr">): () => string {
  const chunks: Buffer[] = [];
  stderr?.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

interface SdkClient {
  listResources(): Promise<unknown>;
  listResourceTemplates(): Promise<unknown>;
  readResource(params: { uri: string }, options?: object): Promise<unknown>;
  subscribeResource(params: { uri: string }): Promise<unknown>;
  unsubscribeResource(params: { uri: string }): Promise<unknown>;
  listPrompts(): Promise<unknown>;
  getPrompt(params: { name: string; arguments?: Record<string, string> }): Promise<unknown>;
  complete(params: { ref: Reference; argument: { name: string; value: string } }): Promise<unknown>;
  getInstructions(): string | undefined;
  getServerCapabilities(): unknown;
  close(): Promise<void>;
}

const wrapClient = (client: SdkClient, readOptions?: object) => ({
  listResources: async () => z.object({ resources: z.array(Resource) }).parse(await client.listResources()).resources,
  listTemplates: async () =>
    z.object({ resourceTemplates: z.array(Template) }).parse(await client.listResourceTemplates()).resourceTemplates,
  async readResource(uri: string) {
    const { contents, ttlMs, cacheScope } = ReadResource.parse(await client.readResource({ uri }, readOptions));
    const [{ uri: named, mimeType, text, _meta: meta = {} }] = contents;
    if (named !== uri) throw new Error(`asked for ${uri}, was given ${named}`);
    return { mimeType, text, meta, ttlMs, cacheScope };
  },
  listPrompts: async () => z.object({ prompts: z.array(Prompt) }).parse(await client.listPrompts()).prompts,
  async getPrompt(name: string, args?: Record<string, string>) {
    const { messages } = PromptResult.parse(await client.getPrompt({ name, ...(args && { arguments: args }) }));
    return messages.map(({ content }) => content.text).join("\n");
  },
  complete: async (ref: Reference, name: string, value: string) =>
    CompletionResult.parse(await client.complete({ ref, argument: { name, value } })).completion.values,
  /** Subscribes to these resources, and returns those that the server accepts. Rejects on a refusal. */
  async listen(...uris: readonly string[]): Promise<readonly string[]> {
    for (const uri of uris) await client.subscribeResource({ uri });
    return uris;
  },
  /** Ends the subscription that `listen` started with the same URIs. */
  async stopListening(...uris: readonly string[]) {
    for (const uri of uris) await client.unsubscribeResource({ uri });
  },
  instructions: () => client.getInstructions(),
  capabilities: () => Json.parse(client.getServerCapabilities() ?? {}),
  close: () => client.close(),
});

const capabilitiesOf = ({ onElicitation, showsViews = false }: CapabilityOptions) => ({
  ...(onElicitation && { elicitation: { form: {} } }),
  ...(showsViews && { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } } }),
});

async function connectV1Client(
  transport: OlderTransport | OlderHttpTransport | OlderStreams,
  capabilityOptions: CapabilityOptions,
): Promise<TestClient> {
  const { onElicitation } = capabilityOptions;
  const capabilities = capabilitiesOf(capabilityOptions);
  const client = new OlderClient(clientInfo, { capabilities, jsonSchemaValidator: olderValidator });
  if (onElicitation)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({ ...(await onElicitation(params.message)) }));
  const updates: string[] = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updates.push(params.uri));
  await client.connect(transport);
  const listTools = async () => z.array(ListedTool).parse((await client.listTools()).tools);
  // As in hosts, the client validates every result against the tool's output schema from now on.
  await listTools();
  return {
    ...wrapClient(client),
    updates,
    callTool: async (name, args, options = {}) =>
      readResult(await client.callTool({ name, ...(args && { arguments: { ...args } }) }, undefined, { ...options })),
    listTools,
  };
}

async function connectV2Client(
  transport: ModernTransport | ModernHttpTransport | ModernStreams,
  isLegacy: boolean,
  capabilityOptions: CapabilityOptions,
): Promise<TestClient> {
  const { onElicitation } = capabilityOptions;
  const mode = isLegacy ? ("legacy" as const) : { pin: "2026-07-28" };
  const capabilities = capabilitiesOf(capabilityOptions);
  const options = { versionNegotiation: { mode }, capabilities, jsonSchemaValidator: modernValidator };
  const client = new ModernClient(clientInfo, options);
  if (onElicitation)
    client.setRequestHandler("elicitation/create", async ({ params }) => ({
      ...(await onElicitation(params.message)),
    }));
  const updates: string[] = [];
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updates.push(params.uri));
  await client.connect(transport);
  const listTools = async () => {
    const { tools } = await client.listTools(undefined, { cacheMode: "refresh" });
    return z.array(ListedTool).parse(tools);
  };
  await listTools();
  const listens = new Map<string, McpSubscription>();
  const modernSubscriptions: Pick<TestClient, "listen" | "stopListening"> = {
    async listen(...uris) {
      const subscription = await client.listen({ resourceSubscriptions: [...uris] });
      listens.set(uris.join(), subscription);
      return subscription.honoredFilter.resourceSubscriptions ?? [];
    },
    stopListening: async (...uris) => await listens.get(uris.join())?.close(),
  };
  return {
    // Every read asks the server, independent of the client's own cache.
    ...wrapClient(client, { cacheMode: "refresh" }),
    ...(!isLegacy && modernSubscriptions),
    updates,
    callTool: async (name, args, options = {}) =>
      readResult(await client.callTool({ name, ...(args && { arguments: { ...args } }) }, { ...options })),
    listTools,
  };
}

/** Connects a client for the running test only. */
export async function connectionForTest(revision: ClientRevision, options: ConnectOptions = {}): Promise<Connection> {
  const connection = await connect(revision, options);
  onTestFinished(() => connection.close());
  return connection;
}

/** Connects a client for all tests of a file or a describe block. `options` is called when the block starts. */
export const connectionForFile = (
  revision: ClientRevision,
  options: () => ConnectOptions | Promise<ConnectOptions> = () => ({}),
): (() => Connection) =>
  openForFile(
    async () => await connect(revision, await options()),
    (connection) => connection.close(),
  );

/** The same two functions for a server in this process. */
export async function inProcessClientForTest(
  revision: ClientRevision,
  env: Readonly<Record<string, string>>,
  capabilities: CapabilityOptions = {},
): Promise<TestClient> {
  const connection = await connectInProcess(revision, { env, ...capabilities });
  onTestFinished(() => connection.close());
  return connection;
}

export const inProcessClientForFile = (
  revision: ClientRevision,
  env: () => Readonly<Record<string, string>>,
): (() => TestClient) =>
  openForFile(
    () => connectInProcess(revision, { env: env() }),
    (client) => client.close(),
  );

/** The variables that connect a server to an emulator. */
export const emulatorEnv = (emulator: { baseUrl: string; clientId: string; clientSecret: string }) => ({
  MIC_BASE_URL: emulator.baseUrl,
  MIC_CLIENT_ID: emulator.clientId,
  MIC_CLIENT_SECRET: emulator.clientSecret,
});
