// Tasks with one job, from its file to its result.

import {
  cancelJobs,
  ensureSuccess,
  processDescribedFile,
  processKnownFile,
  profileTable,
  readJob,
  registerInputs,
  requestPermission,
  runTwice,
  waitForJob,
} from "../scripted/one-job.ts";
import { findIds } from "../scripted/results.ts";
import {
  checkSuccess,
  findJobStates,
  findRecipeId,
  NORMALIZE,
  PROFILE,
  readJobState,
  registerInput,
  submitJob,
  VINTAGE,
} from "./setup.ts";
import type { Task } from "./task.ts";

const fromFile: Task = {
  id: "A1",
  script: processDescribedFile,
  title: 'process "the file with the divisions", say what came out',
  before: { calls: 3, tokens: 1065 },
  budget: { calls: 3, tokens: 850 },
  world: { clockRate: 30 },
  prepare: async (world) => ({
    request: `Normalize the file with the divisions. Its rows are districts, its facts are of ${VINTAGE}. What came out?`,
    verdict: async (answer) => [
      ...(await checkSuccess(world, answer)),
      findIds(answer, "micdsv").length === 0 && `the output is not named: ${answer}`,
    ],
  }),
};

const knownFile: Task = {
  id: "1b",
  script: processKnownFile,
  title: "run one job; file and recipe are known",
  before: { calls: 5, tokens: 2366 },
  budget: { calls: 2, tokens: 550 },
  world: { clockRate: 30 },
  prepare: async (world) => ({
    request: `Run recipe ${await findRecipeId(world, NORMALIZE)} on file ${world.fileId("lgd-districts.csv")}. Its rows are districts, its facts are of ${VINTAGE}. What came out?`,
    verdict: (answer) => checkSuccess(world, answer),
  }),
};

const profile: Task = {
  id: "2",
  script: profileTable,
  title: "table profile, sample of 500 rows",
  before: { calls: 8, tokens: 3775 },
  world: { clockRate: 30 },
  prepare: async (world) => ({
    request: "Profile a sample of 500 rows of lgd-states.csv.",
    verdict: async (answer) => [
      ...(await checkSuccess(world, answer)),
      !/no parameters/.test(answer) && "the answer does not say that the number of rows cannot be set",
      !answer.includes(PROFILE) && `another recipe was run: ${answer}`,
    ],
  }),
};

const retryable: Task = {
  id: "3",
  script: ensureSuccess,
  title: "retry a failed job until it succeeds",
  before: { calls: 3, tokens: 1849 },
  world: { clockRate: 30 },
  async prepare(world) {
    const job = await submitJob(world, "survey-overloaded.csv", 20_000);
    return {
      request: `Job ${job} failed. See that it succeeds, if that is sensible.`,
      verdict: async (answer) => {
        const states = await findJobStates(world, answer);
        return [
          !states.includes("SUCCEEDED") && `no job that is named has succeeded: ${answer}`,
          (await world.countExecutions("retryMicJob")) !== 1 && "it was not retried once",
        ];
      },
    };
  },
};

const failedForGood: Task = {
  id: "4",
  script: readJob,
  title: "a job that no retry can help",
  before: { calls: 1, tokens: 800 },
  world: { clockRate: 0 },
  async prepare(world) {
    const job = await submitJob(world, "divisions-broken.csv", 20_000);
    return {
      request: `Why did job ${job} fail, and what is to be done?`,
      verdict: async (answer) => [
        !answer.includes("Row 1") && `the rows are not named: ${answer}`,
        !answer.includes("submit a new one") && `what to do is not said: ${answer}`,
        (await world.countExecutions("retryMicJob")) !== 0 && "it was retried in vain",
      ],
    };
  },
};

const inReview: Task = {
  id: "5",
  script: waitForJob,
  title: "WAITING_REVIEW",
  before: { calls: 1, tokens: 501 },
  budget: { calls: 1, tokens: 190 },
  world: { clockRate: 0 },
  async prepare(world) {
    const job = await submitJob(world, "जिले-for-review.csv", 20_000);
    return {
      request: `What is the state of job ${job}? If it is in progress, wait for its end.`,
      verdict: async (answer) => [
        !answer.includes("waits for a review") && `the answer does not say what it waits for: ${answer}`,
        (await readJobState(world, job)) !== "WAITING_REVIEW" && "something was done to it",
      ],
    };
  },
};

