// One round: every metric of one subject, each from a fresh process.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { type Client, connect } from "./client.ts";
import { cpuMs, rssMiB } from "./process.ts";
import { type Call, paths, type Subject } from "./subjects.ts";

export type Figures = Readonly<Record<string, number | undefined>>;

export interface Size {
  readonly rounds: number;
  /** Starts in each round. */
  readonly starts: number;
  /** Calls before anything is counted: a server lives longer than its first thousand, and so does its compiled code. */
  readonly warm: number;
  readonly small: number;
  readonly pages: number;
  readonly crowd: number;
}

const IN_FLIGHT = 32;
/** How long a server is left alone before its idle memory is looked at. */
const IDLE_MS = 500;

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
};

export interface Run {
  readonly p50Ms: number;
  readonly cpuMs: number | undefined;
}

const ask = (client: Client, { name, arguments: args }: Call) =>
  client.request("tools/call", { name, arguments: args });

/** A failure must not be measured as if it were an answer. */
async function answered(client: Client, call: Call): Promise<void> {
  const { line } = await ask(client, call);
  if (/"isError":true|^\{"(jsonrpc":"2.0","id":\d+,")?error"/.test(line) || /"error":\{"code"/.test(line.slice(0, 100)))
    throw new Error(`${call.name}: ${line.slice(0, 300)}`);
}

/** One call after the other: the median time of one, and the server's CPU time for one. */
export async function inTurn(client: Client, call: Call, count: number): Promise<Run> {
  for (let n = 0; n < Math.max(10, count / 5); n++) await ask(client, call);
  const times: number[] = [];
  const before = cpuMs(client.pid);
  for (let n = 0; n < count; n++) {
    const startedAt = performance.now();
    await ask(client, call);
    times.push(performance.now() - startedAt);
  }
  const after = cpuMs(client.pid);
  return {
    p50Ms: median(times),
    cpuMs: before === undefined || after === undefined ? undefined : (after - before) / count,
  };
}

/** Calls per second with so many under way at once. */
export async function atOnce(work: () => Promise<unknown>, inFlight: number, count: number): Promise<number> {
  let left = count;
  const startedAt = performance.now();
  const worker = async () => {
    while (left-- > 0) await work();
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return (1000 * count) / (performance.now() - startedAt);
}

export const callsAtOnce = async (client: Client, call: Call, inFlight: number, count: number): Promise<number> => {
  await atOnce(() => ask(client, call), inFlight, count / 4);
  return await atOnce(() => ask(client, call), inFlight, count);
};

/** A process that does nothing at all. */
export async function emptyStart(): Promise<number> {
  const startedAt = performance.now();
  await once(spawn(process.execPath, ["-e", "0"], { stdio: "ignore" }), "exit");
  return performance.now() - startedAt;
}

async function start({ command, calls }: Subject): Promise<Figures> {
  const startedAt = performance.now();
  const client = await connect(command);
  await client.request("tools/list");
  const listMs = performance.now() - startedAt;
  if (calls) await ask(client, calls.states);
  const firstMs = performance.now() - startedAt;
  await client.close();
  return { listMs, firstMs: calls ? firstMs : undefined };
}

async function idle({ command }: Subject): Promise<Figures> {
  const client = await connect(command);
  await client.request("tools/list");
  await sleep(IDLE_MS);
  const idleMiB = rssMiB(client.pid, "VmRSS");
  await client.close();
  return { idleMiB };
}

async function working({ command, calls }: Subject, { warm, small, pages, crowd }: Size): Promise<Figures> {
  if (!calls) return {};
  const client = await connect(command);
  await client.request("tools/list");
  for (const call of [calls.states, calls.input, calls.jobs(100)]) await answered(client, call);
  await atOnce(() => ask(client, calls.states), 4, warm);
  await atOnce(() => ask(client, calls.input), 4, warm);
  await atOnce(() => ask(client, calls.jobs(100)), 2, warm / 2);
  const states = await inTurn(client, calls.states, small);
  const input = await inTurn(client, calls.input, small);
  const perSecond = await callsAtOnce(client, calls.states, IN_FLIGHT, crowd);
  const inputsPerSecond = await callsAtOnce(client, calls.input, IN_FLIGHT, crowd);
  const jobs = await inTurn(client, calls.jobs(100), pages);
  const peakMiB = rssMiB(client.pid, "VmHWM");
  await client.close();
  return {
    statesMs: states.p50Ms,
    statesCpuMs: states.cpuMs,
    inputMs: input.p50Ms,
    inputCpuMs: input.cpuMs,
    jobsMs: jobs.p50Ms,
    jobsCpuMs: jobs.cpuMs,
    perSecond,
    inputsPerSecond,
    peakMiB,
  };
}

export async function round(subject: Subject, size: Size): Promise<Figures> {
  const starts: Figures[] = [];
  for (let n = 0; n < size.starts; n++) starts.push(await start(subject));
  const medianOf = (name: string): number | undefined => {
    const values = starts.flatMap((figures) => figures[name] ?? []);
    return values.length === 0 ? undefined : median(values);
  };
  return {
    listMs: medianOf("listMs"),
    firstMs: medianOf("firstMs"),
    ...(await idle(subject)),
    ...(await working(subject, size)),
  };
}

/** The same questions without any MCP between: the bound that no server can pass. */
export async function rawRound(baseUrl: string, { small, pages, crowd }: Size): Promise<Figures> {
  const pool = new Pool(baseUrl, { connections: 8 });
  const get = async (path: string) => await (await pool.request({ method: "GET", path })).body.text();
  const timed = async (path: string, count: number) => {
    const times: number[] = [];
    for (let n = 0; n < count; n++) {
      const startedAt = performance.now();
      await get(path);
      times.push(performance.now() - startedAt);
    }
    return median(times);
  };
  const statesMs = await timed(paths.states, small);
  const inputMs = await timed(paths.input, small);
  const perSecond = await atOnce(() => get(paths.states), IN_FLIGHT, crowd);
  const inputsPerSecond = await atOnce(() => get(paths.input), IN_FLIGHT, crowd);
  const jobsMs = await timed(paths.jobs(100), pages);
  await pool.close();
  return { statesMs, inputMs, perSecond, inputsPerSecond, jobsMs };
}
