// Measures Streamable HTTP and stdio: the states, one job, and the memory of idle sessions.
import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "./calls.ts";
import type { Client } from "./client.ts";
import type { MetricGroup } from "./group.ts";
import { type HttpServer, type ProtocolRevision, startHttpServer } from "./http-client.ts";
import {
  assertAnswered,
  callTool,
  type Figures,
  measureCpu,
  type RunSize,
  runConcurrently,
  runSequentially,
  withServer,
} from "./measure.ts";
import { readMemoryMiB } from "./process-stats.ts";
import { CALL_V1, isPagesOnly, OURS, type Subject } from "./subjects.ts";

const IN_FLIGHT = 16;
const SESSIONS = 100;
/** How long a server is idle before its memory is read. */
const IDLE_MS = 500;

async function measureCall(client: Client, call: Call, { warmUpCalls, sequentialCalls, concurrentCalls }: RunSize) {
  await assertAnswered(client, call);
  await runConcurrently(() => callTool(client, call), IN_FLIGHT, warmUpCalls);
  const { p50Ms, p99Ms } = await runSequentially(client, call, sequentialCalls);
  let perSecond = Number.NaN;
  const cpuMs = await measureCpu(client, concurrentCalls, async () => {
    ({ perSecond } = await runConcurrently(() => callTool(client, call), IN_FLIGHT, concurrentCalls));
  });
  return { p50Ms, p99Ms, cpuMs, perSecond };
}

/** `withClient`: runs a function with a server in a new process. */
async function measureSubject(
  withClient: <T>(work: (client: Client) => Promise<T>) => Promise<T>,
  { states, job }: NonNullable<Subject["calls"]>,
  size: RunSize,
): Promise<Figures> {
  const statesRun = await withClient((client) => measureCall(client, states, size));
  const jobRun = await withClient((client) => measureCall(client, job, size));
  return {
    statesMs: statesRun.p50Ms,
    statesP99Ms: statesRun.p99Ms,
    statesCpuMs: statesRun.cpuMs,
    statesPerSecond: statesRun.perSecond,
    jobMs: jobRun.p50Ms,
    jobP99Ms: jobRun.p99Ms,
    jobCpuMs: jobRun.cpuMs,
    jobsPerSecond: jobRun.perSecond,
  };
}

/** Returns the same server with a SIGUSR2 handler that collects garbage. */
const withGarbageCollection = ({ command, ...http }: NonNullable<Subject["http"]>): NonNullable<Subject["http"]> => ({
  ...http,
  command(port) {
    const { args, ...rest } = command(port);
    const collect = `data:text/javascript,${encodeURIComponent('process.on("SIGUSR2",()=>{gc();gc()})')}`;
    return { ...rest, args: ["--expose-gc", "--import", collect, ...args] };
  },
});

async function withHttpServer<T>(
  http: NonNullable<Subject["http"]>,
  work: (server: HttpServer) => Promise<T>,
): Promise<T> {
  const server = await startHttpServer(http);
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

/**
 * Opens sessions that list the tools and then stay idle. The memory per session excludes the first batch, for which the server
 * compiles its code.
 */
async function measureIdleSessions(server: HttpServer): Promise<Figures> {
  const openSession = async () => {
    const client = await server.connect("session", 1);
    await client.request("tools/list");
    // The session stays open without its connection.
    await client.close();
  };
  const measureMemory = async () => {
    for (let n = 0; n < SESSIONS; n++) await openSession();
    process.kill(server.pid, "SIGUSR2");
    await sleep(IDLE_MS);
    return readMemoryMiB(server.pid, "VmRSS");
  };
  const before = await measureMemory();
  const after = await measureMemory();
  if (before === undefined || after === undefined) return {};
  return { sessionsMiB: before, sessionKiB: (1024 * (after - before)) / SESSIONS };
}

export const overHttp: MetricGroup = {
  title: "Over HTTP",
  reference: `${CALL_V1}, HTTP`,
  columns: [
    { name: "statesMs", title: "states, p50, ms", digits: 2 },
    { name: "statesP99Ms", title: "states, p99, ms", digits: 2 },
    { name: "statesCpuMs", title: "states, CPU, ms, 16 in flight", digits: 2 },
    { name: "statesPerSecond", title: "states a second, 16 in flight", digits: 0 },
    { name: "jobMs", title: "one job, p50, ms", digits: 2 },
    { name: "jobP99Ms", title: "one job, p99, ms", digits: 2 },
    { name: "jobCpuMs", title: "one job, CPU, ms, 16 in flight", digits: 2 },
    { name: "jobsPerSecond", title: "jobs a second, 16 in flight", digits: 0 },
    { name: "sessionsMiB", title: `memory with ${SESSIONS} idle sessions, MiB`, digits: 0 },
    { name: "sessionKiB", title: "memory an idle session, KiB", digits: 0 },
  ],
  async *round({ subjects, size }) {
    for (const subject of subjects) {
      const { name, command, http, calls } = subject;
      if (!http || !calls || isPagesOnly(subject)) continue;
      yield [`${name}, stdio`, await measureSubject((work) => withServer(command, work), calls, size)];
      const revisions: readonly ProtocolRevision[] = name === OURS ? ["session", "modern"] : ["session"];
      for (const revision of revisions) {
        const figures = await measureSubject(
          (work) => withHttpServer(http, async (server) => await work(await server.connect(revision, IN_FLIGHT))),
          calls,
          size,
        );
        const sessions =
          revision === "session" ? await withHttpServer(withGarbageCollection(http), measureIdleSessions) : {};
        yield [revision === "modern" ? `${name}, HTTP 2026-07-28` : `${name}, HTTP`, { ...figures, ...sessions }];
      }
    }
  },
};
