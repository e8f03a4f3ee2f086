// Measures how long a start takes and how much memory an idle server uses.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "./client.ts";
import type { MetricGroup } from "./group.ts";
import { callTool, type Figures, median } from "./measure.ts";
import { readMemoryMiB } from "./process-stats.ts";
import { CALL_V1, isPagesOnly, type Subject } from "./subjects.ts";

/** How long a server is idle before its memory is read. */
const IDLE_MS = 500;

/** Measures a Node process that does nothing, in milliseconds. */
async function measureEmptyStart(): Promise<number> {
  const startedAt = performance.now();
  await once(spawn(process.execPath, ["-e", "0"], { stdio: "ignore" }), "exit");
  return performance.now() - startedAt;
}

async function measureStart({ command, calls }: Subject): Promise<{ listMs: number; firstMs?: number }> {
  const startedAt = performance.now();
  const client = await connect(command);
  await client.request("tools/list");
  const listMs = performance.now() - startedAt;
  if (calls) await callTool(client, calls.states);
  const firstMs = performance.now() - startedAt;
  await client.close();
  return calls ? { listMs, firstMs } : { listMs };
}

async function measureIdleMemory({ command }: Subject): Promise<number | undefined> {
  const client = await connect(command);
  await client.request("tools/list");
  await sleep(IDLE_MS);
  const mebibytes = readMemoryMiB(client.pid, "VmRSS");
  await client.close();
  return mebibytes;
}

async function measureSubject(subject: Subject, count: number): Promise<Figures> {
  const starts: Awaited<ReturnType<typeof measureStart>>[] = [];
  for (let n = 0; n < count; n++) starts.push(await measureStart(subject));
  const firsts = starts.flatMap(({ firstMs }) => firstMs ?? []);
  return {
    listMs: median(starts.map(({ listMs }) => listMs)),
    firstMs: firsts.length === 0 ? undefined : median(firsts),
    idleMiB: await measureIdleMemory(subject),
  };
}

export const startup: MetricGroup = {
  title: "The start",
  reference: CALL_V1,
  columns: [
    { name: "listMs", title: "spawn to tools/list, ms", digits: 0 },
    { name: "firstMs", title: "spawn to the first answer of a tool, ms", digits: 0 },
    { name: "idleMiB", title: "memory, idle, MiB", digits: 0 },
  ],
  async *round({ subjects, size }) {
    const empty: number[] = [];
    for (let n = 0; n < size.starts; n++) empty.push(await measureEmptyStart());
    yield ["node -e 0", { listMs: median(empty) }];
    for (const subject of subjects)
      if (!isPagesOnly(subject)) yield [subject.name, await measureSubject(subject, size.starts)];
  },
};
