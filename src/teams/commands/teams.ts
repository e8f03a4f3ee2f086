// Implements `mic-mcp teams`: teams, their credentials and members, and the database tables. Running instances are notified of each change.
import { isAbsolute } from "node:path";
import { JOURNAL_VERSION } from "../../actions/schema.ts";
import { type Check, failedCheck, passedCheck } from "../../cli/checks.ts";
import {
  ACTION_STATES,
  type ArgumentsOf,
  COMMANDS,
  type RunCommand,
  type TeamSubcommand,
  teamSubcommands,
} from "../../cli/commands.ts";
import { describeError, parseChoice } from "../../cli/errors.ts";
import { tryCredentials, verifyCredentials } from "../../cli/login.ts";
import { isInteractive, openPrompter, readSecretFromStdin } from "../../cli/prompt.ts";
import { printOutcome } from "../../cli/terminal.ts";
import { checkBaseUrl, checkCredential, checkWorkspaceId, UsageError } from "../../core/config.ts";
import { Failure } from "../../core/failure.ts";
import { quoted, say } from "../../core/text.ts";
import { formatJson as inJson, quote } from "../../core/untrusted-text.ts";
import { createAudit } from "../audit/audit.ts";
import { maintainAudit } from "../audit/rows.ts";
import { callerId } from "../caller.ts";
import { openDatabase } from "../database.ts";
import { createEncryption, DecryptionError } from "../encryption.ts";
import { readStoreSettings } from "../settings.ts";
import { readTeamActions, type TeamAction } from "../tenancy/actions.ts";
import { createCallers } from "../tenancy/callers.ts";
import { createSecrets, keyIdOf, type Secrets } from "../tenancy/secrets.ts";
import {
  createTeams,
  type Member,
  type StoredSecret,
  TEAM_NAME,
  type Team,
  type TeamWithMembers,
} from "../tenancy/teams.ts";
import { createUpstreamSecret, type UpstreamSecret } from "../tenancy/upstream-secret.ts";
import { resolveTeamActions } from "./resolve.ts";
import { eraseUser, exportUser, printRows, setBlocked, showAudit, type UserManager } from "./users.ts";

const DAY_MS = 86_400_000;

type TeamFlags = ArgumentsOf<"teams">["values"];

export interface Manager extends UserManager {
  readonly secrets: Secrets;
  readonly upstreamSecret: Pick<UpstreamSecret, "reencrypt">;
  readonly firstKey: string;
  readonly baseUrl: string | undefined;
  /** Brings the tables and the partitions of the audit up to date. Throws Failure. */
  migrate(): Promise<void>;
  findVersion(): Promise<number>;
  /** The latest actions of all callers of these teams, in this state or in any. */
  readActions(teams: readonly Team[], state: string | undefined): Promise<readonly TeamAction[]>;
}

const noSuchTeam = (name: string): Failure =>
  new Failure({
    kind: "not_found",
    message: say`Team ${quoted(name)} does not exist.`,
    retryable: false,
    sideEffect: "none",
    next: say`Run mic-mcp teams list for the names of the teams.`,
  });

function parseMembers({ member: subjects = [] }: TeamFlags, { issuer }: Manager): readonly Member[] {
  if (subjects.length === 0) return [];
  if (issuer === undefined)
    throw new UsageError("MIC_AUTH_ISSUER is missing: --member needs the issuer of the subject.");
  return subjects.map((subject) => {
    if (subject === "") throw new UsageError("--member must be a subject: the sub claim of the user's access tokens.");
    return { issuer, subject };
  });
}

async function promptForSecret(): Promise<string> {
  const prompter = openPrompter();
  return await prompter.askSecret("Client secret (not shown): ").finally(prompter.close);
}

/** Reads a secret from stdin, a file or the terminal. Throws UsageError, and Failure if the file cannot be used. */
async function readNewSecret(
  name: string,
  flags: TeamFlags,
  { secrets }: Manager,
): Promise<{ readonly text: string; readonly stored: StoredSecret }> {
  const { "secret-stdin": isOnStdin, "secret-file": file } = flags;
  if (isOnStdin && file !== undefined) throw new UsageError("--secret-stdin and --secret-file cannot be combined.");
  if (file !== undefined) {
    if (!isAbsolute(file))
      throw new UsageError(
        "--secret-file must be an absolute path, because instances can have different working directories.",
      );
    const stored = { file };
    return { text: await secrets.read({ name, secret: stored }), stored };
  }
  if (!isOnStdin && !isInteractive())
    throw new UsageError(
      "Cannot prompt for the secret because stdin is not a terminal. Use --secret-stdin or --secret-file PATH.",
    );
  const text = checkCredential("client secret", await (isOnStdin ? readSecretFromStdin() : promptForSecret()));
  return { text, stored: { encrypted: await secrets.encrypt(name, text) } };
}

