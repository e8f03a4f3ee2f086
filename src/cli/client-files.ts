// Finds and reads the configuration files of MCP clients, in which `mic-mcp install` adds an entry for this server, and edits JSON.
import { readdir, readFile } from "node:fs/promises";
import { posix, win32 } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isJsonObject } from "../contract/json.ts";
import { UsageError } from "../core/config.ts";
import { errorCode } from "../core/failure.ts";
import { homeFolder, ifAbsolute, isAbsolutePath } from "../core/platform-folders.ts";
import type { INSTALL_CLIENTS } from "./commands.ts";
import type { ParseError } from "./syntaxes.ts";
import { quoteForShell } from "./terminal-reader.ts";

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
  /** The client's command that edits its file. The file is TOML, which no library edits without losing comments. Default: a JSON file. */
  readonly editor?: "codex mcp";
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
  codex: {
    title: "Codex",
    files: inHome("CODEX_HOME", ".codex", "config.toml"),
    key: "mcp_servers",
    editor: "codex mcp",
  },
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

export type Entry = Readonly<Record<string, unknown>>;
type Launch = Entry & { readonly command: string; readonly args: readonly string[] };

/** The configuration cannot be changed safely; the user has to add the entry. */
export class CannotEdit extends Error {}

/** Parses JSON with comments and trailing commas, which VS Code and Gemini CLI accept. */
async function parseJsonc(text: string): Promise<unknown> {
  const { parseJson } = await import("./syntaxes.ts");
  const errors: ParseError[] = [];
  const settings: unknown = text.trim() === "" ? {} : parseJson(text, errors, { allowTrailingComma: true });
  if (errors.length > 0) throw new CannotEdit("it is not valid JSON");
  return settings;
}

async function parseToml(text: string): Promise<unknown> {
  const { parseToml: parse } = await import("./syntaxes.ts");
  try {
    return parse(text, { integersAsBigInt: "asNeeded" });
  } catch {
    throw new CannotEdit("it is not valid TOML");
  }
}

async function parseServers(text: string, key: string, parse = parseJsonc) {
  const settings = await parse(text);
  const servers = isJsonObject(settings) ? (settings[key] ?? {}) : undefined;
  if (!isJsonObject(settings) || !isJsonObject(servers)) throw new CannotEdit(`${key} is not an object`);
  return { settings, servers };
}

/** Replaces or removes (undefined) one server. Comments and the format of everything else stay. */
async function setServer(text: string, key: string, name: string, server: Entry | undefined): Promise<string> {
  const { applyEdits, modify } = await import("./syntaxes.ts");
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

export const formatEntry = (name: string, entry: Launch, { key = DEFAULT_KEY, editor }: ClientFormat): string =>
  editor === undefined
    ? JSON.stringify({ [key]: { [name]: entry } }, null, 2)
    : `${editor} add ${name} -- ${[entry.command, ...entry.args].map(quoteForShell).join(" ")}`;

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
async function withLineEnds(given: string, edit: (text: string) => Promise<string>): Promise<string> {
  const [mark, text] = given.startsWith("\uFEFF") ? ["\uFEFF", given.slice(1)] : ["", given];
  const isWindows = /\r\n/.test(text) && !/(?<!\r)\n/.test(text);
  if (!isWindows) return mark + (await edit(text));
  return mark + (await edit(text.replaceAll("\r\n", "\n"))).replaceAll("\n", "\r\n");
}

export const readServers = async (text: string, { key = DEFAULT_KEY, editor }: ClientFormat): Promise<Entry> =>
  (await parseServers(text.replace(/^\uFEFF/, ""), key, editor === undefined ? parseJsonc : parseToml)).servers;

/** Returns the configuration with the entry; other entries, and other fields of this one, stay. Throws CannotEdit. */
export async function addEntry(text: string, name: string, entry: Launch, client: ClientFormat): Promise<string> {
  const { key = DEFAULT_KEY, editor } = client;
  const servers = await readServers(text, client);
  const before = servers[name] ?? {};
  if (!isJsonObject(before)) throw new CannotEdit(`${key}.${name} is not an object`);
  const after = { ...before, ...entry };
  // The copy has a prototype, in contrast to an object that is parsed from TOML.
  if (isDeepStrictEqual({ ...before }, after)) return text;
  if (editor === undefined) return await withLineEnds(text, (lines) => setServer(lines, key, name, after));
  const loss = servers[name] === undefined ? "" : `, and this command replaces all settings of the entry ${name}`;
  throw new CannotEdit(`mic-mcp does not edit TOML${loss}`);
}

/** Returns the configuration without the entry, or the same text if it has none. Throws CannotEdit. */
export async function removeEntry(text: string, name: string, client: ClientFormat): Promise<string> {
  const { key = DEFAULT_KEY, editor } = client;
  if (!Object.hasOwn(await readServers(text, client), name)) return text;
  if (editor !== undefined) throw new CannotEdit(`mic-mcp does not edit TOML, but ${editor} remove ${name} does`);
  return await withLineEnds(text, (lines) => setServer(lines, key, name, undefined));
}

/** Returns the entries of this server in one configuration of a client. */
export async function readOwnEntries(path: string, client: ClientFormat) {
  const servers = await readServers(await readIfExists(path), client);
  return Object.entries(servers).flatMap(([name, entry]) =>
    /^mic(-|$)/.test(name) && isJsonObject(entry) ? [{ name, entry }] : [],
  );
}

/** Returns "" if the file does not exist. */
export async function readIfExists(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "";
    throw error;
  }
}
