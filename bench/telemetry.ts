// Measures the cost of telemetry: one job, with telemetry off and on in turn, with a collector that accepts all exports and
// without a collector.
import { createServer } from "node:http";
import { type Client, connect } from "./client.ts";
import { assertAnswered, callTool, measureCpu, median, runConcurrently } from "./measure.ts";
import { readMemoryMiB } from "./process-stats.ts";
import type { ScalingMetric } from "./scaling.ts";
import { CLI, createEnvironment, OURS } from "./subjects.ts";
import { formatMarkdownTable } from "./table.ts";

const IN_FLIGHT = 32;

interface Collector {
  readonly endpoint: string;
  close(): Promise<void>;
}

/** Starts a collector that reads each export and returns an empty response. */
async function startCollector(): Promise<Collector> {
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

interface Measurement {
  readonly cpuMs: number;
  readonly perSecond: number;
  readonly memoryMiB: number;
}

async function measureCall(
  client: Client,
  call: Parameters<typeof callTool>[1],
  warm: number,
  crowd: number,
): Promise<Measurement> {
  await assertAnswered(client, call);
  await runConcurrently(() => callTool(client, call), 4, warm);
  let perSecond = Number.NaN;
  const cpuMs = await measureCpu(client, crowd, async () => {
    ({ perSecond } = await runConcurrently(() => callTool(client, call), IN_FLIGHT, crowd));
  });
  return { cpuMs: cpuMs ?? Number.NaN, perSecond, memoryMiB: readMemoryMiB(client.pid, "VmRSS") ?? Number.NaN };
}

export const measureTelemetry: ScalingMetric = async ({ subjects, baseUrl, size }, _, logProgress) => {
  const call = subjects.find(({ name }) => name === OURS)?.calls?.job;
  if (!call) throw new Error("no call to measure");
  const collector = await startCollector();
  const enabled = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint };
  const configurations: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    off: {},
    "on, all sampled": enabled,
    "on, a tenth sampled": {
      ...enabled,
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.1",
    },
    // The discard port, on which no process listens.
    "on, no collector there": { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" },
  };
  const env = await createEnvironment(baseUrl);
  const rounds: Map<string, Measurement>[] = [];
  for (let round = 0; round < size.rounds; round++) {
    logProgress(`Telemetry: round ${round + 1} of ${size.rounds}`);
    const measurements = new Map<string, Measurement>();
    for (const [configuration, variables] of Object.entries(configurations)) {
      const client = await connect({ args: [CLI], env: { ...env, ...variables } });
      measurements.set(configuration, await measureCall(client, call, size.warmUpCalls, size.concurrentCalls));
      await client.close();
    }
    rounds.push(measurements);
  }
  await collector.close();

  const formatCell = (configuration: string, field: keyof Measurement, digits: number): string => {
    const values = rounds.map((measurements) => measurements.get(configuration)?.[field] ?? Number.NaN);
    const ratios = rounds.map(
      (measurements, round) => (values[round] ?? Number.NaN) / (measurements.get("off")?.[field] ?? Number.NaN),
    );
    return `${median(values).toFixed(digits)} (${median(ratios).toFixed(2)})`;
  };
  const rows = Object.keys(configurations).map((configuration) => [
    configuration,
    formatCell(configuration, "cpuMs", 2),
    formatCell(configuration, "perSecond", 0),
    formatCell(configuration, "memoryMiB", 0),
  ]);
  return formatMarkdownTable(
    ["telemetry", "one job, CPU, ms", `jobs a second, ${IN_FLIGHT} in flight`, "memory, MiB"],
    rows,
  );
};
