// The hosts that run a whole prompt unattended, clients and libraries: how each one is connected to a server and to a model, and started.
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ClientName, commandOf, folderOf, LIBRARIES, missingReason, nodeOf, packages } from "./packages.ts";
import { runCommand } from "./run.ts";

export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
}

export interface Program {
  readonly name: string;
  readonly version: string;
  /** Why it cannot run here; undefined if it can. */
  readonly missing: string | undefined;
  readonly command: readonly [string, ...string[]];
}

export const programNamed = (name: ClientName): Program => ({
  name,
  version: packages[name].version,
  missing: missingReason(name),
  command: commandOf(name),
});

interface Host extends Program {
  /** Whether the first request to the model already contains the tools. */
  readonly offers: "at once" | "after a search";
  /** Whether it calls read-only tools without the arguments in `unattended`. */
  readonly readsWithoutApproval: boolean;
  /** The documented arguments that let it call every tool of the server (docs/contribute/hosts.md, "Measured hosts"). */
  readonly unattended: readonly string[];
  /** Writes the configuration files for a model at this URL and, unless a plugin brings it, for a server. */
  configure(home: string, modelUrl: string, server: ServerCommand | undefined): Promise<void>;
  readonly prompt: readonly string[];
  /** Environment for a model at this URL, and for a server that has no configuration file. */
  environment(modelUrl: string, server: ServerCommand | undefined): Readonly<Record<string, string>>;
}

export async function write(home: string, path: string, content: object | string): Promise<void> {
  await mkdir(join(home, path, ".."), { recursive: true });
  await writeFile(join(home, path), typeof content === "string" ? content : JSON.stringify(content));
}

/** The entry of a server in the configuration of Codex. JSON strings and lists are also valid TOML. */
export const codexServer = (settings: object): string =>
  `[mcp_servers.mic]\n${Object.entries(settings)
    .map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
    .join("")}`;

const serversOf = (server: object | undefined): object => (server === undefined ? {} : { mic: server });

/** A library, with the program of examples/agents/ that uses it. */
const libraryHost = (name: keyof typeof LIBRARIES, file: string): Host => ({
  name,
  version: Object.values(LIBRARIES[name])[0] ?? "",
  missing: missingReason("agent libraries"),
  command: [nodeOf("Node 24")],
  offers: "at once",
  readsWithoutApproval: true,
  unattended: [],
  async configure(home) {
    await cp(join("examples", "agents", file), join(home, file));
    await symlink(join(folderOf("agent libraries"), "node_modules"), join(home, "node_modules"));
  },
  prompt: [file, "hello"],
  environment: (url, server) => ({
    MCP_SERVER_COMMAND: server ? [server.command, ...server.args].join(" ") : "",
    ...{ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "x", OPENAI_MODEL: "fake", OPENAI_AGENTS_DISABLE_TRACING: "1" },
    ...{ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: "x", GEMINI_MODEL: "fake" },
  }),
});

