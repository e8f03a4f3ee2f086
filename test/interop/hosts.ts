// The hosts that run a whole prompt unattended: how each one is connected to a server and to a model, and started.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ClientName, commandOf } from "./packages.ts";
import { type CommandResult, runCommand } from "./run.ts";

interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
}

interface Host {
  readonly name: ClientName;
  /** Whether it calls tools with `readOnlyHint: true` without `unattended`. */
  readonly readsWithoutApproval: boolean;
  /** The documented arguments that let it call every tool of the server (docs/use/clients.md, "Measured hosts"). */
  readonly unattended: readonly string[];
  /** Writes the configuration files for a model at this URL and, unless a plugin brings it, for a server. */
  configure(home: string, modelUrl: string, server: ServerCommand | undefined): Promise<void>;
  readonly prompt: readonly string[];
  /** Environment for a model at this URL. */
  environment(modelUrl: string): Readonly<Record<string, string>>;
}

async function write(home: string, path: string, content: object | string): Promise<void> {
  await mkdir(join(home, path, ".."), { recursive: true });
  await writeFile(join(home, path), typeof content === "string" ? content : JSON.stringify(content));
}

const serversOf = (server: object | undefined): object => (server === undefined ? {} : { mic: server });

export const hosts: readonly Host[] = [
  {
    name: "Claude Code",
    readsWithoutApproval: false,
    unattended: ["--allowedTools", "mcp__mic"],
    configure: (home, _, server) => write(home, ".claude.json", { mcpServers: serversOf(server) }),
    prompt: ["-p", "hello"],
    environment: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "x" }),
  },
  {
    name: "Codex",
    readsWithoutApproval: true,
    unattended: ["-c", 'mcp_servers.mic.default_tools_approval_mode="approve"'],
    async configure(home, url, server) {
      // JSON strings and lists are also valid TOML.
      const lines = [
        'model = "gpt-5.5"',
        'model_provider = "fake"',
        `model_providers.fake = { name = "fake", base_url = "${url}/v1", wire_api = "responses" }`,
        ...(server
          ? ["[mcp_servers.mic]", ...Object.entries(server).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)]
          : []),
      ];
      await write(home, ".codex/config.toml", `${lines.join("\n")}\n`);
    },
    prompt: ["exec", "--skip-git-repo-check", "hello"],
    environment: () => ({}),
  },
  {
    name: "Gemini CLI",
    readsWithoutApproval: false,
    unattended: ["--yolo"],
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
    name: "Copilot CLI",
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
    name: "OpenCode",
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
];

export const hostOf = (name: ClientName): Host => {
  const host = hosts.find((each) => each.name === name);
  if (!host) throw new Error(`${name} runs no prompt`);
  return host;
};

/** Runs one prompt with more arguments and variables. Codex expects its arguments after `exec`, so they precede the prompt. */
export const runPrompt = (
  { name, prompt, environment }: Host,
  home: string,
  modelUrl: string,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<CommandResult> =>
  runCommand(home, [...commandOf(name), ...prompt.slice(0, -1), prompt.at(-1) ?? "", ...args], {
    ...environment(modelUrl),
    ...more,
  });
