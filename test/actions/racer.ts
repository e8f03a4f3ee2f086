// A separate process that races others on the same journal. It reads its task as JSON from the command line and writes its wins
// as JSON to stdout.
// Before it opens the journal and before each race it writes "ready" to stdout and waits for a line.
import { once } from "node:events";
import * as z from "zod/v4";
import { openJournal } from "../../src/actions/journal.ts";
import { processOwner } from "../../src/core/owner.ts";
import { DEAD_OWNER, newAction, openDatabaseAt } from "./samples.ts";

const Task = z.object({
  stateDir: z.string(),
  url: z.string().optional(),
  /**
   * insert: the same keys; twins: the same fingerprint without a key; expired: the same, with a success before the window;
   * claim: actions whose owner is dead. The races run in this order.
   */
  races: z.array(z.enum(["insert", "twins", "expired", "claim"])),
  count: z.int(),
});

const { races, count, stateDir, url } = Task.parse(JSON.parse(process.argv[1] ?? ""));

async function ready(): Promise<void> {
  process.stdout.write("ready\n");
  await once(process.stdin, "data");
}

await ready();
const database = await openDatabaseAt({ stateDir, url });
const journal = await openJournal(database, { owner: processOwner, now: () => Date.now() });
const wins: string[] = [];
for (const race of races) {
  await ready();
  for (let n = 0; n < count; n++) {
    const key = `${race}-${n}`;
    const action = newAction(
      race === "twins" || race === "expired"
        ? { key: `${key}-${process.pid}`, fingerprint: `${race}-${n}` }
        : { key, isExplicit: true },
    );
    const found = race === "claim" ? await journal.find(action.service, key) : undefined;
    const won = found ? await journal.claim(found, found.owner === DEAD_OWNER) : await journal.insert(action);
    if (won) wins.push(key);
  }
}
await journal.close();
process.stdout.write(`${JSON.stringify(wins)}\n`);
process.stdin.destroy();
