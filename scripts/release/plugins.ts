// Formats the manifests that make this repository a plugin with a marketplace for Claude Code, Codex and Cursor, and an extension for
// Gemini CLI. `npm run fix` writes them. Each starts the npm package, which reads a login from the keychain with its addon.
import { product, type Setting, settings } from "./product.ts";

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
  ...settings.map(({ variable }) => variable),
  ...["MIC_CLIENT_SECRET_FILE", "MIC_CLIENT_SECRET_COMMAND", "MIC_PROFILE", "MIC_KEYCHAIN", "MIC_STATE_DIR"],
  ...["MIC_JOURNAL_URL", "MIC_READ_ONLY", "MIC_TOOLSETS", "MIC_CONFIRM", "MIC_LOG_LEVEL"],
  // The keychain on Linux, proxies and certificates.
  ...["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"],
];

const marketplace = {
  name: product.name,
  description,
  owner: author,
  plugins: [{ name: NAME, source: "./", description, version, author }],
};

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
  ".cursor-plugin/plugin.json": { ...manifestFields, mcpServers: { [NAME]: program } },
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
