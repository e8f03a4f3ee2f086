// Checks the entries of this server in the configurations of MCP clients, for `mic-mcp doctor`: their files, or their URL and token. Finds
// other journals of this user, which these entries may name: an identical call in a server with another journal runs again.
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { Transport } from "../api-client/transport.ts";
import { isJsonObject } from "../contract/json.ts";
import type { Config } from "../core/config.ts";
import { errorMessage } from "../core/failure.ts";
import { isLoopbackHost } from "../core/loopback.ts";
import { expandHome, ifAbsolute, stateFolder } from "../core/platform-folders.ts";
import { formatJson } from "../core/untrusted-text.ts";
import { CHECK_LIMIT_MS, type Check, failedCheck, passedCheck } from "./checks.ts";
import { CLIENTS, configurationPaths, type Entry, readOwnEntries, thisMachine } from "./client-files.ts";
import { INSTALL_CLIENTS } from "./commands.ts";
import { countUnresolvedIn, locateJournal } from "./journal.ts";

interface Facts {
  readonly environment: NodeJS.ProcessEnv;
  /** The file with the token of `serve --http`. */
  readonly tokenFile: string;
  /** Undefined with --offline. */
  readonly transport: Transport | undefined;
  /** Whether this user has no other API than the emulator. */
  readonly usesEmulator: boolean;
}

/** The field is called httpUrl in Gemini CLI. */
const urlOf = ({ url, httpUrl = url }: Entry): unknown => httpUrl;
const isUrl = (url: unknown): url is string => typeof url === "string" && URL.canParse(url);

/** Returns what the entry names in vain, and the command that renews the entry. Other fields may contain secrets. */
function examineEntry(client: string, name: string, entry: Entry) {
  const { command, args } = entry;
  const words = Array.isArray(args) ? args : [];
  // The command and the program; an entry that npx starts has no path.
  const paths = [command, words[0]].filter((path) => typeof path === "string" && /[\\/]/.test(path)).map(String);
  const problems = [
    ...(urlOf(entry) === undefined ? [] : ["a URL that is not valid"]),
    ...paths.filter((path) => !isAbsolute(path)).map((path) => `${path}, which is not an absolute path`),
    ...paths.filter((path) => isAbsolute(path) && !existsSync(path)).map((path) => `${path}, which does not exist`),
  ];
  const profile = name === "mic" ? "" : ` --profile ${name.slice("mic-".length)}`;
  return { problems, fix: `mic-mcp install ${client}${words.includes("--emulator") ? " --emulator" : ""}${profile}` };
}

/** The variable whose value the client sends as its bearer token. Undefined if it sends none, or the token from another place. */
function tokenVariableOf({ bearer_token_env_var: variable, headers }: Entry): string | undefined {
  if (typeof variable === "string") return variable;
  const header = isJsonObject(headers) ? headers["Authorization"] : undefined;
  return typeof header === "string" ? /\$\{?(?:env:)?(\w+)\}?$/.exec(header)?.[1] : undefined;
}

/** The client connects to a server that the user starts. */
async function checkConnection(
  client: string,
  { name, url, entry }: { readonly name: string; readonly url: string; readonly entry: Entry },
  { environment, tokenFile, transport, usesEmulator }: Facts,
): Promise<Check> {
  const variable = tokenVariableOf(entry);
  const token = (variable !== undefined && environment[variable]) || undefined;
  const { origin, port, hostname } = new URL(url);
  // A GET of the URL itself would open a stream.
  const { pathname: path } = new URL("healthz", url);
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const limits = { maxBytes: 1 << 20, timeoutMs: CHECK_LIMIT_MS, signal: new AbortController().signal };
  const isUnset = variable !== undefined && token === undefined;
  const unset = isUnset ? `; ${variable} is not set` : "";
  const isLocal = isLoopbackHost(hostname);
  try {
    const status = (await transport?.exchange({ method: "GET", origin, path, headers }, limits))?.status;
    const isRefused = token !== undefined && status === 401;
    const wrong = isRefused ? `; the token in ${variable} is not the server's` : unset;
    const detail = `${name} connects to ${url}: ${status === undefined ? "not checked" : `HTTP ${status}`}${wrong}`;
    if (!isUnset && !isRefused) return passedCheck(client, detail);
    const set = isLocal ? `export ${variable}="$(cat ${tokenFile})"` : `Set ${variable}`;
    return failedCheck(client, detail, `${set}, and start the client from that shell`);
  } catch (error) {
    const start = isLocal
      ? `mic-mcp serve --http --port ${port}${usesEmulator ? " --emulator" : ""}`
      : "Check the URL, or start its server.";
    return failedCheck(client, `${name} connects to ${url}: ${errorMessage(error)}${unset}`, start);
  }
}

