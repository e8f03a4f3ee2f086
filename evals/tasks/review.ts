// The tasks of the review of 2026-11-22 (A1 to A13) that no other file defines. In the review they were one session, so a request names what the
// session knew: the recipe with its port and parameters.
import * as z from "zod/v4";
import { findIds } from "../scripted/results.ts";
import {
  askAndRun,
  cancelPausedTwice,
  changeMind,
  readMonthlyQuota,
  resolveUnknown,
  retryUntilGivenUp,
  runAgain,
  runKnownJob,
  runManyFiles,
  runWhenUp,
} from "../scripted/review.ts";
import type { World } from "../world.ts";
import { createFaultTask } from "./faults.ts";
import {
  createJobArguments,
  describeNormalize,
  describeProfile,
  findJobStates,
  findRecipeId,
  PROFILE,
  registerInput,
  submitJob,
} from "./setup.ts";
import type { Task } from "./task.ts";

const OUTAGE_MS = 30_000;
const NEWER_ACTIONS = 20;
const JOBS_TO_SUBMIT = 200;

/** Files with different outcomes. */
const FILES = ["lgd-districts.csv", "survey-overloaded.csv", "survey-held.csv"];

const runMany: Task = {
  id: "A2",
  script: runManyFiles,
  title: "the same recipe on three files",
  before: { calls: 6, tokens: 1727 },
  budget: { calls: 1, tokens: 420 },
  world: { clockRate: 30 },
  async prepare(world) {
    const files = FILES.map((name) => world.fileId(name));
    return {
      request: `Run ${await describeNormalize(world)} on the files ${files.join(", ")}. What came out?`,
      verdict: async (answer) => [
        (await world.countExecutions("createMicJob")) !== files.length && "not one job was submitted for each file",
        ["SUCCEEDED", "STAGE_UNAVAILABLE", "PAUSED"].some((word) => !answer.includes(word)) &&
          `not every outcome is reported: ${answer}`,
        findIds(answer, "micdsv").length === 0 && `the output is not named: ${answer}`,
      ],
    };
  },
};

const reviewAndPause: Task = {
  id: "A4",
  script: cancelPausedTwice,
  title: "a job in review, a paused job, a job canceled twice",
  before: { calls: 8, tokens: 1452 },
  budget: { calls: 3, tokens: 700 },
  // Slower than the other tasks, so that the job waits for its review until the verdict on a busy machine.
  world: { clockRate: 10 },
  async prepare(world) {
    const files = ["जिले-for-review.csv", "survey-held.csv"].map((name) => world.fileId(name));
    return {
      request: `Run ${await describeNormalize(world)} on the files ${files.join(", ")}. How do the jobs stand? If one is paused, cancel it, and cancel it again with another reason.`,
      verdict: async (answer) => [
        !answer.includes("WAITING_REVIEW at TASTE") && `the answer does not report the review: ${answer}`,
        !answer.includes("PAUSED at BLEND") && `the answer does not report the pause: ${answer}`,
        (await world.countExecutions("createMicJob")) !== files.length && "not one job was submitted for each file",
        (await world.countExecutions("cancelMicJob")) !== 1 && "not one cancellation took effect",
        !answer.includes("CANCELLED") && `the answer does not report the cancellation: ${answer}`,
      ],
    };
  },
};

const Usage = z.looseObject({ summary: z.string() });

const quota: Task = {
  id: "A5",
  script: readMonthlyQuota,
  title: `quota for ${JOBS_TO_SUBMIT} more jobs this month`,
  before: { calls: 3, tokens: 822 },
  budget: { calls: 1, tokens: 220 },
  world: { clockRate: 0 },
  prepare: async (world) => ({
    request: `Is the quota enough for ${JOBS_TO_SUBMIT} more jobs this month?`,
    async verdict(answer) {
      const { summary } = Usage.parse(await world.callTool("get_usage", { window: "ENTITLEMENT" }));
      const [, remaining = "none"] = /JOBS_SUBMITTED ([\d,]+)/.exec(summary) ?? [];
      return [!answer.includes(remaining) && `the answer does not contain ${remaining}: ${answer}`];
    },
  }),
};

