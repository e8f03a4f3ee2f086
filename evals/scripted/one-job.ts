// Scripts for tasks with one job.
import type { AgentClient, VisibleResult } from "../agent.ts";
import { findRecipe, readRecipe, toRunJobArguments } from "./recipes.ts";
import { findFile, findId, findIds, followAndSummarize, followSteps, getData, summarize } from "./results.ts";
import type { Script } from "./script.ts";

/** Tools that a script may follow as a next step, because they only read, wait or continue the requested job. */
const REVIEW_TOOL = "get_file_processing_request";
export const WAIT_TOOLS = ["get_job", "run_job", "wait_for_jobs", "get_input", REVIEW_TOOL];

export const processDescribedFile: Script = async (request, client) => {
  const recipe = await findRecipe(client, "normalize");
  const job = toRunJobArguments(request, recipe, findFile(client.instructions, "divisions"));
  const results = await followSteps(client, await client.call("run_job", job), WAIT_TOOLS);
  return JSON.stringify(results.at(-1));
};

export const processKnownFile: Script = async (request, client) => {
  const recipe = await readRecipe(client, findId(request, "micrecipev"));
  const job = toRunJobArguments(request, recipe, findId(request, "devfile"));
  return await followAndSummarize(client, await client.call("run_job", job), WAIT_TOOLS);
};

export const profileTable: Script = async (request, client) => {
  const recipe = await findRecipe(client, "profile");
  const job = toRunJobArguments(request, recipe, findFile(client.instructions, "lgd-states.csv"));
  const parameterNames = Object.keys(recipe.parameters.definition.properties);
  const summary = await followAndSummarize(client, await client.call("run_job", job), WAIT_TOOLS);
  return `${recipe.name} takes ${parameterNames.length === 0 ? "no parameters" : parameterNames.join()}. ${summary}`;
};

export const ensureSuccess: Script = async (request, client) =>
  await followAndSummarize(client, await client.call("get_job", { jobId: findId(request, "micjob") }));

/** Returns the complete result. */
export const readJob: Script = async (request, client) =>
  JSON.stringify(getData(await client.call("get_job", { jobId: findId(request, "micjob") })));

export const waitForJob: Script = async (request, client) => {
  const args = { jobId: findId(request, "micjob"), waitSeconds: 45 };
  return await followAndSummarize(client, await client.call("get_job", args), WAIT_TOOLS);
};

export const registerInputs: Script = async (request, client) => {
  const summaries: string[] = [];
  for (const name of request.match(/\S+\.csv/g) ?? []) {
    const args = { inputKind: "M4_FILE", referenceId: findFile(client.instructions, name) };
    summaries.push(
      `${name}: ${await followAndSummarize(client, await client.call("register_input", args), WAIT_TOOLS)}`,
    );
  }
  return summaries.join("\n");
};

export const cancelJobs: Script = async (request, client) => {
  const summaries: string[] = [];
  for (const jobId of findIds(request, "micjob")) {
    const results = await followSteps(
      client,
      await client.call("cancel_job", { jobId, reason: "The file is wrong" }),
      WAIT_TOOLS,
    );
    summaries.push(...results.map(summarize));
  }
  return summaries.join("\n");
};

/** Asks for permission and waits for the decision. */
export async function requestDecision(request: string, client: AgentClient): Promise<VisibleResult> {
  const { versionId, versionHash } = await readRecipe(client, findId(request, "micrecipev"));
  const [, expiresAt, purpose] = /until (\S+), to ([^.]+)\./.exec(request) ?? [];
  const args = {
    inputId: findId(request, "micinput"),
    recipeVersionId: versionId,
    recipeVersionHash: versionHash,
    purpose,
    expiresAt,
  };
  const results = await followSteps(client, await client.call("request_file_processing", args), [REVIEW_TOOL]);
  return results.at(-1) ?? results[0];
}

export const requestPermission: Script = async (request, client) => summarize(await requestDecision(request, client));

export const runTwice: Script = async (request, client) => {
  const recipe = await readRecipe(client, findId(request, "micrecipev"));
  const job = toRunJobArguments(request, recipe, findId(request, "devfile"));
  const first = await followAndSummarize(client, await client.call("run_job", job), WAIT_TOOLS);
  // The instructions say: to repeat a call on purpose, pass a new idempotencyKey.
  const secondCall = { ...job, idempotencyKey: "the-second-of-two" };
  return `${first}\n${await followAndSummarize(client, await client.call("run_job", secondCall), WAIT_TOOLS)}`;
};
