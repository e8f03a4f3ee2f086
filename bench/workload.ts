// Measures a server under load over stdio: the states, one input, pages of 100 jobs, and peak memory.
import { Pool } from "undici";
import { paths } from "./calls.ts";
import { connect } from "./client.ts";
import type { BenchContext, MetricGroup } from "./group.ts";
import {
  assertAnswered,
  callTool,
  type Figures,
  median,
  type RunSize,
  runCallsConcurrently,
  runConcurrently,
  runSequentially,
  timeCalls,
} from "./measure.ts";
import { readMemoryMiB } from "./process-stats.ts";
import { CALL_V1, type Subject } from "./subjects.ts";

const IN_FLIGHT = 32;

async function measureSubject({ command, calls }: Subject, size: RunSize): Promise<Figures | undefined> {
  if (!calls) return undefined;
  const { warmUpCalls, sequentialCalls, pages, concurrentCalls } = size;
  const client = await connect(command);
  await client.request("tools/list");
  for (const call of [calls.states, calls.input, calls.jobs(100)]) await assertAnswered(client, call);
  await runConcurrently(() => callTool(client, calls.states), 4, warmUpCalls);
  await runConcurrently(() => callTool(client, calls.input), 4, warmUpCalls);
  await runConcurrently(() => callTool(client, calls.jobs(100)), 2, warmUpCalls / 2);
  const states = await runSequentially(client, calls.states, sequentialCalls);
  const input = await runSequentially(client, calls.input, sequentialCalls);
  const manyStates = await runCallsConcurrently(client, calls.states, IN_FLIGHT, concurrentCalls);
  const manyInputs = await runCallsConcurrently(client, calls.input, IN_FLIGHT, concurrentCalls);
  const jobs = await runSequentially(client, calls.jobs(100), pages);
  const peakMiB = readMemoryMiB(client.pid, "VmHWM");
  await client.close();
  return {
    peakMiB,
    statesMs: states.p50Ms,
    statesP99Ms: states.p99Ms,
    statesCpuMs: states.cpuMs,
    inputMs: input.p50Ms,
    inputP99Ms: input.p99Ms,
    inputCpuMs: input.cpuMs,
    jobsMs: jobs.p50Ms,
    jobsP99Ms: jobs.p99Ms,
    jobsCpuMs: jobs.cpuMs,
    statesPerSecond: manyStates.perSecond,
    inputsPerSecond: manyInputs.perSecond,
  };
}

/** Sends the same requests without MCP: a bound that no server can exceed. */
async function measureRaw({
  baseUrl,
  size: { sequentialCalls, pages, concurrentCalls },
}: BenchContext): Promise<Figures> {
  const pool = new Pool(baseUrl, { connections: 8 });
  const get = async (path: string) => await (await pool.request({ method: "GET", path })).body.text();
  const measureMedian = async (path: string, count: number) => median(await timeCalls(count, () => get(path)));
  const statesMs = await measureMedian(paths.states, sequentialCalls);
  const inputMs = await measureMedian(paths.input, sequentialCalls);
  const { perSecond: statesPerSecond } = await runConcurrently(() => get(paths.states), IN_FLIGHT, concurrentCalls);
  const { perSecond: inputsPerSecond } = await runConcurrently(() => get(paths.input), IN_FLIGHT, concurrentCalls);
  const jobsMs = await measureMedian(paths.jobs(100), pages);
  await pool.close();
  return { statesMs, inputMs, statesPerSecond, inputsPerSecond, jobsMs };
}

export const workload: MetricGroup = {
  title: "At work",
  reference: CALL_V1,
  columns: [
    { name: "peakMiB", title: "memory, peak, MiB", digits: 0 },
    { name: "statesMs", title: "states, p50, ms", digits: 2 },
    { name: "statesP99Ms", title: "states, p99, ms", digits: 2 },
    { name: "statesCpuMs", title: "states, CPU, ms", digits: 2 },
    { name: "statesPerSecond", title: "states a second, 32 in flight", digits: 0 },
    { name: "inputMs", title: "one input, p50, ms", digits: 2 },
    { name: "inputP99Ms", title: "one input, p99, ms", digits: 2 },
    { name: "inputCpuMs", title: "one input, CPU, ms", digits: 2 },
    { name: "inputsPerSecond", title: "inputs a second, 32 in flight", digits: 0 },
    { name: "jobsMs", title: "100 jobs, p50, ms", digits: 2 },
    { name: "jobsP99Ms", title: "100 jobs, p99, ms", digits: 2 },
    { name: "jobsCpuMs", title: "100 jobs, CPU, ms", digits: 2 },
  ],
  async *round(bench) {
    yield ["undici", await measureRaw(bench)];
    for (const subject of bench.subjects) {
      const figures = await measureSubject(subject, bench.size);
      if (figures) yield [subject.name, figures];
    }
  },
};
