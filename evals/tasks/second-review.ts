// Tasks of the review of 2026-11-23 (T1 to T16) that no earlier task covers, as a table: calls that an API without quota or rights refuses, and
// arguments that are near misses.
// cspell:ignore Gurgaon Vizag Trichy Nizamabd Gurugram Visakha Ayodhya Mysuru Kurnool
import { setTimeout as sleep } from "node:timers/promises";
import type { World } from "../world.ts";
import { findRecipeId, NORMALIZE, submitJob, VINTAGE } from "./setup.ts";
import type { Task } from "./task.ts";

const POLL_INTERVAL_MS = 20;
const BLEND = "Blend a table with a normalized dataset";
const FILES = ["lgd-districts.csv", "survey-overloaded.csv", "survey-held.csv", "जिले-for-review.csv"];

interface Row extends Pick<Task, "id" | "title" | "before" | "budget"> {
  /** Prepares the world, and returns the request. */
  readonly request: (world: World) => string | Promise<string>;
  /** Patterns of the correct answer. */
  readonly answer: readonly RegExp[];
  /** Maximum number of jobs that may be submitted (default 0). */
  readonly maxJobs?: number;
}

async function runAll(world: World): Promise<string> {
  const parameterValues = JSON.stringify({ level: "DISTRICT", vintage: VINTAGE });
  const files = FILES.map((name) => world.fileId(name)).join(", ");
  const recipe = `recipe ${await findRecipeId(world, NORMALIZE)} (port divisions, parameterValues ${parameterValues})`;
  return `Run ${recipe} on the files ${files}. What came out?`;
}

const rows: readonly Row[] = [
  {
    ...{ id: "T2", title: "a recipe with two ports for several files", before: { calls: 1, tokens: 40 } },
    budget: { calls: 1, tokens: 60 },
    request: async (world) =>
      `Run recipe ${await findRecipeId(world, BLEND)} on the files ${world.fileId("lgd-districts.csv")}, ${world.fileId("lgd-states.csv")} in one call.`,
    answer: [/2 ports/, /run_job for each file/],
  },
  {
    ...{ id: "T3", title: "how many districts a state had in 2015", before: { calls: 1, tokens: 218 } },
    budget: { calls: 1, tokens: 220 },
    request: () => "How many districts had Telangana in 2015?",
    answer: [/23 districts \(TG\) created since 2016/],
  },
  {
    ...{ id: "T5", title: "old, short, misspelled and native names in one call", before: { calls: 1, tokens: 990 } },
    budget: { calls: 1, tokens: 800 },
    request: () =>
      "Find the districts Allahabad, Gurgaon, Bangalore, Vizag, Faizabad, Mysore, Poona, Calicut, Trichy, Nizamabd, हैदराबाद, लखनऊ, కర్నూలు, ঢাকা.",
    answer: [
      /Prayagraj/,
      /Gurugram/,
      /Visakha/,
      /Ayodhya/,
      /Mysuru/,
      /Pune/,
      /Kozhikode/,
      /Nizamabad/,
      /Lucknow/,
      /Kurnool/,
    ],
  },
  {
    ...{ id: "T4", title: "compare three states, and export their districts", before: { calls: 2, tokens: 404 } },
    budget: { calls: 2, tokens: 460 },
    request: () => "Compare the states KA, KL, TN by mandals per district, and save their districts as south.csv.",
    answer: [/Karnataka/, /Kerala/, /Tamil Nadu/, /Saved \d+ rows to .*south\.csv/],
  },
  {
    ...{
      id: "T8",
      title: "killed in the middle of a batch; a new session repeats the call",
      before: { calls: 3, tokens: 4074 },
    },
    budget: { calls: 2, tokens: 700 },
    maxJobs: FILES.length,
    async request(world) {
      const request = await runAll(world);
      await world.injectFault({ kind: "hang", afterCommit: true }, "createMicJob", 2);
      const killed = await world.openPeer(true);
      const recipeVersionId = await findRecipeId(world, NORMALIZE);
      const parameterValues = { level: "DISTRICT", vintage: VINTAGE };
      const lost = killed.call("run_jobs", {
        recipeVersionId,
        files: FILES.map((name) => world.fileId(name)),
        parameterValues,
      });
      while ((await world.countExecutions("createMicJob")) === 0) await sleep(POLL_INTERVAL_MS);
      killed.kill();
      await lost;
      return request;
    },
    answer: [/4 files: .*SUCCEEDED/, /STAGE_UNAVAILABLE/, /PAUSED/],
  },
  {
    ...{ id: "T9", title: "the quota is used up in the middle of a batch", before: { calls: 2, tokens: 1394 } },
    budget: { calls: 1, tokens: 300 },
    maxJobs: 1,
    async request(world) {
      await world.injectFault({ kind: "delay", delayMs: 0 }, "createMicJob");
      const quota = { kind: "status", status: 429, code: "QUOTA_EXHAUSTED", retryAfterSeconds: 9_000 };
      await world.injectFault(quota, "createMicJob", 50);
      return await runAll(world);
    },
    answer: [
      /Stopped: the API answered HTTP 429 \(code .{1,2}QUOTA_EXHAUSTED.{1,2}\) and asks to wait 9000 s/,
      /1 file ran/,
      /3 files were not sent/,
      /Call again after .* UTC/,
    ],
  },
  {
    ...{ id: "T10", title: "the API executes a retry, and no response arrives", before: { calls: 5, tokens: 3921 } },
    budget: { calls: 1, tokens: 400 },
    async request(world) {
      const job = await submitJob(world, "survey-overloaded.csv", 20_000);
      await world.injectFault({ kind: "drop-after" }, "retryMicJob", 1_000);
      return `Retry job ${job}.`;
    },
    maxJobs: 1,
    answer: [/1 unknown/, /no job is retried twice/],
  },
  {
    ...{ id: "T11", title: "the client secret was revoked", before: { calls: 3, tokens: 888 } },
    budget: { calls: 1, tokens: 120 },
    async request(world) {
      const request = await runAll(world);
      await world.injectFault({ kind: "status", status: 401, code: "invalid_client" }, "createMicPublicInput", 50);
      return request;
    },
    answer: [/401/, /4 files were not sent/, /Ask the user to/],
  },
  {
    ...{ id: "T14", title: "which jobs wait for a person", before: { calls: 2, tokens: 1349 } },
    budget: { calls: 1, tokens: 1_300 },
    request: () => "Which jobs wait for a review or for their operator?",
    answer: [/\d+ WAITING_REVIEW/, /\d+ PAUSED/],
  },
  {
    ...{ id: "T15", title: "arguments whose names are near misses", before: { calls: 4, tokens: 752 } },
    budget: { calls: 2, tokens: 330 },
    request: () => "How many districts has Telangana? Name the latest job with the status FAILED.",
    answer: [/Read \\?"state\\?" as \\?"states/, /33 districts/, /Read \\?"status\\?" as \\?"states/, /1 FAILED/],
  },
];

export const secondReview: readonly Task[] = rows.map(({ request, answer: patterns, maxJobs = 0, ...task }) => ({
  ...task,
  world: { clockRate: 30 },
  prepare: async (world) => ({
    request: await request(world),
    verdict: async (answer) => [
      ...patterns.map((pattern) => !pattern.test(answer) && `the answer lacks ${pattern}: ${answer}`),
      (await world.countExecutions("createMicJob")) > maxJobs && `more than ${maxJobs} jobs were submitted`,
    ],
  }),
}));
