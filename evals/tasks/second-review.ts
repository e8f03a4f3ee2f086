// Tasks T1 to T16 of the review of 2026-11-23, as a table.
// cspell:ignore Gurgaon Vizag Trichy Nizamabd Gurugram Visakha Ayodhya Mysuru Kurnool
import { findIds } from "../scripted/results.ts";
import {
  compareAndSave,
  correctParameters,
  countFormer,
  describeDistrict,
  discardWork,
  findNames,
  listWaiting,
  missNames,
  retryJobs,
  returnLater,
  runBatch,
  runTwoPorts,
  useEssentials,
  useGeographyOnly,
  useReadOnly,
  useUnconfigured,
} from "../scripted/second-review.ts";
import type { World } from "../world.ts";
import { createJobArguments, describeNormalize, describeRecipe, findRecipeId, submitJob } from "./setup.ts";
import { createTasks, type Row } from "./table.ts";
import type { Task } from "./task.ts";

const MAPPED_COLUMNS = {
  columns: [{ source: "name", target: "districtName", rules: [{ field: "name", method: "SIMILAR", minScore: 0.9 }] }],
  fallback: { rule: { field: "code", method: "EXACT" }, maxCandidates: 5 },
  unmatched: "DROP",
};
const BLEND = "Blend a table with a normalized dataset";
const MATCH = "Match divisions by mapped columns";
const FILES = ["lgd-districts.csv", "survey-overloaded.csv", "survey-held.csv", "जिले-for-review.csv"];
const TWO_DAYS_MS = 50 * 3_600_000;

const runAll = async (world: World): Promise<string> =>
  `Run ${await describeNormalize(world)} on the files ${FILES.map((name) => world.fileId(name)).join(", ")}. What came out?`;

/** Loses the response to a submission, and returns the request of an agent that returns two days later. */
async function loseSubmission(world: World): Promise<string> {
  await world.injectFault({ kind: "status", status: 503, retryAfterSeconds: 60, afterCommit: true }, "createMicJob");
  await (await world.openPeer()).call("run_job", await createJobArguments(world, "lgd-districts.csv"));
  world.advanceClock(TWO_DAYS_MS);
  return `Two days ago, I asked for ${await describeNormalize(world)} on file ${world.fileId("lgd-districts.csv")}. Did it run? If not, run it. One job, no second one.`;
}

const checkOneJob = async (world: World): Promise<readonly (string | false)[]> => [
  (await world.countExecutions("createMicJob")) !== 1 && "not one job was submitted",
];

const askToDiscard = async (world: World): Promise<string> => {
  const paused = await submitJob(world, "survey-held.csv", 20_000);
  const failed = await submitJob(world, "survey-overloaded.csv", 20_000);
  return `Cancel job ${paused}. Restart job ${failed}, and then all jobs that failed since 2099-12-01.`;
};

const checkNothingDiscarded = async (world: World): Promise<readonly (string | false)[]> => [
  (await world.countExecutions("cancelMicJob")) !== 0 && "a job was canceled",
  (await world.countExecutions("retryMicJob")) !== 0 && "a job was retried",
];

