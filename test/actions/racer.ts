// A process of its own that races others for the same journal: its task as JSON on the command line, its wins as JSON on stdout.
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/v4";
import { openJournal } from "../../src/actions/journal.ts";
import { ownName } from "../../src/owner.ts";
import { openAt } from "./place.ts";
import { GONE, newAction } from "./samples.ts";

const Task = z.object({
  stateDir: z.string(),
  url: z.string().optional(),
  /** insert: the same keys; twins: the same arguments without a key; claim: actions whose owner is gone. In this order. */
  races: z.array(z.enum(["insert", "twins", "claim"])),
  count: z.int(),
  startAt: z.int(),
});

const { races, count, startAt, stateDir, url } = Task.parse(JSON.parse(process.argv[2] ?? ""));
await sleep(Math.max(0, startAt - Date.now()));
const database = await openAt({ stateDir, url });
const journal = await openJournal(database, {
  owner: ownName,
  now: () => Date.now(),
  leaseMs: 30_000,
  repeatMs: 600_000,
});
const wins: string[] = [];
for (const race of races)
  for (let n = 0; n < count; n++) {
    const key = `${race}-${n}`;
    const action = newAction(
      race === "twins"
        ? { key: `${key}-${process.pid}`, subjectHash: `hash-${n}`, workHash: `work-${n}` }
        : { key, explicit: true },
    );
    const found = race === "claim" ? await journal.find(action.service, key) : undefined;
    const won = found ? await journal.claim(found, found.owner === GONE) : await journal.insert(action);
    if (won) wins.push(key);
  }
await journal.close();
process.stdout.write(JSON.stringify(wins));
