// Scripts for questions about districts: select the tool call for each form of question.
import * as z from "zod/v4";
import type { AgentClient, ToolArguments, VisibleResult } from "../agent.ts";
import { getData, getNextStep } from "./results.ts";
import type { Script } from "./script.ts";

const Match = z.looseObject({ name: z.string(), mandalCount: z.number() });
const FindDistrictResult = z.looseObject({
  answers: z.array(z.looseObject({ query: z.string(), matches: z.array(Match) })),
});
const MAX_NAMES = 50;

/** The tool call that answers a question of this form. */
interface QuestionForm {
  readonly question: RegExp;
  readonly tool: string;
  readonly args: (...words: readonly string[]) => ToolArguments;
}

const toFindArguments = (name = ""): ToolArguments => ({ name });
const splitList = (words = ""): readonly string[] => words.split(/, | and /);
const toRankArguments = (
  level: "state" | "district",
  by: string,
  extraArguments: ToolArguments = {},
): ToolArguments => ({ level, by, ...extraArguments });

const questionForms: readonly QuestionForm[] = [
  { question: /has the district (\w+)\?/, tool: "find_district", args: toFindArguments },
  { question: /is the district (\w+)\?/, tool: "find_district", args: toFindArguments },
  { question: /is the district (\w+) called/, tool: "find_district", args: toFindArguments },
  { question: /is there a district (\w+)\?/, tool: "find_district", args: toFindArguments },
  {
    question: /Which (\d+) districts have the most mandals/,
    tool: "rank_divisions",
    args: (limit) => toRankArguments("district", "mandalCount", { limit: Number(limit) }),
  },
  {
    question: /Which state has the most districts/,
    tool: "rank_divisions",
    args: () => toRankArguments("state", "districtCount", { limit: 1 }),
  },
  {
    question: /How many districts and mandals are there in all/,
    tool: "rank_divisions",
    args: () => toRankArguments("state", "districtCount", { limit: 1 }),
  },
  {
    question: /How many mandals have (.*) together/,
    tool: "rank_divisions",
    args: (states) => toRankArguments("state", "mandalCount", { states: splitList(states), limit: 1 }),
  },
  {
    question: /How many districts of (\w+) have more than (\d+) mandals/,
    tool: "rank_divisions",
    args: (state, bound) =>
      toRankArguments("district", "mandalCount", { states: [state], min: Number(bound) + 1, limit: 1 }),
  },
  {
    question: /median of mandals in the districts of (\w+)/,
    tool: "rank_divisions",
    args: (state) => toRankArguments("district", "mandalCount", { states: [state], limit: 1 }),
  },
  {
    question: /Which district of (\w+) has the fewest mandals/,
    tool: "rank_divisions",
    args: (state) => toRankArguments("district", "mandalCount", { states: [state], order: "asc", limit: 1 }),
  },
  {
    question: /has the most mandals in each of (.*)\?/,
    tool: "rank_divisions",
    args: (states) => toRankArguments("district", "mandalCount", { states: splitList(states), perState: 1 }),
  },
  {
    question: /names that begin with (\w+)/,
    tool: "rank_divisions",
    args: (startsWith) => toRankArguments("district", "name", { startsWith }),
  },
  { question: /Which districts has (\w+)\?/, tool: "list_districts", args: (state) => ({ state }) },
  { question: /each of the districts (.*)\?/, tool: "find_district", args: (names) => ({ names: splitList(names) }) },
];

const CoverageResult = z.looseObject({ coverage: z.looseObject({}) });

/** Repeats the call if the result is incomplete and its next step is the same tool, because lists are missing. */
export async function callUntilComplete(
  client: AgentClient,
  tool: string,
  args: ToolArguments,
): Promise<VisibleResult> {
  const result = await client.call(tool, args);
  const step = getNextStep(result);
  const isIncomplete = !result.isError && CoverageResult.safeParse(result.data).success;
  return step?.tool === tool && isIncomplete ? await client.call(tool, step.arguments) : result;
}

async function answerQuestion(client: AgentClient, question: string): Promise<string> {
  for (const { question: form, tool, args } of questionForms) {
    const captures = form.exec(question);
    // Returns the complete result, which contains the answer.
    if (captures) return JSON.stringify(getData(await callUntilComplete(client, tool, args(...captures.slice(1)))));
  }
  return "I do not know.";
}

export const answerQuestions: Script = async (request, client) => {
  const answers: string[] = [];
  for (const question of request.split("\n")) answers.push(await answerQuestion(client, question));
  return answers.join("\n");
};

export const answerManyDistricts: Script = async (request, client) => {
  const names = request.slice(request.indexOf("? ") + 2).split("; ");
  const rows: z.infer<typeof Match>[] = [];
  for (let at = 0; at < names.length; at += MAX_NAMES) {
    const args = { names: names.slice(at, at + MAX_NAMES), limit: 1 };
    const { answers } = FindDistrictResult.parse(getData(await callUntilComplete(client, "find_district", args)));
    rows.push(...answers.flatMap(({ matches }) => matches.slice(0, 1)));
  }
  const [most] = [...rows].sort((a, b) => b.mandalCount - a.mandalCount);
  const total = rows.reduce((sum, { mandalCount }) => sum + mandalCount, 0);
  const each = rows.map(({ name, mandalCount }) => `${name}: ${mandalCount}`);
  return [...each, `Together: ${total}`, `Most mandals: ${most?.name}`].join("\n");
};
