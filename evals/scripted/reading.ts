// How a scripted agent reads: what a result says, which call it names, which words stand where. It knows no id and no tool
// that it was not shown.
import * as z from "zod/v4";
import type { Args, Desk, Shown } from "../agent.ts";

const Json = z.record(z.string(), z.unknown());
const Step = z.object({ tool: z.string(), arguments: Json });
export type Step = z.infer<typeof Step>;
const Advised = z.looseObject({
  summary: z.string().optional(),
  nextStep: Step.optional(),
  data: z.union([z.looseObject({ id: z.string().optional() }), z.array(z.unknown())]).optional(),
});

/** More steps than this, and nothing has come of it. */
const PATIENCE = 12;

/** What a result says, for handing on: its sentence and of what it speaks, or all of it. */
export function summarize(shown: Shown): string {
  if (shown.isError) return shown.text;
  const { summary, data } = Advised.parse(shown.data);
  if (summary === undefined) return JSON.stringify(shown.data);
  return data === undefined || Array.isArray(data) || data.id === undefined ? summary : `${data.id}: ${summary}`;
}

/** The data of a success. */
export function dataOf(shown: Shown): Args {
  if (shown.isError) throw new Error(shown.text);
  return shown.data;
}

/** The call that a failure names: a tool and its arguments, on one line. */
function calledFor(text: string): Step | undefined {
  const [, tool, args] = /^Next: .*?\b([a-z_]+) (\{.*\})/m.exec(text) ?? [];
  return args === undefined ? undefined : Step.parse({ tool, arguments: JSON.parse(args) });
}

export const nextOf = (shown: Shown): Step | undefined =>
  shown.isError ? calledFor(shown.text) : Advised.parse(shown.data).nextStep;

/** Makes the call that each result names, gives all results. Of the steps that a success offers only these tools'. */
export async function follow(
  desk: Desk,
  first: Shown,
  tools?: readonly string[],
): Promise<readonly [Shown, ...Shown[]]> {
  const results: [Shown, ...Shown[]] = [first];
  let shown = first;
  for (let step = nextOf(first); step !== undefined; step = nextOf(shown)) {
    if (!shown.isError && tools !== undefined && !tools.includes(step.tool)) break;
    if (results.length > PATIENCE) throw new Error(`there is no end to it: ${JSON.stringify(step)}`);
    shown = await desk.call(step.tool, step.arguments);
    results.push(shown);
  }
  return results;
}

/** The same, and what the last one says. */
export const followed = async (desk: Desk, first: Shown, tools?: readonly string[]): Promise<string> =>
  summarize((await follow(desk, first, tools)).at(-1) ?? first);

/** The first id of a kind in a text. */
export function idIn(text: string, prefix: string): string {
  const [id] = new RegExp(`${prefix}_[0-9a-f]+`).exec(text) ?? [];
  if (id === undefined) throw new Error(`no ${prefix} is named: ${text}`);
  return id;
}

export const idsIn = (text: string, prefix: string): readonly string[] =>
  text.match(new RegExp(`${prefix}_[0-9a-f]+`, "g")) ?? [];

/** The file that the instructions list with this word in its name or behind it. */
export function fileCalled(instructions: string, word: string): string {
  const listed = /files \(M4_FILE\): (.*)\.$/m.exec(instructions)?.[1] ?? "";
  return idIn(listed.split(", ").find((entry) => entry.includes(word)) ?? "", "dev(?:sign)?file");
}