const permissionToRun: Task = {
  id: "A6",
  script: askAndRun,
  title: "ask for permission, wait, run",
  before: { calls: 6, tokens: 1554 },
  budget: { calls: 4, tokens: 820 },
  world: { clockRate: 10 },
  async prepare(world) {
    const input = await registerInput(world, "lgd-states.csv");
    return {
      request: `Ask for permission to process input ${input} with recipe ${await findRecipeId(world, PROFILE)}, until 2100-01-20T00:00:00Z, to count the states. Wait for the answer, and run the recipe on it if it is allowed.`,
      verdict: async (answer) => [
        !answer.includes("APPROVED") && `the answer does not report the decision: ${answer}`,
        (await world.countExecutions("requestMicSharedFileProcessing")) !== 1 && "not one request was made",
        (await world.countExecutions("createMicJob")) !== 1 && "not one job was submitted",
        !(await findJobStates(world, answer)).includes("SUCCEEDED") && `no job that is named has succeeded: ${answer}`,
      ],
    };
  },
};

const emptyMemory: Task = {
  id: "A8",
  script: resolveUnknown,
  title: `resume without memory after a kill during a submission, and ${NEWER_ACTIONS} newer actions`,
  before: { calls: 3, tokens: 1701 },
  budget: { calls: 1, tokens: 220 },
  world: { clockRate: 30 },
  async prepare(world) {
    const job = await createJobArguments(world, "lgd-districts.csv");
    await world.injectFault({ kind: "hang", afterCommit: true }, "createMicJob");
    const killed = await world.openPeer({ isProcess: true });
    await Promise.all([killed.call("run_job", job), world.killOnceSubmitted(killed)]);
    const peer = await world.openPeer();
    for (let count = 0; count < NEWER_ACTIONS; count += 1) {
      const idempotencyKey = count.toString(16).padStart(32, "0");
      const referenceId = world.fileId("lgd-states.csv");
      const registered = await peer.call("register_input", { inputKind: "M4_FILE", referenceId, idempotencyKey });
      if (registered.isError) throw new Error(registered.text);
    }
    return {
      request:
        "The last session was killed while it submitted a job. Find out whether that took effect, and name the job.",
      verdict: async (answer) => [
        (await world.countExecutions("createMicJob")) !== 1 && "not one job was submitted",
        findIds(answer, "micjob").length !== 1 && `the answer does not name the job: ${answer}`,
      ],
    };
  },
};

const changedMind: Task = {
  id: "A9",
  script: changeMind,
  title: "submit, cancel at once, then run the job again",
  before: { calls: 5, tokens: 1322 },
  budget: { calls: 3, tokens: 770 },
  // Slower than real time, so that the job is still running when a busy machine cancels it.
  world: { clockRate: 0.2 },
  prepare: async (world) => ({
    request: `Run ${await describeProfile(world)} on file ${world.fileId("lgd-states.csv")}. No, cancel it. No, run it after all.`,
    verdict: async (answer) => [
      (await world.countExecutions("createMicJob")) !== 1 && "not one job was submitted",
      (await world.countExecutions("cancelMicJob")) !== 1 && "it was not canceled once",
      (await world.countExecutions("retryMicJob")) !== 1 && "it was not run again once",
      !(await findJobStates(world, answer)).includes("CANCELLED") && `the canceled job is not named: ${answer}`,
    ],
  }),
};

const againOnPurpose: Task = {
  id: "A10",
  script: runAgain,
  title: "run a job again on purpose",
  before: { calls: 2, tokens: 413 },
  budget: { calls: 1, tokens: 160 },
  world: { clockRate: 30 },
  async prepare(world) {
    const first = await (await world.openPeer()).call("run_job", await createJobArguments(world, "lgd-districts.csv"));
    const [firstJob = ""] = findIds(JSON.stringify(first), "micjob");
    return {
      request: `Job ${firstJob} ran ${await describeNormalize(world)} on file ${world.fileId("lgd-districts.csv")}. Run exactly the same once more: I want a second job.`,
      verdict: async (answer) => [
        (await world.countExecutions("createMicJob")) !== 2 && "not a second job was submitted",
        !findIds(answer, "micjob").some((id) => id !== firstJob) && `the second job is not named: ${answer}`,
      ],
    };
  },
};