const conflictFailure = (name: string, existing: string): Failure => {
  const [message, next] =
    name === existing
      ? [say`Team ${quoted(name)} already exists.`, say`Run mic-mcp teams rotate-secret to replace its secret.`]
      : [
          say`Team ${quoted(existing)} already uses this client. Each client can belong to only one team, because its credentials give access to everything that was created with them.`,
          say`Add members to ${quoted(existing)}, or use another client.`,
        ];
  const facts = { message: say`${message} Nothing was changed.`, retryable: false, sideEffect: "none" } as const;
  return new Failure({ kind: "conflict", ...facts, next });
};

/** Completes "its secret …" with the place from which each instance reads the secret. */
const describeSource = (secret: StoredSecret, { firstKey }: Manager): string =>
  "file" in secret ? `is read from ${secret.file}` : `is encrypted with the key ${firstKey}`;

function parseClaim({ claim }: TeamFlags): string | undefined {
  if (claim === "")
    throw new UsageError("--claim must be a value of MIC_AUTH_TEAM_CLAIM, such as the name of a group.");
  return claim;
}

async function addMembers(name: string, members: readonly Member[], { teams, recordChange }: Manager): Promise<void> {
  for (const member of await teams.addMembers(name, members)) recordChange(name, "member added", member);
}

async function createNewTeam(name: string, flags: TeamFlags, manager: Manager): Promise<void> {
  const { "base-url": url = manager.baseUrl, "client-id": client, "workspace-id": workspace } = flags;
  const missing = [
    ...(url === undefined ? ["--base-url (or MIC_BASE_URL)"] : []),
    ...(client === undefined ? ["--client-id"] : []),
    ...(workspace === undefined ? ["--workspace-id"] : []),
  ];
  if (url === undefined || client === undefined || workspace === undefined)
    throw new UsageError(`A new team requires ${missing.join(", ")}.`);
  const [baseUrl, clientId] = [checkBaseUrl(url), checkCredential("client id", client)];
  const workspaceId = checkWorkspaceId(workspace);
  const members = parseMembers(flags, manager);
  const claim = parseClaim(flags);
  const { text: clientSecret, stored } = await readNewSecret(name, flags, manager);
  await verifyCredentials({ baseUrl, clientId, clientSecret, workspaceId }, true);
  const existing = await manager.teams.add({ name, baseUrl, clientId, workspaceId, claim, secret: stored });
  if (existing !== undefined) throw conflictFailure(name, existing);
  manager.recordChange(name, "added");
  await addMembers(name, members, manager);
  const memberTexts = [
    ...(claim === undefined ? [] : [`users with the claim ${quote(claim)}`]),
    ...members.map(({ subject }) => quote(subject)),
  ];
  manager.print(
    `Added team ${name}: ${clientId} at ${baseUrl}, workspace ${workspaceId}; its secret ${describeSource(stored, manager)}. Members: ${memberTexts.length === 0 ? "none yet" : memberTexts.join(", ")}.`,
  );
}

async function addToTeam(name: string, flags: TeamFlags, manager: Manager): Promise<void> {
  const claim = parseClaim(flags);
  const members = parseMembers(flags, manager);
  const team = await manager.teams.find(name);
  if (!team) throw noSuchTeam(name);
  if (claim !== undefined && (await manager.teams.setClaim(name, claim))) manager.recordChange(name, "claim set");
  await addMembers(name, members, manager);
  const done = [
    ...(claim === undefined ? [] : [`users with the claim ${quote(claim)} are members`]),
    ...(members.length === 0 ? [] : [`members added: ${members.map(({ subject }) => quote(subject)).join(", ")}`]),
  ];
  manager.print(`Team ${name}: ${done.join("; ")}.`);
}

