// Measures a client's calls: the duration of one call, the calls per second, and the CPU time of the server's process.
import type { Call } from "./calls.ts";
import { type Client, type Command, connect } from "./client.ts";
import { readCpuMs } from "./process-stats.ts";

export type Figures = Readonly<Record<string, number | undefined>>;

export interface RunSize {
  readonly rounds: number;
  /** Number of starts in each round. */
  readonly starts: number;
  /** Number of calls before the measurement starts, because a server in use has long compiled its code. */
  readonly warmUpCalls: number;
  /** Number of sequential calls. */
  readonly sequentialCalls: number;
  /** Number of sequential reads of a page of 100 jobs. */
  readonly pages: number;
  /** Number of calls with many in flight. */
  readonly concurrentCalls: number;
  /** Number of sequential POSTs. */
  readonly posts: number;
}

/** The quantile of the values at `fraction` (0 to 1), or NaN without values. */
export const quantile = (values: readonly number[], fraction: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(fraction * sorted.length))] ?? Number.NaN;
};

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export interface SequentialRun {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of one call. */
  readonly cpuMs: number | undefined;
}

export const callTool = (client: Client, { name, arguments: args }: Call) =>
  client.request("tools/call", { name, arguments: args });

/** Runs `work` with a server in a new process, because earlier calls of another kind change what a call costs. */
export async function withServer<T>(command: Command, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connect(command);
  try {
    await client.request("tools/list");
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Throws if the call fails, so that a failure is not measured as an answer. */
export async function assertAnswered(client: Client, call: Call): Promise<void> {
  const { line } = await callTool(client, call);
  if (line === "") throw new Error(`${call.name}: no answer`);
  if (/"isError":true|^\{"(jsonrpc":"2.0","id":\d+,")?error"/.test(line) || /"error":\{"code"/.test(line.slice(0, 100)))
    throw new Error(`${call.name}: ${line.slice(0, 300)}`);
}

/** The server's CPU time during `work`, divided by `count`, in milliseconds; undefined outside Linux. */
export async function measureCpu(
  client: Client,
  count: number,
  work: () => Promise<unknown>,
): Promise<number | undefined> {
  const before = readCpuMs(client.pid);
  await work();
  const after = readCpuMs(client.pid);
  return before === undefined || after === undefined ? undefined : (after - before) / count;
}

/** Runs `work` `count` times sequentially and returns each duration in milliseconds. */
export async function timeCalls(count: number, work: (number: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < count; n++) {
    const startedAt = performance.now();
    await work(n);
    times.push(performance.now() - startedAt);
  }
  return times;
}

/** Measures sequential calls after a warm-up of at least 10 calls. */
export async function runSequentially(client: Client, call: Call, count: number): Promise<SequentialRun> {
  for (let n = 0; n < Math.max(10, count / 5); n++) await callTool(client, call);
  let times: readonly number[] = [];
  const cpu = await measureCpu(client, count, async () => {
    times = await timeCalls(count, () => callTool(client, call));
  });
  return { p50Ms: median(times), p99Ms: quantile(times, 0.99), cpuMs: cpu };
}

export interface ConcurrentRun {
  readonly perSecond: number;
  readonly p99Ms: number;
}

/** Runs `work` `count` times with `inFlight` runs in flight. */
export async function runConcurrently(
  work: () => Promise<unknown>,
  inFlight: number,
  count: number,
): Promise<ConcurrentRun> {
  let remaining = count;
  const times: number[] = [];
  const startedAt = performance.now();
  const worker = async () => {
    while (remaining-- > 0) times.push(...(await timeCalls(1, work)));
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return { perSecond: (1000 * count) / (performance.now() - startedAt), p99Ms: quantile(times, 0.99) };
}

export const runCallsConcurrently = async (
  client: Client,
  call: Call,
  inFlight: number,
  count: number,
): Promise<ConcurrentRun> => {
  await runConcurrently(() => callTool(client, call), inFlight, count / 4);
  return await runConcurrently(() => callTool(client, call), inFlight, count);
};
