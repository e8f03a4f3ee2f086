// Scripts for the tasks of evals/tasks/second-review.ts: each makes its calls and reports their texts.
import type { AgentClient, ToolArguments, VisibleResult } from "../agent.ts";
import { callUntilComplete } from "./geography.ts";
import { findId, findIds, followSteps } from "./results.ts";
import { runFiles, toJobArguments } from "./review.ts";
import type { Script } from "./script.ts";

/** The text of a result, or its data. */
const textOf = (result: VisibleResult): string => (result.isError ? result.text : JSON.stringify(result.data));

export const report = async (client: AgentClient, tool: string, args: ToolArguments): Promise<string> =>
  textOf(await client.call(tool, args));

export const runBatch: Script = async (request, client) => (await runFiles(request, client)).map(textOf).join("\n");

export const runTwoPorts: Script = async (request, client) =>
  await report(client, "run_jobs", {
    recipeVersionId: findId(request, "micrecipev"),
    files: findIds(request, "devfile"),
    parameterValues: {},
  });

export const compareAndSave: Script = async (_request, client) => {
  const states = ["KA", "KL", "TN"];
  const ranking = { level: "state", by: "mandalsPerDistrict", states };
  const table = {
    source: "rank_divisions",
    arguments: { level: "district", by: "name", states },
    fileName: "south.csv",
  };
  return [await report(client, "rank_divisions", ranking), await report(client, "save_table", table)].join("\n");
};

export const countFormer: Script = async (_request, client) => {
  const args = { level: "district", by: "name", states: ["TG"], createdSince: 2016, limit: 1 };
  return await report(client, "rank_divisions", args);
};

export const findNames: Script = async (request, client) => {
  const [, list = ""] = /districts (.*)\.$/.exec(request) ?? [];
  return await report(client, "find_district", { names: list.split(", ") });
};

export const retryJobs: Script = async (request, client) => {
  const how = { retryMode: "SAFE_RESUME", reason: "The user asked for it" };
  return await report(client, "retry_jobs", { jobIds: findIds(request, "micjob"), ...how });
};

export const listWaiting: Script = async (_request, client) =>
  await report(client, "list_jobs", { states: ["WAITING_REVIEW", "PAUSED"] });

/** Uses names that other tools have. */
export const missNames: Script = async (_request, client) =>
  [
    await report(client, "rank_divisions", { level: "district", by: "name", state: "Telangana", limit: 1 }),
    await report(client, "list_jobs", { status: "FAILED", limit: 1 }),
  ].join("\n");

/** Leaves out the parameters at first, and corrects the call as the error says. */
export const correctParameters: Script = async (request, client) => {
  const job = toJobArguments(request);
  const refused = await report(client, "run_job", { ...job, parameterValues: {} });
  return [refused, await report(client, "run_job", job)].join("\n");
};

/** Reports what the instructions say of the catalog, since no result says it. */
export const describeDistrict: Script = async (request, client) => {
  const [, name = ""] = /district (\w+)\?/.exec(request) ?? [];
  const limits = client.instructions.split("\n").find((line) => line.includes("population")) ?? "";
  return [limits, textOf(await callUntilComplete(client, "find_district", { name }))].join("\n");
};

/** Repeats the call, and makes the call that the error names. */
export const returnLater: Script = async (request, client) =>
  (await followSteps(client, await client.call("run_job", toJobArguments(request)), [])).map(textOf).join("\n");

export const discardWork: Script = async (request, client) => {
  const [, createdSince = ""] = /since (\S+)\./.exec(request) ?? [];
  const [jobId, ...jobIds] = findIds(request, "micjob");
  const how = { retryMode: "RESTART", reason: "The user asked for it" };
  return [
    await report(client, "cancel_job", { jobId, reason: "The user asked for it" }),
    await report(client, "retry_jobs", { jobIds, ...how }),
    await report(client, "retry_jobs", { createdSince, ...how }),
  ].join("\n");
};

export const useReadOnly: Script = async (request, client) => {
  const jobId = findId(request, "micjob");
  return [
    await report(client, "get_job", { jobId }),
    await report(client, "retry_job", { jobId, retryMode: "SAFE_RESUME", reason: "The user asked for it" }),
  ].join("\n");
};

export const useEssentials: Script = async (request, client) =>
  (await followSteps(client, await client.call("get_job", { jobId: findId(request, "micjob") })))
    .map(textOf)
    .join("\n");

const COUNT_DISTRICTS = { level: "district", by: "name", states: ["TG"], limit: 1 };

export const useGeographyOnly: Script = async (_request, client) =>
  [
    await report(client, "rank_divisions", COUNT_DISTRICTS),
    await report(client, "list_jobs", { states: ["FAILED"] }),
  ].join("\n");

export const useUnconfigured: Script = async (_request, client) =>
  [
    await report(client, "list_jobs", { states: ["FAILED"] }),
    await report(client, "rank_divisions", COUNT_DISTRICTS),
  ].join("\n");
