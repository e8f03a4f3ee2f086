// The journal on this machine: one SQLite file, shared by any number of processes. Moved, removed or replaced under a running
// server, it is opened anew at the next statement: an action that no other server sees might be sent twice.
import { carryOver } from "./carry-over.ts";
import type { Database } from "./database.ts";
import { openFile, type SqliteFile } from "./sqlite-file.ts";

export async function openSqlite(folder: string): Promise<Database> {
  let file = await openFile(folder);
  let moving: Promise<void> | undefined;
  const running = new Set<Promise<unknown>>();

  async function move(): Promise<void> {
    // What has begun on the former file ends there, and is carried over.
    await Promise.allSettled(running);
    const former = file;
    former.removeSideFiles();
    const fresh = await openFile(folder);
    try {
      await carryOver(former, fresh);
    } catch (error) {
      await fresh.close();
      throw error;
    }
    file = fresh;
    await former.close();
  }

  async function run<T>(work: (current: SqliteFile) => Promise<T>): Promise<T> {
    while (moving || !file.isInPlace()) {
      moving ??= move().finally(() => {
        moving = undefined;
      });
      await moving;
    }
    const result = work(file);
    running.add(result);
    return await result.finally(() => running.delete(result));
  }

  return {
    query: (sql, values) => run((current) => current.query(sql, values)),
    exclusively: (work) => run((current) => current.exclusively(work)),
    close: () => file.close(),
  };
}
