// How cost grows: with the size of a page, with calls in flight, with the journal, with the size of a file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openJournal } from "../src/actions/journal.ts";
import { openSqlite } from "../src/actions/sqlite.ts";
import { WORKSPACE_ID } from "./answers.ts";
import { type Client, connect } from "./client.ts";
import { callsAtOnce, inTurn } from "./measure.ts";
import { rssMiB } from "./process.ts";
import { CLI, makeSubjects, OURS, ourEnvironment, REFERENCE, type Subject } from "./subjects.ts";
import { markdown } from "./table.ts";

type Say = (text: string) => void;

async function withServer<T>(env: Readonly<Record<string, string>>, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connect({ args: [CLI], env });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

async function byPage(subjects: readonly Subject[], count: number): Promise<string> {
  const rows = [];
  for (const { name, command, calls } of subjects) {
    if (!calls) continue;
    const client = await connect(command);
    const cells = [];
    for (const limit of [1, 10, 100]) {
      const { p50Ms, cpuMs } = await inTurn(client, calls.jobs(limit), count);
      cells.push(`${p50Ms.toFixed(2)} / ${cpuMs?.toFixed(2) ?? ""}`);
    }
    await client.close();
    rows.push([name, ...cells]);
  }
  return markdown(["p50 / CPU of a page, ms", "1 job", "10 jobs", "100 jobs"], rows);
}

const IN_FLIGHT = [1, 2, 4, 8, 16, 32, 64];

async function byFlight(subjects: readonly Subject[], count: number): Promise<string> {
  const rows = [];
  for (const { name, command, calls } of subjects) {
    if (!calls) continue;
    const client = await connect(command);
    const cells = [];
    for (const inFlight of IN_FLIGHT) cells.push((await callsAtOnce(client, calls.input, inFlight, count)).toFixed(0));
    await client.close();
    rows.push([name, ...cells]);
  }
  return markdown(["inputs a second, in flight:", ...IN_FLIGHT.map(String)], rows);
}

/** A journal of so many settled actions of the past week. */
async function fillJournal(stateDir: string, actions: number): Promise<void> {
  const database = await openSqlite(stateDir);
  const journal = await openJournal(database, { owner: "bench", now: Date.now, leaseMs: 30_000, repeatMs: 600_000 });
  await database.exclusively(async (query) => {
    await query(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1)
       INSERT INTO actions (service, key, tool, arguments, arguments_hash, explicit, path, if_match, body, body_hash,
         state, in_doubt, attempts, owner, lease_until, outcome, repeatable, resource_id, created_at, updated_at,
         first_sent_at, delivered_at, subject_hash, work_hash, about)
       SELECT $2, 'mic-bench-' || n, 'register_input', '{"pairs":[]}', 'hash-' || n, 0, '/sandbox/v1/mic/inputs', '',
         '{"a":' || n || '}', 'body-' || n, 'succeeded', 0, 1, 'bench', 0, '{"value":{},"drift":[]}', 0,
         'micinput_' || n, $3 + n, $3 + n, $3 + n, $3 + n, 'hash-' || n, 'work-' || n,
         'acquisition-' || n FROM numbers`,
      [actions, "bench", Date.now() - 7 * 86_400_000],
    );
  });
  await journal.close();
}

const register = (number: number) => ({
  name: "register_input",
  arguments: { workspaceId: WORKSPACE_ID, inputKind: "ACQUISITION", referenceId: `acquisition-${number}` },
});

/** Synced writes for one action, as strace sees them; undefined where there is no strace. */
async function syncsPerAction(client: Client, count: number): Promise<number | undefined> {
  const args = ["-f", "-e", "trace=fsync,fdatasync,msync", "-p", String(client.pid)];
  const tracer = spawn("strace", args, { stdio: ["ignore", "ignore", "pipe"] });
  let seen = "";
  tracer.stderr.on("data", (chunk) => {
    seen += String(chunk);
  });
  const ready = await Promise.race([
    once(tracer, "error").then(() => false),
    once(tracer.stderr, "data").then(() => true),
  ]);
  if (!ready) return undefined;
  await sleep(200);
  for (let n = 0; n < count; n++) {
    const { name, arguments: args } = register(1_000_000 + n);
    await client.request("tools/call", { name, arguments: args });
  }
  await sleep(200);
  const gone = once(tracer, "exit");
  tracer.kill("SIGINT");
  await gone;
  return (seen.match(/f(data)?sync\(\d+\) +=|f(data)?sync resumed/g) ?? []).length / count;
}

async function byJournal(baseUrl: string, sizes: readonly number[], count: number, say: Say): Promise<string> {
  const rows = [];
  for (const actions of sizes) {
    say(`journal of ${actions} actions`);
    const env = await ourEnvironment(baseUrl);
    await fillJournal(env["MIC_STATE_DIR"] ?? "", actions);
    rows.push(
      await withServer(env, async (client) => {
        let number = 0;
        const times: number[] = [];
        for (let n = 0; n < count; n++) {
          const { name, arguments: args } = register(++number);
          const startedAt = performance.now();
          await client.request("tools/call", { name, arguments: args });
          times.push(performance.now() - startedAt);
        }
        const sorted = times.sort((a, b) => a - b);
        const listed = await inTurn(client, { name: "list_actions", arguments: {} }, 30);
        const unsettled = await inTurn(client, { name: "list_actions", arguments: { state: "unknown" } }, 30);
        const syncs = await syncsPerAction(client, 20);
        return [
          actions.toLocaleString("en"),
          (sorted[sorted.length >> 1] ?? 0).toFixed(2),
          listed.p50Ms.toFixed(2),
          unsettled.p50Ms.toFixed(2),
          syncs?.toFixed(1) ?? "no strace here",
        ];
      }),
    );
    await rm(join(env["MIC_STATE_DIR"] ?? "", ".."), { recursive: true, force: true });
  }
  return markdown(
    [
      "actions in the journal",
      "register_input, p50 ms",
      "list_actions, p50 ms",
      "of unknown outcome, p50 ms",
      "synced writes a POST",
    ],
    rows,
  );
}

async function byAsset(baseUrl: string, sizes: readonly number[], say: Say): Promise<string> {
  const rows = [];
  for (const megabytes of sizes) {
    say(`asset of ${megabytes} MB`);
    const folder = await mkdtemp(join(tmpdir(), "mic-mcp-bench-assets-"));
    const env = { ...(await ourEnvironment(baseUrl)), MIC_DOWNLOAD_DIR: folder };
    rows.push(
      await withServer(env, async (client) => {
        const startedAt = performance.now();
        const args = { assetId: `asset_${megabytes}` };
        await client.request("tools/call", { name: "download_asset", arguments: args });
        const seconds = (performance.now() - startedAt) / 1000;
        const peak = rssMiB(client.pid, "VmHWM");
        return [`${megabytes} MB`, seconds.toFixed(2), (megabytes / seconds).toFixed(0), peak?.toFixed(0) ?? ""];
      }),
    );
    await rm(folder, { recursive: true, force: true });
  }
  return markdown(["asset", "seconds", "MB a second", "peak memory, MiB"], rows);
}

export async function growth(baseUrl: string, quick: boolean, say: Say): Promise<string> {
  const subjects = (await makeSubjects(baseUrl)).filter(({ name }) => name === REFERENCE || name.startsWith(OURS));
  const journals = quick ? [10, 10_000] : [10, 10_000, 1_000_000];
  const assets = quick ? [1, 100] : [1, 10, 100, 1_000];
  say("pages");
  const pages = await byPage(subjects, quick ? 15 : 60);
  say("in flight");
  const flights = await byFlight(
    subjects.filter(({ name }) => !name.includes("full")),
    quick ? 500 : 2_000,
  );
  return [
    pages,
    flights,
    await byJournal(baseUrl, journals, quick ? 20 : 100, say),
    await byAsset(baseUrl, assets, say),
  ].join("\n\n");
}
