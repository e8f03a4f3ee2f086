// Checks the entries that `mic-mcp install` wrote into the configurations of MCP clients, for `mic-mcp doctor`.
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { isJsonObject } from "../contract/json.ts";
import { errorMessage } from "../core/failure.ts";
import { type Check, failedCheck, passedCheck } from "./checks.ts";
import { CLIENTS, configurationPaths, readIfExists, readServers, thisMachine } from "./client-files.ts";
import { INSTALL_CLIENTS } from "./commands.ts";

/** Returns the paths that no longer exist, and the command that renews the entry. Other fields may contain secrets. */
function examineEntry(client: string, name: string, { command, args }: Readonly<Record<string, unknown>>) {
  const words = Array.isArray(args) ? args : [];
  // The command and the program; an entry that npx starts has no path.
  const paths = [command, words[0]].filter((path) => typeof path === "string").filter(isAbsolute);
  const missing = paths.filter((path) => !existsSync(path));
  const profile = name === "mic" ? "" : ` --profile ${name.slice("mic-".length)}`;
  return { missing, fix: `mic-mcp install ${client}${words.includes("--emulator") ? " --emulator" : ""}${profile}` };
}

async function checkFile(client: (typeof INSTALL_CLIENTS)[number], path: string) {
  try {
    const found = Object.entries(await readServers(await readIfExists(path), CLIENTS[client])).flatMap(
      ([name, entry]) => (/^mic(-|$)/.test(name) && isJsonObject(entry) ? [{ name, entry }] : []),
    );
    if (found.length === 0) return [];
    const examined = found.map(({ name, entry }) => examineEntry(client, name, entry));
    const stale = examined.filter(({ missing }) => missing.length > 0);
    const names = found.map(({ name }) => name).join(", ");
    if (stale.length === 0) return [passedCheck(client, `starts mic-mcp (${names} in ${path})`)];
    const missing = [...new Set(stale.flatMap((entry) => entry.missing))].join(" and ");
    const fix = stale.map((entry) => entry.fix).join(" && ");
    return [failedCheck(client, `${path} names ${missing}, which does not exist`, fix)];
  } catch (error) {
    return [passedCheck(client, `not checked: ${path}: ${errorMessage(error)}`)];
  }
}

export async function checkClients(environment: NodeJS.ProcessEnv): Promise<readonly Check[]> {
  const machine = await thisMachine(environment).catch(() => undefined);
  if (machine === undefined) return [];
  const checks = INSTALL_CLIENTS.map(async (client) => {
    try {
      const paths = configurationPaths(client, machine);
      return (await Promise.all(paths.map((path) => checkFile(client, path)))).flat();
    } catch (error) {
      return [passedCheck(client, `not checked: ${errorMessage(error)}`)];
    }
  });
  return (await Promise.all(checks)).flat();
}
