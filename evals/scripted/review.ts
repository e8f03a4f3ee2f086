// Scripts for the tasks of the review (A1 to A13) that no other file does. They know recipes from the request.
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/v4";
import type { AgentClient, ToolArguments, VisibleResult } from "../agent.ts";
import { requestDecision, WAIT_TOOLS } from "./one-job.ts";
import { findId, findIds, followAndSummarize, followSteps, getData, summarize } from "./results.ts";
import type { Script } from "./script.ts";

/** The error of an outage advises another call "in a minute". */
const OUTAGE_WAIT_MS = 30_000;

const Json = z.record(z.string(), z.unknown());
const RunJobsResult = z.looseObject({
  results: z.array(z.looseObject({ state: z.string(), jobId: z.string().optional() })),
});
const ResolveActionsResult = z.looseObject({
  results: z.array(z.looseObject({ createdId: z.string().optional(), finding: z.string() })),
});
const RetryJobsResult = z.looseObject({ results: z.array(z.looseObject({ newJobId: z.string().optional() })) });

/** The recipe, its port and parameters, as the request describes them. */
function parseKnownRecipe(request: string) {
  const [, port = "", parameters = "{}"] = /\(port (\w+), parameterValues (\{.*?\})\)/.exec(request) ?? [];
  const parameterValues = Json.parse(JSON.parse(parameters));
  return { recipeVersionId: findId(request, "micrecipev"), port, parameterValues };
}

/** Arguments of run_job for the recipe and the file of the request. */
export function toJobArguments(request: string): ToolArguments {
  const { port, ...recipe } = parseKnownRecipe(request);
  return { ...recipe, inputs: [{ port, referenceId: findId(request, "devfile") }] };
}

export async function runFiles(
  request: string,
  client: AgentClient,
): Promise<readonly [VisibleResult, ...VisibleResult[]]> {
  const { port: _, ...recipe } = parseKnownRecipe(request);
  return await followSteps(client, await client.call("run_jobs", { ...recipe, files: findIds(request, "devfile") }), [
    "run_jobs",
  ]);
}

export const runManyFiles: Script = async (request, client) =>
  (await runFiles(request, client)).map((result) => JSON.stringify(getData(result))).join("\n");

export const cancelPausedTwice: Script = async (request, client) => {
  const ran = await runFiles(request, client);
  const summaries = ran.map(summarize);
  const { results } = RunJobsResult.parse(getData(ran.at(-1) ?? ran[0]));
  const { jobId } = results.find(({ state }) => state === "PAUSED") ?? {};
  for (const reason of ["The user does not need it", "The file is wrong"])
    summaries.push(summarize(await client.call("cancel_job", { jobId, reason })));
  return summaries.join("\n");
};

export const readMonthlyQuota: Script = async (_request, client) =>
  summarize(await client.call("get_usage", { window: "MONTH" }));

export const askAndRun: Script = async (request, client) => {
  const decision = await requestDecision(request, client);
  // The recipe needs no parameters, so the next step is complete.
  return [decision, ...(await followSteps(client, decision, WAIT_TOOLS)).slice(-1)].map(summarize).join("\n");
};

/** The request is to find out, so list_actions is not called first. */
export const resolveUnknown: Script = async (_request, client) => {
  const { results } = ResolveActionsResult.parse(getData(await client.call("resolve_actions")));
  return results.map(({ createdId, finding }) => `${createdId}: ${finding}`).join("\n");
};

export const changeMind: Script = async (request, client) => {
  const submitted = summarize(await client.call("run_job", { ...toJobArguments(request), waitSeconds: 0 }));
  const jobId = findId(submitted, "micjob");
  const canceled = summarize(await client.call("cancel_job", { jobId, reason: "The user does not want it" }));
  const again = { jobId, retryMode: "SAFE_RESUME", reason: "The user wants it after all" };
  return [submitted, canceled, summarize(await client.call("retry_job", again))].join("\n");
};

/** The instructions say: to run a call again, pass a new idempotencyKey. */
export const runAgain: Script = async (request, client) => {
  const job = { ...toJobArguments(request), idempotencyKey: "the-second-run" };
  return await followAndSummarize(client, await client.call("run_job", job), WAIT_TOOLS);
};

export const runKnownJob: Script = async (request, client) =>
  await followAndSummarize(client, await client.call("run_job", toJobArguments(request)), WAIT_TOOLS);

/** Retries as the next steps say, and reads the last job to report what to do. */
export const retryUntilGivenUp: Script = async (request, client) => {
  const args = { jobIds: findIds(request, "micjob"), retryMode: "SAFE_RESUME", reason: "The user asked for it" };
  const retried = await followSteps(client, await client.call("retry_jobs", args), ["retry_jobs"]);
  const [last] = RetryJobsResult.parse(getData(retried.at(-1) ?? retried[0])).results;
  const summaries = retried.map(summarize);
  return [...summaries, summarize(await client.call("get_job", { jobId: last?.newJobId }))].join("\n");
};

/** Waits before the call is made again if nothing was changed, as the error of an outage says. */
export const runWhenUp: Script = async (request, client) => {
  const first = await client.call("run_job", toJobArguments(request));
  if (!first.isError || !first.text.includes("Call again in a minute"))
    return await followAndSummarize(client, first, WAIT_TOOLS);
  await sleep(OUTAGE_WAIT_MS);
  return await runKnownJob(request, client);
};
