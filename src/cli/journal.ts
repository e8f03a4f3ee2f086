// The action journal as a configuration has it: where it is, and how much of it is not settled.
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JournalOverview, overviewOf, unresolvedByClient } from "../actions/listing.ts";
import { createJournal, type JournalHandle } from "../actions/open.ts";
import { systemTiming } from "../api-client/attempts.ts";
import type { Config } from "../config.ts";
import { ownName } from "../owner.ts";

const DAY_MS = 86_400_000;

type Terms = Pick<Config, "stateDir" | "journalUrl" | "actionRetentionDays">;

/** The journal that a configuration names, for this process. `migrates`: false if its tables are not created or changed. */
export const journalOf = ({ stateDir, journalUrl, actionRetentionDays }: Terms, migrates = true): JournalHandle =>
  createJournal({
    migrates,
    stateDir,
    url: journalUrl,
    retentionMs: actionRetentionDays * DAY_MS,
    now: systemTiming.now,
    owner: ownName,
  });

/** Counts are absent where it has not been made yet. */
export interface JournalSeen extends Partial<JournalOverview> {
  readonly engine: "SQLite" | "PostgreSQL";
  readonly place: string;
}

/** A URL's user and password are nobody's business. */
export function placeOf({ journalUrl, stateDir }: Pick<Config, "journalUrl" | "stateDir">): JournalSeen {
  if (journalUrl === undefined) return { engine: "SQLite", place: join(stateDir, "actions.sqlite") };
  const { host, pathname } = new URL(journalUrl);
  return { engine: "PostgreSQL", place: `${host}${pathname}` };
}

/** Whether there is a journal that can be read. Creates none. */
export async function hasJournal(config: Terms): Promise<boolean> {
  if (config.journalUrl === undefined) return existsSync(placeOf(config).place);
  const trial = journalOf(config, false);
  try {
    await trial.open();
    return true;
  } catch {
    return false;
  } finally {
    await trial.close();
  }
}

/** There is no file yet, and looking makes none: whether its engine is there shows in a folder for the moment. */
async function tryEngine(config: Config): Promise<void> {
  const stateDir = await mkdtemp(join(tmpdir(), "mic-mcp-journal-"));
  const trial = journalOf({ ...config, stateDir });
  try {
    await trial.open();
  } finally {
    await trial.close();
    await rm(stateDir, { recursive: true, force: true });
  }
}

/** Throws Failure where it cannot be used. */
export async function lookAtJournal(config: Config, journal: JournalHandle): Promise<JournalSeen> {
  const seen = placeOf(config);
  if (seen.engine === "SQLite" && !existsSync(seen.place)) {
    await tryEngine(config);
    return seen;
  }
  return { ...seen, ...(await overviewOf(await journal.open())) };
}

/**
 * Warnings, one for each other client that has unresolved actions in this journal: only that client can resolve them. Never throws: a journal
 * that cannot be read has none.
 */
export async function unresolvedElsewhere(
  config: Terms,
  login: { readonly baseUrl: string; readonly clientId: string },
): Promise<readonly string[]> {
  const journal = journalOf(config, false);
  try {
    if (!(await hasJournal(config))) return [];
    return (await unresolvedByClient(await journal.open())).flatMap(({ baseUrl, clientId, count }) => {
      if (baseUrl === login.baseUrl && clientId === login.clientId) return [];
      const [actions, them] = count === 1 ? ["action is", "it"] : ["actions are", "them"];
      return `Warning: ${count} ${actions} unresolved for client ${clientId} at ${baseUrl}. Only that client can resolve ${them}: log in as it again and run mic-mcp resolve.`;
    });
  } catch {
    return [];
  } finally {
    await journal.close();
  }
}

export function journalText({ engine, place, inProgress, unknown = 0 }: JournalSeen): string {
  const where = `${engine}, ${place}`;
  if (inProgress === undefined) return `${where} (will be created when needed)`;
  const hint = unknown === 0 ? "" : "; mic-mcp resolve finds out what happened";
  return `${where}: ${inProgress} in progress, ${unknown} of unknown outcome${hint}`;
}
