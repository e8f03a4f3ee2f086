// Scripts for the tasks of evals/tasks/unprepared.ts: they make the calls that the request suggests, and report their texts.
import type { ToolArguments } from "../agent.ts";
import { findIds } from "./results.ts";
import { toJobArguments } from "./review.ts";
import type { Script } from "./script.ts";
import { report } from "./second-review.ts";

type Call = readonly [tool: string, args?: ToolArguments];

/** Makes one call after the other. */
export const makeCalls =
  (callsOf: (request: string) => readonly Call[]): Script =>
  async (request, client) => {
    const texts: string[] = [];
    for (const [tool, args = {}] of callsOf(request)) texts.push(await report(client, tool, args));
    return texts.join("\n");
  };

/** One word of the request after another: the file name after "as", the date after "until". */
export const wordAfter = (request: string, word: string): string =>
  new RegExp(`\\b${word} ([\\w:.-]*\\w)`).exec(request)?.[1] ?? "";

export const batchArguments = (request: string): ToolArguments => {
  const { inputs: _, ...job } = toJobArguments(request);
  return { ...job, files: findIds(request, "devfile") };
};
