// The real clients that the server is shown to: which npm package in which version, and where it is installed.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { isThorough } from "../support/thorough.ts";

export const clientNames = ["Claude Code", "Codex", "Gemini CLI", "MCP Inspector"] as const;
export type ClientName = (typeof clientNames)[number];

/** Other lines of node than the one that runs the tests may be. */
export const nodeNames = ["Node 22", "Node 24"] as const;
export type NodeName = (typeof nodeNames)[number];

interface Package {
  readonly name: string;
  readonly version: string;
  /** Within the package: what node runs. */
  readonly entry: string;
}

const node = (version: string): Package => ({
  name: `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`,
  version,
  entry: "bin/node",
});

export const packages: Readonly<Record<ClientName | NodeName, Package>> = {
  "Node 22": node("22.23.3"),
  "Node 24": node("24.9.0"),
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
export const folderOf = (what: ClientName | NodeName): string => {
  const { name, version } = packages[what];
  return join(CACHE, `${name.replace("/", "+")}@${version}`);
};

export const isInstalled = (what: ClientName | NodeName): boolean => existsSync(folderOf(what));

export const missingReason = (what: ClientName | NodeName): string | undefined =>
  isInstalled(what) ? undefined : "not installed by npm run interop:install";

/** Why a client is not shown a thing. Of those that are shown all of it, Codex is there each time, the others in the thorough run. */
export const skipReasonFor = (client: ClientName): string | undefined =>
  missingReason(client) ?? (isThorough || client === "Codex" ? undefined : "MIC_TEST_ALL is not 1");

/** The node itself. */
export const nodeOf = (which: NodeName): string => {
  const { name, entry } = packages[which];
  return join(folderOf(which), "node_modules", name, entry);
};

/** node's arguments that run the client. */
export const programOf = (client: ClientName): readonly [string] => {
  const { name, entry } = packages[client];
  return [join(folderOf(client), "node_modules", name, entry)];
};