/** Flags that only a new team takes. */
const NEW_TEAM_FLAGS = ["base-url", "client-id", "workspace-id", "secret-stdin", "secret-file"] as const;

async function addTeam(name: string, flags: TeamFlags, manager: Manager): Promise<number> {
  const isNew = NEW_TEAM_FLAGS.some((flag) => flags[flag] !== undefined);
  const hasMore = flags.claim !== undefined || flags.member !== undefined;
  await (isNew || !hasMore ? createNewTeam(name, flags, manager) : addToTeam(name, flags, manager));
  return 0;
}

async function removeTeam(name: string, flags: TeamFlags, manager: Manager): Promise<number> {
  const { teams, recordChange, print } = manager;
  const members = parseMembers(flags, manager);
  if (members.length === 0) {
    if (!(await teams.remove(name))) throw noSuchTeam(name);
    recordChange(name, "removed");
    print(`Removed team ${name}, its members and its secret. Its actions stay in the journal.`);
    return 0;
  }
  if (!(await teams.find(name))) throw noSuchTeam(name);
  for (const member of members) {
    const wasListed = await teams.removeMember(name, member);
    if (wasListed) recordChange(name, "member removed", member);
    const subject = quote(member.subject);
    print(
      wasListed
        ? `Removed ${subject} from team ${name}.`
        : `${subject} was not listed as a member. A claim may still grant membership, or the subject has another issuer.`,
    );
  }
  return 0;
}

async function rotateSecret(name: string, flags: TeamFlags, manager: Manager): Promise<number> {
  const { teams, recordChange, print } = manager;
  const team = await teams.find(name);
  if (!team) throw noSuchTeam(name);
  const { text: clientSecret, stored } = await readNewSecret(name, flags, manager);
  const { baseUrl, clientId, workspaceId } = team;
  await verifyCredentials({ baseUrl, clientId, clientSecret, workspaceId }, true);
  if (!(await teams.replaceSecret(name, stored))) throw noSuchTeam(name);
  recordChange(name, "secret replaced");
  const source = describeSource(stored, manager);
  print(`Replaced the secret of team ${name}. The new secret ${source}, and is used from the next token request on.`);
  return 0;
}

/** Checks the secret and the members of a team, and requests a token from the API. Errors are part of the result. */
export async function checkTeam(team: TeamWithMembers, { secrets }: Pick<Manager, "secrets">): Promise<Check> {
  const { name, baseUrl, clientId, workspaceId, claim, members } = team;
  try {
    const clientSecret = await secrets.read(team);
    await tryCredentials({ baseUrl, clientId, clientSecret, workspaceId }, true);
  } catch (error) {
    const { message: detail, next } = describeError(error);
    return { name, ok: false, detail, ...(next !== undefined && { fix: next }) };
  }
  const opened = "its secret can be read, and the API accepts it for its workspace";
  if (claim !== undefined || members.length > 0) return passedCheck(name, opened);
  const fix = `Run mic-mcp teams add ${name} with --claim VALUE or --member SUBJECT.`;
  return failedCheck(name, `${opened}, but it has no members`, fix);
}

const NO_TEAMS = "No teams exist. Run mic-mcp teams add to create one.";

/** `name`: empty for all teams. */
async function checkTeams(name: string, { json }: TeamFlags, manager: Manager): Promise<number> {
  const wanted = (await manager.teams.list()).filter((team) => name === "" || team.name === name);
  if (name !== "" && wanted.length === 0) throw noSuchTeam(name);
  const checks = await Promise.all(wanted.map((team) => checkTeam(team, manager)));
  const ok = checks.every((check) => check.ok);
  if (json) manager.print(inJson({ ok, teams: checks.map(({ name: team, ...check }) => ({ team, ...check })) }));
  else if (checks.length === 0) manager.print(NO_TEAMS);
  else
    for (const { name: team, ok: isOk, detail, fix } of checks)
      manager.print(`${isOk ? "ok  " : "FAIL"} ${team}: ${detail}${fix === undefined ? "" : `\n      -> ${fix}`}`);
  return ok ? 0 : 1;
}

const toListed = ({ secret, changedAt, ...team }: TeamWithMembers) => ({
  ...team,
  secret: "file" in secret ? { file: secret.file } : { keyId: keyIdOf(secret.encrypted) ?? "an unknown key" },
  changedAt: new Date(changedAt).toISOString(),
});

