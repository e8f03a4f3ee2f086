// Runs the same tests on both databases of the journal. PostgreSQL tests are reported as skipped if there is no PostgreSQL.
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { describe, onTestFinished } from "vitest";
import type { Database } from "../../src/actions/store/database.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { describeWithPostgres } from "../teams/services.ts";
import { type JournalLocation, openDatabaseAt } from "./journal-location.ts";

export interface Driver {
  /** The query planner uses statistics of the table contents. */
  readonly hasStatistics: boolean;
  createLocation(): Promise<JournalLocation>;
  /** Opens the database for the running test only, with the test's own clock. */
  openDatabase(location: JournalLocation): Promise<Database>;
}

async function openDatabase(location: JournalLocation): Promise<Database> {
  const database = await openDatabaseAt(location);
  onTestFinished(() => database.close());
  return { ...database, clock: undefined };
}

/** A synchronous write need not reach a disk here: sqlite.test.ts covers that. */
const SHARED_MEMORY = "/dev/shm";

const createFolder = () => folderForTest(existsSync(SHARED_MEMORY) ? SHARED_MEMORY : tmpdir());

export function describeEachDriver(tests: (driver: Driver) => void): void {
  describe("SQLite", () => {
    tests({
      hasStatistics: false,
      openDatabase,
      createLocation: async () => ({ stateDir: await createFolder(), url: undefined }),
    });
  });
  describeWithPostgres("PostgreSQL", (postgres) => {
    tests({
      hasStatistics: true,
      openDatabase,
      createLocation: async () => ({ stateDir: "", url: await postgres().createDatabase() }),
    });
  });
}
