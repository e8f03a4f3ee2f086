// Scripts for tasks with faults: they follow the next step of an error, and after a crash the server's instructions.
import * as z from "zod/v4";
import type { AgentClient, ToolArguments, VisibleResult } from "../agent.ts";
import { WAIT_TOOLS } from "./one-job.ts";
import { readRecipe, toRunJobArguments } from "./recipes.ts";
import { findId, followAndSummarize, followSteps, getData, getNextStep, summarize } from "./results.ts";
import type { Script } from "./script.ts";

const ResolveActionsResult = z.looseObject({
  results: z.array(z.looseObject({ tool: z.string(), createdId: z.string().optional() })),
});

async function readRequestedJob(request: string, client: AgentClient): Promise<ToolArguments> {
  const recipe = await readRecipe(client, findId(request, "micrecipev"));
  return toRunJobArguments(request, recipe, findId(request, "devfile"));
}

export const followAdvice: Script = async (request, client) =>
  await followAndSummarize(client, await client.call("run_job", await readRequestedJob(request, client)), WAIT_TOOLS);

/** A model phrases a note differently each time, and does not always repeat the call that an error names. */
export const repeatWithOtherNote: Script = async (request, client) => {
  const job = await readRequestedJob(request, client);
  await client.call("run_job", { ...job, clientReference: "Normalize the districts" });
  return await followAndSummarize(
    client,
    await client.call("run_job", { ...job, clientReference: "Districts, normalized" }),
    WAIT_TOOLS,
  );
};

/** The error names no next step, so the server has died. */
const hasCrashed = (result: VisibleResult): boolean => result.isError && getNextStep(result) === undefined;

export const recoverAfterCrash: Script = async (request, client) => {
  const job = await readRequestedJob(request, client);
  const results = await followSteps(client, await client.call("run_job", job), WAIT_TOOLS);
  const last = results.at(-1) ?? results[0];
  if (!hasCrashed(last)) return summarize(last);
  const summaries: string[] = [];
  const resolved = (await followSteps(client, await client.call("resolve_actions", {}), ["resolve_actions"])).at(-1);
  if (!resolved) return "";
  summaries.push(summarize(resolved));
  for (const { tool, createdId: jobId } of ResolveActionsResult.parse(getData(resolved)).results)
    if (tool === "submit_job" && jobId !== undefined)
      summaries.push(
        await followAndSummarize(client, await client.call("get_job", { jobId, waitSeconds: 45 }), WAIT_TOOLS),
      );
  return summaries.join("\n");
};