async function listTeams({ json }: TeamFlags, manager: Manager): Promise<number> {
  const teams = (await manager.teams.list()).map(toListed);
  const rows = teams.map(({ secret, members, ...team }) => ({
    team: team.name,
    workspace: team.workspaceId,
    client: team.clientId,
    "base URL": team.baseUrl,
    claim: team.claim,
    members: members.map(({ subject }) => subject).join(" "),
    secret: secret.file ?? `encrypted with the key ${secret.keyId}`,
  }));
  return printRows(rows, NO_TEAMS, json && { teams }, manager);
}

/** Encrypts all secrets in the database with the first key. Resolves with 1 if some cannot be decrypted, else with 0. */
export async function rotateKeys({
  teams,
  secrets,
  upstreamSecret,
  firstKey,
  recordChange,
  print,
}: Pick<Manager, "teams" | "secrets" | "upstreamSecret" | "firstKey" | "recordChange" | "print">): Promise<number> {
  const counts = { put: 0, kept: 0, files: 0 };
  const broken: string[] = [];
  for (const { name, secret } of await teams.list()) {
    if ("file" in secret) {
      counts.files += 1;
      continue;
    }
    try {
      const encrypted = await secrets.reencrypt(name, secret.encrypted);
      // A secret that was replaced in the meantime is encrypted with the first key already.
      const isReencrypted =
        encrypted !== undefined && (await teams.replaceEncrypted(name, secret.encrypted, encrypted));
      counts[isReencrypted ? "put" : "kept"] += 1;
      if (isReencrypted) recordChange(name, "keys rotated");
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error;
      broken.push(`${name}: ${error.message}. Run mic-mcp teams rotate-secret ${name} to replace the secret.`);
    }
  }
  try {
    const isReencrypted = await upstreamSecret.reencrypt();
    if (isReencrypted !== undefined) counts[isReencrypted ? "put" : "kept"] += 1;
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    broken.push(`upstream keys: ${error.message}. Add that key to the key file again.`);
  }
  print(
    `Secrets of the teams and of the deployment, encrypted with key ${firstKey}: ${counts.put} now, ${counts.kept} before. Secrets in files: ${counts.files}. Secrets that could not be decrypted: ${broken.length}.`,
  );
  for (const line of broken) print(line);
  return broken.length === 0 ? 0 : 1;
}

async function listActions(name: string, { state: wanted, json }: TeamFlags, manager: Manager): Promise<number> {
  const state = wanted === undefined ? undefined : parseChoice("--state", wanted, ACTION_STATES);
  const teams = (await manager.teams.list()).filter((team) => name === "" || team.name === name);
  if (name !== "" && teams.length === 0) throw noSuchTeam(name);
  const actions = await manager.readActions(teams, state);
  const rows = actions.map(({ team, state, tool, createdId, attempts, subject, caller, ...action }) => {
    const { createdAt, updatedAt, idempotencyKey } = action;
    const user = subject ?? caller;
    return { team, state, tool, createdId, attempts, caller: user, createdAt, updatedAt, idempotencyKey };
  });
  const none = `No actions${state === undefined ? "" : ` with state ${state}`}.`;
  return printRows(rows, none, json && { actions }, manager);
}

async function migrateTables(
  { json, "dry-run": isDryRun = false }: TeamFlags,
  { findVersion, migrate }: Manager,
): Promise<number> {
  const before = await findVersion();
  const found = before === 0 ? "There are no tables" : `The tables have version ${before}`;
  const isLater = before > JOURNAL_VERSION;
  if (!isDryRun) await migrate();
  const text = isDryRun
    ? `${found}; this mic-mcp uses version ${JOURNAL_VERSION}. Nothing was changed.`
    : isLater
      ? `${found}, which a later mic-mcp made and this one can use. Nothing was changed.`
      : `The tables are up to date (version ${JOURNAL_VERSION}, before: ${before === 0 ? "none" : before}).`;
  printOutcome(json, text, { upToDate: !isDryRun || before >= JOURNAL_VERSION, before, version: JOURNAL_VERSION });
  return 0;
}

