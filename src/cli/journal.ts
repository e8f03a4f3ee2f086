// Opens the configured action journal, and reports its location and its number of unresolved actions.
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Journal } from "../actions/journal.ts";
import { createJournalHandle, type JournalHandle } from "../actions/journal-handle.ts";
import type { UnresolvedCounts } from "../actions/journal-reads.ts";
import { systemTiming } from "../api-client/attempts.ts";
import type { Config } from "../core/config.ts";
import { processOwner } from "../core/owner.ts";

const DAY_MS = 86_400_000;

type JournalConfig = Pick<Config, "stateDir" | "journalUrl" | "actionRetentionDays">;

/** Creates the handle of the configured journal. `migrates`: whether its tables may be created or changed (default true). */
export const createConfiguredJournal = (
  { stateDir, journalUrl, actionRetentionDays }: JournalConfig,
  migrates = true,
): JournalHandle =>
  createJournalHandle({
    migrates,
    stateDir,
    url: journalUrl,
    retentionMs: actionRetentionDays * DAY_MS,
    now: systemTiming.now,
    owner: processOwner,
  });

/** The counts are absent before the journal is created. */
export interface JournalStatus extends Partial<UnresolvedCounts> {
  readonly engine: "SQLite" | "PostgreSQL";
  readonly location: string;
}

/** Returns the engine and the location of the journal, without the user and password of its URL. */
export function locateJournal({ journalUrl, stateDir }: Pick<Config, "journalUrl" | "stateDir">): JournalStatus {
  if (journalUrl === undefined) return { engine: "SQLite", location: join(stateDir, "actions.sqlite") };
  const { host, pathname } = new URL(journalUrl);
  return { engine: "PostgreSQL", location: `${host}${pathname}` };
}

async function withJournal<T>(
  config: JournalConfig,
  migrates: boolean,
  work: (journal: Journal) => Promise<T>,
): Promise<T> {
  const journal = createConfiguredJournal(config, migrates);
  try {
    return await work(await journal.open());
  } finally {
    await journal.close();
  }
}

/** Returns whether the SQLite file exists or the PostgreSQL journal can be opened. Creates nothing. */
export async function hasJournal(config: JournalConfig): Promise<boolean> {
  if (config.journalUrl === undefined) return existsSync(locateJournal(config).location);
  return await withJournal(config, false, async () => true).catch(() => false);
}

/** Returns `none` if there is no journal. */
const readExistingJournal = async <T>(
  config: JournalConfig,
  none: T,
  read: (journal: Journal) => Promise<T>,
): Promise<T> => ((await hasJournal(config)) ? await withJournal(config, false, read) : none);

/** Returns the status of the journal; before it exists, tests the engine in a temporary folder. Throws Failure if it cannot be used. */
export async function inspectJournal(config: Config, journal: JournalHandle): Promise<JournalStatus> {
  const found = locateJournal(config);
  if (found.engine === "PostgreSQL" || existsSync(found.location))
    return { ...found, ...(await (await journal.open()).countUnresolved()) };
  const stateDir = await mkdtemp(resolve(tmpdir(), "mic-mcp-journal-"));
  try {
    return await withJournal({ ...config, stateDir }, true, async () => found);
  } finally {
    await rm(stateDir, { recursive: true, force: true });
  }
}

/** Returns the number of actions in this journal that `mic-mcp resolve` would resolve. Never throws: 0 if the journal cannot be read. */
export const countUnresolvedIn = (config: JournalConfig): Promise<number> =>
  readExistingJournal(config, 0, async (journal) => (await journal.countUnresolved()).unknown).catch(() => 0);

/** Only the client of an action can resolve it. Never throws: returns no warnings if the journal cannot be read. */
export async function warnOfOtherClientsActions(
  config: JournalConfig,
  login: { readonly baseUrl: string; readonly clientId: string },
): Promise<readonly string[]> {
  const counts = await readExistingJournal(config, [], (journal) => journal.countUnresolvedByClient()).catch(() => []);
  return counts.flatMap(({ baseUrl, clientId, count }) => {
    if (baseUrl === login.baseUrl && clientId === login.clientId) return [];
    const [actions, them] = count === 1 ? ["action is", "it"] : ["actions are", "them"];
    return `Warning: ${count} ${actions} unresolved for client ${clientId} at ${baseUrl}. Only that client can resolve ${them}: log in as it again and run mic-mcp resolve.`;
  });
}

const RECENT_JOBS = 20;

export const readRecentJobs = (config: JournalConfig): Promise<readonly string[]> =>
  readExistingJournal(config, [], (journal) => journal.listRecentJobs(RECENT_JOBS));

export function formatJournalStatus({ engine, location, inProgress, unknown = 0 }: JournalStatus): string {
  const where = `${engine}, ${location}`;
  if (inProgress === undefined) return `${where} (will be created when needed)`;
  const hint = unknown === 0 ? "" : "; run mic-mcp resolve to resolve them";
  return `${where}: ${inProgress} in progress, ${unknown} with unknown outcome${hint}`;
}
