// Measures a server under load over stdio: the states, one input, pages of 100 jobs, and peak memory.
import { Pool } from "undici";
import { type Call, paths } from "./calls.ts";
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
  withServer,
} from "./measure.ts";
import { readMemoryMiB } from "./process-stats.ts";
import { CALL_V1, type Subject } from "./subjects.ts";

const IN_FLIGHT = 32;

async function measureSubject({ command, calls }: Subject, size: RunSize): Promise<Figures | undefined> {
  if (!calls) return undefined;
  const { warmUpCalls, sequentialCalls, pages, concurrentCalls } = size;
  /** Measures sequential calls in a warm process, then concurrent ones, if any, and the peak memory of both. */
  const measureCall = (call: Call, earlierCount: number, sequentialCount: number, concurrentCount = 0) =>
    withServer(command, async (client) => {
      await assertAnswered(client, call);
      await runConcurrently(() => callTool(client, call), 4, earlierCount);
      const sequential = await runSequentially(client, call, sequentialCount);
      const { perSecond } = await runCallsConcurrently(client, call, IN_FLIGHT, concurrentCount);
      return { ...sequential, perSecond, peakMiB: readMemoryMiB(client.pid, "VmHWM") };
    });
  const states = await measureCall(calls.states, warmUpCalls, sequentialCalls, concurrentCalls);
  const input = await measureCall(calls.input, warmUpCalls, sequentialCalls, concurrentCalls);
  const jobs = await measureCall(calls.jobs(100), warmUpCalls / 2, pages);
  return {
    peakMiB: jobs.peakMiB,
    statesMs: states.p50Ms,
    statesP99Ms: states.p99Ms,
    statesCpuMs: states.cpuMs,
    inputMs: input.p50Ms,
    inputP99Ms: input.p99Ms,
    inputCpuMs: input.cpuMs,
    jobsMs: jobs.p50Ms,
    jobsP99Ms: jobs.p99Ms,
    jobsCpuMs: jobs.cpuMs,
    statesPerSecond: states.perSecond,
    inputsPerSecond: input.perSecond,
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
    { name: "peakMiB", title: "memory, peak after pages of 100 jobs, MiB", digits: 0 },
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
