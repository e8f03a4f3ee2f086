// Tests the lifecycle of a job on a manual clock, docs/contract.md, 1, 2.2 and 3.
import { expect } from "vitest";
import type { Job } from "../../src/contract/jobs.ts";
import { operations } from "../operations.ts";
import { expectSuccess, type Service, test } from "./service.ts";
import {
  createJobBody,
  FILE,
  isTerminal,
  last,
  listOffers,
  readJob,
  registerInput,
  submitJob,
  watchJob,
} from "./work.ts";

const order: readonly string[] = ["GATHER", "SIFT", "REFINE", "BLEND", "CHURN", "TASTE", "FREEZE", "SCOOP", "SERVE"];
const stageOf = (job: Job, name: string) => job.stages.find(({ stage }) => stage === name);
const finished = ["SUCCEEDED", "NOT_REQUIRED"];

/** Checks the invariants between two readings of one job, the earlier one first. */
function expectValidTransition(before: Job, after: Job): void {
  expect(after.resourceVersion).toBeGreaterThanOrEqual(before.resourceVersion);
  if (after.resourceVersion === before.resourceVersion) expect(after).toEqual(before);
  else expect(Date.parse(after.updatedAt)).toBeGreaterThanOrEqual(Date.parse(before.updatedAt));
  for (const name of ["id", "workspaceId", "environment", "createdAt", "recipeVersionId", "retryOfBatchId"] as const)
    expect(after[name]).toBe(before[name]);
  for (const stage of before.stages) {
    const next = stageOf(after, stage.stage);
    expect(next?.completedUnits).toBeGreaterThanOrEqual(stage.completedUnits);
    expect(next?.attemptCount).toBeGreaterThanOrEqual(stage.attemptCount);
    if (finished.includes(stage.state)) expect(next).toEqual(stage);
  }
}

/** Checks the invariants of each reading: the stages are in order, and none begins before the earlier ones are done. */
function expectStagesInOrder(job: Job): void {
  expect(job.processingState).toBe(job.state);
  expect(job.stages.map(({ stage }) => stage)).toEqual(order);
  const firstUnfinished = job.stages.findIndex(({ state }) => !finished.includes(state));
  const laterStages = firstUnfinished === -1 ? [] : job.stages.slice(firstUnfinished + 1);
  for (const stage of laterStages) {
    expect(["PENDING", "NOT_REQUIRED", "CANCELLED"], JSON.stringify(job.stages)).toContain(stage.state);
    expect(stage.completedUnits).toBe(0);
  }
  for (const { state, completedUnits, totalUnits, attemptCount } of job.stages) {
    if (totalUnits !== null) expect(completedUnits).toBeLessThanOrEqual(totalUnits);
    if (state === "SUCCEEDED") expect(completedUnits).toBe(totalUnits);
    if (["RUNNING", "SUCCEEDED", "FAILED"].includes(state)) expect(attemptCount).toBeGreaterThanOrEqual(1);
    if (state === "PENDING") expect(attemptCount).toBe(0);
  }
  expect(job.failure === null).toBe(job.state !== "FAILED");
}

async function watchSubmittedJob(
  service: Service,
  file: number,
  until?: (job: Job) => boolean,
): Promise<readonly Job[]> {
  const { id } = await submitJob(service, file);
  const readings = await watchJob(service, id, until, { stepMs: 100 });
  readings.forEach(expectStagesInOrder);
  readings.slice(1).forEach((after, index) => {
    const before = readings[index];
    if (before !== undefined) expectValidTransition(before, after);
  });
  return readings;
}

test("a job that succeeds passes through the nine stages in order, with increasing units", {
  tags: ["1/nine-stages-in-order", "6/progress-by-reading", "2.2/stage-completed-units", "7.2/failure-when-failed"],
}, async ({ service }) => {
  const readings = await watchSubmittedJob(service, FILE.succeeds);
  const done = last(readings);
  expect(done).toMatchObject({ state: "SUCCEEDED", failure: null, retryOfBatchId: null, reviewState: "NOT_REQUIRED" });
  expect(done.outputDatasetVersionId).not.toBeNull();
  expect(["PREPARING", "QUEUED"]).toContain(readings[0]?.state);
  const states = new Set(readings.map(({ state }) => state).filter((state) => state !== "PREPARING"));
  expect([...states]).toEqual(["QUEUED", "RUNNING", "SUCCEEDED"]);
  const stagesIn = (job: Job, wanted: string) =>
    job.stages.flatMap(({ stage, state }) => (state === wanted ? [stage] : []));
  expect([...new Set(readings.flatMap((job) => stagesIn(job, "RUNNING")))]).toEqual(stagesIn(done, "SUCCEEDED"));
  const churnProgress = new Set(readings.map((job) => stageOf(job, "CHURN")?.completedUnits));
  expect(churnProgress.size).toBeGreaterThan(2);
  for (const job of readings.slice(0, -1)) expect(job.outputDatasetVersionId).toBeNull();
});

