// How long a start takes, and what a server holds that nobody calls.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "./client.ts";
import type { Group } from "./group.ts";
import { callTool, type Figures, median } from "./measure.ts";
import { rssMiB } from "./process.ts";
import { CALL_V1, isOfPages, type Subject } from "./subjects.ts";

/** How long a server is left alone before its idle memory is looked at. */
const IDLE_MS = 500;

/** A process that does nothing at all. */
async function emptyStart(): Promise<number> {
  const startedAt = performance.now();
  await once(spawn(process.execPath, ["-e", "0"], { stdio: "ignore" }), "exit");
  return performance.now() - startedAt;
}

async function start({ command, calls }: Subject): Promise<{ listMs: number; firstMs?: number }> {
  const startedAt = performance.now();
  const client = await connect(command);
  await client.request("tools/list");
  const listMs = performance.now() - startedAt;
  if (calls) await callTool(client, calls.states);
  const firstMs = performance.now() - startedAt;
  await client.close();
  return calls ? { listMs, firstMs } : { listMs };
}

async function idle({ command }: Subject): Promise<number | undefined> {
  const client = await connect(command);
  await client.request("tools/list");
  await sleep(IDLE_MS);
  const mebibytes = rssMiB(client.pid, "VmRSS");
  await client.close();
  return mebibytes;
}

async function figuresOf(subject: Subject, count: number): Promise<Figures> {
  const starts: Awaited<ReturnType<typeof start>>[] = [];
  for (let n = 0; n < count; n++) starts.push(await start(subject));
  const firsts = starts.flatMap(({ firstMs }) => firstMs ?? []);
  return {
    listMs: median(starts.map(({ listMs }) => listMs)),
    firstMs: firsts.length === 0 ? undefined : median(firsts),
    idleMiB: await idle(subject),
  };
}

export const starts: Group = {
  title: "The start",
  reference: CALL_V1,
  columns: [
    { name: "listMs", title: "spawn to tools/list, ms", digits: 0 },
    { name: "firstMs", title: "spawn to the first answer of a tool, ms", digits: 0 },
    { name: "idleMiB", title: "memory, idle, MiB", digits: 0 },
  ],
  async *round({ subjects, size }) {
    const empty: number[] = [];
    for (let n = 0; n < size.starts; n++) empty.push(await emptyStart());
    yield ["node -e 0", { listMs: median(empty) }];
    for (const subject of subjects)
      if (!isOfPages(subject)) yield [subject.name, await figuresOf(subject, size.starts)];
  },
};
