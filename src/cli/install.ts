// Implements `mic-mcp install CLIENT` and `mic-mcp uninstall CLIENT`, which add this server to the configuration of an MCP client, or remove it.
import { realpath } from "node:fs/promises";
import { checkProfile } from "../core/config.ts";
import { errorMessage } from "../core/failure.ts";
import { programFile } from "../core/package-files.ts";
import { writeFileAtomically } from "./atomic-file.ts";
import {
  addEntry,
  CannotEdit,
  CLIENTS,
  configurationPaths,
  formatEntry,
  readIfExists,
  readServers,
  removeEntry,
  thisMachine,
} from "./client-files.ts";
import { INSTALL_CLIENTS, type RunCommand } from "./commands.ts";
import { parseChoice } from "./errors.ts";
import { decideLaunch } from "./launch.ts";
import { printOutcome } from "./terminal.ts";

async function parseTarget(
  positionals: readonly string[],
  typedProfile: string | undefined,
  environment: NodeJS.ProcessEnv,
) {
  const clientName = parseChoice("CLIENT", positionals.join(" "), INSTALL_CLIENTS);
  // The server checks the profile's name by the same rule.
  const profile = typedProfile === undefined ? undefined : checkProfile(typedProfile);
  const [path = "", ...otherPaths] = configurationPaths(clientName, await thisMachine(environment));
  // Clients of several accounts have an entry for each.
  return {
    clientName,
    client: CLIENTS[clientName],
    profile,
    path,
    otherPaths,
    name: profile === undefined ? "mic" : `mic-${profile}`,
  };
}

/** The user has to edit a file that this program cannot read or write. */
async function accessFile<T>(file: Promise<T>): Promise<T> {
  try {
    return await file;
  } catch (error) {
    throw new CannotEdit(`${errorMessage(error)} (check the owner and the mode of the file and its folder)`);
  }
}

/** Edits the configuration. If that is not possible, prints why, with `advice`, and returns undefined. `isTrial`: nothing is written. */
async function editConfiguration(
  { path, otherPaths }: Awaited<ReturnType<typeof parseTarget>>,
  edit: (before: string) => Promise<string>,
  advice: string,
  isTrial = false,
) {
  try {
    if (otherPaths.length > 0) throw new CannotEdit(`another installation reads ${otherPaths.join(", ")}`);
    const before = await accessFile(readIfExists(path));
    const after = await edit(before);
    const isChanged = after !== before;
    // A link stays a link.
    if (isChanged && !isTrial) await accessFile(writeFileAtomically(await realpath(path).catch(() => path), after));
    return { before, isChanged };
  } catch (error) {
    if (!(error instanceof CannotEdit)) throw error;
    process.stderr.write(`mic-mcp: ${path} was not changed: ${error.message}. ${advice}\n`);
    return undefined;
  }
}

export const install: RunCommand<"install"> = async ({ values, positionals }, environment) => {
  const target = await parseTarget(positionals, values.profile, environment);
  const { clientName, client, profile, path, name } = target;
  const { emulator = false } = values;
  const flags = [...(emulator ? ["--emulator"] : []), ...(profile === undefined ? [] : ["--profile", profile])];
  const { platform, execPath } = process;
  const facts = { platform, environment, execPath, programFile, realpath };
  const { command, args, versionFolder } = await decideLaunch(facts, flags);
  const entry = { ...client.fields, command, args };
  const shown = formatEntry(name, entry, client);
  if (versionFolder !== undefined)
    process.stderr.write(
      `An upgrade of Node may remove ${versionFolder}. After it, mic-mcp doctor reports this entry, and mic-mcp install renews it.\n`,
    );
  const outcome = { client: clientName, name, entry };
  if (values.print) {
    printOutcome(values.json, shown, outcome);
    return 0;
  }
  const edit = (before: string) => addEntry(before, name, entry, client);
  const edited = await editConfiguration(target, edit, "Add the entry yourself:");
  if (edited === undefined) {
    printOutcome(values.json, shown, { ...outcome, path, changed: false });
    return 1;
  }
  const { before, isChanged } = edited;
  const isNew = !Object.hasOwn(await readServers(before, client), name);
  const sentence = isChanged
    ? `${isNew ? "Wrote" : "Replaced the command of"} the entry ${name} in ${path}. Restart ${client.title} to use it.`
    : `${client.title} already has this entry ${name} in ${path}.`;
  printOutcome(values.json, sentence, { ...outcome, path, changed: isChanged });
  return 0;
};

/** Removes the entry. The entry itself is not printed, because the user may have added secrets to it. */
export const uninstall: RunCommand<"uninstall"> = async ({ values, positionals }, environment) => {
  const target = await parseTarget(positionals, values.profile, environment);
  const { clientName, client, path, name } = target;
  const edit = (before: string) => removeEntry(before, name, client);
  const edited = await editConfiguration(target, edit, `Remove the entry ${name} yourself.`, values.print);
  if (edited === undefined) return 1;
  const isFound = edited.isChanged;
  const isChanged = isFound && !values.print;
  const removed = isChanged
    ? `Removed the entry ${name} from ${path}. Restart ${client.title} to stop using it.`
    : `mic-mcp uninstall would remove the entry ${name} from ${path}.`;
  const sentence = isFound ? removed : `${client.title} has no entry ${name} in ${path}.`;
  printOutcome(values.json, sentence, { client: clientName, name, path, found: isFound, changed: isChanged });
  return 0;
};
