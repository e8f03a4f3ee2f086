// Measures reads of one job, the most frequent read of agents: in a young process, which still compiles much of its code, and in
// a warm one.
import type { MetricGroup } from "./group.ts";
import {
  assertAnswered,
  callTool,
  type Figures,
  measureCpu,
  median,
  quantile,
  type RunSize,
  runConcurrently,
  timeCalls,
  withServer,
} from "./measure.ts";
import { CALL_V1_18, isPagesOnly, type Subject } from "./subjects.ts";

const YOUNG_AFTER = 120;
const WARM_AFTER = 3_000;
const IN_FLIGHT = 32;

async function measureSubject(
  { command, calls }: Subject,
  { sequentialCalls, concurrentCalls }: RunSize,
): Promise<Figures | undefined> {
  if (!calls) return undefined;

  /** Measures sequential calls after `earlierCount` calls, then concurrent ones; the CPU time includes both. */
  const measureProcess = (earlierCount: number, sequentialCount: number, concurrentCount: number) =>
    withServer(command, async (client) => {
      await assertAnswered(client, calls.job);
      const call = () => callTool(client, calls.job);
      await runConcurrently(call, 4, earlierCount);
      let times: readonly number[] = [];
      let perSecond = Number.NaN;
      const cpuMs = await measureCpu(client, sequentialCount + concurrentCount, async () => {
        times = await timeCalls(sequentialCount, call);
        ({ perSecond } = await runConcurrently(call, IN_FLIGHT, concurrentCount));
      });
      return { p50Ms: median(times), p99Ms: quantile(times, 0.99), cpuMs, perSecond };
    });

  const young = await measureProcess(YOUNG_AFTER, 250, 1_000);
  const warm = await measureProcess(WARM_AFTER, sequentialCalls, concurrentCalls);
  return {
    youngMs: young.p50Ms,
    youngP99Ms: young.p99Ms,
    youngCpuMs: young.cpuMs,
    youngPerSecond: young.perSecond,
    warmMs: warm.p50Ms,
    warmP99Ms: warm.p99Ms,
    warmCpuMs: warm.cpuMs,
    warmPerSecond: warm.perSecond,
  };
}

export const oneJob: MetricGroup = {
  title: "One job",
  reference: CALL_V1_18,
  columns: [
    { name: "youngMs", title: "one job, young, p50, ms", digits: 2 },
    { name: "youngP99Ms", title: "one job, young, p99, ms", digits: 2 },
    { name: "youngCpuMs", title: "one job, young, CPU, ms", digits: 2 },
    { name: "youngPerSecond", title: "jobs a second, young, 32 in flight", digits: 0 },
    { name: "warmMs", title: "one job, warm, p50, ms", digits: 2 },
    { name: "warmP99Ms", title: "one job, warm, p99, ms", digits: 2 },
    { name: "warmCpuMs", title: "one job, warm, CPU, ms", digits: 2 },
    { name: "warmPerSecond", title: "jobs a second, warm, 32 in flight", digits: 0 },
  ],
  async *round({ subjects, size }) {
    for (const subject of subjects) {
      const figures = isPagesOnly(subject) ? undefined : await measureSubject(subject, size);
      if (figures) yield [subject.name, figures];
    }
  },
};
