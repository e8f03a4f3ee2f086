// Scripts for the tasks of evals/tasks/unprepared.ts: they make the calls that the request suggests, and report their texts.
import * as z from "zod/v4";
import type { ToolArguments } from "../agent.ts";
import { findId, findIds, getData } from "./results.ts";
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

const ListJobsResult = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

export const cancelOldJobs: Script = async (request, client) => {
  const states = ["PREPARING", "QUEUED", "RUNNING", "WAITING_REVIEW", "PAUSED"];
  const filter = {
    recipeVersionId: findId(request, "micrecipev"),
    createdBefore: wordAfter(request, "before"),
    states,
  };
  const listed = getData(await client.call("list_jobs", filter));
  const jobIds = ListJobsResult.parse(listed).data.map(({ id }) => id);
  return [
    JSON.stringify(listed),
    await report(client, "cancel_jobs", { jobIds, reason: "The user asked for it" }),
  ].join("\n");
};