test("a job runs until the stage at which its recipe stops, the later stages are not required, and it has an output", {
  tags: ["1/nine-stages-in-order", "2.2/recipe-stop-after-stage"],
}, async ({ service }) => {
  const stopStages = new Set<string>();
  for (const offer of await listOffers(service)) {
    const { stopAfterStage, inputs } = offer.recipe;
    if (inputs.length > 1) continue;
    const body = createJobBody(service, offer, (await registerInput(service, FILE.succeeds)).id);
    const submitted = await service.call(operations.createMicJob, { body });
    // Some offers do not fit this workspace or this file.
    if (submitted.status !== 202) continue;
    const { data } = expectSuccess(operations.createMicJob, submitted);
    const job = last(await watchJob(service, data.id, isTerminal, { stepMs: 60_000 }));
    expect(job.state).toBe("SUCCEEDED");
    stopStages.add(stopAfterStage);
    const lastStage = stopAfterStage === "FREEZE" ? order.length - 1 : order.indexOf(stopAfterStage);
    const expected = order.map((name, index) => [name, index <= lastStage ? "SUCCEEDED" : "NOT_REQUIRED"]);
    expect(job.stages.map(({ stage, state }) => [stage, state])).toEqual(expected);
    expect(job.outputDatasetVersionId).toMatch(/^micdsv_/);
  }
  expect(stopStages).toContain("FREEZE");
  expect(stopStages.size).toBeGreaterThan(1);
});

test("a failed job reports whether it can be retried, and its field errors", {
  tags: ["7.2/failure-when-failed", "2.2/problem-retryable", "2.2/problem-field-error"],
}, async ({ service }) => {
  for (const [file, retryable, before, stage] of [
    [FILE.failsRetryably, true, "BLEND", "CHURN"],
    [FILE.failsForGood, false, "GATHER", "SIFT"],
  ] as const) {
    const failed = last(await watchSubmittedJob(service, file));
    expect(failed).toMatchObject({ state: "FAILED", failure: { retryable }, outputDatasetVersionId: null });
    expect([stageOf(failed, before)?.state, stageOf(failed, stage)?.state]).toEqual(["SUCCEEDED", "FAILED"]);
    if (!retryable) expect(failed.failure?.fieldErrors.length).toBeGreaterThan(0);
  }
});

test("a job waits for review, is approved after a minute, and continues", {
  tags: ["3/job-review-state", "3/job-state"],
}, async ({ service }) => {
  const isWaiting = ({ state }: Job) => state === "WAITING_REVIEW";
  const waiting = last(await watchSubmittedJob(service, FILE.waitsForReview, isWaiting));
  expect(waiting.reviewState).toBe("PENDING");
  expect(waiting.stages.some(({ state }) => state === "WAITING_REVIEW")).toBe(true);
  service.clock.advance(58_000);
  expect((await readJob(service, waiting.id)).state).toBe("WAITING_REVIEW");
  service.clock.advance(3_000);
  expect((await readJob(service, waiting.id)).state).not.toBe("WAITING_REVIEW");
  const done = last(await watchJob(service, waiting.id));
  expect(done).toMatchObject({ state: "SUCCEEDED", reviewState: "APPROVED" });
});

test("a job that pauses at BLEND stays paused", { tags: ["3/job-state"] }, async ({ service }) => {
  const paused = last(await watchSubmittedJob(service, FILE.pauses, ({ state }) => state === "PAUSED"));
  expect(stageOf(paused, "REFINE")?.state).toBe("SUCCEEDED");
  expect(finished).not.toContain(stageOf(paused, "BLEND")?.state);
  expect(stageOf(paused, "CHURN")?.state).toBe("PENDING");
  service.clock.advance(60_000);
  expect(await readJob(service, paused.id)).toEqual(paused);
});

test("the clock can be advanced over HTTP", async ({ service }) => {
  const { id } = await submitJob(service, FILE.succeeds);
  const before = await service.admin("GET", "clock");
  await service.admin("POST", "clock", { advanceMs: 3_600_000 });
  expect(await service.admin("GET", "clock")).not.toEqual(before);
  expect((await readJob(service, id)).state).toBe("SUCCEEDED");
  for (const advanceMs of [-1, 1.5, "5", null])
    await expect(service.admin("POST", "clock", { advanceMs })).rejects.toThrow("less than 300");
});
