// One job, the read that agents make most: in a young process, much of whose time goes into compiling, and in a warm one.
import { connect } from "./client.ts";
import type { Group } from "./group.ts";
import { answered, atOnce, callTool, cpuOf, type Figures, median, quantile, type Size, timed } from "./measure.ts";
import { CALL_V1_18, isOfPages, type Subject } from "./subjects.ts";

const YOUNG_AFTER = 120;
const WARM_AFTER = 3_000;
const IN_FLIGHT = 32;

async function figuresOf({ command, calls }: Subject, { small, crowd }: Size): Promise<Figures | undefined> {
  if (!calls) return undefined;
  const client = await connect(command);
  await client.request("tools/list");
  await answered(client, calls.job);
  const call = () => callTool(client, calls.job);

  /** So many one after the other, then so many at once; the CPU time is of both. */
  async function look(sequentialCount: number, atTheSameTime: number) {
    let times: readonly number[] = [];
    let perSecond = Number.NaN;
    const cpuMs = await cpuOf(client, sequentialCount + atTheSameTime, async () => {
      times = await timed(sequentialCount, call);
      ({ perSecond } = await atOnce(call, IN_FLIGHT, atTheSameTime));
    });
    return { p50Ms: median(times), p99Ms: quantile(times, 0.99), cpuMs, perSecond };
  }

  await timed(YOUNG_AFTER, call);
  const young = await look(250, 1_000);
  await atOnce(call, 4, WARM_AFTER - YOUNG_AFTER - 1_250);
  const warm = await look(small, crowd);
  await client.close();
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

export const oneJob: Group = {
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
      const figures = isOfPages(subject) ? undefined : await figuresOf(subject, size);
      if (figures) yield [subject.name, figures];
    }
  },
};
