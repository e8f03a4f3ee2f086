// The real clients that the tests run: each one's npm package, version and installation folder.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { isThorough } from "../support/thorough.ts";

export const clientNames = ["Claude Code", "Codex", "Gemini CLI", "Copilot CLI", "OpenCode", "MCP Inspector"] as const;
export type ClientName = (typeof clientNames)[number];

/** Node versions to install, because the tests may run on another one. */
export const nodeNames = ["Node 22", "Node 24", "Node 26"] as const;
export type NodeName = (typeof nodeNames)[number];

interface Package {
  readonly name: string;
  readonly version: string;
  /** The file in the package that Node runs, or an executable file. */
  readonly entry: string;
  readonly isExecutable?: boolean;
}

const node = (version: string): Package => ({
  name: `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`,
  version,
  entry: "bin/node",
});

export const packages: Readonly<Record<ClientName | NodeName, Package>> = {
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
};

/** Outside the tree, because the packages are large and not part of it. */
const CACHE = process.env["MIC_INTEROP_DIR"] ?? join(homedir(), ".cache", "mic-mcp", "interop");

/** Each version of each client has a separate folder. */
export const folderOf = (what: ClientName | NodeName): string => {
  const { name, version } = packages[what];
  return join(CACHE, `${name.replace("/", "+")}@${version}`);
};

export const isInstalled = (what: ClientName | NodeName): boolean => existsSync(folderOf(what));

export const missingReason = (what: ClientName | NodeName): string | undefined =>
  isInstalled(what) ? undefined : "not installed by npm run interop:install";

/** Why a client is skipped; undefined if it runs. Codex always runs, and the others only in the thorough run. */
export const skipReasonFor = (client: ClientName): string | undefined =>
  missingReason(client) ?? (isThorough || client === "Codex" ? undefined : "MIC_TEST_ALL is not 1");

/** Path of the Node program. */
export const nodeOf = (which: NodeName): string => {
  const { name, entry } = packages[which];
  return join(folderOf(which), "node_modules", name, entry);
};

/** The command that runs the client. */
export function commandOf(client: ClientName): readonly [string, ...string[]] {
  const [path] = programOf(client);
  return packages[client].isExecutable ? [path] : [process.execPath, path];
}

/** The arguments for Node that run the client. */
export const programOf = (client: ClientName): readonly [string] => {
  const { name, entry } = packages[client];
  return [join(folderOf(client), "node_modules", name, entry)];
};
