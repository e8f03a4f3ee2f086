// `npm run bench`: floors, the best alternatives and the built server against one stub service.
// --quick: one small round. --metrics NAME[,NAME]: only those. --write: the figures go into docs/speed.md and bench/README.md.
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { version } from "../src/cli/version.ts";
import { byDeployment } from "./by-deployment.ts";
import { byJournal } from "./by-journal.ts";
import { byTelemetry } from "./by-telemetry.ts";
import { type Group, measureGroup } from "./group.ts";
import { byAsset, byDistance, byFlight, byPage, type Growth } from "./growth.ts";
import type { Size } from "./measure.ts";
import { oneJob } from "./one-job.ts";
import { overHttp } from "./over-http.ts";
import { installPeers } from "./peers.ts";
import { posts } from "./posts.ts";
import { startStub } from "./start-stub.ts";
import { starts } from "./starts.ts";
import { makeSubjects } from "./subjects.ts";
import { type Results, resultTable } from "./table.ts";
import { tokens } from "./tokens.ts";
import { working } from "./working.ts";
import { writeFigures } from "./write-figures.ts";

const FULL: Size = {
  rounds: 3,
  starts: 5,
  warm: 1_500,
  small: 1_000,
  pages: 200,
  crowd: 3_000,
  posts: 200,
};
const QUICK: Size = {
  rounds: 1,
  starts: 3,
  warm: 200,
  small: 100,
  pages: 15,
  crowd: 500,
  posts: 20,
};

const GROUPS: Readonly<Record<string, Group>> = {
  start: starts,
  work: working,
  job: oneJob,
  http: overHttp,
  post: posts,
  tokens,
};
const GROWTHS: Readonly<Record<string, Growth>> = {
  pages: byPage,
  flight: byFlight,
  away: byDistance,
  journal: byJournal,
  assets: byAsset,
  telemetry: byTelemetry,
  teams: byDeployment,
};
const METRICS = [...Object.keys(GROUPS), ...Object.keys(GROWTHS)];

const logProgress = (text: string): void =>
  void process.stderr.write(`bench: ${text}, load ${loadavg()[0]?.toFixed(1)}\n`);
const print = (text: string): void => void process.stdout.write(`${text}\n\n`);

const { values } = parseArgs({
  options: { quick: { type: "boolean" }, metrics: { type: "string" }, write: { type: "boolean" } },
});
const isQuick = Boolean(values.quick);
const chosen = values.metrics?.split(",") ?? METRICS;
const unknown = chosen.filter((name) => !METRICS.includes(name));
if (unknown.length > 0 || (values.write && (isQuick || values.metrics !== undefined))) {
  process.stderr.write(`Metrics are ${METRICS.join(", ")}; --write takes all of them, and not --quick.\n`);
  process.exit(2);
}
const size = isQuick ? QUICK : FULL;

await installPeers();
const stub = await startStub();
try {
  const day = new Date().toISOString().slice(0, 10);
  const machine = `${cpus().length} x ${cpus()[0]?.model.trim()}`;
  const head = `mic-mcp ${version}, Node ${process.versions.node}, ${machine}, ${day}; ${size.rounds} interleaved rounds; in brackets: median ratio.`;
  print(head);
  const bench = { subjects: await makeSubjects(stub.url), baseUrl: stub.url, size };
  const results = new Map<string, Results>();
  const tables: string[] = [];
  const keep = (table: string): void => {
    tables.push(table);
    print(table);
  };
  for (const [name, group] of Object.entries(GROUPS)) {
    if (!chosen.includes(name)) continue;
    const measured = await measureGroup(group, bench, logProgress);
    results.set(name, measured);
    keep(`${group.title}; ratios to ${group.reference}:\n\n${resultTable(measured, group.reference, group.columns)}`);
  }
  for (const [name, growth] of Object.entries(GROWTHS))
    if (chosen.includes(name)) keep(await growth(bench, isQuick, logProgress));
  if (values.write) await writeFigures(results, [head, ...tables]);
} finally {
  await stub.stop();
}
