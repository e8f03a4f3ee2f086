// Measures how the cost of an action grows with the journal, up to 1,000,000 actions, and counts the synced writes of each
// action.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openJournal } from "../src/actions/journal.ts";
import { openSqlite } from "../src/store/sqlite.ts";
import { createRegisterCall } from "./calls.ts";
import { type Client, connect } from "./client.ts";
import { assertAnswered, callTool, median, runSequentially, timeCalls } from "./measure.ts";
import type { ScalingMetric } from "./scaling.ts";
import { CLI, createEnvironment } from "./subjects.ts";
import { formatMarkdownTable } from "./table.ts";

/** Fills a new journal with the given number of succeeded actions of the past week. */
async function fillJournal(stateDir: string, actions: number): Promise<void> {
  const database = await openSqlite(stateDir);
  const journal = await openJournal(database, { owner: "bench", now: Date.now });
  await database.withExclusiveTransaction(async (query) => {
    await query(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1)
       INSERT INTO actions (service, key, upstream_key, tool, arguments, fingerprint, slot, about, path, if_match, body, state,
         indeterminate, attempts, owner, lease_until, outcome, resource_id, created_at, first_sent_at, updated_at, resolved_at)
       SELECT $2, 'mic-bench-' || n, 'mic-bench-' || n, 'register_input', '{}', 'hash-' || n, 0, 'acquisition-' || n,
         '/sandbox/v1/mic/inputs', '', '{"a":' || n || '}', 'succeeded', 0, 1, 'bench', 0, '{"value":{},"drift":[]}',
         'micinput_' || n, $3 + n, $3 + n, $3 + n, $3 + n FROM numbers`,
      [actions, "bench", Date.now() - 7 * 86_400_000],
    );
  });
  await journal.close();
}

/** Number of synced writes for one action, counted with strace; undefined if strace is not installed. */
async function countSyncsPerAction(client: Client, count: number): Promise<number | undefined> {
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
  for (let n = 0; n < count; n++) await callTool(client, createRegisterCall(1_000_000 + n));
  await sleep(200);
  const exited = once(tracer, "exit");
  tracer.kill("SIGINT");
  await exited;
  return (seen.match(/f(data)?sync\(\d+\) +=|f(data)?sync resumed/g) ?? []).length / count;
}

async function measureRow(client: Client, actions: number, count: number): Promise<readonly string[]> {
  await assertAnswered(client, createRegisterCall(0));
  const times = await timeCalls(count, (n) => callTool(client, createRegisterCall(1 + n)));
  const listed = await runSequentially(client, { name: "list_actions", arguments: {} }, 30);
  const unresolved = await runSequentially(client, { name: "list_actions", arguments: { state: "unknown" } }, 30);
  const syncs = await countSyncsPerAction(client, 20);
  return [
    actions.toLocaleString("en"),
    median(times).toFixed(2),
    listed.p50Ms.toFixed(2),
    unresolved.p50Ms.toFixed(2),
    syncs?.toFixed(1) ?? "no strace here",
  ];
}

const COLUMNS = [
  "actions in the journal",
  "register_input, p50 ms",
  "list_actions, p50 ms",
  "of unknown outcome, p50 ms",
  "synced writes a POST",
];

export const measureJournal: ScalingMetric = async ({ baseUrl }, isQuick, logProgress) => {
  const rows = [];
  for (const actions of isQuick ? [10, 10_000] : [10, 10_000, 1_000_000]) {
    logProgress(`journal of ${actions} actions`);
    const env = await createEnvironment(baseUrl);
    await fillJournal(env["MIC_STATE_DIR"] ?? "", actions);
    const client = await connect({ args: [CLI], env });
    rows.push(await measureRow(client, actions, isQuick ? 20 : 100));
    await client.close();
    await rm(join(env["MIC_STATE_DIR"] ?? "", ".."), { recursive: true, force: true });
  }
  return formatMarkdownTable(COLUMNS, rows);
};
