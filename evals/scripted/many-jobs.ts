// Scripts for tasks with many jobs.
import * as z from "zod/v4";
import type { VisibleResult } from "../agent.ts";
import { followAndSummarize, followSteps, getData, summarize } from "./results.ts";
import type { Script } from "./script.ts";

const ListJobsResult = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), failure: z.string().optional() })),
  failures: z.array(z.looseObject({ failure: z.string(), count: z.number(), jobIds: z.array(z.string()) })).default([]),
});

/** The ids and failures of the jobs that were found. */
function describeJobs(result: VisibleResult): readonly string[] {
  const { data, failures } = ListJobsResult.parse(getData(result));
  const rows = data.map(({ id, failure = "" }) => `${id} ${failure}`);
  return [...rows, ...failures.map(({ failure, count, jobIds }) => `${count} ${failure}: ${jobIds.join(", ")}`)];
}

export const retryFailedJobs: Script = async (request, client) => {
  const [, since] = /since (\S+)/.exec(request) ?? [];
  const listed = await client.call("list_jobs", { createdSince: since, states: ["FAILED"], limit: 100 });
  const how = { retryMode: "SAFE_RESUME", reason: "Asked to try again" };
  const retried = await client.call("retry_jobs", { createdSince: since, ...how });
  const summary = await followAndSummarize(client, retried, ["retry_jobs", "wait_for_jobs"]);
  return [...describeJobs(listed), summary].join("\n");
};

export const summarizeJobs: Script = async (_request, client) => {
  const pages = await followSteps(client, await client.call("list_jobs", { states: ["FAILED"], limit: 100 }), [
    "list_jobs",
  ]);
  return [...pages.map(summarize), ...pages.flatMap(describeJobs)].join("\n");
};
