// Real MCP clients over stdio against the real server in a process of its own: two SDKs, two protocol eras.
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import * as z from "zod/v4";

/** @modelcontextprotocol/sdk 1.x; @modelcontextprotocol/client 2.x as a 2025 client; the same pinned to 2026-07-28. */
export const eras = ["v1-client", "v2-legacy", "v2-modern"] as const;
export type Era = (typeof eras)[number];

/** A failure's facts for programs, as interface.md ("Results") has them and nothing else. */
const Facts = z.strictObject({
  kind: z.enum([
    "invalid_arguments",
    "not_configured",
    "unauthorized",
    "forbidden",
    "not_found",
    "conflict",
    "precondition_failed",
    "rate_limited",
    "rejected",
    "upstream_unavailable",
    "outcome_unknown",
    "contract_violation",
    "timeout",
    "cancelled",
    "internal",
  ]),
  message: z.string().min(1),
  status: z.int().optional(),
  code: z.string().optional(),
  requestId: z.string().optional(),
  retryable: z.boolean(),
  sideEffect: z.enum(["none", "done", "unknown"]),
  idempotencyKey: z.string().optional(),
  retryAfterSeconds: z.int().optional(),
  fieldErrors: z.array(z.strictObject({ pointer: z.string(), code: z.string(), message: z.string() })).optional(),
  next: z.string().optional(),
});
export type Facts = z.infer<typeof Facts>;

const Json = z.record(z.string(), z.unknown());
type Json = z.infer<typeof Json>;

const RawResult = z.looseObject({
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
  structuredContent: Json.optional(),
  isError: z.boolean().optional(),
  _meta: Json.optional(),
});

export interface CallResult {
  readonly isError: boolean;
  /** All text blocks. */
  readonly text: string;
  /** How many content blocks there are, of whatever type. */
  readonly blocks: number;
  readonly structured: Json | undefined;
  readonly meta: Json;
  /** `_meta["mic-mcp/error"]`, held to interface.md. */
  readonly error: Facts | undefined;
  /** Everything the client was given, for searching through. */
  readonly raw: string;
}

const ListedTool = z.looseObject({
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: Json,
  outputSchema: Json.optional(),
  annotations: Json.optional(),
});
export type ListedTool = z.infer<typeof ListedTool>;

const ResourceContent = z.looseObject({
  uri: z.string(),
  mimeType: z.string().optional(),
  text: z.string().optional(),
});
type ResourceContent = z.infer<typeof ResourceContent>;

export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: Progress) => void;
}

export interface Connection {
  /** Rejects on a protocol error; a tool's failure is a result. */
  callTool(name: string, args?: Readonly<Json>, options?: CallOptions): Promise<CallResult>;
  listTools(): Promise<readonly ListedTool[]>;
  instructions(): string | undefined;
  /** Rejects on a protocol error. */
  listResources(): Promise<readonly Json[]>;
  listResourceTemplates(): Promise<readonly Json[]>;
  readResource(uri: string): Promise<readonly ResourceContent[]>;
  /** What the server says it can do. */
  capabilities(): Json;
  /** What the server wrote to stderr so far. */
  stderr(): string;
  readonly pid: number;
  /** The server's HOME, empty at start, gone after `close`. */
  readonly home: string;
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** After the entry point; default `serve`. */
  readonly args?: readonly string[];
}

const root = fileURLToPath(new URL("../..", import.meta.url));

