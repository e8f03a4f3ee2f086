// A server at work over stdio: the states, one input, pages of 100 jobs, and what it then holds at most.
import { Pool } from "undici";
import { paths } from "./calls.ts";
import { connect } from "./client.ts";
import type { Bench, Group } from "./group.ts";
import {
  answered,
  atOnce,
  callsAtOnce,
  callTool,
  type Figures,
  median,
  runSequentially,
  type Size,
  timed,
} from "./measure.ts";
import { rssMiB } from "./process.ts";
import { CALL_V1, type Subject } from "./subjects.ts";

const IN_FLIGHT = 32;

async function figuresOf({ command, calls }: Subject, size: Size): Promise<Figures | undefined> {
  if (!calls) return undefined;
  const { warm, small, pages, crowd } = size;
  const client = await connect(command);
  await client.request("tools/list");
  for (const call of [calls.states, calls.input, calls.jobs(100)]) await answered(client, call);
  await atOnce(() => callTool(client, calls.states), 4, warm);
  await atOnce(() => callTool(client, calls.input), 4, warm);
  await atOnce(() => callTool(client, calls.jobs(100)), 2, warm / 2);
  const states = await runSequentially(client, calls.states, small);
  const input = await runSequentially(client, calls.input, small);
  const manyStates = await callsAtOnce(client, calls.states, IN_FLIGHT, crowd);
  const manyInputs = await callsAtOnce(client, calls.input, IN_FLIGHT, crowd);
  const jobs = await runSequentially(client, calls.jobs(100), pages);
  const peakMiB = rssMiB(client.pid, "VmHWM");
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

/** The same questions without any MCP between: the bound that no server can pass. */
async function rawFigures({ baseUrl, size: { small, pages, crowd } }: Bench): Promise<Figures> {
  const pool = new Pool(baseUrl, { connections: 8 });
  const get = async (path: string) => await (await pool.request({ method: "GET", path })).body.text();
  const p50 = async (path: string, count: number) => median(await timed(count, () => get(path)));
  const statesMs = await p50(paths.states, small);
  const inputMs = await p50(paths.input, small);
  const { perSecond: statesPerSecond } = await atOnce(() => get(paths.states), IN_FLIGHT, crowd);
  const { perSecond: inputsPerSecond } = await atOnce(() => get(paths.input), IN_FLIGHT, crowd);
  const jobsMs = await p50(paths.jobs(100), pages);
  await pool.close();
  return { statesMs, inputMs, statesPerSecond, inputsPerSecond, jobsMs };
}

export const working: Group = {
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
    yield ["undici", await rawFigures(bench)];
    for (const subject of bench.subjects) {
      const figures = await figuresOf(subject, bench.size);
      if (figures) yield [subject.name, figures];
    }
  },
};
