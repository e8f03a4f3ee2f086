// Measures how cost grows with page size, calls in flight, latency of the API, and file size.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Calls } from "./calls.ts";
import { type Client, connect } from "./client.ts";
import type { BenchContext } from "./group.ts";
import { assertAnswered, callTool, runCallsConcurrently, runSequentially } from "./measure.ts";
import { readMemoryMiB } from "./process-stats.ts";
import { startStub } from "./start-stub.ts";
import { CALL_V1, CALL_V1_18, CLI, createEnvironment, createSubjects, OURS, type Subject } from "./subjects.ts";
import { formatMarkdownTable } from "./table.ts";

/** Measures one aspect of scaling and returns a Markdown table. */
export type ScalingMetric = (
  bench: Pick<BenchContext, "subjects" | "baseUrl" | "size">,
  isQuick: boolean,
  logProgress: (text: string) => void,
) => Promise<string>;

type CellMeasurement = (client: Client, calls: Calls) => Promise<string>;

/** Returns one row per subject, measured in one process, with one cell for each measurement. */
async function measureRows(
  subjects: readonly Subject[],
  cells: readonly CellMeasurement[],
): Promise<readonly (readonly string[])[]> {
  const rows = [];
  for (const { name, command, calls } of subjects) {
    if (!calls) continue;
    const client = await connect(command);
    const row = [name];
    for (const cell of cells) row.push(await cell(client, calls));
    await client.close();
    rows.push(row);
  }
  return rows;
}

const selectSubjects = (subjects: readonly Subject[], ...names: readonly string[]): readonly Subject[] =>
  subjects.filter(({ name }) => names.includes(name));

export const measurePages: ScalingMetric = async ({ subjects }, isQuick, logProgress) => {
  logProgress("pages");
  const limits = [1, 10, 100];
  const measurePage =
    (limit: number): CellMeasurement =>
    async (client, calls) => {
      const { p50Ms, cpuMs } = await runSequentially(client, calls.jobs(limit), isQuick ? 15 : 60);
      return `${p50Ms.toFixed(2)} / ${cpuMs?.toFixed(2) ?? ""}`;
    };
  const ours = subjects.filter(({ name }) => name === CALL_V1 || name.startsWith(OURS));
  const head = ["p50 / CPU of a page, ms", ...limits.map((limit) => (limit === 1 ? "1 job" : `${limit} jobs`))];
  return formatMarkdownTable(head, await measureRows(ours, limits.map(measurePage)));
};

const measureInFlight =
  (concurrency: number, count: number): CellMeasurement =>
  async (client, calls) => {
    const { perSecond, p99Ms } = await runCallsConcurrently(client, calls.job, concurrency, count);
    return `${perSecond.toFixed(0)} / ${p99Ms.toFixed(p99Ms < 10 ? 1 : 0)}`;
  };

export const measureConcurrency: ScalingMetric = async ({ subjects }, isQuick, logProgress) => {
  logProgress("in flight");
  const concurrencyLevels = [1, 2, 4, 8, 16, 32, 64, 128, 256];
  const cells = concurrencyLevels.map((concurrency) => measureInFlight(concurrency, isQuick ? 500 : 2_000));
  const rows = await measureRows(selectSubjects(subjects, CALL_V1, CALL_V1_18, "orval", OURS), [
    async (client, calls) => {
      await assertAnswered(client, calls.job);
      return "";
    },
    ...cells,
  ]);
  return formatMarkdownTable(
    ["jobs a second / p99 in ms, in flight:", ...concurrencyLevels.map(String)],
    rows.map(([name = "", , ...row]) => [name, ...row]),
  );
};

const LATENCY_MS = 20;

export const measureLatency: ScalingMetric = async (_, isQuick, logProgress) => {
  logProgress(`a service ${LATENCY_MS} ms away`);
  const concurrencyLevels = [8, 32, 128];
  const stub = await startStub(LATENCY_MS);
  try {
    const subjects = await createSubjects(stub.url);
    const cells = concurrencyLevels.map((concurrency) =>
      measureInFlight(concurrency, (isQuick ? 10 : 20) * concurrency),
    );
    const rows = await measureRows(selectSubjects(subjects, CALL_V1, CALL_V1_18, "orval", OURS), cells);
    return formatMarkdownTable(
      [`jobs a second / p99 in ms, service ${LATENCY_MS} ms away, in flight:`, ...concurrencyLevels.map(String)],
      rows,
    );
  } finally {
    await stub.stop();
  }
};

export const measureAssets: ScalingMetric = async ({ baseUrl }, isQuick, logProgress) => {
  const rows = [];
  for (const megabytes of isQuick ? [1, 100] : [1, 10, 100, 1_000]) {
    logProgress(`asset of ${megabytes} MB`);
    const folder = await mkdtemp(join(tmpdir(), "mic-mcp-bench-assets-"));
    const client = await connect({
      args: [CLI],
      env: { ...(await createEnvironment(baseUrl)), MIC_DOWNLOAD_DIR: folder },
    });
    const startedAt = performance.now();
    await callTool(client, { name: "download_asset", arguments: { assetId: `asset_${megabytes}` } });
    const seconds = (performance.now() - startedAt) / 1000;
    const peak = readMemoryMiB(client.pid, "VmHWM");
    await client.close();
    rows.push([`${megabytes} MB`, seconds.toFixed(2), (megabytes / seconds).toFixed(0), peak?.toFixed(0) ?? ""]);
    await rm(folder, { recursive: true, force: true });
  }
  return formatMarkdownTable(["asset", "seconds", "MB a second", "peak memory, MiB"], rows);
};
