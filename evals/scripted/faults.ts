// An agent whose calls go wrong: it does what the failure says, and after a crash what the instructions say.
import * as z from "zod/v4";
import type { Args, Desk, Shown } from "../agent.ts";
import { WAITING } from "./one-job.ts";
import { dataOf, follow, followed, idIn, nextOf, summarize } from "./reading.ts";
import { jobOf, readRecipe } from "./recipes.ts";
import type { Script } from "./script.ts";

const Journal = z.looseObject({
  actions: z.array(
    z.looseObject({
      nextStep: z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) }).optional(),
    }),
  ),
});

const Resolved = z.looseObject({
  results: z.array(z.looseObject({ tool: z.string(), resourceId: z.string().optional() })),
});

async function jobFrom(request: string, desk: Desk): Promise<Args> {
  const recipe = await readRecipe(desk, idIn(request, "micrecipev"));
  return jobOf(request, recipe, idIn(request, "devfile"));
}

const obeys: Script = async (request, desk) =>
  await followed(desk, await desk.call("run_job", await jobFrom(request, desk)), WAITING);

/** A model words a note anew each time, and does not always repeat the call that it is told to repeat. */
const repeatWithOtherNote: Script = async (request, desk) => {
  const job = await jobFrom(request, desk);
  await desk.call("run_job", { ...job, clientReference: "Normalize the districts" });
  return await followed(
    desk,
    await desk.call("run_job", { ...job, clientReference: "Districts, normalized" }),
    WAITING,
  );
};

/** Nobody said what to do next: the server is gone. */
const hasCrashed = (shown: Shown): boolean => shown.isError && nextOf(shown) === undefined;

const comesBack: Script = async (request, desk) => {
  const job = await jobFrom(request, desk);
  const results = await follow(desk, await desk.call("run_job", job), WAITING);
  const last = results.at(-1) ?? results[0];
  if (!hasCrashed(last)) return summarize(last);
  const { actions } = Journal.parse(dataOf(await desk.call("list_actions")));
  const summaries: string[] = [];
  for (const { nextStep } of actions) {
    if (!nextStep) continue;
    const resolved = (await follow(desk, await desk.call(nextStep.tool, nextStep.arguments), [nextStep.tool])).at(-1);
    if (!resolved) continue;
    summaries.push(summarize(resolved));
    for (const { tool, resourceId: jobId } of Resolved.parse(dataOf(resolved)).results)
      if (tool === "submit_job" && jobId !== undefined)
        summaries.push(await followed(desk, await desk.call("get_job", { jobId, waitSeconds: 45 }), WAITING));
  }
  return summaries.join("\n");
};

export const faults: Readonly<Record<string, Script>> = {
  "15a": obeys,
  "15b": obeys,
  "15c": obeys,
  "15d": repeatWithOtherNote,
  "15e": comesBack,
};
