// What the servers behind one address share of the geography: a SQLite file beside the journal, or the journal's PostgreSQL.
import * as z from "zod/v4";
import type { Config } from "../config.ts";
import type { SharedAddress, SharedDatabase } from "../geography/geography.ts";

/** Beside the journal and not in it: an action never waits for a district list. */
const FILE = { name: "geography.sqlite", synchronous: "NORMAL" } as const;
/** Machines have clocks of their own: the database's is one for all. */
const CLOCK = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now";

const Clock = z.tuple([z.object({ now: z.number() })]);

async function openFile(folder: string): Promise<SharedDatabase> {
  const file = await (await import("../actions/sqlite-file.ts")).openFile(folder, FILE);
  return { ...file, now: async () => Date.now() };
}

async function openPostgres(url: string): Promise<SharedDatabase> {
  const database = await (await import("../actions/postgres.ts")).openPostgres(url);
  return {
    ...database,
    now: async (query) => Clock.parse(await query(CLOCK))[0].now,
    isInPlace: () => true,
  };
}

export const sharedAddress = (
  { journalUrl, stateDir }: Config,
  baseUrl: SharedAddress["baseUrl"],
): SharedAddress => ({
  baseUrl,
  open: () => (journalUrl === undefined ? openFile(stateDir) : openPostgres(journalUrl)),
});
