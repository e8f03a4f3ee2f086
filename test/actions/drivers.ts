// The journal's two databases: what is tested of one is tested of the other. PostgreSQL is skipped, saying so, where there is none.
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { describe, onTestFinished } from "vitest";
import type { Database } from "../../src/actions/store/database.ts";
import { folderForTest } from "../support/home.ts";
import { describeWithPostgres } from "../teams/services.ts";
import { openAt, type Place } from "./place.ts";

export interface Driver {
  /** It plans by what its tables hold. */
  readonly hasStatistics: boolean;
  /** A new, empty place for a journal. */
  place(): Promise<Place>;
  /** For the running test alone; on the test's own clock. */
  open(place: Place): Promise<Database>;
}

async function open(place: Place): Promise<Database> {
  const database = await openAt(place);
  onTestFinished(() => database.close());
  return { ...database, clock: undefined };
}

/** What is synced here need not reach a disk: sqlite.test.ts is about that. */
const SHARED_MEMORY = "/dev/shm";

const folder = () => folderForTest(existsSync(SHARED_MEMORY) ? SHARED_MEMORY : tmpdir());

export function describeEachDriver(tests: (driver: Driver) => void): void {
  describe("SQLite", () => {
    tests({ hasStatistics: false, open, place: async () => ({ stateDir: await folder(), url: undefined }) });
  });
  describeWithPostgres("PostgreSQL", (postgres) => {
    tests({ hasStatistics: true, open, place: async () => ({ stateDir: "", url: await postgres().database() }) });
  });
}
