// An agent that is asked about districts: which call answers which kind of question.
import * as z from "zod/v4";
import type { Args, Desk, Shown } from "../agent.ts";
import { dataOf, nextOf } from "./reading.ts";
import type { Script } from "./script.ts";

const Match = z.looseObject({ name: z.string(), stateName: z.string(), mandalCount: z.number() });
const Found = z.looseObject({ answers: z.array(z.looseObject({ query: z.string(), matches: z.array(Match) })) });
const MAX_NAMES = 50;

/** The call that a question of this form asks for. */
interface Form {
  readonly question: RegExp;
  readonly tool: string;
  readonly args: (...words: readonly string[]) => Args;
}

const find = (name = ""): Args => ({ name });
const listOf = (words = ""): readonly string[] => words.split(/, | and /);
const ranked = (level: "state" | "district", by: string, more: Args = {}): Args => ({ level, by, ...more });

const forms: readonly Form[] = [
  { question: /has the district (\w+)\?/, tool: "find_district", args: find },
  { question: /is the district (\w+)\?/, tool: "find_district", args: find },
  { question: /is the district (\w+) called/, tool: "find_district", args: find },
  { question: /is there a district (\w+)\?/, tool: "find_district", args: find },
  {
    question: /Which (\d+) districts have the most mandals/,
    tool: "rank_divisions",
    args: (limit) => ranked("district", "mandalCount", { limit: Number(limit) }),
  },
  {
    question: /Which state has the most districts/,
    tool: "rank_divisions",
    args: () => ranked("state", "districtCount", { limit: 1 }),
  },
  {
    question: /How many districts and mandals are there in all/,
    tool: "rank_divisions",
    args: () => ranked("state", "districtCount", { limit: 1 }),
  },
  {
    question: /How many mandals have (.*) together/,
    tool: "rank_divisions",
    args: (states) => ranked("state", "mandalCount", { states: listOf(states), limit: 1 }),
  },
  {
    question: /How many districts of (\w+) have more than (\d+) mandals/,
    tool: "rank_divisions",
    args: (state, bound) => ranked("district", "mandalCount", { states: [state], min: Number(bound) + 1, limit: 1 }),
  },
  {
    question: /median of mandals in the districts of (\w+)/,
    tool: "rank_divisions",
    args: (state) => ranked("district", "mandalCount", { states: [state], limit: 1 }),
  },
  {
    question: /Which district of (\w+) has the fewest mandals/,
    tool: "rank_divisions",
    args: (state) => ranked("district", "mandalCount", { states: [state], order: "asc", limit: 1 }),
  },
  {
    question: /has the most mandals in each of (.*)\?/,
    tool: "rank_divisions",
    args: (states) => ranked("district", "mandalCount", { states: listOf(states), perState: 1 }),
  },
  {
    question: /names that begin with (\w+)/,
    tool: "rank_divisions",
    args: (startsWith) => ranked("district", "name", { startsWith }),
  },
  { question: /Which districts has (\w+)\?/, tool: "list_districts", args: (state) => ({ state }) },
  { question: /each of the districts (.*)\?/, tool: "find_district", args: (names) => ({ names: listOf(names) }) },
];

const CoverageResult = z.looseObject({ coverage: z.looseObject({ complete: z.boolean() }) });

/** Asks again where that is the advice: the same tool, since lists were not read yet. */
async function answered(desk: Desk, tool: string, args: Args): Promise<Shown> {
  const shown = await desk.call(tool, args);
  const step = nextOf(shown);
  const coverage = shown.isError ? undefined : CoverageResult.safeParse(shown.data).data?.coverage;
  return step?.tool === tool && coverage?.complete === false ? await desk.call(tool, step.arguments) : shown;
}

async function answer(desk: Desk, question: string): Promise<string> {
  for (const { question: form, tool, args } of forms) {
    const words = form.exec(question);
    // What it was given, whole: the answer stands in it.
    if (words) return JSON.stringify(dataOf(await answered(desk, tool, args(...words.slice(1)))));
  }
  return "I do not know.";
}

const fifteen: Script = async (request, desk) => {
  const answers: string[] = [];
  for (const question of request.split("\n")) answers.push(await answer(desk, question));
  return answers.join("\n");
};

const many: Script = async (request, desk) => {
  const names = request.slice(request.indexOf("? ") + 2).split("; ");
  const rows: z.infer<typeof Match>[] = [];
  for (let at = 0; at < names.length; at += MAX_NAMES) {
    const args = { names: names.slice(at, at + MAX_NAMES), limit: 1 };
    const { answers } = Found.parse(dataOf(await answered(desk, "find_district", args)));
    rows.push(...answers.flatMap(({ matches }) => matches.slice(0, 1)));
  }
  const [most] = [...rows].sort((a, b) => b.mandalCount - a.mandalCount);
  const together = rows.reduce((sum, { mandalCount }) => sum + mandalCount, 0);
  const each = rows.map(({ name, mandalCount }) => `${name}: ${mandalCount}`);
  return [...each, `Together: ${together}`, `Most: ${most?.name}`].join("\n");
};

export const geography: Readonly<Record<string, Script>> = { "14": fifteen, "14b": many };
