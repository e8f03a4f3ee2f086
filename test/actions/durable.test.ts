// What has to outlive a power cut is synced before anything else happens; what may be lost is not waited for.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Database } from "../../src/actions/database.ts";
import { openJournal } from "../../src/actions/journal.ts";
import { openSqlite } from "../../src/actions/sqlite.ts";
import { newAction } from "./samples.ts";

async function database(): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), "mic-mcp-durable-"));
  const opened = await openSqlite(folder);
  onTestFinished(async () => {
    await opened.close();
    await rm(folder, { recursive: true, force: true });
  });
  return opened;
}

test("what a power cut must not take away is synced: an action, who has it, how it ended", async () => {
  const real = await database();
  const writes: string[] = [];
  const note = (how: string, sql: string) => {
    const verb = /^\s*(INSERT|UPDATE|DELETE)/.exec(sql)?.[1];
    if (verb !== undefined) writes.push(`${verb} ${how}`);
  };
  const noting: Database = {
    ...real,
    query(sql, values) {
      note("synced", sql);
      return real.query(sql, values);
    },
    querySoon(sql, values) {
      note("soon", sql);
      return real.querySoon(sql, values);
    },
  };
  const terms = { owner: "one", now: () => 1_800_000_000_000, leaseMs: 30_000, repeatMs: 600_000 };
  const journal = await openJournal(noting, terms);
  writes.length = 0;
  const unknown = { state: "unknown", attempts: 1, outcome: "{}", repeatable: false, resourceId: undefined } as const;
  const open = await journal.insert(newAction());
  if (!open) throw new Error("not inserted");
  await journal.settle(open, unknown);
  await journal.claim(open, false);
  const settled = await journal.settle(open, { ...unknown, state: "succeeded" });
  expect(writes).toEqual(["INSERT synced", "UPDATE synced", "UPDATE synced", "UPDATE synced"]);
  // Lost, it is told once more: nothing happens twice.
  if (settled) await journal.markSent(settled);
  expect(writes.at(-1)).toBe("UPDATE soon");
});

test("SQLite syncs each commit, also after one that need not be", async () => {
  const opened = await database();
  const FULL = [{ synchronous: 2 }];
  expect(await opened.query("PRAGMA synchronous")).toEqual(FULL);
  await opened.query("CREATE TABLE notes (text TEXT)");
  expect(await opened.querySoon("INSERT INTO notes (text) VALUES ($1)", ["soon"])).toEqual([]);
  expect(await opened.query("PRAGMA synchronous")).toEqual(FULL);
  await expect(opened.querySoon("INSERT INTO nowhere (text) VALUES ($1)", ["soon"])).rejects.toThrow("nowhere");
  expect(await opened.query("PRAGMA synchronous")).toEqual(FULL);
});
