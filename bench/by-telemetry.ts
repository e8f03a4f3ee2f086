// What telemetry costs: one job, off and on in turn, with a collector that takes everything and with none there.
import { createServer } from "node:http";
import { type Client, connect } from "./client.ts";
import type { Growth } from "./growth.ts";
import { answered, atOnce, callTool, cpuOf, median } from "./measure.ts";
import { rssMiB } from "./process.ts";
import { CLI, OURS, ourEnvironment } from "./subjects.ts";
import { markdown } from "./table.ts";

const IN_FLIGHT = 32;

interface Sink {
  readonly endpoint: string;
  close(): Promise<void>;
}

/** Reads what comes and says nothing of it. */
async function startSink(): Promise<Sink> {
  const server = createServer((request, response) => {
    request.resume().once("end", () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the sink listens on no TCP port");
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Taken {
  readonly cpuMs: number;
  readonly perSecond: number;
  readonly memoryMiB: number;
}

async function take(client: Client, call: Parameters<typeof callTool>[1], warm: number, crowd: number): Promise<Taken> {
  await answered(client, call);
  await atOnce(() => callTool(client, call), 4, warm);
  let perSecond = Number.NaN;
  const cpuMs = await cpuOf(client, crowd, async () => {
    ({ perSecond } = await atOnce(() => callTool(client, call), IN_FLIGHT, crowd));
  });
  return { cpuMs: cpuMs ?? Number.NaN, perSecond, memoryMiB: rssMiB(client.pid, "VmRSS") ?? Number.NaN };
}

export const byTelemetry: Growth = async ({ subjects, baseUrl, size }, _, logProgress) => {
  const call = subjects.find(({ name }) => name === OURS)?.calls?.job;
  if (!call) throw new Error("nobody to measure");
  const sink = await startSink();
  const on = { OTEL_EXPORTER_OTLP_ENDPOINT: sink.endpoint };
  const ways: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    off: {},
    "on, all sampled": on,
    "on, a tenth sampled": { ...on, OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.1" },
    // Discard: nobody listens there.
    "on, no collector there": { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" },
  };
  const env = await ourEnvironment(baseUrl);
  const rounds: Map<string, Taken>[] = [];
  for (let round = 0; round < size.rounds; round++) {
    logProgress(`Telemetry: round ${round + 1} of ${size.rounds}`);
    const taken = new Map<string, Taken>();
    for (const [way, variables] of Object.entries(ways)) {
      const client = await connect({ args: [CLI], env: { ...env, ...variables } });
      taken.set(way, await take(client, call, size.warm, size.crowd));
      await client.close();
    }
    rounds.push(taken);
  }
  await sink.close();

  const cell = (way: string, of: keyof Taken, digits: number): string => {
    const values = rounds.map((taken) => taken.get(way)?.[of] ?? Number.NaN);
    const ratios = rounds.map((taken, round) => (values[round] ?? Number.NaN) / (taken.get("off")?.[of] ?? Number.NaN));
    return `${median(values).toFixed(digits)} (${median(ratios).toFixed(2)})`;
  };
  const rows = Object.keys(ways).map((way) => [
    way,
    cell(way, "cpuMs", 2),
    cell(way, "perSecond", 0),
    cell(way, "memoryMiB", 0),
  ]);
  return markdown(["telemetry", "one job, CPU, ms", `jobs a second, ${IN_FLIGHT} in flight`, "memory, MiB"], rows);
};
