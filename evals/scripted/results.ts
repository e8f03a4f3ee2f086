// How a scripted agent reads: what a result says, which call it names, which words stand where. It knows no id and no tool
// that it was not shown.
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

/** More steps than this, and nothing has come of it. */
const MAX_STEPS = 12;

/** What a result says, for handing on: its sentence and of what it speaks, or all of it. */
export function summarize(result: VisibleResult): string {
  if (result.isError) return result.text;
  const { summary, data } = AdvisedResult.parse(result.data);
  if (summary === undefined) return JSON.stringify(result.data);
  return data === undefined || Array.isArray(data) || data.id === undefined ? summary : `${data.id}: ${summary}`;
}

/** The data of a success. */
export function getData(result: VisibleResult): ToolArguments {
  if (result.isError) throw new Error(result.text);
  return result.data;
}

/** The call that a failure names: a tool and its arguments, on one line. */
function parseNextCall(text: string): Step | undefined {
  const [, tool, args] = /^Next: .*?\b([a-z_]+) (\{.*\})/m.exec(text) ?? [];
  return args === undefined ? undefined : NextStep.parse({ tool, arguments: JSON.parse(args) });
}

export const getNextStep = (result: VisibleResult): Step | undefined =>
  result.isError ? parseNextCall(result.text) : AdvisedResult.parse(result.data).nextStep;

/** Makes the call that each result names, gives all results. Of the steps that a success offers only these tools'. */
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

/** The same, and what the last one says. */
export const followAndSummarize = async (
  client: AgentClient,
  first: VisibleResult,
  tools?: readonly string[],
): Promise<string> => summarize((await followSteps(client, first, tools)).at(-1) ?? first);

/** The first id of a kind in a text. */
export function findId(text: string, prefix: string): string {
  const [id] = new RegExp(`${prefix}_[0-9a-f]+`).exec(text) ?? [];
  if (id === undefined) throw new Error(`no ${prefix} is named: ${text}`);
  return id;
}

export const findIds = (text: string, prefix: string): readonly string[] =>
  text.match(new RegExp(`${prefix}_[0-9a-f]+`, "g")) ?? [];

/** The file that the instructions list with this word in its name or behind it. */
export function findFile(instructions: string, word: string): string {
  const fileList = /files \(M4_FILE\): (.*)\.$/m.exec(instructions)?.[1] ?? "";
  return findId(fileList.split(", ").find((entry) => entry.includes(word)) ?? "", "dev(?:sign)?file");
}
