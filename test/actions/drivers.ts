// The journal's two databases: what is tested of one is tested of the other. PostgreSQL is skipped, saying so, where there is none.
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { describe, onTestFinished } from "vitest";
import type { Database } from "../../src/actions/store/database.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { describeWithPostgres } from "../teams/services.ts";
import { type JournalLocation, openDatabaseAt } from "./journal-location.ts";

export interface Driver {
  /** It plans by what its tables hold. */
  readonly hasStatistics: boolean;
  /** A new, empty place for a journal. */
  createLocation(): Promise<JournalLocation>;
  /** For the running test alone; on the test's own clock. */
  openDatabase(location: JournalLocation): Promise<Database>;
}

async function openDatabase(location: JournalLocation): Promise<Database> {
  const database = await openDatabaseAt(location);
  onTestFinished(() => database.close());
  return { ...database, clock: undefined };
}

/** What is synced here need not reach a disk: sqlite.test.ts is about that. */
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
