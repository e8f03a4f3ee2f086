// npm run evals: an agent does each task, and the figures are printed. A full run of the scripted agent writes them to
// docs/contribute/evals.md.
// `-- 3 15d`: only these tasks. `-- --agent FILE`: another agent, the export `agent` of FILE.
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import * as z from "zod/v4";
import type { Agent } from "./agent.ts";
import { measureAnswers } from "./answer-measurements.ts";
import { formatMeasurements, formatOutcomes } from "./report.ts";
import { type Outcome, runTask } from "./run-task.ts";
import { scriptedAgent } from "./scripted/agent.ts";
import { tasks } from "./tasks/index.ts";

const PAGE_FILE = fileURLToPath(new URL("../docs/contribute/evals.md", import.meta.url));

const isAgent = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "name" in value && "work" in value && typeof value.work === "function";

async function loadAgent(file: string): Promise<Agent> {
  const loaded: unknown = await import(pathToFileURL(resolve(file)).href);
  return z.looseObject({ agent: z.custom<Agent>(isAgent, "must be an Agent") }).parse(loaded).agent;
}

/** Replaces the table between the page's markers of this section. */
const replaceSection = (page: string, section: string, table: string): string => {
  const sectionPattern = new RegExp(`(<!-- ${section} -->)[^]*?(<!-- end of ${section} -->)`);
  if (!sectionPattern.test(page)) throw new Error(`docs/contribute/evals.md has no place for ${section}`);
  return page.replace(sectionPattern, (_match, start: string, end: string) => `${start}\n\n${table}\n\n${end}`);
};

const { values, positionals } = parseArgs({ options: { agent: { type: "string" } }, allowPositionals: true });
const agent = values.agent === undefined ? scriptedAgent : await loadAgent(values.agent);
const isFullRun = positionals.length === 0;
const outcomes: Outcome[] = [];
for (const task of tasks) if (isFullRun || positionals.includes(task.id)) outcomes.push(await runTask(task, agent));
const outcomeTable = formatOutcomes(outcomes);
process.stdout.write(`${outcomeTable}\n`);
for (const { task, problems } of outcomes) for (const each of problems) process.stderr.write(`${task.id}: ${each}\n`);
if (isFullRun) {
  const measurementTable = formatMeasurements(await measureAnswers());
  process.stdout.write(`\n${measurementTable}\n`);
  if (agent === scriptedAgent) {
    const page = await readFile(PAGE_FILE, "utf8");
    await writeFile(PAGE_FILE, replaceSection(replaceSection(page, "work", outcomeTable), "answers", measurementTable));
  }
}
process.exitCode = outcomes.some(({ problems }) => problems.length > 0) ? 1 : 0;
