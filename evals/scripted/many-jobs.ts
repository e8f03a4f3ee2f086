// Scripts for tasks with many jobs.
import * as z from "zod/v4";
import { followAndSummarize, followSteps, getData, summarize } from "./results.ts";
import type { Script } from "./script.ts";

const ListJobsResult = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

const retryFailedJobs: Script = async (request, client) => {
  const [, since] = /since (\S+)/.exec(request) ?? [];
  const { data } = ListJobsResult.parse(
    getData(await client.call("list_jobs", { createdSince: since, unretried: true, limit: 50 })),
  );
  const jobIds = data.map(({ id }) => id);
  const reason = "Asked to try again";
  const retried = await client.call("retry_jobs", { jobIds, retryMode: "SAFE_RESUME", reason });
  return await followAndSummarize(client, retried, ["retry_jobs", "wait_for_jobs"]);
};

const summarizeJobs: Script = async (_request, client) => {
  const pages = await followSteps(client, await client.call("list_jobs", { states: ["FAILED"], limit: 100 }), [
    "list_jobs",
  ]);
  const ids = pages.flatMap((page) => ListJobsResult.parse(getData(page)).data.map(({ id }) => id));
  return [...pages.map(summarize), ...ids].join("\n");
};

export const manyJobs: Readonly<Record<string, Script>> = { "11": retryFailedJobs, "17": summarizeJobs };
