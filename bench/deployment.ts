// Measures the capacity of a deployment for teams: instances behind haproxy with one PostgreSQL. The emulator and the callers run
// on the same machine.
import type { Deployment } from "../test/support/deployment.ts";
import { startLoad } from "../test/support/load.ts";
import { quantile } from "./measure.ts";
import { readCpuMs } from "./process-stats.ts";
import type { ScalingMetric } from "./scaling.ts";
import { formatMarkdownTable } from "./table.ts";

const INSTANCES = [1, 2, 4];
const CALLERS = [1, 16, 64, 256];
const TEAMS = 4;
/** Total number of actions, divided among the callers; each caller makes at least MIN_ACTIONS_PER_CALLER. */
const ACTIONS = 320;
const MIN_ACTIONS_PER_CALLER = 3;
const QUICK_ACTIONS = 32;
const WARM_UP_ACTIONS = 2;
/** Fraction of a caller's calls that are reads: agents read more often than they act. */
const READ_SHARE = 0.6;

const COLUMNS = [
  "instances",
  "callers",
  "actions a second",
  "reads a second",
  "action, p50 / p99, ms",
  "read, p50 / p99, ms",
  "CPU of a call, ms",
  "failed",
];

async function measureLoad(
  { fleet, createCallers }: Deployment,
  count: number,
  actions: number,
): Promise<readonly string[]> {
  const loadCallers = await createCallers(count, ["v2-modern", "v1-client"]);
  const runLoad = (seed: number, actionsPerCaller: number) =>
    startLoad({ callers: loadCallers, seed, readShare: READ_SHARE, actionsPerCaller });
  await runLoad(0, WARM_UP_ACTIONS).finish();
  const cpu = () => fleet.instances.reduce((sum, instance) => sum + (readCpuMs(instance.pid()) ?? Number.NaN), 0);
  const [cpuBefore, startedAt] = [cpu(), performance.now()];
  const load = runLoad(1, Math.max(MIN_ACTIONS_PER_CALLER, Math.round(actions / count)));
  const { succeeded, reads, calls, protocolErrors, toolFailures } = await load.finish();
  const seconds = (performance.now() - startedAt) / 1000;
  const formatQuantiles = (values: readonly number[]) =>
    `${quantile(values, 0.5).toFixed(0)} / ${quantile(values, 0.99).toFixed(0)}`;
  return [
    String(fleet.instances.length),
    String(count),
    (succeeded / seconds).toFixed(1),
    (reads / seconds).toFixed(1),
    formatQuantiles(load.durationsMs.actions),
    formatQuantiles(load.durationsMs.reads),
    ((cpu() - cpuBefore) / calls).toFixed(1),
    String(protocolErrors + toolFailures),
  ];
}

export const measureDeployment: ScalingMetric = async (_, isQuick, logProgress) => {
  // Loaded here because only this metric needs the identity provider, which prints a warning about older Node versions when it is
  // loaded.
  const { deploymentMissing, startDeployment } = await import("../test/support/deployment.ts");
  if (deploymentMissing !== undefined) return `A deployment for teams was not measured: ${deploymentMissing}.`;
  const rows = [];
  for (const instances of isQuick ? INSTANCES.slice(0, 1) : INSTANCES) {
    const deployment = await startDeployment({ instances, teams: TEAMS });
    try {
      for (const count of isQuick ? CALLERS.slice(0, 2) : CALLERS) {
        logProgress(`${instances} instances, ${count} callers`);
        rows.push(await measureLoad(deployment, count, isQuick ? QUICK_ACTIONS : ACTIONS));
      }
    } finally {
      await deployment.stop();
    }
  }
  return formatMarkdownTable(COLUMNS, rows);
};