const paused: Task = {
  id: "6",
  script: readJob,
  title: "PAUSED",
  before: { calls: 1, tokens: 491 },
  budget: { calls: 1, tokens: 180 },
  world: { clockRate: 0 },
  async prepare(world) {
    const job = await submitJob(world, "survey-held.csv", 20_000);
    return {
      request: `How does job ${job} stand, and what can be done?`,
      verdict: async (answer) => [
        !answer.includes("PAUSED") && `the pause is missing: ${answer}`,
        !answer.includes("operator") && `the operator who can resume it is missing: ${answer}`,
        (await readJobState(world, job)) !== "PAUSED" && "something was done to it",
      ],
    };
  },
};

const scans: Task = {
  id: "7",
  script: registerInputs,
  title: "a slow scan, a quarantined file",
  before: { calls: 4, tokens: 1650 },
  world: { clockRate: 10 },
  prepare: async (world) => ({
    request: "Register upload-not-scanned.csv and upload-infected.csv. Which of them can be used?",
    verdict: async (answer) => [
      !/upload-not-scanned\.csv: .* is READY/.test(answer) && `the scan was not waited for: ${answer}`,
      !/upload-infected\.csv: .* is QUARANTINED/.test(answer) && `the quarantine is missing: ${answer}`,
      (await world.countExecutions("createMicPublicInput")) !== 2 && "not both were registered once",
    ],
  }),
};

const canceling: Task = {
  id: "8",
  script: cancelJobs,
  title: "cancel a running job and an ended one",
  before: { calls: 4, tokens: 1248 },
  budget: { calls: 2, tokens: 330 },
  // Slower than real time, so that the job is still running when a busy machine cancels it.
  world: { clockRate: 0.2 },
  async prepare(world) {
    const ended = await submitJob(world, "lgd-states.csv", 60_000);
    const running = await submitJob(world, "lgd-districts.csv", 1_500);
    return {
      request: `Cancel job ${running}, and cancel job ${ended}: the files are wrong. How do they stand then?`,
      verdict: async (answer) => [
        (await readJobState(world, running)) !== "CANCELLED" && "the running job was not canceled",
        (await readJobState(world, ended)) !== "SUCCEEDED" && "the ended job has changed",
        !answer.includes(`${ended} was not canceled: it is already SUCCEEDED`) &&
          `the reason why the ended job stays is missing: ${answer}`,
      ],
    };
  },
};

const permission: Task = {
  id: "10",
  script: requestPermission,
  title: "permission for a shared file",
  before: { calls: 3, tokens: 1160 },
  world: { clockRate: 10 },
  async prepare(world) {
    const input = await registerInput(world, "lgd-states.csv");
    return {
      request: `Ask for permission to process input ${input} with recipe ${await findRecipeId(world, PROFILE)}, until 2100-01-20T00:00:00Z, to count the states. Wait for the answer.`,
      verdict: async (answer) => [
        !answer.includes("APPROVED") && `the decision is missing: ${answer}`,
        (await world.countExecutions("requestMicSharedFileProcessing")) !== 1 && "not one request was made",
      ],
    };
  },
};

const twice: Task = {
  id: "16",
  script: runTwice,
  title: "run the same job twice on purpose",
  before: { calls: 14, tokens: 7900 },
  budget: { calls: 3, tokens: 600 },
  world: { clockRate: 30 },
  prepare: async (world) => ({
    request: `Run recipe ${await findRecipeId(world, PROFILE)} on file ${world.fileId("lgd-states.csv")} twice: I want two jobs, to compare them.`,
    verdict: async (answer) => {
      const jobs = findIds(answer, "micjob");
      const states = await Promise.all(jobs.map((job) => readJobState(world, job)));
      return [
        (await world.countExecutions("createMicJob")) !== 2 && "not two jobs were submitted",
        states.filter((state) => state === "SUCCEEDED").length !== 2 && `two that succeeded are not named: ${answer}`,
      ];
    },
  }),
};

export const oneJob: readonly Task[] = [
  fromFile,
  knownFile,
  profile,
  retryable,
  failedForGood,
  inReview,
  paused,
  scans,
  canceling,
  permission,
  twice,
];
