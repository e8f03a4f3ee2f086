// Finds, reads and edits the configuration files of MCP clients, in which `mic-mcp install` adds an entry for this server.
import { readdir, readFile } from "node:fs/promises";
import { posix, win32 } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isJsonObject } from "../contract/json.ts";
import { UsageError } from "../core/config.ts";
import { errorCode } from "../core/failure.ts";
import { homeFolder, ifAbsolute, isAbsolutePath } from "../core/platform-folders.ts";
import type { INSTALL_CLIENTS } from "./commands.ts";
import type { ParseError } from "./jsonc.ts";

interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Names of the folders of Windows' packaged apps. */
  readonly packagedApps: readonly string[];
}

interface ClientFormat {
  readonly title: string;
  /** Paths of the user's configuration, which applies to all projects: one for each installation of the client. */
  readonly files: (machine: Machine) => readonly string[];
  /** The key whose value has an entry for each server (default mcpServers). */
  readonly key?: "mcpServers" | "servers" | "mcp_servers";
  /** Default JSON. */
  readonly syntax?: "TOML";
  /** Fields that the client requires in addition to `command` and `args`. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

const joinFor = ({ platform }: Machine) => (platform === "win32" ? win32.join : posix.join);

const inHome =
  (variable: string | undefined, folder: string, name: string): ClientFormat["files"] =>
  (machine) => {
    const join = joinFor(machine);
    const moved = (variable !== undefined && machine.environment[variable]) || undefined;
    if (moved !== undefined && !isAbsolutePath(moved, machine.platform))
      throw new UsageError(`${variable} is not an absolute path, so the folder depends on where the client starts.`);
    return [join(moved ?? join(machine.home, folder), name)];
  };

/** The folder in which applications with a window store their settings. */
const inAppData =
  (...names: readonly string[]): ClientFormat["files"] =>
  (machine) => {
    const { platform, home, environment } = machine;
    const join = joinFor(machine);
    if (platform === "win32")
      return [join(ifAbsolute(environment["APPDATA"], platform) ?? join(home, "AppData", "Roaming"), ...names)];
    if (platform === "darwin") return [join(home, "Library", "Application Support", ...names)];
    return [join(ifAbsolute(environment["XDG_CONFIG_HOME"], platform) ?? join(home, ".config"), ...names)];
  };

const packagesFolder = (home: string, environment: NodeJS.ProcessEnv): string =>
  win32.join(ifAbsolute(environment["LOCALAPPDATA"], "win32") ?? win32.join(home, "AppData", "Local"), "Packages");

/** Claude Desktop for Windows is a packaged app, which reads its own copy of the application data. Earlier versions were not. */
const inClaudeData =
  (name: string): ClientFormat["files"] =>
  (machine) => {
    const apps = machine.packagedApps.filter((app) => app.startsWith("Claude_"));
    if (machine.platform !== "win32" || apps.length === 0) return inAppData("Claude", name)(machine);
    const folder = packagesFolder(machine.home, machine.environment);
    return apps.map((app) => win32.join(folder, app, "LocalCache", "Roaming", "Claude", name));
  };

/** The names and formats are those of the clients' documentation, November 2026. */
export const CLIENTS: Readonly<Record<(typeof INSTALL_CLIENTS)[number], ClientFormat>> = {
  claude: { title: "Claude Code", files: inHome("CLAUDE_CONFIG_DIR", "", ".claude.json"), fields: { type: "stdio" } },
  codex: { title: "Codex", files: inHome("CODEX_HOME", ".codex", "config.toml"), key: "mcp_servers", syntax: "TOML" },
  gemini: { title: "Gemini CLI", files: inHome(undefined, ".gemini", "settings.json") },
  copilot: {
    title: "Copilot CLI",
    files: inHome("COPILOT_HOME", ".copilot", "mcp-config.json"),
    fields: { type: "local", tools: ["*"] },
  },
  vscode: { title: "VS Code", files: inAppData("Code", "User", "mcp.json"), key: "servers", fields: { type: "stdio" } },
  cursor: { title: "Cursor", files: inHome(undefined, ".cursor", "mcp.json") },
  "claude-desktop": { title: "Claude Desktop", files: inClaudeData("claude_desktop_config.json") },
};

const DEFAULT_KEY = "mcpServers";

type Entry = Readonly<Record<string, unknown>>;

/** The configuration cannot be changed safely; the user has to add the entry. */
export class CannotEdit extends Error {}

/** Parses JSON with comments and trailing commas, which VS Code and Gemini CLI accept. */
async function parseServers(text: string, key: string) {
  const { parse } = await import("./jsonc.ts");
  const errors: ParseError[] = [];
  const settings: unknown = text.trim() === "" ? {} : parse(text, errors, { allowTrailingComma: true });
  if (errors.length > 0) throw new CannotEdit("it is not valid JSON");
  const servers = isJsonObject(settings) ? (settings[key] ?? {}) : undefined;
  if (!isJsonObject(settings) || !isJsonObject(servers)) throw new CannotEdit(`${key} is not an object`);
  return { settings, servers };
}

/** Replaces or removes (undefined) one server. Comments and the format of everything else stay. */
async function setServer(text: string, key: string, name: string, server: Entry | undefined): Promise<string> {
  const { applyEdits, modify } = await import("./jsonc.ts");
  const { settings, servers } = await parseServers(text, key);
  if (text.trim() === "") return `${JSON.stringify({ [key]: { [name]: server } }, null, 2)}\n`;
  const indentation = /^[\t ]+(?=")/m.exec(text)?.[0] ?? "  ";
  const formattingOptions = { insertSpaces: !indentation.startsWith("\t"), tabSize: indentation.length, eol: "\n" };
  const edited = applyEdits(text, modify(text, [key, name], server, { formattingOptions }));
  const { [name]: _, ...others } = servers;
  const expected = { ...settings, [key]: server === undefined ? others : { ...others, [name]: server } };
  // A file in which a key occurs twice is one of those that cannot be edited.
  if (!isDeepStrictEqual((await parseServers(edited, key)).settings, expected))
    throw new CannotEdit("it has an unusual form");
  return /\n$/.test(edited) ? edited : `${edited}\n`;
}

async function editJson(text: string, name: string, entry: Entry, key: string): Promise<string> {
  const before = (await parseServers(text, key)).servers[name] ?? {};
  if (!isJsonObject(before)) throw new CannotEdit(`${key}.${name} is not an object`);
  const after = { ...before, ...entry };
  return isDeepStrictEqual(before, after) ? text : await setServer(text, key, name, after);
}

const removeFromJson = async (text: string, name: string, key: string): Promise<string> =>
  Object.hasOwn((await parseServers(text, key)).servers, name) ? await setServer(text, key, name, undefined) : text;

const TOML_NAME = /^[A-Za-z0-9_-]+$/;

const formatTomlHeader = (name: string, key: string): string =>
  `[${key}.${TOML_NAME.test(name) ? name : JSON.stringify(name)}]`;

const formatTomlEntry = (name: string, entry: Entry, key: string): string =>
  [
    formatTomlHeader(name, key),
    // Strings and lists of strings are the same in JSON and TOML.
    ...Object.entries(entry).map(([field, value]) => `${field} = ${JSON.stringify(value)}`),
  ].join("\n");

/** Throws CannotEdit if the text may have the entry as an inline table, a table of all servers, dotted keys, or with a quoted name. */
function refuseOtherTomlForms(text: string, name: string, key: string): void {
  const table = `["']?${key}["']?\\s*`;
  const unsupportedTomlForms = `^\\s*(${table}=|\\[\\s*${table}\\]|\\[?\\s*${table}\\.\\s*["']?${name}["']?\\s*[\\].=])`;
  if (new RegExp(unsupportedTomlForms, "m").test(text))
    throw new CannotEdit(`it may have an entry ${name} in another form`);
}

/** Like `editJson`. Changes only lines of this entry, and only if they have the form in which this program writes them. */
function editToml(text: string, name: string, entry: Entry, key: string): string {
  const block = formatTomlEntry(name, entry, key);
  const [header = ""] = block.split("\n");
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line.trim() === header);
  if (at < 0) {
    refuseOtherTomlForms(text, name, key);
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

/** Like `removeFromJson`: removes the lines of the entry and of its own tables, such as its variables. */
function removeFromToml(text: string, name: string, key: string): string {
  const header = formatTomlHeader(name, key);
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line.trim() === header);
  if (at < 0) {
    refuseOtherTomlForms(text, name, key);
    return text;
  }
  const isOtherTable = (line: string) => /^\s*\[/.test(line) && !line.trim().startsWith(`${header.slice(0, -1)}.`);
  const next = lines.findIndex((line, index) => index > at && isOtherTable(line));
  let end = next < 0 ? lines.length : next;
  // Comments above the next table belong to it.
  while (next >= 0 && lines[end - 1]?.trimStart().startsWith("#")) end -= 1;
  const rest = [...lines.slice(0, at), ...lines.slice(end)].join("\n");
  return next < 0 ? rest.replace(/\n+$/, "\n") : rest;
}

export const formatEntry = (name: string, entry: Entry, { key = DEFAULT_KEY, syntax }: ClientFormat): string =>
  syntax === "TOML" ? formatTomlEntry(name, entry, key) : JSON.stringify({ [key]: { [name]: entry } }, null, 2);

export async function thisMachine(environment: NodeJS.ProcessEnv): Promise<Machine> {
  const [{ platform }, home] = [process, homeFolder(environment)];
  if (home === undefined)
    throw new UsageError("This user has no home folder with the settings of clients: set HOME to an absolute path.");
  const packagedApps = platform === "win32" ? await readdir(packagesFolder(home, environment)).catch(() => []) : [];
  return { platform, home, environment, packagedApps };
}

/** Paths of the user's configuration of this client: several if the client is installed several times. */
export const configurationPaths = (client: (typeof INSTALL_CLIENTS)[number], machine: Machine): readonly string[] =>
  CLIENTS[client].files(machine);

/** Edits the text with Unix line endings and without a byte order mark, and returns it with its original ones. */
async function withLineEnds(given: string, edit: (text: string) => string | Promise<string>): Promise<string> {
  const [mark, text] = given.startsWith("\uFEFF") ? ["\uFEFF", given.slice(1)] : ["", given];
  const isWindows = /\r\n/.test(text) && !/(?<!\r)\n/.test(text);
  if (!isWindows) return mark + (await edit(text));
  return mark + (await edit(text.replaceAll("\r\n", "\n"))).replaceAll("\n", "\r\n");
}

/** Returns the configuration with the entry; other entries, and other fields of this one, stay. Throws CannotEdit. */
export const addEntry = (
  text: string,
  name: string,
  entry: Entry,
  { key = DEFAULT_KEY, syntax }: ClientFormat,
): Promise<string> => withLineEnds(text, (lines) => (syntax === "TOML" ? editToml : editJson)(lines, name, entry, key));

/** Returns the configuration without the entry, or the same text if it has none. Throws CannotEdit. */
export const removeEntry = (text: string, name: string, { key = DEFAULT_KEY, syntax }: ClientFormat): Promise<string> =>
  withLineEnds(text, (lines) => (syntax === "TOML" ? removeFromToml : removeFromJson)(lines, name, key));

/** Reads the tables of servers from TOML that has the form in which this program writes it. */
const readTomlServers = (text: string, key: string): Entry =>
  Object.fromEntries(
    text.split(/^(?=\[)/m).flatMap((table) => {
      const name = new RegExp(`^\\[${key}\\.([A-Za-z0-9_-]+)\\]`).exec(table)?.[1];
      const fields = [...table.matchAll(/^(command|args)\s*=\s*(".*"|\[.*\])\s*$/gm)].flatMap(
        ([, field = "", value = ""]) => {
          try {
            return [[field, JSON.parse(value)]];
          } catch {
            return [];
          }
        },
      );
      return name === undefined ? [] : [[name, Object.fromEntries(fields)]];
    }),
  );

export const readServers = async (text: string, { key = DEFAULT_KEY, syntax }: ClientFormat): Promise<Entry> =>
  syntax === "TOML" ? readTomlServers(text, key) : (await parseServers(text.replace(/^\uFEFF/, ""), key)).servers;

/** Returns "" if the file does not exist. */
export async function readIfExists(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "";
    throw error;
  }
}
