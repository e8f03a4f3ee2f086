// An agent at work on many jobs.
import * as z from "zod/v4";
import { dataOf, follow, followed, summarize } from "./reading.ts";
import type { Script } from "./script.ts";

const Rows = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

const retryAll: Script = async (request, desk) => {
  const [, since] = /since (\S+)/.exec(request) ?? [];
  const { data } = Rows.parse(
    dataOf(await desk.call("list_jobs", { createdSince: since, unretried: true, limit: 50 })),
  );
  const jobIds = data.map(({ id }) => id);
  const reason = "Asked to try again";
  const retried = await desk.call("retry_jobs", { jobIds, retryMode: "SAFE_RESUME", reason });
  return await followed(desk, retried, ["retry_jobs", "wait_for_jobs"]);
};

const overview: Script = async (_request, desk) => {
  const pages = await follow(desk, await desk.call("list_jobs", { states: ["FAILED"], limit: 100 }), ["list_jobs"]);
  const ids = pages.flatMap((page) => Rows.parse(dataOf(page)).data.map(({ id }) => id));
  return [...pages.map(summarize), ...ids].join("\n");
};

export const manyJobs: Readonly<Record<string, Script>> = { "11": retryAll, "17": overview };