/** Returns the TEAM or the SUBJECT that the action needs by its usage, or "" if it needs none. */
function parseTeamName(subcommand: string, names: readonly string[]): string {
  const usage = Object.keys(COMMANDS.teams.actions).find((each) => each.split(" ")[0] === subcommand);
  const argument = usage?.split(" ")[1];
  const [name, ...more] = names;
  if (argument === undefined && name !== undefined)
    throw new UsageError(`mic-mcp teams ${subcommand} does not accept a team: it applies to all teams.`);
  if (name === undefined && (argument === undefined || argument === "[TEAM]")) return "";
  const isAboutUser = argument === "SUBJECT";
  if (name === undefined || more.length > 0)
    throw new UsageError(
      `mic-mcp teams ${subcommand} requires the name of one ${isAboutUser ? "user: the subject" : "team"}.`,
    );
  if (isAboutUser) return name;
  if (!TEAM_NAME.test(name))
    throw new UsageError(
      `${quote(name)} is not a valid team name: use 1 to 63 characters from a-z, 0-9 and -, not starting with -.`,
    );
  return name;
}

type SubcommandHandler = (name: string, flags: TeamFlags, manager: Manager) => Promise<number>;

const SUBCOMMAND_HANDLERS: Readonly<Record<Exclude<TeamSubcommand, "resolve">, SubcommandHandler>> = {
  add: addTeam,
  remove: removeTeam,
  "rotate-secret": rotateSecret,
  check: checkTeams,
  actions: listActions,
  list: (_name, flags, manager) => listTeams(flags, manager),
  "rotate-keys": (_name, _flags, manager) => rotateKeys(manager),
  migrate: (_name, flags, manager) => migrateTables(flags, manager),
  audit: (_name, flags, manager) => showAudit(flags, manager),
  block: (subject, _flags, manager) => setBlocked(subject, true, manager),
  unblock: (subject, _flags, manager) => setBlocked(subject, false, manager),
  export: (subject, _flags, manager) => exportUser(subject, manager),
  erase: (subject, _flags, manager) => eraseUser(subject, manager),
};

const hasHandler = (subcommand: string): subcommand is keyof typeof SUBCOMMAND_HANDLERS =>
  Object.hasOwn(SUBCOMMAND_HANDLERS, subcommand);

/** Resolves with the exit code. Throws UsageError, and Failure if the database cannot be used or credentials are refused. */
export const teams: RunCommand<"teams"> = async ({ values, positionals }, environment) => {
  const [argument = "", ...names] = positionals;
  const subcommand = parseChoice("ACTION", argument, teamSubcommands);
  // Only resolve has none: it runs a tool of the team, and needs no manager.
  if (!hasHandler(subcommand)) {
    const [team, key] = names;
    return await resolveTeamActions(environment, parseTeamName(subcommand, team === undefined ? [] : [team]), key);
  }
  const settings = readStoreSettings(environment);
  const { database, journal, migrate, findVersion, close } = openDatabase(settings);
  const encryption = createEncryption(settings.secretKeys);
  const audit = createAudit(database, {
    warn: (facts, message) => void process.stderr.write(`${message}: ${inJson(facts)}\n`),
  });
  const callers = createCallers(database);
  const manager: Manager = {
    teams: createTeams(database),
    secrets: createSecrets({ encryption, now: Date.now }),
    upstreamSecret: createUpstreamSecret(database, encryption, settings.secretKeys),
    firstKey: settings.secretKeys.first,
    baseUrl: settings.config.baseUrl,
    issuer: environment["MIC_AUTH_ISSUER"] || undefined,
    async migrate() {
      await migrate();
      await maintainAudit(database, settings.auditRetentionDays * DAY_MS);
    },
    findVersion,
    callers,
    async readActions(teams, state) {
      await journal.open();
      return await readTeamActions(database, callers, teams, state);
    },
    recordChange(team, what, member) {
      // A process that has the database and the keys may change teams without a sign-in.
      const auditor = { caller: "operator", team, client: "mic-mcp" };
      const resource = member && { resourceId: callerId(member.issuer, member.subject) };
      audit.write(auditor, { event: "team", outcome: what, ...resource });
    },
    print: (text) => void process.stdout.write(`${text}\n`),
  };
  try {
    return await SUBCOMMAND_HANDLERS[subcommand](parseTeamName(subcommand, names), values, manager);
  } finally {
    await audit.flush();
    await close();
  }
};
