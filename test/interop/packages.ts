// The real clients that the tests run: each one's npm package, version and installation folder.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { isThorough } from "../support/thorough.ts";

export const clientNames = [
  ...(["Claude Code", "Codex", "Gemini CLI", "Copilot CLI", "OpenCode", "Continue CLI", "Qwen Code"] as const),
  ...(["MCP Inspector", "mcporter", "mcpc"] as const),
] as const;
export type ClientName = (typeof clientNames)[number];

/** The libraries of examples/agents/, which share one folder: the packages that each example needs, its own one first. */
export const LIBRARIES = {
  "AI SDK": { ai: "7.0.173", "@ai-sdk/mcp": "2.0.99", "@ai-sdk/openai-compatible": "3.0.92" },
  LangChain: {
    langchain: "1.5.14",
    "@langchain/core": "1.4.0",
    "@langchain/langgraph": "1.7.3",
    "@langchain/mcp-adapters": "1.1.4",
    "@langchain/openai": "1.6.0",
  },
  LlamaIndex: {
    "@llamaindex/tools": "0.2.1",
    "@llamaindex/core": "0.6.23",
    "@llamaindex/env": "0.1.31",
    "@llamaindex/openai": "0.4.23",
    "@llamaindex/workflow": "1.1.25",
  },
  Mastra: { "@mastra/core": "1.71.0", "@mastra/mcp": "2.0.0" },
  "OpenAI Agents SDK": { "@openai/agents": "0.20.0", zod: "4.6.7" },
  "Google Gen AI SDK": { "@google/genai": "3.1.0", "@modelcontextprotocol/sdk": "1.32.2" },
  "Strands Agents": { "@strands-agents/sdk": "1.19.0", "@opentelemetry/api": "1.10.0", openai: "7.57.0" },
} as const;
const libraryPackages: Readonly<Record<string, string>> = Object.assign({}, ...Object.values(LIBRARIES));

/** Node versions to install, because the tests may run on another one. */
export const nodeNames = ["Node 22", "Node 24", "Node 26"] as const;
export type NodeName = (typeof nodeNames)[number];

interface Package {
  readonly name: string;
  readonly version: string;
  readonly entry: string;
  readonly isExecutable?: boolean;
  /** The Node that runs it, if the tests may run on an older one. */
  readonly node?: NodeName;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, string>>;
}

const node = (version: string): Package => ({
  name: `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`,
  version,
  entry: "bin/node",
});

export const installed = [...nodeNames, ...clientNames, "agent libraries", "Verdaccio"] as const;
type InstalledName = (typeof installed)[number];

export const packages: Readonly<Record<InstalledName, Package>> = {
  "Node 22": node("22.23.3"),
  "Node 24": node("24.21.0"),
  "Node 26": node("26.10.0"),
  "Claude Code": { name: "@anthropic-ai/claude-code", version: "2.1.329", entry: "cli-wrapper.cjs" },
  Codex: { name: "@openai/codex", version: "0.169.0", entry: "bin/codex.js" },
  "Gemini CLI": { name: "@google/gemini-cli", version: "0.61.0", entry: "bundle/gemini.js" },
  "Copilot CLI": { name: "@github/copilot", version: "1.0.102", entry: "npm-loader.js" },
  OpenCode: {
    name: "opencode-ai",
    version: "1.18.33",
    entry: `../opencode-${process.platform}-${process.arch}/bin/opencode`,
    isExecutable: true,
  },
  "MCP Inspector": {
    name: "@modelcontextprotocol/inspector",
    version: "2.12.0",
    entry: "clients/launcher/build/index.js",
  },
  "Continue CLI": { name: "@continuedev/cli", version: "1.5.47", entry: "dist/cn.js", node: "Node 24" },
  "Qwen Code": { name: "@qwen-code/qwen-code", version: "0.24.4", entry: "cli-entry.js", node: "Node 24" },
  mcporter: { name: "mcporter", version: "0.12.3", entry: "dist/cli.js", node: "Node 24" },
  mcpc: { name: "@apify/mcpc", version: "0.2.6", entry: "bin/mcpc", node: "Node 24" },
  "agent libraries": {
    name: "agent-libraries",
    version: createHash("sha256").update(JSON.stringify(libraryPackages)).digest("hex").slice(0, 12),
    entry: "..",
    node: "Node 24",
    dependencies: libraryPackages,
  },
  // The registry for the rehearsal of a release. It requests a version of node-fetch that npm does not have.
  Verdaccio: { name: "verdaccio", version: "6.8.0", entry: "bin/verdaccio", overrides: { "node-fetch": "2.7.0" } },
};

/** Outside the tree, because the packages are large and not part of it. */
const CACHE = process.env["MIC_INTEROP_DIR"] ?? join(homedir(), ".cache", "mic-mcp", "interop");

/** Each version of each client has a separate folder. */
export const folderOf = (what: InstalledName): string => {
  const { name, version } = packages[what];
  return join(CACHE, `${name.replace("/", "+")}@${version}`);
};

export const isInstalled = (what: InstalledName): boolean => existsSync(folderOf(what));

export const missingReason = (what: InstalledName): string | undefined =>
  [what, packages[what].node ?? what].every(isInstalled) ? undefined : "not installed by npm run interop:install";

/** Why a client is skipped; undefined if it runs. Codex always runs, and the others only in the thorough run. */
export const skipReasonFor = (client: ClientName): string | undefined =>
  missingReason(client) ?? (isThorough || client === "Codex" ? undefined : "MIC_TEST_ALL is not 1");

export const nodeOf = (which: NodeName): string => {
  const { name, entry } = packages[which];
  return join(folderOf(which), "node_modules", name, entry);
};

export function commandOf(client: ClientName): readonly [string, ...string[]] {
  const [path] = programOf(client);
  const { isExecutable, node: newerNode } = packages[client];
  return isExecutable ? [path] : [newerNode === undefined ? process.execPath : nodeOf(newerNode), path];
}

export const programOf = (client: InstalledName): readonly [string] => {
  const { name, entry } = packages[client];
  return [join(folderOf(client), "node_modules", name, entry)];
};
