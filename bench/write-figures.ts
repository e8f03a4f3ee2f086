// Writes the figures of a full run: all of them into bench/README.md, with a main table at the top.
import { readFile, writeFile } from "node:fs/promises";
import { BARE, CALL_V1_18, OURS } from "./subjects.ts";
import { type Column, formatComparison, type Results } from "./table.ts";

const ALTERNATIVES = ["@ivotoby/openapi-mcp-server", "orval"];
/** The subjects of the main table. */
const SHOWN_SUBJECTS = [BARE, CALL_V1_18, ...ALTERNATIVES, OURS];

interface Row extends Column {
  /** Key of the group that measures the metric. */
  readonly group: string;
  /** Suffix of the subject's name in that group. */
  readonly subjectSuffix?: string;
}

const ROWS: readonly Row[] = [
  { group: "start", name: "listMs", title: "spawn to tools/list with a minimal client, ms", digits: 0 },
  { group: "start", name: "sdkListMs", title: "spawn to the end of the SDK client's first listTools(), ms", digits: 0 },
  { group: "start", name: "firstMs", title: "spawn to the first answer of a tool, ms", digits: 0 },
  { group: "start", name: "callCpuMs", title: "first call after startup, CPU, ms", digits: 0 },
  { group: "start", name: "idleMiB", title: "private memory after 30 s at rest, MiB", digits: 0 },
  { group: "work", name: "peakMiB", title: "memory, peak after pages of 100 jobs, MiB", digits: 0 },
  { group: "work", name: "statesPerSecond", title: "states a second, 32 in flight", digits: 0, isRate: true },
  { group: "job", name: "warmMs", title: "one job, p50, ms", digits: 2 },
  { group: "job", name: "warmCpuMs", title: "one job, CPU, ms", digits: 2 },
  { group: "job", name: "warmPerSecond", title: "jobs a second, 32 in flight", digits: 0, isRate: true },
  { group: "job", name: "youngCpuMs", title: "one job, CPU, ms, in a process that has just begun", digits: 2 },
  { group: "work", name: "jobsMs", title: "100 jobs, p50, ms", digits: 2 },
  { group: "work", name: "jobsCpuMs", title: "100 jobs, CPU, ms", digits: 2 },
  {
    group: "http",
    subjectSuffix: ", HTTP",
    name: "statesPerSecond",
    title: "over HTTP: states a second, 16 in flight",
    digits: 0,
    isRate: true,
  },
  {
    group: "http",
    subjectSuffix: ", HTTP",
    name: "jobsPerSecond",
    title: "over HTTP: jobs a second, 16 in flight",
    digits: 0,
    isRate: true,
  },
  { group: "post", name: "postMs", title: "a POST, p50, ms (mic-mcp also syncs its journal to disk)", digits: 2 },
  { group: "tokens", name: "listWireTokens", title: "tools/list: everything, tokens", digits: 0 },
  { group: "tokens", name: "textTokens", title: "100 jobs as text, tokens", digits: 0 },
];

/** The main table: each row shows the figures of its own group. */
function formatMainTable(groups: ReadonlyMap<string, Results>): string {
  const shown: Results = new Map(
    SHOWN_SUBJECTS.map((subject) => {
      const rounds = Math.max(...[...groups.values()].map((results) => results.get(subject)?.length ?? 0));
      const collectFigures = (round: number) =>
        Object.fromEntries(
          ROWS.map(({ group, subjectSuffix = "", name }) => [
            `${group} ${name}`,
            groups.get(group)?.get(subject + subjectSuffix)?.[round]?.[name],
          ]),
        );
      return [subject, Array.from({ length: rounds }, (_, round) => collectFigures(round))];
    }),
  );
  return formatComparison(
    shown,
    OURS,
    ALTERNATIVES,
    ROWS.map((row) => ({ ...row, name: `${row.group} ${row.name}` })),
  );
}

async function replaceSection(file: URL, name: string, content: string): Promise<void> {
  const startMarker = `<!-- ${name}: made by npm run bench -- --write -->\n`;
  const endMarker = `<!-- /${name} -->`;
  const text = await readFile(file, "utf8");
  const [before, afterStart] = text.split(startMarker);
  const after = afterStart?.split(endMarker)[1];
  if (before === undefined || after === undefined) throw new Error(`${file.pathname} has no place for ${name}`);
  await writeFile(file, `${before}${startMarker}${content}\n${endMarker}${after}`);
}

/** `figures`: a line with the machine and date, then each table. */
export async function writeFigures(groups: ReadonlyMap<string, Results>, figures: readonly string[]): Promise<void> {
  const [head = ""] = figures;
  const main = `${head.replace("; in brackets: median ratio.", ".")}\n\n${formatMainTable(groups)}`;
  await replaceSection(new URL("../docs/use/speed.md", import.meta.url), "bench", main);
  await replaceSection(new URL("README.md", import.meta.url), "figures", figures.join("\n\n"));
}
