// `npm run teams:bench`: how much a deployment carries: instances behind haproxy with one PostgreSQL, the emulator and the callers all on
// this machine. Ratios survive a busy machine, milliseconds do not.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type Deployment, deploymentMissing, startDeployment } from "../support/deployment.ts";
import { startLoad } from "../support/load.ts";

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const ACTIONS = 320;
const WARM_UP = 2;

const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** CPU seconds of a process so far. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

const quantile = (spans: readonly number[], part: number): string => {
  const sorted = [...spans].sort((a, b) => a - b);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(0);
};

async function measure({ fleet, callers }: Deployment, count: number): Promise<readonly (string | number)[]> {
  const everybody = await callers(count, ["v2-modern", "v1-client"]);
  const work = (seed: number, wishes: number) => startLoad({ callers: everybody, seed, reading: 0.6, wishes });
  await work(0, WARM_UP).finish();
  const cpu = () => fleet.instances.reduce((sum, instance) => sum + cpuOf(instance.pid()), 0);
  const [cpuBefore, startedAt] = [cpu(), performance.now()];
  const load = work(1, Math.max(3, Math.round(ACTIONS / count)));
  const { told, reads, calls, broken, refused } = await load.finish();
  const seconds = (performance.now() - startedAt) / 1000;
  return [
    fleet.instances.length,
    count,
    (told / seconds).toFixed(1),
    (reads / seconds).toFixed(1),
    quantile(load.spans.actions, 0.5),
    quantile(load.spans.actions, 0.99),
    quantile(load.spans.reads, 0.5),
    quantile(load.spans.reads, 0.99),
    (((cpu() - cpuBefore) * 1000) / calls).toFixed(1),
    broken + refused,
  ];
}

const { values } = parseArgs({
  options: { instances: { type: "string", default: "1,2,4" }, callers: { type: "string", default: "1,4,16,64" } },
});
const numbers = (text: string): readonly number[] => text.split(",").map(Number);

if (deploymentMissing !== undefined) {
  say(`Not here: ${deploymentMissing}.`);
  process.exit(1);
}
say("| instances | callers | actions/s | reads/s | action p50 ms | p99 | read p50 ms | p99 | CPU ms a call | failed |");
say("|---|---|---|---|---|---|---|---|---|---|");
for (const instances of numbers(values.instances)) {
  const deployment = await startDeployment({ instances, teams: 4 });
  try {
    for (const count of numbers(values.callers)) say(`| ${(await measure(deployment, count)).join(" | ")} |`);
  } finally {
    await deployment.stop();
  }
}
process.exit(0);
