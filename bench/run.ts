// `npm run bench`: floors, the best alternatives and the built server against one stub service. `--quick`: under a minute.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpus, loadavg } from "node:os";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { version } from "../src/cli/version.ts";
import { growth } from "./growth.ts";
import { emptyStart, type Figures, median, rawRound, round, type Size } from "./measure.ts";
import { installPeers, makeSubjects, REFERENCE } from "./subjects.ts";
import { type Column, resultTable } from "./table.ts";
import { weigh } from "./tokens.ts";

const FULL: Size = { rounds: 3, starts: 5, warm: 2_000, small: 1_000, pages: 200, crowd: 4_000 };
const QUICK: Size = { rounds: 1, starts: 3, warm: 200, small: 100, pages: 15, crowd: 500 };

const COLUMNS: readonly Column[] = [
  { name: "listMs", title: "spawn to tools/list, ms", digits: 0 },
  { name: "firstMs", title: "spawn to the first answer of a tool, ms", digits: 0 },
  { name: "idleMiB", title: "memory, idle, MiB", digits: 0 },
  { name: "peakMiB", title: "memory, peak, MiB", digits: 0 },
  { name: "statesMs", title: "states, p50, ms", digits: 2 },
  { name: "statesCpuMs", title: "states, CPU, ms", digits: 2 },
  { name: "inputMs", title: "one input, p50, ms", digits: 2 },
  { name: "inputCpuMs", title: "one input, CPU, ms", digits: 2 },
  { name: "jobsMs", title: "100 jobs, p50, ms", digits: 2 },
  { name: "jobsCpuMs", title: "100 jobs, CPU, ms", digits: 2 },
  { name: "perSecond", title: "states a second, 32 in flight", digits: 0 },
  { name: "inputsPerSecond", title: "inputs a second, 32 in flight", digits: 0 },
  { name: "tools", title: "tools", digits: 0 },
  { name: "listTokens", title: "tools/list: names, descriptions, inputs, tokens", digits: 0 },
  { name: "listWireTokens", title: "tools/list: everything, tokens", digits: 0 },
  { name: "textTokens", title: "100 jobs as text, tokens", digits: 0 },
  { name: "structuredTokens", title: "100 jobs as structuredContent, tokens", digits: 0 },
  { name: "wireBytes", title: "100 jobs, bytes on the wire", digits: 0 },
];

async function startStub() {
  const stub = spawn(process.execPath, ["--import", "tsx", new URL("stub.ts", import.meta.url).pathname], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [line] = await once(createInterface(stub.stdout), "line");
  const { url } = JSON.parse(String(line));
  return {
    url: String(url),
    async stop() {
      const gone = once(stub, "exit");
      stub.stdin.end();
      await gone;
    },
  };
}

const say = (text: string): void => void process.stderr.write(`bench: ${text}\n`);

async function measureAll(baseUrl: string, size: Size): Promise<ReadonlyMap<string, readonly Figures[]>> {
  const subjects = await makeSubjects(baseUrl);
  const results = new Map<string, Figures[]>();
  const keep = (name: string, figures: Figures): void =>
    void results.set(name, [...(results.get(name) ?? []), figures]);
  for (let n = 1; n <= size.rounds; n++) {
    say(`round ${n} of ${size.rounds}, load ${loadavg()[0]?.toFixed(1)}`);
    const empty: number[] = [];
    for (let start = 0; start < size.starts; start++) empty.push(await emptyStart());
    keep("node -e 0", { listMs: median(empty) });
    keep("undici", await rawRound(baseUrl, size));
    // Not always in the same order: whoever comes first finds the machine cooler.
    const order = subjects.map((_, index) => subjects[(index + n) % subjects.length]);
    for (const subject of order) if (subject) keep(subject.name, await round(subject, size));
  }
  for (const subject of subjects) {
    const sizes = await weigh(subject);
    results.set(
      subject.name,
      (results.get(subject.name) ?? []).map((figures) => ({ ...figures, ...sizes })),
    );
  }
  return results;
}

const { values } = parseArgs({ options: { quick: { type: "boolean" }, growth: { type: "boolean" } } });
const size = values.quick ? QUICK : FULL;
await installPeers();
const stub = await startStub();
try {
  const day = new Date().toISOString().slice(0, 10);
  const machine = `${cpus().length} x ${cpus()[0]?.model.trim()}`;
  const head = `mic-mcp ${version}, Node ${process.versions.node}, ${machine}, ${day}; ${size.rounds} interleaved rounds; in brackets: median ratio to ${REFERENCE}.`;
  process.stdout.write(`${head}\n\n`);
  if (!values.growth) process.stdout.write(`${resultTable(await measureAll(stub.url, size), REFERENCE, COLUMNS)}\n\n`);
  if (values.growth || !values.quick) process.stdout.write(`${await growth(stub.url, Boolean(values.quick), say)}\n`);
} finally {
  await stub.stop();
}