/** node's arguments for the server: the build, or what MIC_TEST_ENTRY names (a .ts file runs through tsx). */
export function entryArguments(): readonly string[] {
  const entry = resolve(root, process.env["MIC_TEST_ENTRY"] ?? "dist/cli.js");
  if (!entry.endsWith(".ts")) return [entry];
  return ["--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href, entry];
}

function readResult(result: unknown): CallResult {
  const { content, structuredContent, isError = false, _meta = {} } = RawResult.parse(result);
  const facts = _meta["mic-mcp/error"];
  return {
    isError,
    text: content.map(({ text = "" }) => text).join("\n"),
    blocks: content.length,
    structured: structuredContent,
    meta: _meta,
    error: facts === undefined ? undefined : Facts.parse(facts),
    raw: JSON.stringify(result),
  };
}

const identity = { name: "mic-mcp-tests", version: "1.0.0" };

/** What a program under test sees of this machine. No test may write into a developer's own keychain. */
export const bareEnvironment = (home: string) => ({ PATH: process.env["PATH"] ?? "", HOME: home, MIC_KEYCHAIN: "off" });

/** Starts a server that sees PATH, HOME (an empty folder), MIC_KEYCHAIN=off and `env`, nothing else, and connects a client to it. */
export async function connect(era: Era, { env = {}, args = ["serve"] }: ConnectOptions = {}): Promise<Connection> {
  const home = await mkdtemp(join(tmpdir(), "mic-mcp-test-"));
  const variables = { ...bareEnvironment(home), ...env };
  // The SDKs' transports let more of our environment through; env -i does not.
  const parameters = {
    command: "env",
    args: [
      "-i",
      ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
      process.execPath,
      ...entryArguments(),
      ...args,
    ],
    cwd: home,
    stderr: "pipe" as const,
  };
  const opened = era === "v1-client" ? await openOlder(parameters) : await openModern(parameters, era);
  return {
    ...opened,
    home,
    async close() {
      await opened.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

interface Parameters {
  readonly command: string;
  readonly args: string[];
  readonly cwd: string;
  readonly stderr: "pipe";
}
type Opened = Omit<Connection, "home">;

function collect(transport: OlderTransport | ModernTransport): () => string {
  const chunks: Buffer[] = [];
  transport.stderr?.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

const withStderr =
  (stderr: () => string) =>
  (error: unknown): never => {
    throw new Error(`the server did not start; on stderr: ${stderr()}`, { cause: error });
  };

async function openOlder(parameters: Parameters): Promise<Opened> {
  const transport = new OlderTransport(parameters);
  const stderr = collect(transport);
  const client = new OlderClient(identity);
  await client.connect(transport).catch(withStderr(stderr));
  const listTools = async () => z.array(ListedTool).parse((await client.listTools()).tools);
  // As hosts do: from now on the client itself holds every result against the tool's output schema.
  await listTools();
  return {
    callTool: async (name, args, options = {}) =>
      readResult(await client.callTool({ name, ...(args && { arguments: { ...args } }) }, undefined, { ...options })),
    listTools,
    instructions: () => client.getInstructions(),
    listResources: async () => z.array(Json).parse((await client.listResources()).resources),
    listResourceTemplates: async () => z.array(Json).parse((await client.listResourceTemplates()).resourceTemplates),
    readResource: async (uri) => z.array(ResourceContent).parse((await client.readResource({ uri })).contents),
    capabilities: () => Json.parse(client.getServerCapabilities() ?? {}),
    stderr,
    pid: transport.pid ?? 0,
    close: () => client.close(),
  };
}

/** The SDK's own class asks a process of its own for the era first; a subclass asks the one that stays. */
class InPlaceTransport extends ModernTransport {}

async function openModern(parameters: Parameters, era: "v2-legacy" | "v2-modern"): Promise<Opened> {
  const transport = new InPlaceTransport(parameters);
  const stderr = collect(transport);
  const mode = era === "v2-legacy" ? ("legacy" as const) : { pin: "2026-07-28" };
  const client = new ModernClient(identity, { versionNegotiation: { mode } });
  await client.connect(transport).catch(withStderr(stderr));
  const listTools = async () => {
    const { tools } = await client.listTools(undefined, { cacheMode: "refresh" });
    return z.array(ListedTool).parse(tools);
  };
  await listTools();
  return {
    callTool: async (name, args, options = {}) =>
      readResult(await client.callTool({ name, ...(args && { arguments: { ...args } }) }, { ...options })),
    listTools,
    instructions: () => client.getInstructions(),
    listResources: async () => z.array(Json).parse((await client.listResources()).resources),
    listResourceTemplates: async () => z.array(Json).parse((await client.listResourceTemplates()).resourceTemplates),
    readResource: async (uri) => z.array(ResourceContent).parse((await client.readResource({ uri })).contents),
    capabilities: () => Json.parse(client.getServerCapabilities() ?? {}),
    stderr,
    pid: transport.pid ?? 0,
    close: () => client.close(),
  };
}

/** For the running test alone. */
export async function connectionForTest(era: Era, options: ConnectOptions = {}): Promise<Connection> {
  const connection = await connect(era, options);
  onTestFinished(() => connection.close());
  return connection;
}

/** For all tests of a file or a describe block; `options` are asked for when it starts. */
export function connectionForFile(
  era: Era,
  options: () => ConnectOptions | Promise<ConnectOptions> = () => ({}),
): () => Connection {
  let connection: Connection | undefined;
  beforeAll(async () => {
    connection = await connect(era, await options());
  });
  afterAll(() => connection?.close());
  return () => {
    if (connection === undefined) throw new Error("the server is there only while tests run");
    return connection;
  };
}

/** The variables that connect a server to an emulator. */
export const emulatorEnv = (emulator: { baseUrl: string; clientId: string; clientSecret: string }) => ({
  MIC_BASE_URL: emulator.baseUrl,
  MIC_CLIENT_ID: emulator.clientId,
  MIC_CLIENT_SECRET: emulator.clientSecret,
});
