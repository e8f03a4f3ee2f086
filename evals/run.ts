// npm run evals: an agent does each kind of work; the figures are printed, and of a whole run of the scripted agent kept in
// docs/evals.md. `-- 3 15d`: these tasks only. `-- --agent FILE`: another agent, the FILE's export `agent`.
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import * as z from "zod/v4";
import type { Agent } from "./agent.ts";
import { measure } from "./measures.ts";
import { measureTable, workTable } from "./report.ts";
import { scriptedAgent } from "./scripted/agent.ts";
import { tasks } from "./tasks/index.ts";
import { type Outcome, workOn } from "./work.ts";

const PAGE = fileURLToPath(new URL("../docs/evals.md", import.meta.url));

const isAgent = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "name" in value && "work" in value && typeof value.work === "function";

async function agentIn(file: string): Promise<Agent> {
  const loaded: unknown = await import(pathToFileURL(resolve(file)).href);
  return z.looseObject({ agent: z.custom<Agent>(isAgent, "must be an Agent") }).parse(loaded).agent;
}

/** Puts a table between the marks that the page has for it. */
const placed = (page: string, mark: string, table: string): string => {
  const place = new RegExp(`(<!-- ${mark} -->)[^]*?(<!-- end of ${mark} -->)`);
  if (!place.test(page)) throw new Error(`docs/evals.md has no place for ${mark}`);
  return page.replace(place, (_match, start: string, end: string) => `${start}\n\n${table}\n\n${end}`);
};

const { values, positionals } = parseArgs({ options: { agent: { type: "string" } }, allowPositionals: true });
const agent = values.agent === undefined ? scriptedAgent : await agentIn(values.agent);
const isFullRun = positionals.length === 0;
const outcomes: Outcome[] = [];
for (const task of tasks) if (isFullRun || positionals.includes(task.id)) outcomes.push(await workOn(task, agent));
const work = workTable(outcomes);
process.stdout.write(`${work}\n`);
for (const { task, wrong } of outcomes) for (const each of wrong) process.stderr.write(`${task.id}: ${each}\n`);
if (isFullRun) {
  const answers = measureTable(await measure());
  process.stdout.write(`\n${answers}\n`);
  if (agent === scriptedAgent) {
    const page = await readFile(PAGE, "utf8");
    await writeFile(PAGE, placed(placed(page, "work", work), "answers", answers));
  }
}
process.exitCode = outcomes.some(({ wrong }) => wrong.length > 0) ? 1 : 0;