const rows: readonly Row[] = [
  {
    ...{ id: "T1", script: correctParameters, title: "a recipe with mapped columns and nested parameters" },
    ...{ before: { calls: 2, tokens: 567 }, budget: { calls: 2, tokens: 260 } },
    request: async (world) =>
      `Run ${describeRecipe(await findRecipeId(world, MATCH), "divisions", MAPPED_COLUMNS)} on file ${world.fileId("lgd-districts.csv")}. What came out?`,
    answer: [/required property 'columns'/, /required property 'unmatched'/, /SUCCEEDED/, /micdsv_/],
    maxJobs: 1,
    check: checkOneJob,
  },
  {
    ...{
      id: "T2",
      script: runTwoPorts,
      title: "a recipe with two ports for several files",
      before: { calls: 1, tokens: 40 },
    },
    budget: { calls: 1, tokens: 60 },
    request: async (world) =>
      `Run recipe ${await findRecipeId(world, BLEND)} on the files ${world.fileId("lgd-districts.csv")}, ${world.fileId("lgd-states.csv")} in one call.`,
    answer: [/2 ports: table, reference/, /run_job for each file/],
  },
  {
    ...{
      id: "T3",
      script: countFormer,
      title: "how many districts a state had in 2015",
      before: { calls: 1, tokens: 218 },
    },
    budget: { calls: 1, tokens: 220 },
    request: () => "How many districts had Telangana in 2015?",
    answer: [/23 districts \(TG\) created since 2016/],
  },
  {
    ...{
      id: "T5",
      script: findNames,
      title: "old, short, misspelled and native names in one call",
      before: { calls: 1, tokens: 990 },
    },
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
    ...{
      id: "T4",
      script: compareAndSave,
      title: "compare three states, and export their districts",
      before: { calls: 2, tokens: 404 },
    },
    budget: { calls: 2, tokens: 460 },
    request: () => "Compare the states KA, KL, TN by mandals per district, and save their districts as south.csv.",
    answer: [/Karnataka/, /Kerala/, /Tamil Nadu/, /Saved \d+ rows to .*south\.csv/],
  },
  {
    ...{
      id: "T6",
      script: describeDistrict,
      title: "population, borders and towns, which the catalog lacks; empty cache",
    },
    ...{ before: { calls: 2, tokens: 312 }, budget: { calls: 2, tokens: 320 } },
    world: { clockRate: 0, settings: { MIC_GEOGRAPHY_RATE_LIMIT: "28" } },
    request: () => "How many people live in the district Medak? Which districts border on it, and which towns has it?",
    answer: [/no population, area, borders, towns/, /"name":"Medak"/, /Telangana/, /"missing":/],
  },
  {
    ...{ id: "T7a", script: returnLater, title: "an outcome is unknown; the agent returns after two days" },
    ...{ before: { calls: 4, tokens: 819 }, budget: { calls: 2, tokens: 700 } },
    async request(world) {
      const request = await loseSubmission(world);
      await world.ageActions(TWO_DAYS_MS);
      return request;
    },
    answer: [/not sent again/, /micjob_/],
    maxJobs: 1,
    check: checkOneJob,
  },
  {
    ...{ id: "T7b", script: returnLater, title: "the same, but only the API's clock is two days ahead" },
    budget: { calls: 2, tokens: 700 },
    request: loseSubmission,
    answer: [/not sent again/, /micjob_/],
    wrong: [/ran once/],
    maxJobs: 1,
    check: checkOneJob,
  },
  {
    ...{
      id: "T8",
      script: runBatch,
      title: "killed in the middle of a batch; a new session repeats the call",
      before: { calls: 3, tokens: 4074 },
    },
    budget: { calls: 2, tokens: 700 },
    maxJobs: FILES.length,
    async request(world) {
      const request = await runAll(world);
      await world.injectFault({ kind: "hang", afterCommit: true }, "createMicJob", 2);
      const killed = await world.openPeer({ isProcess: true });
      const { inputs: _, ...recipe } = await createJobArguments(world, "lgd-districts.csv");
      const files = FILES.map((name) => world.fileId(name));
      await Promise.all([killed.call("run_jobs", { ...recipe, files }), world.killOnceSubmitted(killed)]);
      return request;
    },
    answer: [/4 files: .*SUCCEEDED/, /STAGE_UNAVAILABLE/, /PAUSED/],
  },
  {
    ...{
      id: "T9",
      script: runBatch,
      title: "the quota is used up in the middle of a batch",
      before: { calls: 2, tokens: 1394 },
    },
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
      /4 files: 3 NOT_SENT, 1 PREPARING/,
      /Call again after .* UTC/,
    ],
  },
  {
    ...{
      id: "T10",
      script: retryJobs,
      title: "the API executes a retry, and no response arrives",
      before: { calls: 5, tokens: 3921 },
    },
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
    ...{ id: "T11", script: runBatch, title: "the client secret was revoked", before: { calls: 3, tokens: 888 } },
    budget: { calls: 1, tokens: 120 },
    async request(world) {
      const request = await runAll(world);
      await world.injectFault({ kind: "status", status: 401, code: "invalid_client" }, "createMicPublicInput", 50);
      return request;
    },
    answer: [/401/, /4 files were not run/, /Ask the user to/],
  },
  {
    ...{ id: "T12a", script: discardWork, title: "the user declines to discard work" },
    ...{ before: { calls: 6, tokens: 935 }, budget: { calls: 3, tokens: 130 } },
    world: { userDeclines: true },
    maxJobs: 2,
    request: askToDiscard,
    answer: [/(The user declined; nothing was sent.*){2}/s, /RESTART needs jobIds/],
    check: checkNothingDiscarded,
  },
  {
    ...{ id: "T12b", script: discardWork, title: "the client cannot ask the user" },
    budget: { calls: 3, tokens: 380 },
    maxJobs: 2,
    request: askToDiscard,
    answer: [/CANCELLED/, /1 SUCCEEDED/, /RESTART needs jobIds/],
    check: async (world) => [
      (await world.countExecutions("cancelMicJob")) !== 1 && "it was not canceled once",
      (await world.countExecutions("retryMicJob")) !== 1 && "not one job was restarted",
    ],
  },
  {
    ...{ id: "T13a", script: useReadOnly, title: "a read-only server" },
    ...{ before: { calls: 11, tokens: 1638 }, budget: { calls: 2, tokens: 230 } },
    world: { settings: { MIC_READ_ONLY: "1" } },
    maxJobs: 1,
    request: async (world) =>
      `How does job ${await submitJob(world, "survey-overloaded.csv", 20_000)} stand? Retry it.`,
    answer: [/FAILED/, /read-only \(MIC_READ_ONLY=1\)/],
    check: checkNothingDiscarded,
  },
  {
    ...{ id: "T13b", script: useEssentials, title: "a server with the essential tools" },
    budget: { calls: 2, tokens: 400 },
    world: { settings: { MIC_TOOLSETS: "essentials" } },
    maxJobs: 1,
    request: async (world) =>
      `Job ${await submitJob(world, "survey-overloaded.csv", 20_000)} failed. See that it succeeds.`,
    answer: [/1 SUCCEEDED/],
    check: async (world) => [(await world.countExecutions("retryMicJob")) !== 1 && "it was not retried once"],
  },
  {
    ...{ id: "T13c", script: useGeographyOnly, title: "a server without tools for jobs" },
    budget: { calls: 2, tokens: 200 },
    world: { settings: { MIC_TOOLSETS: "geography" } },
    request: () => "How many districts has Telangana? Then list the failed jobs.",
    answer: [/33 districts/, /list_jobs/],
  },
  {
    ...{ id: "T13d", script: useUnconfigured, title: "a server without settings" },
    budget: { calls: 2, tokens: 140 },
    world: { settings: { MIC_BASE_URL: "", MIC_CLIENT_ID: "", MIC_CLIENT_SECRET: "" } },
    request: () => "List the failed jobs, and how many districts has Telangana?",
    answer: [/not configured/, /Ask the user to .*MIC_BASE_URL/],
  },
  {
    ...{ id: "T14", script: listWaiting, title: "which jobs wait for a person", before: { calls: 2, tokens: 1349 } },
    budget: { calls: 1, tokens: 1_300 },
    request: () => "Which jobs wait for a review or for their operator?",
    answer: [/\d+ WAITING_REVIEW/, /\d+ PAUSED/],
  },
  {
    ...{
      id: "T15",
      script: missNames,
      title: "arguments whose names are near misses",
      before: { calls: 4, tokens: 752 },
    },
    budget: { calls: 2, tokens: 370 },
    request: () => "How many districts has Telangana? Name the latest job with the status FAILED.",
    answer: [
      /\\?"state\\?" was read as \\?"states/,
      /33 districts/,
      /\\?"status\\?" was read as \\?"states/,
      /\d+ FAILED/,
    ],
  },
  {
    ...{ id: "T16", script: retryJobs, title: "a retry loop in containers without a journal" },
    ...{ before: { calls: 4, tokens: 599 }, budget: { calls: 3, tokens: 400 } },
    world: { hasFailingRetries: true },
    countsPeers: true,
    maxJobs: 1,
    async request(world) {
      let job = await submitJob(world, "survey-overloaded.csv", 20_000);
      for (const folder of ["container-1", "container-2"]) {
        const args = { jobIds: [job], retryMode: "SAFE_RESUME", reason: "nightly retry" };
        const result = await (await world.openPeer({ folder })).call("retry_jobs", args);
        job = findIds(JSON.stringify(result), "micjob").find((id) => id !== job) ?? job;
      }
      return `Retry job ${job}.`;
    },
    answer: [/GIVEN_UP/, /ask the user to contact the operator/],
    check: async (world) => [world.retryModes.length > 2 && `it was retried ${world.retryModes.length} times`],
  },
];

export const secondReview: readonly Task[] = createTasks(rows);
