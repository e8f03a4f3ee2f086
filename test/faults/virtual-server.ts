// Composes the parts of servers that tests simulate in one process, on a clock that advances when the code sleeps.
import { setImmediate as tick } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { Actions } from "../../src/actions/actions.ts";
import { migrateSchema } from "../../src/actions/schema.ts";
import type { Timing } from "../../src/api-client/attempts.ts";
import type { ApiClient } from "../../src/api-client/client.ts";
import { createGeography } from "../../src/geography/geography.ts";
import type { Database } from "../../src/store/database.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { createRecipeOfferCache, createRetryCache } from "../../src/toolkit/caches.ts";
import { createFolderFiles } from "../../src/toolkit/folder-files.ts";
import type { Ports } from "../../src/toolkit/tool-context.ts";
import type { ManualClock } from "../support/emulator.ts";
import { folderForTest } from "../support/temporary-folder.ts";

/** Gives concurrent work some real time. */
export async function letOthersWork(): Promise<void> {
  for (let ticks = 0; ticks < 5; ticks += 1) await tick();
}

/** `beforeWaking` runs before each sleep ends. */
export const createVirtualTiming = (clock: ManualClock, beforeWaking?: () => Promise<void> | undefined): Timing => ({
  now: clock.now,
  clockMs: clock.now,
  random: () => 0.5,
  async sleep(ms, signal) {
    await letOthersWork();
    await beforeWaking?.();
    signal.throwIfAborted();
    clock.advance(Math.ceil(ms));
  },
});

/** Opens an empty journal until the running test ends. Durability after a power failure is not tested with it. */
export async function openFastJournal(): Promise<Database> {
  const database = await openSqlite(await folderForTest());
  onTestFinished(() => database.close());
  await migrateSchema(database);
  await database.query("PRAGMA synchronous = OFF");
  return database;
}

export const createPorts = (api: ApiClient, actions: Actions, timing: Timing): Ports => ({
  ...{ api, actions, files: createFolderFiles("", api) },
  ...{ offers: createRecipeOfferCache(), retries: createRetryCache() },
  geography: createGeography({ service: api, perMinute: 600, timing }),
});
