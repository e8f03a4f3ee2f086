// Finds other journals of this user for `mic-mcp doctor`: an identical call in a server with another journal runs again.
import { isJsonObject } from "../contract/json.ts";
import type { Config } from "../core/config.ts";
import { expandHome, ifAbsolute, stateFolder } from "../core/platform-folders.ts";
import { formatJson } from "../core/untrusted-text.ts";
import { type Check, failedCheck } from "./checks.ts";
import { CLIENTS, configurationPaths, readOwnEntries, thisMachine } from "./client-files.ts";
import { INSTALL_CLIENTS } from "./commands.ts";
import { countUnresolvedIn, locateJournal } from "./journal.ts";

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
