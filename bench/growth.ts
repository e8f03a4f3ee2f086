// How cost grows: with the size of a page, with calls in flight, with the way to the service, with the size of a file.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Calls } from "./calls.ts";
import { type Client, connect } from "./client.ts";
import type { Bench } from "./group.ts";
import { answered, callsAtOnce, callTool, runSequentially } from "./measure.ts";
import { rssMiB } from "./process.ts";
import { startStub } from "./start-stub.ts";
import { CALL_V1, CALL_V1_18, CLI, makeSubjects, OURS, ourEnvironment, type Subject } from "./subjects.ts";
import { markdown } from "./table.ts";

/** A table, as Markdown. */
export type Growth = (
  bench: Pick<Bench, "subjects" | "baseUrl" | "size">,
  isQuick: boolean,
  logProgress: (text: string) => void,
) => Promise<string>;

type Work = (client: Client, calls: Calls) => Promise<string>;

/** A row for each subject, which is one process, with a cell for each piece of work. */
async function rowsOf(subjects: readonly Subject[], cells: readonly Work[]): Promise<readonly (readonly string[])[]> {
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

const named = (subjects: readonly Subject[], ...names: readonly string[]): readonly Subject[] =>
  subjects.filter(({ name }) => names.includes(name));

export const byPage: Growth = async ({ subjects }, isQuick, logProgress) => {
  logProgress("pages");
  const limits = [1, 10, 100];
  const page =
    (limit: number): Work =>
    async (client, calls) => {
      const { p50Ms, cpuMs } = await runSequentially(client, calls.jobs(limit), isQuick ? 15 : 60);
      return `${p50Ms.toFixed(2)} / ${cpuMs?.toFixed(2) ?? ""}`;
    };
  const ours = subjects.filter(({ name }) => name === CALL_V1 || name.startsWith(OURS));
  const head = ["p50 / CPU of a page, ms", ...limits.map((limit) => (limit === 1 ? "1 job" : `${limit} jobs`))];
  return markdown(head, await rowsOf(ours, limits.map(page)));
};

const inFlight =
  (flying: number, count: number): Work =>
  async (client, calls) => {
    const { perSecond, p99Ms } = await callsAtOnce(client, calls.job, flying, count);
    return `${perSecond.toFixed(0)} / ${p99Ms.toFixed(p99Ms < 10 ? 1 : 0)}`;
  };

export const byFlight: Growth = async ({ subjects }, isQuick, logProgress) => {
  logProgress("in flight");
  const flights = [1, 2, 4, 8, 16, 32, 64, 128, 256];
  const cells = flights.map((flying) => inFlight(flying, isQuick ? 500 : 2_000));
  const rows = await rowsOf(named(subjects, CALL_V1, CALL_V1_18, "orval", OURS), [
    async (client, calls) => {
      await answered(client, calls.job);
      return "";
    },
    ...cells,
  ]);
  return markdown(
    ["jobs a second / p99 in ms, in flight:", ...flights.map(String)],
    rows.map(([name = "", , ...row]) => [name, ...row]),
  );
};

const AWAY_MS = 20;

export const byDistance: Growth = async (_, isQuick, logProgress) => {
  logProgress(`a service ${AWAY_MS} ms away`);
  const flights = [8, 32, 128];
  const stub = await startStub(AWAY_MS);
  try {
    const subjects = await makeSubjects(stub.url);
    const cells = flights.map((flying) => inFlight(flying, (isQuick ? 10 : 20) * flying));
    const rows = await rowsOf(named(subjects, CALL_V1, CALL_V1_18, "orval", OURS), cells);
    return markdown(
      [`jobs a second / p99 in ms, service ${AWAY_MS} ms away, in flight:`, ...flights.map(String)],
      rows,
    );
  } finally {
    await stub.stop();
  }
};

export const byAsset: Growth = async ({ baseUrl }, isQuick, logProgress) => {
  const rows = [];
  for (const megabytes of isQuick ? [1, 100] : [1, 10, 100, 1_000]) {
    logProgress(`asset of ${megabytes} MB`);
    const folder = await mkdtemp(join(tmpdir(), "mic-mcp-bench-assets-"));
    const client = await connect({
      args: [CLI],
      env: { ...(await ourEnvironment(baseUrl)), MIC_DOWNLOAD_DIR: folder },
    });
    const startedAt = performance.now();
    await callTool(client, { name: "download_asset", arguments: { assetId: `asset_${megabytes}` } });
    const seconds = (performance.now() - startedAt) / 1000;
    const peak = rssMiB(client.pid, "VmHWM");
    await client.close();
    rows.push([`${megabytes} MB`, seconds.toFixed(2), (megabytes / seconds).toFixed(0), peak?.toFixed(0) ?? ""]);
    await rm(folder, { recursive: true, force: true });
  }
  return markdown(["asset", "seconds", "MB a second", "peak memory, MiB"], rows);
};
