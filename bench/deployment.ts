// Measures the CPU time that an action and a read cost an instance and PostgreSQL: on this machine as it is, and while other processes use
// all its cores. The balancer, the emulator and the callers run on the same machine.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Deployment } from "../test/support/deployment.ts";
import { type Caller, startLoad } from "../test/support/load.ts";
import { connectHttp } from "../test/support/mcp.ts";
import { queryPostgres } from "../test/support/postgres.ts";
import { readCpuMs, readTreeCpuMs } from "./process-stats.ts";
import type { ScalingMetric } from "./scaling.ts";
import { formatMarkdownTable } from "./table.ts";

const TEAMS = 4;
const CALLERS = [1, 16, 64];
/** Number of calls of each kind, divided among the callers. */
const CALLS = 640;
const QUICK_CALLS = 64;
/** Calls of each kind before the measurements. */
const WARM_UP_CALLS = 1_000;

const COLUMNS = [
  ...["host", "callers", "actions a second", "CPU of an action: instance, ms", "PostgreSQL, ms"],
  ...["reads a second", "CPU of a read: instance, ms", "PostgreSQL, ms", "failed"],
];

async function act(callers: readonly Caller[], calls: number, seed: number): Promise<number> {
  const load = startLoad({ callers, seed, readShare: 0, actionsPerCaller: calls / callers.length });
  const { protocolErrors, toolFailures } = await load.finish();
  return protocolErrors + toolFailures;
}

async function read(callers: readonly Caller[], calls: number): Promise<number> {
  let failed = 0;
  const readAs = async ({ url, token, revision }: Caller): Promise<void> => {
    const client = await connectHttp(revision, url, { token });
    for (let count = 0; count < calls / callers.length; count++)
      if ((await client.callTool("list_jobs")).isError) failed += 1;
    await client.close();
  };
  await Promise.all(callers.map(readAs));
  return failed;
}

async function createMeasure({ fleet, databaseUrl }: Deployment) {
  const [row] = await queryPostgres(databaseUrl, "SHOW data_directory");
  const postmaster = Number.parseInt(readFileSync(join(String(row?.["data_directory"]), "postmaster.pid"), "utf8"), 10);
  const readCpu = () => [readCpuMs(fleet.instances[0]?.pid() ?? 0), readTreeCpuMs(postmaster)];
  /** Returns the calls in a second, the CPU time of a call in each process, and the number of failed calls. */
  return async (calls: number, run: () => Promise<number>) => {
    const [before, startedAt] = [readCpu(), performance.now()];
    const failed = await run();
    const seconds = (performance.now() - startedAt) / 1_000;
    const cpuMs = readCpu().map((ms, at) => (Number(ms) - Number(before[at])) / calls);
    return { cells: [(calls / seconds).toFixed(0), ...cpuMs.map((ms) => ms.toFixed(1))], failed };
  };
}

/** Uses all cores until the returned function is called. */
function occupyCores(): () => void {
  const others = Array.from({ length: availableParallelism() }, () => spawn(process.execPath, ["-e", "for (;;);"]));
  return () => void others.map((other) => other.kill());
}

export const measureDeployment: ScalingMetric = async (_, isQuick, logProgress) => {
  // Loaded here because only this metric needs the identity provider, which prints a warning about older Node versions when it is
  // loaded.
  const { deploymentMissing, startDeployment } = await import("../test/support/deployment.ts");
  if (deploymentMissing !== undefined) return `A deployment for teams was not measured: ${deploymentMissing}.`;
  const deployment = await startDeployment({ instances: 1, teams: TEAMS });
  const calls = isQuick ? QUICK_CALLS : CALLS;
  const rows = [];
  try {
    const measure = await createMeasure(deployment);
    const createCallers = (count: number) => deployment.createCallers(count, ["v2-modern"]);
    // A new process needs more than twice the CPU time for its first calls.
    const [first, warmUpCalls] = [await createCallers(8), isQuick ? QUICK_CALLS : WARM_UP_CALLS];
    await act(first, warmUpCalls, 0);
    await read(first, warmUpCalls);
    for (const host of ["as it is", "busy"])
      for (const count of isQuick ? CALLERS.slice(0, 2) : CALLERS) {
        logProgress(`host ${host}, ${count} callers`);
        const free = host === "busy" ? occupyCores() : undefined;
        const callers = await createCallers(count);
        const actions = await measure(calls, () => act(callers, calls, count));
        const reads = await measure(calls, () => read(callers, calls));
        free?.();
        rows.push([host, String(count), ...actions.cells, ...reads.cells, String(actions.failed + reads.failed)]);
      }
  } finally {
    await deployment.stop();
  }
  return formatMarkdownTable(COLUMNS, rows);
};
