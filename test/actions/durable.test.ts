// Every write of the journal is on disk before anything else happens.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openJournal } from "../../src/actions/journal.ts";
import type { Database } from "../../src/actions/store/database.ts";
import { openSqlite } from "../../src/actions/store/sqlite.ts";
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

test("an action takes one write for its claim and one for its end", async () => {
  const real = await database();
  const writes: string[] = [];
  const noting: Database = {
    ...real,
    query(sql, values) {
      const verb = /^\s*(INSERT|UPDATE|DELETE)/.exec(sql)?.[1];
      if (verb !== undefined) writes.push(verb);
      return real.query(sql, values);
    },
  };
  const terms = { owner: "one", now: () => 1_800_000_000_000 };
  const journal = await openJournal(noting, terms);
  writes.length = 0;
  const unknown = { state: "unknown", attempts: 1, outcome: "{}", resourceId: undefined } as const;
  const open = await journal.insert(newAction());
  if (!open) throw new Error("not inserted");
  await journal.resolve(open, unknown);
  await journal.claim(open, false);
  await journal.resolve(open, { ...unknown, state: "succeeded" });
  expect(writes).toEqual(["INSERT", "UPDATE", "UPDATE", "UPDATE"]);
});

test("SQLite syncs each commit", async () => {
  const opened = await database();
  expect(await opened.query("PRAGMA synchronous")).toEqual([{ synchronous: 2 }]);
  expect(await opened.query("PRAGMA journal_mode")).toEqual([{ journal_mode: "wal" }]);
});
