// Implements `mic-mcp install CLIENT`, which adds this server to the configuration of an MCP client of the user, or prints the entry.
import { readFile, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { posix, win32 } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isJsonObject } from "../contract/json.ts";
import { readConfig } from "../core/config.ts";
import { errorCode } from "../core/failure.ts";
import { programFile } from "../core/package-files.ts";
import { writeFileAtomically } from "./atomic-file.ts";
import { INSTALL_CLIENTS, type RunCommand } from "./commands.ts";
import { parseChoice } from "./errors.ts";
import { printOutcome } from "./terminal.ts";

/** The machine and the user for whom the paths are built. */
interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly environment: NodeJS.ProcessEnv;
}

interface ClientFormat {
  readonly title: string;
  /** Path of the configuration of the user, which applies to all projects. */
  readonly file: (machine: Machine) => string;
  /** The key whose value has an entry for each server (default mcpServers). */
  readonly key?: "mcpServers" | "servers" | "mcp_servers";
  /** Default JSON. */
  readonly syntax?: "TOML";
  /** Fields that the client requires in addition to `command` and `args`. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

const joinFor = ({ platform }: Machine) => (platform === "win32" ? win32.join : posix.join);

const inHome =
  (variable: string | undefined, folder: string, name: string): ClientFormat["file"] =>
  (machine) => {
    const join = joinFor(machine);
    const moved = variable === undefined ? undefined : machine.environment[variable];
    return join(moved || join(machine.home, folder), name);
  };

/** The folder in which applications with a window store their settings. */
const inAppData =
  (...names: readonly string[]): ClientFormat["file"] =>
  (machine) => {
    const { platform, home, environment } = machine;
    const join = joinFor(machine);
    if (platform === "win32") return join(environment["APPDATA"] || join(home, "AppData", "Roaming"), ...names);
    if (platform === "darwin") return join(home, "Library", "Application Support", ...names);
    return join(environment["XDG_CONFIG_HOME"] || join(home, ".config"), ...names);
  };

/** The names and formats are those of the clients' documentation, November 2026. */
const CLIENTS: Readonly<Record<(typeof INSTALL_CLIENTS)[number], ClientFormat>> = {
  claude: { title: "Claude Code", file: inHome("CLAUDE_CONFIG_DIR", "", ".claude.json"), fields: { type: "stdio" } },
  codex: { title: "Codex", file: inHome("CODEX_HOME", ".codex", "config.toml"), key: "mcp_servers", syntax: "TOML" },
  gemini: { title: "Gemini CLI", file: inHome(undefined, ".gemini", "settings.json") },
  copilot: {
    title: "Copilot CLI",
    file: inHome("COPILOT_HOME", ".copilot", "mcp-config.json"),
    fields: { type: "local", tools: ["*"] },
  },
  vscode: { title: "VS Code", file: inAppData("Code", "User", "mcp.json"), key: "servers", fields: { type: "stdio" } },
  cursor: { title: "Cursor", file: inHome(undefined, ".cursor", "mcp.json") },
  "claude-desktop": { title: "Claude Desktop", file: inAppData("Claude", "claude_desktop_config.json") },
};

const DEFAULT_KEY = "mcpServers";

type Entry = Readonly<Record<string, unknown>>;

/** The configuration cannot be changed safely; the user has to add the entry. */
class CannotEdit extends Error {}

/** Returns the text with the entry; other entries and fields of this entry stay. Throws CannotEdit. */
function editJson(text: string, name: string, entry: Entry, key: string): string {
  let settings: unknown;
  try {
    settings = text.trim() === "" ? {} : JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    throw new CannotEdit("it has comments or is not valid JSON");
  }
  const servers = isJsonObject(settings) ? (settings[key] ?? {}) : undefined;
  if (!isJsonObject(settings) || !isJsonObject(servers)) throw new CannotEdit(`${key} is not an object`);
  const before = servers[name] ?? {};
  if (!isJsonObject(before)) throw new CannotEdit(`${key}.${name} is not an object`);
  const after = { ...before, ...entry };
  if (isDeepStrictEqual(before, after)) return text;
  const indent = /^[\t ]+(?=")/m.exec(text)?.[0] ?? "  ";
  return `${JSON.stringify({ ...settings, [key]: { ...servers, [name]: after } }, null, indent)}\n`;
}

const TOML_NAME = /^[A-Za-z0-9_-]+$/;

const formatTomlEntry = (name: string, entry: Entry, key: string): string =>
  [
    `[${key}.${TOML_NAME.test(name) ? name : JSON.stringify(name)}]`,
    // Strings and lists of strings are the same in JSON and TOML.
    ...Object.entries(entry).map(([field, value]) => `${field} = ${JSON.stringify(value)}`),
  ].join("\n");

/** Like `editJson`. Changes only lines of this entry, and only if they have the form in which this program writes them. */
function editToml(text: string, name: string, entry: Entry, key: string): string {
  const block = formatTomlEntry(name, entry, key);
  const [header = ""] = block.split("\n");
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line.trim() === header);
  if (at < 0) {
    const table = `["']?${key}["']?\\s*`;
    // An inline table, a table of all servers, dotted keys, or a quoted name.
    const otherForms = `^\\s*(${table}=|\\[\\s*${table}\\]|\\[?\\s*${table}\\.\\s*["']?${name}["']?\\s*[\\].=])`;
    if (new RegExp(otherForms, "m").test(text)) throw new CannotEdit(`it may have an entry ${name} in another form`);
    return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${text === "" ? "" : "\n"}${block}\n`;
  }
  for (const [field, value] of Object.entries(entry)) {
    const end = lines.findIndex((line, index) => index > at && line.trimStart().startsWith("["));
    const line = lines.findIndex(
      (each, index) =>
        index > at && (end < 0 || index < end) && new RegExp(`^${field}\\s*=\\s*(".*"|\\[.*\\])\\s*$`).test(each),
    );
    if (line < 0) throw new CannotEdit(`its entry ${name} has another form`);
    lines[line] = `${field} = ${JSON.stringify(value)}`;
  }
  return lines.join("\n");
}

const formatEntry = (name: string, entry: Entry, { key = DEFAULT_KEY, syntax }: ClientFormat): string =>
  syntax === "TOML" ? formatTomlEntry(name, entry, key) : JSON.stringify({ [key]: { [name]: entry } }, null, 2);

/** Path of the client's configuration of the user. */
export const configurationPath = (client: (typeof INSTALL_CLIENTS)[number], machine: Machine): string =>
  CLIENTS[client].file(machine);

/** npm may delete the folder of a program that npx runs. */
const isInNpxCache = (path: string): boolean => /[\\/]_npx[\\/]/.test(path);

async function readIfExists(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "";
    throw error;
  }
}

/** Writes or prints the entry. Returns exit code 0, or 1 if the configuration could not be changed. Throws UsageError. */
export const install: RunCommand<"install"> = async ({ values, positionals }, environment) => {
  const clientName = parseChoice("CLIENT", positionals.join(" "), INSTALL_CLIENTS);
  const client = CLIENTS[clientName];
  // The server checks the profile's name by the same rule.
  const { profile } = readConfig({ MIC_PROFILE: values.profile });
  const { emulator = false } = values;
  const flags = [...(emulator ? ["--emulator"] : []), ...(profile === undefined ? [] : ["--profile", profile])];
  const entry = { ...client.fields, command: process.execPath, args: [programFile, "serve", ...flags] };
  // Clients of several accounts have an entry for each.
  const name = profile === undefined ? "mic" : `mic-${profile}`;
  const shown = formatEntry(name, entry, client);
  if (isInNpxCache(programFile))
    process.stderr.write(
      "mic-mcp runs from the cache of npx, which npm may delete. Install it first: npm install -g mic-mcp\n",
    );
  const outcome = { client: clientName, name, entry };
  if (values.print) {
    printOutcome(values.json, shown, outcome);
    return 0;
  }
  const path = configurationPath(clientName, { platform: process.platform, home: homedir(), environment });
  try {
    const before = await readIfExists(path);
    const after = (client.syntax === "TOML" ? editToml : editJson)(before, name, entry, client.key ?? DEFAULT_KEY);
    const isChanged = after !== before;
    // A link stays a link.
    if (isChanged) await writeFileAtomically(await realpath(path).catch(() => path), after);
    const sentence = isChanged
      ? `Wrote the entry ${name} to ${path}. Restart ${client.title} to use it.`
      : `${client.title} already has this entry ${name} in ${path}.`;
    printOutcome(values.json, sentence, { ...outcome, path, changed: isChanged });
    return 0;
  } catch (error) {
    if (!(error instanceof CannotEdit)) throw error;
    process.stderr.write(`mic-mcp: ${path} was not changed: ${error.message}. Add this entry yourself:\n`);
    printOutcome(values.json, shown, { ...outcome, path, changed: false });
    return 1;
  }
};
