// Tasks with many jobs at once.
import * as z from "zod/v4";
import { countLabels } from "../../src/core/counts.ts";
import { retryFailedJobs, summarizeJobs } from "../scripted/many-jobs.ts";
import type { World } from "../world.ts";
import type { Task } from "./task.ts";

const DAY_MS = 86_400_000;
const PAGE = 100;

const Row = z.looseObject({
  id: z.string(),
  state: z.string(),
  createdAt: z.string(),
  failure: z.string().optional(),
  retryable: z.boolean().optional(),
});
const Page = z.looseObject({ data: z.array(Row), page: z.looseObject({ nextCursor: z.string().nullish() }) });

async function listAllJobs(world: World, cursor?: string): Promise<readonly z.infer<typeof Row>[]> {
  const { data, page } = Page.parse(await world.callTool("list_jobs", { limit: PAGE, cursor }));
  return page.nextCursor ? [...data, ...(await listAllJobs(world, page.nextCursor))] : data;
}

/** Start of the day on which the retryable failed job at position `count`, newest first, was created. */
async function findStartDate(world: World, count: number): Promise<string> {
  const failed = (await listAllJobs(world)).filter(({ state, retryable }) => state === "FAILED" && retryable === true);
  const oldest = failed[count - 1];
  if (oldest === undefined) throw new Error(`fewer than ${count} jobs have failed retryably`);
  return new Date(Math.floor(Date.parse(oldest.createdAt) / DAY_MS) * DAY_MS).toISOString();
}

const retryAll: Task = {
  id: "A3",
  script: retryFailedJobs,
  title: "explain recent failures, retry those that a retry can help, and wait",
  before: { calls: 4, tokens: 5868 },
  budget: { calls: 2, tokens: 1500 },
  world: { clockRate: 30 },
  async prepare(world) {
    const since = await findStartDate(world, 12);
    return {
      request: `Which jobs created since ${since} have failed, and why? Retry those worth it, and tell me how that ended.`,
      verdict: async (answer) => [
        !answer.includes("STAGE_UNAVAILABLE") && `the reason of the failures is missing: ${answer}`,
        (await world.countExecutions("retryMicJob")) !== 12 && "not twelve jobs were retried, each once",
        !answer.includes("12 SUCCEEDED") && `the end of the retries is missing: ${answer}`,
      ],
    };
  },
};

const overview: Task = {
  id: "17",
  script: summarizeJobs,
  title: "130 jobs: count each state, and the failed ones by their cause",
  before: { calls: 2, tokens: 7247 },
  world: { clockRate: 0 },
  async prepare(world) {
    const failed = (await listAllJobs(world)).filter(({ state }) => state === "FAILED");
    const causes = [...countLabels(failed.map(({ failure = "" }) => failure))];
    return {
      request: "How many jobs have failed, and how many of them for which reason?",
      verdict: async (answer) => [
        !answer.includes(`${failed.length} FAILED`) && `the number of failed jobs is missing: ${answer}`,
        causes.some(([code, count]) => !answer.includes(`${count} ${code}`)) && `a cause is missing: ${answer}`,
      ],
    };
  },
};

export const manyJobs: readonly Task[] = [retryAll, overview];