const twoAgents: Task = {
  id: "A11",
  script: runKnownJob,
  title: "two agents run the same job, one right after the other",
  before: { calls: 2, tokens: 762 },
  budget: { calls: 2, tokens: 380 },
  world: { clockRate: 30 },
  async prepare(world) {
    const peer = await world.openPeer();
    const first = await peer.call("run_job", await createJobArguments(world, "lgd-districts.csv"));
    // The call of the first agent counts; its look at the job does not.
    const { peerUsage } = world;
    const [firstJob = ""] = findIds(JSON.stringify(first), "micjob");
    await peer.call("get_job", { jobId: firstJob });
    return {
      peerUsage,
      request: `Run ${await describeNormalize(world)} on file ${world.fileId("lgd-districts.csv")}.`,
      verdict: async (answer) => [
        (await world.countExecutions("createMicJob")) !== 1 && "not one job was submitted",
        !answer.includes(firstJob) && `the job is not named: ${answer}`,
        !answer.includes("identical call") && `the answer does not say that the job ran before: ${answer}`,
      ],
    };
  },
};

const failsAgain: Task = {
  id: "A12",
  script: retryUntilGivenUp,
  title: "a job fails at CHURN each time",
  before: { calls: 6, tokens: 1892 },
  budget: { calls: 3, tokens: 800 },
  world: { clockRate: 30, hasFailingRetries: true },
  async prepare(world) {
    const job = await submitJob(world, "survey-overloaded.csv", 20_000);
    return {
      request: `Job ${job} failed at CHURN. Retry it, from the start if nothing else helps. If that is no use, tell me whom to ask.`,
      verdict: async (answer) => [
        world.retryModes.join() !== "SAFE_RESUME,RESTART" && `it was retried with ${world.retryModes.join()}`,
        !answer.includes("operator") && `the answer does not say whom to ask: ${answer}`,
      ],
    };
  },
};

const requestNormalized = async (world: World): Promise<string> =>
  `Run ${await describeNormalize(world)} on file ${world.fileId("lgd-districts.csv")}. One job, no second one.`;

/**
 * Limit for the sum of A1 to A10 and A12. The review counted the same tasks: 49 calls and 18,300 tokens. It left out A11 and A13, which test faults.
 * As long as the tokens exceed the budget, `currentLimit` is the limit.
 */
export const REVIEW_BUDGET = { calls: 26, tokens: 6_300 };

export const countsForReview = ({ id }: Pick<Task, "id">): boolean => /^A([1-9]|10|12)$/.test(id);

export const review: readonly Task[] = [
  runMany,
  reviewAndPause,
  quota,
  permissionToRun,
  emptyMemory,
  changedMind,
  againOnPurpose,
  twoAgents,
  failsAgain,
  createFaultTask({
    id: "A13a",
    request: requestNormalized,
    script: runWhenUp,
    title: "the API is down for 30 s, and its clock is skewed",
    before: { calls: 21, tokens: 4578 },
    budget: { calls: 2, tokens: 220 },
    injectFaults: (world) => world.interrupt(OUTAGE_MS),
  }),
  createFaultTask({
    id: "A13b",
    request: requestNormalized,
    script: runKnownJob,
    title: "a token expires, then 429 with 20 s",
    budget: { calls: 1, tokens: 160 },
    async injectFaults(world) {
      await world.injectFault({ kind: "expire-token" }, "createMicPublicInput");
      await world.injectFault({ kind: "status", status: 429, retryAfterSeconds: 20 }, "createMicJob");
    },
  }),
];
