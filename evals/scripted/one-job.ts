// An agent at work on one job.
import { dataOf, fileCalled, follow, followed, idIn, idsIn, summarize } from "./reading.ts";
import { jobOf, readRecipe, recipeCalled } from "./recipes.ts";
import type { Script } from "./script.ts";

/** What waits or goes on, and changes nothing that it was not asked to. */
export const WAITING = [
  "get_job",
  "run_job",
  "wait_for_jobs",
  "get_input",
  "get_operation",
  "get_file_processing_request",
];

const fromFile: Script = async (request, desk) => {
  const recipe = await recipeCalled(desk, "normalize");
  const job = jobOf(request, recipe, fileCalled(desk.instructions, "divisions"));
  return await followed(desk, await desk.call("run_job", job), WAITING);
};

const knownFile: Script = async (request, desk) => {
  const recipe = await readRecipe(desk, idIn(request, "micrecipev"));
  const job = jobOf(request, recipe, idIn(request, "devfile"));
  return await followed(desk, await desk.call("run_job", job), WAITING);
};

const profile: Script = async (request, desk) => {
  const recipe = await recipeCalled(desk, "profile");
  const job = jobOf(request, recipe, fileCalled(desk.instructions, "lgd-states.csv"));
  const takes = Object.keys(recipe.parameters.definition.properties);
  const summary = await followed(desk, await desk.call("run_job", job), WAITING);
  return `${recipe.name} takes ${takes.length === 0 ? "no parameters" : takes.join()}. ${summary}`;
};

const seeThrough: Script = async (request, desk) =>
  await followed(desk, await desk.call("get_job", { jobId: idIn(request, "micjob") }));

/** Hands on all that it is told. */
const look: Script = async (request, desk) =>
  JSON.stringify(dataOf(await desk.call("get_job", { jobId: idIn(request, "micjob") })));

const waitFor: Script = async (request, desk) => {
  const args = { jobId: idIn(request, "micjob"), waitSeconds: 45 };
  return await followed(desk, await desk.call("get_job", args), WAITING);
};

const registerBoth: Script = async (request, desk) => {
  const summaries: string[] = [];
  for (const name of request.match(/\S+\.csv/g) ?? []) {
    const args = { inputKind: "M4_FILE", referenceId: fileCalled(desk.instructions, name) };
    summaries.push(`${name}: ${await followed(desk, await desk.call("register_input", args), WAITING)}`);
  }
  return summaries.join("\n");
};

const cancelBoth: Script = async (request, desk) => {
  const summaries: string[] = [];
  for (const jobId of idsIn(request, "micjob")) {
    const results = await follow(desk, await desk.call("cancel_job", { jobId, reason: "The file is wrong" }), WAITING);
    summaries.push(...results.map(summarize));
  }
  return summaries.join("\n");
};

const requestPermission: Script = async (request, desk) => {
  const { versionId, versionHash } = await readRecipe(desk, idIn(request, "micrecipev"));
  const [, expiresAt, purpose] = /until (\S+), to ([^.]+)\./.exec(request) ?? [];
  const args = {
    inputId: idIn(request, "micinput"),
    recipeVersionId: versionId,
    recipeVersionHash: versionHash,
    purpose,
    expiresAt,
  };
  return await followed(desk, await desk.call("request_file_processing", args), WAITING);
};

const twice: Script = async (request, desk) => {
  const recipe = await readRecipe(desk, idIn(request, "micrecipev"));
  const job = jobOf(request, recipe, idIn(request, "devfile"));
  const first = await followed(desk, await desk.call("run_job", job), WAITING);
  // As the instructions say: to do the same once more on purpose, pass a new idempotencyKey.
  const again = { ...job, idempotencyKey: "the-second-of-two" };
  return `${first}\n${await followed(desk, await desk.call("run_job", again), WAITING)}`;
};

export const oneJob: Readonly<Record<string, Script>> = {
  "1": fromFile,
  "1b": knownFile,
  "2": profile,
  "3": seeThrough,
  "4": look,
  "5": waitFor,
  "6": look,
  "7": registerBoth,
  "8": cancelBoth,
  "10": requestPermission,
  "16": twice,
};
