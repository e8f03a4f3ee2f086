// `npm run bench`: compares the built server with floors and the best alternatives, against one stub service.
// --quick: one small round. --metrics NAME[,NAME]: only those metrics. --write: write the figures to docs/use/speed.md and
// bench/README.md.
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { version } from "../src/cli/version.ts";
import { installAlternatives } from "./alternatives.ts";
import { measureDeployment } from "./deployment.ts";
import { type MetricGroup, measureGroup } from "./group.ts";
import { overHttp } from "./http.ts";
import { measureJournal } from "./journal.ts";
import type { RunSize } from "./measure.ts";
import { oneJob } from "./one-job.ts";
import { posts } from "./posts.ts";
import { measureAssets, measureConcurrency, measureLatency, measurePages, type ScalingMetric } from "./scaling.ts";
import { startStub } from "./start-stub.ts";
import { startup } from "./startup.ts";
import { createSubjects } from "./subjects.ts";
import { formatResults, type Results } from "./table.ts";
import { measureTelemetry } from "./telemetry.ts";
import { tokens } from "./tokens.ts";
import { workload } from "./workload.ts";
import { writeFigures } from "./write-figures.ts";

const FULL: RunSize = {
  rounds: 3,
  starts: 5,
  warmUpCalls: 1_500,
  sequentialCalls: 1_000,
  pages: 200,
  concurrentCalls: 3_000,
  posts: 200,
};
const QUICK: RunSize = {
  rounds: 1,
  starts: 3,
  warmUpCalls: 200,
  sequentialCalls: 100,
  pages: 15,
  concurrentCalls: 500,
  posts: 20,
};

const GROUPS: Readonly<Record<string, MetricGroup>> = {
  start: startup,
  work: workload,
  job: oneJob,
  http: overHttp,
  post: posts,
  tokens,
};
const SCALING_METRICS: Readonly<Record<string, ScalingMetric>> = {
  pages: measurePages,
  flight: measureConcurrency,
  away: measureLatency,
  journal: measureJournal,
  assets: measureAssets,
  telemetry: measureTelemetry,
  teams: measureDeployment,
};
const METRICS = [...Object.keys(GROUPS), ...Object.keys(SCALING_METRICS)];

const logProgress = (text: string): void =>
  void process.stderr.write(`bench: ${text}, load ${loadavg()[0]?.toFixed(1)}\n`);
const print = (text: string): void => void process.stdout.write(`${text}\n\n`);

const { values } = parseArgs({
  options: { quick: { type: "boolean" }, metrics: { type: "string" }, write: { type: "boolean" } },
});
const isQuick = Boolean(values.quick);
const selectedMetrics = values.metrics?.split(",") ?? METRICS;
const unknown = selectedMetrics.filter((name) => !METRICS.includes(name));
if (unknown.length > 0 || (values.write && (isQuick || values.metrics !== undefined))) {
  process.stderr.write(`Metrics are ${METRICS.join(", ")}; --write takes all of them, and not --quick.\n`);
  process.exit(2);
}
const size = isQuick ? QUICK : FULL;

await installAlternatives();
const stub = await startStub();
try {
  const day = new Date().toISOString().slice(0, 10);
  const machine = `${cpus().length} x ${cpus()[0]?.model.trim()}`;
  const head = `mic-mcp ${version}, Node ${process.versions.node}, ${machine}, ${day}; ${size.rounds} interleaved rounds; in brackets: median ratio.`;
  print(head);
  const bench = { subjects: await createSubjects(stub.url), baseUrl: stub.url, size };
  const results = new Map<string, Results>();
  const tables: string[] = [];
  const recordTable = (table: string): void => {
    tables.push(table);
    print(table);
  };
  for (const [name, group] of Object.entries(GROUPS)) {
    if (!selectedMetrics.includes(name)) continue;
    const measured = await measureGroup(group, bench, logProgress);
    results.set(name, measured);
    recordTable(
      `${group.title}; ratios to ${group.reference}:\n\n${formatResults(measured, group.reference, group.columns)}`,
    );
  }
  for (const [name, growth] of Object.entries(SCALING_METRICS))
    if (selectedMetrics.includes(name)) recordTable(await growth(bench, isQuick, logProgress));
  if (values.write) await writeFigures(results, [head, ...tables]);
} finally {
  await stub.stop();
}
