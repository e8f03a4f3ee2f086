// An agent that is asked about the workspace, or whose person picks from what the server offers.
import * as z from "zod/v4";
import { dataOf, fileCalled, followed, idIn, summarize } from "./reading.ts";
import { jobOf, readRecipe } from "./recipes.ts";
import type { Script } from "./script.ts";

const download: Script = async (request, desk) => {
  const [name = ""] = /\S+\.bin/.exec(request) ?? [];
  return JSON.stringify(dataOf(await desk.call("download_asset", { assetId: fileCalled(desk.instructions, name) })));
};

const quota: Script = async (_request, desk) => JSON.stringify(dataOf(await desk.call("get_usage", { window: "DAY" })));

const capabilities: Script = async (_request, desk) => JSON.stringify(dataOf(await desk.call("get_capabilities")));

const first = (found: readonly string[], wanted: string): string => {
  const [value] = found;
  if (value === undefined) throw new Error(`nothing is offered for ${wanted}`);
  return value;
};

const Job = z.looseObject({ id: z.string(), state: z.string() });

const picked: Script = async (request, desk) => {
  const [, file = "", recipe = ""] = /run_job for (\S+) and (.*?) \(/.exec(request) ?? [];
  const referenceId = first(await desk.complete("run_job", "referenceId", file), file);
  const versionId = first(await desk.complete("run_job", "versionId", recipe), recipe);
  const promptText = await desk.prompt("run_job", { referenceId, versionId });
  const offer = await readRecipe(desk, idIn(promptText, "micrecipev"));
  const job = await desk.call("run_job", jobOf(request, offer, idIn(promptText, "devfile")));
  const jobId = idIn(await followed(desk, job, ["get_job", "run_job"]), "micjob");

  await desk.prompt("diagnose_job", { jobId });
  const diagnosis = summarize(await desk.call("get_job", { jobId }));
  await desk.call("list_actions");
  const { state } = Job.parse(JSON.parse(await desk.read(`mic://jobs/${jobId}`)));
  const workspace = idIn(desk.instructions, "micws");
  await desk.read(`mic://workspaces/${workspace}/jobs`);
  const catalogue = await desk.read("mic://geography/catalogue.tsv");
  const districts = catalogue.split("\n").filter((line) => line !== "" && !line.startsWith("#")).length - 1;
  return `${diagnosis} Job ${jobId} is ${state}. The catalogue has ${districts} districts.`;
};

export const workspace: Readonly<Record<string, Script>> = {
  "9": download,
  "12": quota,
  "13": capabilities,
  "18": picked,
};
