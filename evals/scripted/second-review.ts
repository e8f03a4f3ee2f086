// Scripts for the tasks of evals/tasks/second-review.ts: each makes its calls and reports their texts.
import type { AgentClient, ToolArguments, VisibleResult } from "../agent.ts";
import { findId, findIds } from "./results.ts";
import { runFiles } from "./review.ts";
import type { Script } from "./script.ts";

/** The text of a result, or its data. */
const textOf = (result: VisibleResult): string => (result.isError ? result.text : JSON.stringify(result.data));

const report = async (client: AgentClient, tool: string, args: ToolArguments): Promise<string> =>
  textOf(await client.call(tool, args));

const runBatch: Script = async (request, client) => (await runFiles(request, client)).map(textOf).join("\n");

const runTwoPorts: Script = async (request, client) =>
  await report(client, "run_jobs", {
    recipeVersionId: findId(request, "micrecipev"),
    files: findIds(request, "devfile"),
    parameterValues: {},
  });

const compareAndSave: Script = async (_request, client) => {
  const states = ["KA", "KL", "TN"];
  const ranking = { level: "state", by: "mandalsPerDistrict", states };
  const table = {
    source: "rank_divisions",
    arguments: { level: "district", by: "name", states },
    fileName: "south.csv",
  };
  return [await report(client, "rank_divisions", ranking), await report(client, "save_table", table)].join("\n");
};

const countFormer: Script = async (_request, client) => {
  const args = { level: "district", by: "name", states: ["TG"], createdSince: 2016, limit: 1 };
  return await report(client, "rank_divisions", args);
};

const findNames: Script = async (request, client) => {
  const [, list = ""] = /districts (.*)\.$/.exec(request) ?? [];
  return await report(client, "find_district", { names: list.split(", ") });
};

const retryJobs: Script = async (request, client) => {
  const how = { retryMode: "SAFE_RESUME", reason: "The user asked for it" };
  return await report(client, "retry_jobs", { jobIds: findIds(request, "micjob"), ...how });
};

const listWaiting: Script = async (_request, client) =>
  await report(client, "list_jobs", { states: ["WAITING_REVIEW", "PAUSED"] });

/** Uses names that other tools have. */
const missNames: Script = async (_request, client) =>
  [
    await report(client, "rank_divisions", { level: "district", by: "name", state: "Telangana", limit: 1 }),
    await report(client, "list_jobs", { status: "FAILED", limit: 1 }),
  ].join("\n");

export const secondReview: Readonly<Record<string, Script>> = {
  T2: runTwoPorts,
  T3: countFormer,
  T4: compareAndSave,
  T5: findNames,
  T8: runBatch,
  T9: runBatch,
  T10: retryJobs,
  T11: runBatch,
  T14: listWaiting,
  T15: missNames,
};
