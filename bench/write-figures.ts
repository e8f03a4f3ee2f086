// The figures of a whole run, written where people read them: all of them into bench/README.md, the main ones into docs/speed.md.
import { readFile, writeFile } from "node:fs/promises";
import { CALL_V1_18, OURS } from "./subjects.ts";
import { type Column, type Results, resultTable } from "./table.ts";

/** Who stands in docs/speed.md; the first is what ratios are taken to. */
const SHOWN = [CALL_V1_18, "@ivotoby/openapi-mcp-server", "orval", OURS] as const;

interface Row extends Column {
  /** The group it is measured in. */
  readonly of: string;
  /** What is added to a subject's name there. */
  readonly as?: string;
}

const ROWS: readonly Row[] = [
  { of: "start", name: "listMs", title: "spawn to tools/list, ms", digits: 0 },
  { of: "start", name: "firstMs", title: "spawn to the first answer of a tool, ms", digits: 0 },
  { of: "start", name: "idleMiB", title: "memory, idle, MiB", digits: 0 },
  { of: "work", name: "peakMiB", title: "memory, peak, MiB", digits: 0 },
  { of: "work", name: "statesPerSecond", title: "states a second, 32 in flight", digits: 0 },
  { of: "job", name: "warmMs", title: "one job, p50, ms", digits: 2 },
  { of: "job", name: "warmCpuMs", title: "one job, CPU, ms", digits: 2 },
  { of: "job", name: "warmPerSecond", title: "jobs a second, 32 in flight", digits: 0 },
  { of: "job", name: "youngCpuMs", title: "one job, CPU, ms, in a process that has just begun", digits: 2 },
  { of: "work", name: "jobsMs", title: "100 jobs, p50, ms", digits: 2 },
  { of: "work", name: "jobsCpuMs", title: "100 jobs, CPU, ms", digits: 2 },
  { of: "http", as: ", HTTP", name: "statesPerSecond", title: "over HTTP: states a second, 16 in flight", digits: 0 },
  { of: "http", as: ", HTTP", name: "jobsPerSecond", title: "over HTTP: jobs a second, 16 in flight", digits: 0 },
  { of: "post", name: "postMs", title: "a POST, p50, ms (ours: with its journal, synced to disk)", digits: 2 },
  { of: "tokens", name: "listWireTokens", title: "tools/list: everything, tokens", digits: 0 },
  { of: "tokens", name: "textTokens", title: "100 jobs as text, tokens", digits: 0 },
];

/** The main table: a row's figures are its group's. */
function mainTable(groups: ReadonlyMap<string, Results>): string {
  const shown: Results = new Map(
    SHOWN.map((subject) => {
      const rounds = Math.max(...[...groups.values()].map((results) => results.get(subject)?.length ?? 0));
      const figuresOf = (round: number) =>
        Object.fromEntries(
          ROWS.map(({ of, as = "", name }) => [`${of} ${name}`, groups.get(of)?.get(subject + as)?.[round]?.[name]]),
        );
      return [subject, Array.from({ length: rounds }, (_, round) => figuresOf(round))];
    }),
  );
  return resultTable(
    shown,
    CALL_V1_18,
    ROWS.map((row) => ({ ...row, name: `${row.of} ${row.name}` })),
  );
}

async function writeBetween(file: URL, name: string, content: string): Promise<void> {
  const open = `<!-- ${name}: made by npm run bench -- --write -->\n`;
  const close = `<!-- /${name} -->`;
  const text = await readFile(file, "utf8");
  const [before, rest] = text.split(open);
  const after = rest?.split(close)[1];
  if (before === undefined || after === undefined) throw new Error(`${file.pathname} has no place for ${name}`);
  await writeFile(file, `${before}${open}${content}\n${close}${after}`);
}

/** `figures`: of which machine and day they are, and every table. */
export async function writeFigures(groups: ReadonlyMap<string, Results>, figures: readonly string[]): Promise<void> {
  await writeBetween(new URL("../docs/speed.md", import.meta.url), "bench", mainTable(groups));
  await writeBetween(new URL("README.md", import.meta.url), "figures", figures.join("\n\n"));
}
