// The real clients that the server is shown to: which npm package in which version, and where it is installed.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export const clientNames = ["Claude Code", "Codex", "Gemini CLI", "MCP Inspector"] as const;
export type ClientName = (typeof clientNames)[number];

interface Package {
  readonly name: string;
  readonly version: string;
  /** Within the package: what node runs. */
  readonly entry: string;
}

export const packages: Readonly<Record<ClientName, Package>> = {
  "Claude Code": { name: "@anthropic-ai/claude-code", version: "2.1.329", entry: "cli-wrapper.cjs" },
  Codex: { name: "@openai/codex", version: "0.169.0", entry: "bin/codex.js" },
  "Gemini CLI": { name: "@google/gemini-cli", version: "0.61.0", entry: "bundle/gemini.js" },
  "MCP Inspector": {
    name: "@modelcontextprotocol/inspector",
    version: "2.12.0",
    entry: "clients/launcher/build/index.js",
  },
};

/** Outside of the tree: they are large, and no part of it. */
const CACHE = process.env["MIC_INTEROP_DIR"] ?? join(homedir(), ".cache", "mic-mcp", "interop");

/** Each version of each client has a folder of its own. */
export const folderOf = (client: ClientName): string => {
  const { name, version } = packages[client];
  return join(CACHE, `${name.replace("/", "+")}@${version}`);
};

export const isInstalled = (client: ClientName): boolean => existsSync(folderOf(client));

/** node's arguments that run the client. */
export const programOf = (client: ClientName): readonly [string] => {
  const { name, entry } = packages[client];
  return [join(folderOf(client), "node_modules", name, entry)];
};
