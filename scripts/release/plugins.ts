// Formats the manifests that make this repository an Agent Plugin (https://agent-plugins.org), a plugin with a marketplace for Claude Code,
// Codex and Cursor, an extension for Gemini CLI, and an MCP bundle. `npm run fix` writes them. Each but the bundle starts the npm package,
// which reads a login from the keychain with its addon.
import { listVariables } from "../../src/core/config.ts";
import { NODE_WITH_SQLITE, product, type Setting, settings } from "./product.ts";

const NAME = "mic";
const { version, description, license, keywords, homepage, repository, author } = product;
const manifestFields = { name: NAME, version, description, author, homepage, repository, license, keywords };
const program = { command: "npx", args: ["-y", `${product.name}@${version}`, "serve"] };

/** Formats a placeholder in the syntax that Claude Code replaces with the value of an option. */
const option = (name: string): string => `$\{user_config.${name}}`;
const optionName = ({ variable }: Setting): string => variable.slice("MIC_".length).toLowerCase();

const toOption = ({ title, description: what, isSecret = false, isFolder = false, isSwitch = false }: Setting) => ({
  type: isFolder ? "directory" : isSwitch ? "boolean" : "string",
  title,
  description: what,
  ...(isSwitch && { default: false }),
  ...(isSecret && { sensitive: true }),
});

/** Codex passes only these variables of its own environment to the server, apart from HOME, PATH and the locale. */
const PASSED_VARIABLES = [
  ...listVariables().filter((name) => !name.startsWith("MIC_HTTP_")),
  // The keychain on Linux, proxies and certificates.
  ...["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"],
];

const marketplace = {
  name: product.name,
  description,
  owner: author,
  plugins: [{ name: NAME, source: "./", description, version, author }],
};

/** Formats a reference to a setting that Cursor replaces with its value. */
const cursorReference = ({ variable }: Setting): string => `$\{${variable}}`;

/** The schemas of the standard's version that both files name. */
const agentSchema = (name: "plugin" | "mcp"): string => `https://agent-plugins.org/schemas/1.0.0/${name}.schema.json`;

/** Formats the manifest of the MCP bundle. `tools`: the names and descriptions of all tools. */
export const formatBundleManifest = (tools: readonly { readonly name: string; readonly description: string }[]) => ({
  manifest_version: "0.3",
  name: product.name,
  display_name: product.title,
  version,
  description,
  long_description:
    "Jobs that normalize, match and profile tables, and the geography of India's states and districts. An identical call never runs twice within 20 hours, even after a lost response or a crash.",
  author,
  license,
  homepage,
  documentation: `${repository}/blob/main/docs/README.md`,
  support: `${repository}/issues`,
  repository: { type: "git", url: `${repository}.git` },
  server: {
    type: "node",
    entry_point: "dist/cli.js",
    mcp_config: {
      command: "node",
      args: [`$\{__dirname}/dist/cli.js`, "serve"],
      env: Object.fromEntries(settings.map((setting) => [setting.variable, option(optionName(setting))])),
    },
  },
  compatibility: { platforms: ["darwin", "linux", "win32"], runtimes: { node: NODE_WITH_SQLITE } },
  user_config: Object.fromEntries(
    settings.map((setting) => [optionName(setting), { ...toOption(setting), required: false }]),
  ),
  tools,
  privacy_policies: [`${repository}/blob/main/SECURITY.md`],
  keywords,
  prompts_generated: true,
});

/** The manifests by path. */
export const pluginManifests: Readonly<Record<string, object>> = {
  ".claude-plugin/marketplace.json": marketplace,
  ".claude-plugin/plugin.json": {
    ...manifestFields,
    userConfig: Object.fromEntries(settings.map((setting) => [optionName(setting), toOption(setting)])),
    mcpServers: {
      [NAME]: {
        ...program,
        env: Object.fromEntries(settings.map((setting) => [setting.variable, option(optionName(setting))])),
      },
    },
  },
  ".cursor-plugin/marketplace.json": marketplace,
  ".cursor-plugin/plugin.json": {
    ...manifestFields,
    variables: {
      type: "object",
      properties: Object.fromEntries(
        settings.map(({ variable, title, description: what, isSwitch = false }) => [
          variable,
          { type: isSwitch ? "boolean" : "string", title, description: what },
        ]),
      ),
    },
    mcpServers: {
      [NAME]: {
        ...program,
        env: Object.fromEntries(settings.map((setting) => [setting.variable, cursorReference(setting)])),
      },
    },
  },
  "plugin.json": { $schema: agentSchema("plugin"), ...manifestFields },
  // The standard has no settings: the server uses the login of the keychain.
  "mcp.json": { $schema: agentSchema("mcp"), mcpServers: { [NAME]: { type: "stdio", ...program } } },
  ".codex-plugin/plugin.json": {
    ...manifestFields,
    skills: "./skills/",
    // The first start downloads the package.
    mcpServers: { [NAME]: { ...program, env_vars: PASSED_VARIABLES, startup_timeout_sec: 60 } },
    interface: {
      displayName: product.title,
      developerName: author.name,
      shortDescription: description,
      longDescription: description,
      category: "Productivity",
      capabilities: [],
      websiteURL: homepage,
      defaultPrompt: ["Which districts of Telangana have the most mandals?"],
      composerIcon: "./docs/pictures/icon.png",
      logo: "./docs/pictures/icon.png",
    },
  },
  "gemini-extension.json": {
    name: NAME,
    version,
    description,
    mcpServers: {
      [NAME]: { ...program, env: Object.fromEntries(settings.map(({ variable }) => [variable, `$${variable}`])) },
    },
    settings: settings.map(({ variable, title, description: what, isSecret = false }) => ({
      name: title,
      description: what,
      envVar: variable,
      sensitive: isSecret,
    })),
  },
};
