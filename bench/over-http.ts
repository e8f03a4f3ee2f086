// Streamable HTTP beside stdio: the states and one job, and what sessions cost that do nothing.
import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "./calls.ts";
import { type Client, connect } from "./client.ts";
import type { Group } from "./group.ts";
import { type HttpServer, type ProtocolRevision, serveHttp } from "./http-client.ts";
import { answered, atOnce, callTool, cpuOf, type Figures, runSequentially, type Size } from "./measure.ts";
import { rssMiB } from "./process.ts";
import { CALL_V1, isOfPages, OURS, type Subject } from "./subjects.ts";

const IN_FLIGHT = 16;
const SESSIONS = 200;
/** How long a server is left alone before its memory is looked at. */
const IDLE_MS = 500;

async function look(client: Client, call: Call, { warm, small, crowd }: Size) {
  await answered(client, call);
  await atOnce(() => callTool(client, call), IN_FLIGHT, warm);
  const { p50Ms, p99Ms } = await runSequentially(client, call, small);
  let perSecond = Number.NaN;
  const cpuMs = await cpuOf(client, crowd, async () => {
    ({ perSecond } = await atOnce(() => callTool(client, call), IN_FLIGHT, crowd));
  });
  return { p50Ms, p99Ms, cpuMs, perSecond };
}

async function figuresOf(client: Client, { states, job }: NonNullable<Subject["calls"]>, size: Size): Promise<Figures> {
  const ofStates = await look(client, states, size);
  const ofJob = await look(client, job, size);
  return {
    statesMs: ofStates.p50Ms,
    statesP99Ms: ofStates.p99Ms,
    statesCpuMs: ofStates.cpuMs,
    statesPerSecond: ofStates.perSecond,
    jobMs: ofJob.p50Ms,
    jobP99Ms: ofJob.p99Ms,
    jobCpuMs: ofJob.cpuMs,
    jobsPerSecond: ofJob.perSecond,
  };
}

/** The same server, which collects its garbage on SIGUSR2. */
const collecting = ({ command, ...http }: NonNullable<Subject["http"]>): NonNullable<Subject["http"]> => ({
  ...http,
  command(port) {
    const { args, ...rest } = command(port);
    const collect = `data:text/javascript,${encodeURIComponent('process.on("SIGUSR2",()=>{gc();gc()})')}`;
    return { ...rest, args: ["--expose-gc", "--import", collect, ...args] };
  },
});

async function withServer<T>(http: NonNullable<Subject["http"]>, work: (server: HttpServer) => Promise<T>): Promise<T> {
  const server = await serveHttp(http);
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

/** Each has listed the tools, and then asks for nothing. What the first ones made the server compile is not counted. */
async function idleSessions(server: HttpServer): Promise<Figures> {
  const open = async () => {
    const client = await server.connect("session", 1);
    await client.request("tools/list");
    // The session stays; its connection need not.
    await client.close();
  };
  const memory = async () => {
    for (let n = 0; n < SESSIONS; n++) await open();
    process.kill(server.pid, "SIGUSR2");
    await sleep(IDLE_MS);
    return rssMiB(server.pid, "VmRSS");
  };
  const before = await memory();
  const after = await memory();
  if (before === undefined || after === undefined) return {};
  return { sessionsMiB: before, sessionKiB: (1024 * (after - before)) / SESSIONS };
}

export const overHttp: Group = {
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
      if (!http || !calls || isOfPages(subject)) continue;
      const stdio = await connect(command);
      yield [`${name}, stdio`, await figuresOf(stdio, calls, size)];
      await stdio.close();
      const revisions: readonly ProtocolRevision[] = name === OURS ? ["session", "modern"] : ["session"];
      for (const revision of revisions) {
        const figures = await withServer(http, async (server) =>
          figuresOf(await server.connect(revision, IN_FLIGHT), calls, size),
        );
        const sessions = revision === "session" ? await withServer(collecting(http), idleSessions) : {};
        yield [revision === "modern" ? `${name}, HTTP 2026-07-28` : `${name}, HTTP`, { ...figures, ...sessions }];
      }
    }
  },
};
