// Measures how long a start takes and how much memory an idle server uses.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { connect } from "./client.ts";
import type { MetricGroup } from "./group.ts";
import { callTool, type Figures, measureCpu, median, withServer } from "./measure.ts";
import { readMemoryMiB } from "./process-stats.ts";
import { CALL_V1, isPagesOnly, type Subject } from "./subjects.ts";

/** How long a server is idle before its memory is read: V8 has collected what the start left. */
const IDLE_MS = 30_000;
/** Longer than mic-mcp waits before it saves its code. */
const CACHE_MS = 3_000;

/** Measures a Node process that does nothing, in milliseconds. */
async function measureEmptyStart(): Promise<number> {
  const startedAt = performance.now();
  await once(spawn(process.execPath, ["-e", "0"], { stdio: "ignore" }), "exit");
  return performance.now() - startedAt;
}

/** mic-mcp saves its compiled code 2 s after a start and after the first call: later starts use it, as on a user's machine. */
const fillCaches = ({ command, calls }: Subject): Promise<void> =>
  withServer(command, async (client) => {
    if (calls) await callTool(client, calls.states);
    await sleep(CACHE_MS);
  });

async function measureStart({ command, calls }: Subject) {
  const startedAt = performance.now();
  const client = await connect(command);
  await client.request("tools/list");
  const listMs = performance.now() - startedAt;
  let callMs: number | undefined;
  let callCpuMs: number | undefined;
  if (calls) {
    const calledAt = performance.now();
    callCpuMs = await measureCpu(client, 1, () => callTool(client, calls.states));
    callMs = performance.now() - calledAt;
  }
  await client.close();
  return { listMs, callMs, callCpuMs };
}

/** The same start as the client of the SDK sees it, up to the end of its first listTools(). */
async function measureSdkStart({ command: { args, env } }: Subject): Promise<number> {
  const client = ["--import", "tsx", new URL("list-tools.ts", import.meta.url).pathname, ...args];
  const { PATH, HOME } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, client, { env: { PATH, HOME, ...env } });
  return Number(stdout);
}

/** Returns the private memory of each server at rest. The rest of its memory is Node's binary, which all processes share. */
const measureIdleMemory = (subjects: readonly Subject[]): Promise<ReadonlyMap<string, number | undefined>> =>
  Promise.all(
    subjects.map(({ name, command }) =>
      withServer(command, async ({ pid }) => {
        await sleep(IDLE_MS);
        return [name, readMemoryMiB(pid, "RssAnon")] as const;
      }),
    ),
  ).then((figures) => new Map(figures));

async function measureSubject(subject: Subject, count: number): Promise<Figures> {
  await fillCaches(subject);
  const starts: Awaited<ReturnType<typeof measureStart>>[] = [];
  const sdkStarts: number[] = [];
  for (let n = 0; n < count; n++) {
    starts.push(await measureStart(subject));
    sdkStarts.push(await measureSdkStart(subject));
  }
  const cpuMs = starts.flatMap(({ callCpuMs }) => callCpuMs ?? []);
  return {
    listMs: median(starts.map(({ listMs }) => listMs)),
    sdkListMs: median(sdkStarts),
    firstMs: subject.calls && median(starts.map(({ listMs, callMs = Number.NaN }) => listMs + callMs)),
    callMs: subject.calls && median(starts.flatMap(({ callMs }) => callMs ?? [])),
    // A mean, because the kernel counts in steps of 10 ms.
    callCpuMs: cpuMs.length === 0 ? undefined : cpuMs.reduce((sum, ms) => sum + ms, 0) / cpuMs.length,
  };
}

export const startup: MetricGroup = {
  title: "The start",
  reference: CALL_V1,
  columns: [
    { name: "listMs", title: "spawn to tools/list with a minimal client, ms", digits: 0 },
    { name: "sdkListMs", title: "spawn to the end of the SDK client's first listTools(), ms", digits: 0 },
    { name: "firstMs", title: "spawn to the first answer of a tool, ms", digits: 0 },
    { name: "callMs", title: "first call after tools/list, ms", digits: 0 },
    { name: "callCpuMs", title: "first call after tools/list, CPU, ms", digits: 0 },
    { name: "idleMiB", title: "private memory after 30 s at rest, MiB", digits: 0 },
  ],
  async *round({ subjects, size }) {
    const empty: number[] = [];
    for (let n = 0; n < size.starts; n++) empty.push(await measureEmptyStart());
    yield ["node -e 0", { listMs: median(empty) }];
    const measured = subjects.filter((subject) => !isPagesOnly(subject));
    const figures = new Map<string, Figures>();
    for (const subject of measured) figures.set(subject.name, await measureSubject(subject, size.starts));
    // At rest at the same time, because each needs as long; they use no CPU time.
    const idle = await measureIdleMemory(measured);
    for (const [name, starts] of figures) yield [name, { ...starts, idleMiB: idle.get(name) }];
  },
};