export const hosts: readonly Host[] = [
  {
    ...programNamed("Claude Code"),
    offers: "after a search",
    readsWithoutApproval: false,
    unattended: ["--allowedTools", "mcp__mic"],
    configure: (home, _, server) => write(home, ".claude.json", { mcpServers: serversOf(server) }),
    prompt: ["-p", "hello"],
    environment: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "x" }),
  },
  {
    ...programNamed("Codex"),
    offers: "after a search",
    readsWithoutApproval: true,
    unattended: ["-c", 'mcp_servers.mic.default_tools_approval_mode="approve"'],
    async configure(home, url, server) {
      const model = [
        'model = "gpt-5.5"',
        'model_provider = "fake"',
        `model_providers.fake = { name = "fake", base_url = "${url}/v1", wire_api = "responses" }`,
      ];
      await write(home, ".codex/config.toml", `${model.join("\n")}\n${server ? codexServer(server) : ""}`);
    },
    prompt: ["exec", "--skip-git-repo-check", "hello"],
    environment: () => ({}),
  },
  {
    ...programNamed("Gemini CLI"),
    offers: "at once",
    readsWithoutApproval: false,
    unattended: ["--allowed-mcp-server-names", "mic"],
    configure: (home, _, server) =>
      write(home, ".gemini/settings.json", {
        security: { folderTrust: { enabled: false }, auth: { selectedType: "gemini-api-key" } },
        privacy: { usageStatisticsEnabled: false },
        mcpServers: serversOf(server),
      }),
    prompt: ["-m", "gemini-2.5-pro", "-p", "hello"],
    environment: (url) => ({ GEMINI_API_KEY: "x", GOOGLE_GEMINI_BASE_URL: url }),
  },
  {
    ...programNamed("Copilot CLI"),
    offers: "at once",
    readsWithoutApproval: true,
    unattended: ["--allow-tool=mic"],
    configure: (home, _, server) =>
      write(home, ".copilot/mcp-config.json", {
        mcpServers: serversOf(server && { type: "local", ...server, tools: ["*"] }),
      }),
    prompt: ["-p", "hello"],
    environment: (url) => ({
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_TYPE: "openai",
      COPILOT_MODEL: "fake",
      COPILOT_OFFLINE: "true",
    }),
  },
  {
    ...programNamed("OpenCode"),
    offers: "at once",
    readsWithoutApproval: true,
    unattended: [],
    configure: (home, url, server) =>
      write(home, "opencode.json", {
        model: "fake/fake",
        provider: {
          fake: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${url}/v1`, apiKey: "x" },
            models: { fake: { tool_call: true } },
          },
        },
        mcp: serversOf(server && { type: "local", command: [server.command, ...server.args], enabled: true }),
      }),
    prompt: ["run", "hello"],
    environment: () => ({ OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1" }),
  },
  {
    ...programNamed("Continue CLI"),
    offers: "at once",
    readsWithoutApproval: true,
    unattended: [],
    // JSON is also valid YAML.
    configure: (home, url, server) =>
      write(home, ".continue/config.yaml", {
        ...{ name: "mic", version: "1.0.0", schema: "v1" },
        models: [
          {
            ...{ name: "fake", provider: "openai", model: "fake", apiKey: "x", apiBase: `${url}/v1` },
            ...{ roles: ["chat"], capabilities: ["tool_use"] },
          },
        ],
        mcpServers: server ? [{ name: "mic", ...server }] : [],
      }),
    prompt: ["-p", "hello"],
    environment: () => ({}),
  },
  {
    ...programNamed("Qwen Code"),
    offers: "after a search",
    readsWithoutApproval: false,
    unattended: ["--allowed-tools", "mcp__mic"],
    configure: (home, _, server) =>
      write(home, ".qwen/settings.json", {
        privacy: { usageStatisticsEnabled: false },
        mcpServers: serversOf(server),
      }),
    prompt: ["--auth-type", "openai", "-m", "fake", "-p", "hello"],
    environment: (url) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "x" }),
  },
  libraryHost("AI SDK", "ai-sdk.mjs"),
  libraryHost("LangChain", "langchain.mjs"),
  libraryHost("LlamaIndex", "llamaindex.mjs"),
  libraryHost("Mastra", "mastra.mjs"),
  libraryHost("OpenAI Agents SDK", "openai-agents.mjs"),
  libraryHost("Google Gen AI SDK", "google-genai.mjs"),
  libraryHost("Strands Agents", "strands.mjs"),
];

interface CommandClient extends Program {
  configure(home: string, server: ServerCommand): Promise<void>;
  readonly open?: readonly string[];
  readonly close?: readonly string[];
  readonly list: readonly string[];
  call(tool: string, args: readonly (readonly [string, string])[]): readonly string[];
}

const pairs = (args: readonly (readonly [string, string])[], separator: string) =>
  args.map(([name, value]) => `${name}${separator}${value}`);

export const commandClients: readonly CommandClient[] = [
  {
    ...programNamed("mcporter"),
    configure: (home, server) => write(home, "config/mcporter.json", { mcpServers: { mic: server } }),
    list: ["list", "mic", "--json"],
    call: (tool, args) => ["call", `mic.${tool}`, ...pairs(args, "=")],
  },
  {
    ...programNamed("mcpc"),
    configure: (home, server) => write(home, "mcp.json", { mcpServers: { mic: server } }),
    open: ["connect", "mcp.json:mic", "@mic"],
    list: ["@mic", "tools-list"],
    call: (tool, args) => ["@mic", "tools-call", tool, ...pairs(args, ":=")],
    close: ["close", "@mic"],
  },
];

export const hostOf = (name: ClientName): Host => {
  const host = hosts.find((each) => each.name === name);
  if (!host) throw new Error(`${name} runs no prompt`);
  return host;
};

/** Runs one prompt with more arguments and variables. Codex expects its arguments after `exec`, so they are last. */
export const runPrompt = (
  { command, prompt, environment }: Host,
  home: string,
  modelUrl: string,
  args: readonly string[],
  { server, ...variables }: { readonly server?: ServerCommand; readonly MIC_EMULATOR?: string } = {},
) => runCommand(home, [...command, ...prompt, ...args], { ...environment(modelUrl, server), ...variables });
