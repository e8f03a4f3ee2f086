// What the servers behind one address share of the geography, lists and limit: files beside the journal, or the journal's
// PostgreSQL.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "../actions/store/database.ts";
import type { Config } from "../config.ts";
import type { SharedAddress, SharedDatabase } from "../geography/geography.ts";
import { listFiles } from "../geography/list-files.ts";
import { listTable } from "../geography/list-table.ts";
import { createGeographyStore, type GeographyStore } from "../geography/store.ts";

/** Beside the journal and not in it: an action never waits for a district list. */
const FILE = "geography.sqlite";
/** Machines have clocks of their own: the database's is one for all. */
const CLOCK = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now";

async function openFile(folder: string): Promise<SharedDatabase> {
  const file = await (await import("../actions/store/sqlite.ts")).openSqlite(folder, undefined, FILE);
  // What the machine's power takes with it is a minute's requests: no disk is waited for.
  await file.query("PRAGMA synchronous = NORMAL");
  return { ...file, clock: undefined, isInPlace: () => existsSync(join(folder, FILE)) };
}

async function openPostgres(url: string): Promise<SharedDatabase> {
  const database = await (await import("../actions/store/postgres.ts")).openPostgres(url);
  return { ...database, clock: CLOCK, isInPlace: () => true };
}

interface SharedGeography {
  readonly store: GeographyStore;
  readonly shared: SharedAddress;
}

/** Throws nothing: what cannot be shared is not. */
export function sharedGeography(
  { journalUrl, stateDir }: Pick<Config, "journalUrl" | "stateDir">,
  baseUrl: SharedAddress["baseUrl"],
  now: () => number,
): SharedGeography {
  const open = () => (journalUrl === undefined ? openFile(stateDir) : openPostgres(journalUrl));
  const place = journalUrl === undefined ? listFiles({ stateDir, now }) : listTable({ open, now });
  return { store: createGeographyStore({ place, baseUrl, now }), shared: { open, baseUrl } };
}

/** Of the instances of a deployment for teams, on the database that they have anyway. `budget`: names the address they leave by. */
export function geographyOn(
  database: Database,
  { baseUrl, budget, now }: Pick<SharedAddress, "baseUrl"> & { readonly budget: string; readonly now: () => number },
): SharedGeography {
  // It is the process's: who has done with the geography does not close it.
  const shared: SharedDatabase = { ...database, clock: CLOCK, isInPlace: () => true, close: async () => undefined };
  const open = async () => shared;
  return {
    store: createGeographyStore({ place: listTable({ open, now }), baseUrl, now }),
    shared: { open, baseUrl, budget },
  };
}
