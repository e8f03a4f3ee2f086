// Parses tool results for the scripted agent: summaries, next steps and ids. The agent uses only ids and tools that it was shown.
import * as z from "zod/v4";
import type { AgentClient, ToolArguments, VisibleResult } from "../agent.ts";

const Json = z.record(z.string(), z.unknown());
const NextStep = z.object({ tool: z.string(), arguments: Json });
export type Step = z.infer<typeof NextStep>;
const AdvisedResult = z.looseObject({
  summary: z.string().optional(),
  nextStep: NextStep.optional(),
  data: z.union([z.looseObject({ id: z.string().optional() }), z.array(z.unknown())]).optional(),
});

/** Maximum number of steps, after which the agent gives up. */
const MAX_STEPS = 12;

/** The text to report for a result: its summary with the resource's id, or the complete result if it has no summary. */
export function summarize(result: VisibleResult): string {
  if (result.isError) return result.text;
  const { summary, data } = AdvisedResult.parse(result.data);
  if (summary === undefined) return JSON.stringify(result.data);
  return data === undefined || Array.isArray(data) || data.id === undefined ? summary : `${data.id}: ${summary}`;
}

/** The data of a successful result; throws if the call failed. */
export function getData(result: VisibleResult): ToolArguments {
  if (result.isError) throw new Error(result.text);
  return result.data;
}

/** The next call that an error contains: a tool and its arguments, on one line. */
function parseNextCall(text: string): Step | undefined {
  const [, tool, args] = /^Next: .*?\b([a-z_]+) (\{.*\})/m.exec(text) ?? [];
  return args === undefined ? undefined : NextStep.parse({ tool, arguments: JSON.parse(args) });
}

export const getNextStep = (result: VisibleResult): Step | undefined =>
  result.isError ? parseNextCall(result.text) : AdvisedResult.parse(result.data).nextStep;

/** Makes the next call of each result and returns all results. After a success it follows only the steps of `tools`, if given. */
export async function followSteps(
  client: AgentClient,
  first: VisibleResult,
  tools?: readonly string[],
): Promise<readonly [VisibleResult, ...VisibleResult[]]> {
  const results: [VisibleResult, ...VisibleResult[]] = [first];
  let result = first;
  for (let step = getNextStep(first); step !== undefined; step = getNextStep(result)) {
    if (!result.isError && tools !== undefined && !tools.includes(step.tool)) break;
    if (results.length > MAX_STEPS) throw new Error(`there is no end to it: ${JSON.stringify(step)}`);
    result = await client.call(step.tool, step.arguments);
    results.push(result);
  }
  return results;
}

/** Follows the steps and returns the summary of the last result. */
export const followAndSummarize = async (
  client: AgentClient,
  first: VisibleResult,
  tools?: readonly string[],
): Promise<string> => summarize((await followSteps(client, first, tools)).at(-1) ?? first);

/** The first id with this prefix in a text; throws if there is none. */
export function findId(text: string, prefix: string): string {
  const [id] = new RegExp(`${prefix}_[0-9a-f]+`).exec(text) ?? [];
  if (id === undefined) throw new Error(`no ${prefix} is named: ${text}`);
  return id;
}

/** The distinct ids with this prefix in a text. */
export const findIds = (text: string, prefix: string): readonly string[] => [
  ...new Set(text.match(new RegExp(`${prefix}_[0-9a-f]+`, "g"))),
];

/** The id of the file in the instructions whose entry contains this word. */
export function findFile(instructions: string, word: string): string {
  const fileList = /Files \(M4_FILE\): (.*)\.$/m.exec(instructions)?.[1] ?? "";
  return findId(fileList.split(", ").find((entry) => entry.includes(word)) ?? "", "dev(?:sign)?file");
}