async function checkFile(client: (typeof INSTALL_CLIENTS)[number], path: string, facts: Facts) {
  try {
    const own = await readOwnEntries(path, CLIENTS[client]);
    const entries = own.map(({ name, entry }) => ({ name, entry, url: urlOf(entry) }));
    const connections = entries.flatMap(({ url, ...each }) => (isUrl(url) ? [{ ...each, url }] : []));
    const checks = await Promise.all(connections.map((each) => checkConnection(client, each, facts)));
    const found = entries.filter(({ url }) => !isUrl(url));
    if (found.length === 0) return checks;
    const examined = found.map(({ name, entry }) => examineEntry(client, name, entry));
    const stale = examined.filter(({ problems }) => problems.length > 0);
    const names = found.map(({ name }) => name).join(", ");
    if (stale.length === 0) return [...checks, passedCheck(client, `${names} in ${path}`)];
    const problems = [...new Set(stale.flatMap((entry) => entry.problems))].join(" and ");
    const fix = stale.map((entry) => entry.fix).join(" && ");
    return [...checks, failedCheck(client, `${path} names ${problems}`, fix)];
  } catch (error) {
    return [failedCheck(client, `${path}: ${errorMessage(error)}`, "Correct the file: no server starts from it.")];
  }
}

export async function checkClients(facts: Facts): Promise<readonly Check[]> {
  const machine = await thisMachine(facts.environment).catch(() => undefined);
  if (machine === undefined) return [];
  const checks = INSTALL_CLIENTS.map(async (client) => {
    try {
      const paths = configurationPaths(client, machine);
      return (await Promise.all(paths.map((path) => checkFile(client, path, facts)))).flat();
    } catch (error) {
      return [passedCheck(client, `not checked: ${errorMessage(error)}`)];
    }
  });
  return (await Promise.all(checks)).flat();
}

/** Returns the state folders that the entries of this server in the configurations of clients name. */
async function readClientsFolders(environment: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const machine = await thisMachine(environment);
  const found = await Promise.allSettled(
    INSTALL_CLIENTS.map(async (client) =>
      Promise.all(configurationPaths(client, machine).map((path) => readOwnEntries(path, CLIENTS[client]))),
    ),
  );
  const entries = found.flatMap((each) => (each.status === "fulfilled" ? each.value.flat() : []));
  return entries.flatMap(({ entry: { env } }) => {
    const folder = isJsonObject(env) ? env["MIC_STATE_DIR"] : undefined;
    return ifAbsolute(typeof folder === "string" ? expandHome(folder, machine.home) : undefined) ?? [];
  });
}

/** Returns a failed check for each other journal with unresolved actions. */
export async function checkOtherJournals(environment: NodeJS.ProcessEnv, config: Config): Promise<readonly Check[]> {
  const { XDG_STATE_HOME: _, LOCALAPPDATA: __, ...bare } = environment;
  const defaults = [environment, bare].flatMap((each) => stateFolder(each) ?? []);
  const folders = new Set([...defaults, ...(await readClientsFolders(environment).catch(() => []))]);
  if (config.journalUrl === undefined) folders.delete(config.stateDir);
  const checks = [...folders].map(async (stateDir) => {
    const other = { ...config, stateDir, journalUrl: undefined };
    const count = await countUnresolvedIn(other);
    if (count === 0) return [];
    const detail = `${locateJournal(other).location} has ${count} with unknown outcome, which this server does not find`;
    const fix = `Run MIC_STATE_DIR=${formatJson(stateDir)} mic-mcp resolve, then use one MIC_STATE_DIR for all clients.`;
    return [failedCheck("other journal", detail, fix)];
  });
  return (await Promise.all(checks)).flat();
}
