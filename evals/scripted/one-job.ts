// Scripts for tasks with one job.

import { findRecipe, readRecipe, toRunJobArguments } from "./recipes.ts";
import { findFile, findId, findIds, followAndSummarize, followSteps, getData, summarize } from "./results.ts";
import type { Script } from "./script.ts";

/** Tools that a script may follow as a next step, because they only read, wait or continue the requested job. */
export const REVIEW_TOOL = "get_file_processing_request";
export const WAIT_TOOLS = ["get_job", "run_job", "wait_for_jobs", "get_input", REVIEW_TOOL];

const processDescribedFile: Script = async (request, client) => {
  const recipe = await findRecipe(client, "normalize");
  const job = toRunJobArguments(request, recipe, findFile(client.instructions, "divisions"));
  const results = await followSteps(client, await client.call("run_job", job), WAIT_TOOLS);
  return JSON.stringify(results.at(-1));
};

const processKnownFile: Script = async (request, client) => {
  const recipe = await readRecipe(client, findId(request, "micrecipev"));
  const job = toRunJobArguments(request, recipe, findId(request, "devfile"));
  return await followAndSummarize(client, await client.call("run_job", job), WAIT_TOOLS);
};

const profileTable: Script = async (request, client) => {
  const recipe = await findRecipe(client, "profile");
  const job = toRunJobArguments(request, recipe, findFile(client.instructions, "lgd-states.csv"));
  const parameterNames = Object.keys(recipe.parameters.definition.properties);
  const summary = await followAndSummarize(client, await client.call("run_job", job), WAIT_TOOLS);
  return `${recipe.name} takes ${parameterNames.length === 0 ? "no parameters" : parameterNames.join()}. ${summary}`;
};

const ensureSuccess: Script = async (request, client) =>
  await followAndSummarize(client, await client.call("get_job", { jobId: findId(request, "micjob") }));

/** Returns the complete result. */
const readJob: Script = async (request, client) =>
  JSON.stringify(getData(await client.call("get_job", { jobId: findId(request, "micjob") })));

const waitForJob: Script = async (request, client) => {
  const args = { jobId: findId(request, "micjob"), waitSeconds: 45 };
  return await followAndSummarize(client, await client.call("get_job", args), WAIT_TOOLS);
};

const registerInputs: Script = async (request, client) => {
  const summaries: string[] = [];
  for (const name of request.match(/\S+\.csv/g) ?? []) {
    const args = { inputKind: "M4_FILE", referenceId: findFile(client.instructions, name) };
    summaries.push(
      `${name}: ${await followAndSummarize(client, await client.call("register_input", args), WAIT_TOOLS)}`,
    );
  }
  return summaries.join("\n");
};

const cancelJobs: Script = async (request, client) => {
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

const requestPermission: Script = async (request, client) => {
  const { versionId, versionHash } = await readRecipe(client, findId(request, "micrecipev"));
  const [, expiresAt, purpose] = /until (\S+), to ([^.]+)\./.exec(request) ?? [];
  const args = {
    inputId: findId(request, "micinput"),
    recipeVersionId: versionId,
    recipeVersionHash: versionHash,
    purpose,
    expiresAt,
  };
  return await followAndSummarize(client, await client.call("request_file_processing", args), [REVIEW_TOOL]);
};

const runTwice: Script = async (request, client) => {
  const recipe = await readRecipe(client, findId(request, "micrecipev"));
  const job = toRunJobArguments(request, recipe, findId(request, "devfile"));
  const first = await followAndSummarize(client, await client.call("run_job", job), WAIT_TOOLS);
  // The instructions say: to repeat a call on purpose, pass a new idempotencyKey.
  const secondCall = { ...job, idempotencyKey: "the-second-of-two" };
  return `${first}\n${await followAndSummarize(client, await client.call("run_job", secondCall), WAIT_TOOLS)}`;
};

export const oneJob: Readonly<Record<string, Script>> = {
  A1: processDescribedFile,
  "1b": processKnownFile,
  "2": profileTable,
  "3": ensureSuccess,
  "4": readJob,
  "5": waitForJob,
  "6": readJob,
  "7": registerInputs,
  "8": cancelJobs,
  "10": requestPermission,
  "16": runTwice,
};
