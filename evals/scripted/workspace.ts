// Scripts for tasks about the workspace, and for a user who picks prompts and completions.
import * as z from "zod/v4";
import { readRecipe, toRunJobArguments } from "./recipes.ts";
import { findFile, findId, followAndSummarize, getData, summarize } from "./results.ts";
import type { Script } from "./script.ts";

export const downloadAsset: Script = async (request, client) => {
  const [name = ""] = /\S+\.bin/.exec(request) ?? [];
  return JSON.stringify(getData(await client.call("download_asset", { assetId: findFile(client.instructions, name) })));
};

export const previewInput: Script = async (request, client) => {
  const read = getData(await client.call("get_input", { inputId: findId(request, "micinput") }));
  const assetId = findId(JSON.stringify(read), "devfile");
  return JSON.stringify(getData(await client.call("download_asset", { assetId, preview: true })));
};

export const readQuota: Script = async (_request, client) =>
  JSON.stringify(getData(await client.call("get_usage", { window: "DAY" })));

export const readCapabilities: Script = async (_request, client) =>
  JSON.stringify(getData(await client.call("get_capabilities")));

const firstOrThrow = (values: readonly string[], label: string): string => {
  const [value] = values;
  if (value === undefined) throw new Error(`nothing is offered for ${label}`);
  return value;
};

const Job = z.looseObject({ id: z.string(), state: z.string() });

export const runPickedPrompts: Script = async (request, client) => {
  const [, file = "", recipe = ""] = /run_job for (\S+) and (.*?) \(/.exec(request) ?? [];
  const referenceId = firstOrThrow(await client.complete("run_job", "referenceId", file), file);
  const versionId = firstOrThrow(await client.complete("run_job", "versionId", recipe), recipe);
  const promptText = await client.prompt("run_job", { referenceId, versionId });
  const recipeDetails = await readRecipe(client, findId(promptText, "micrecipev"));
  const job = await client.call("run_job", toRunJobArguments(request, recipeDetails, findId(promptText, "devfile")));
  const jobId = findId(await followAndSummarize(client, job, ["get_job", "run_job"]), "micjob");

  await client.prompt("diagnose_job", { jobId });
  const diagnosis = summarize(await client.call("get_job", { jobId }));
  await client.call("list_actions");
  const { state } = Job.parse(JSON.parse(await client.read(`mic://jobs/${jobId}`)));
  const workspace = findId(client.instructions, "micws");
  await client.read(`mic://workspaces/${workspace}/jobs`);
  const catalogText = await client.read("mic://geography/catalogue.tsv");
  const districts = catalogText.split("\n").filter((line) => line !== "" && !line.startsWith("#")).length - 1;
  return `${diagnosis} Job ${jobId} is ${state}. The catalog has ${districts} districts.`;
};
