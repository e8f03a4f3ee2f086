// Runs the same tests on both databases of the journal. PostgreSQL tests are reported as skipped if there is no PostgreSQL.
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { describe, onTestFinished } from "vitest";
import type { Database } from "../../src/store/database.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { describeWithPostgres } from "../teams/services.ts";
import { type JournalLocation, openDatabaseAt } from "./samples.ts";

export async function openDatabaseForTest(location: JournalLocation): Promise<Database> {
  const database = await openDatabaseAt(location);
  onTestFinished(() => database.close());
  return { ...database, clock: undefined };
}

/** A synchronous write need not reach a disk here: sqlite.test.ts covers that. */
const SHARED_MEMORY = "/dev/shm";

const createFolder = () => folderForTest(existsSync(SHARED_MEMORY) ? SHARED_MEMORY : tmpdir());

export function describeEachDriver(tests: (createLocation: () => Promise<JournalLocation>) => void): void {
  describe("SQLite", () => tests(async () => ({ stateDir: await createFolder() })));
  describeWithPostgres("PostgreSQL", (postgres) =>
    tests(async () => ({ stateDir: "", url: await postgres().createDatabase() })),
  );
}
