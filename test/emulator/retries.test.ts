// Tests retrying a job, docs/contract.md, 3 and 4.2.
import { expect, test } from "vitest";
import type { Job } from "../../src/contract/jobs.ts";
import { operations } from "../operations.ts";
import { expectProblem } from "./http.ts";
import { type Service, serviceForTest } from "./service.ts";
import { createRetryableJob, FILE, last, readJob, runJobToEnd, submitJob, watchJob } from "./work.ts";

const stagesBefore = ["GATHER", "SIFT", "REFINE", "BLEND"];
const statesOf = (job: Job) => Object.fromEntries(job.stages.map(({ stage, state }) => [stage, state]));

async function retry(service: Service, jobId: string, retryMode: string) {
  return service.call(operations.retryMicJob, { path: { jobId }, body: { retryMode, reason: "Once more" } });
}

async function retrySuccessfully(service: Service, jobId: string, retryMode: string): Promise<Job> {
  const { data } = await service.ok(operations.retryMicJob, {
    path: { jobId },
    body: { retryMode, reason: "Once more" },
  });
  return data;
}

test("SAFE_RESUME keeps the finished stages and succeeds [3/retry-carries-earlier-job, 4.2/retry-job]", async () => {
  const service = await serviceForTest();
  const failed = await createRetryableJob(service);
  const job = await retrySuccessfully(service, failed.id, "SAFE_RESUME");
  expect(job.id).not.toBe(failed.id);
  expect(job).toMatchObject({ retryOfBatchId: failed.id, recipeVersionId: failed.recipeVersionId, failure: null });
  for (const name of stagesBefore) {
    expect(statesOf(job)[name]).toBe("SUCCEEDED");
    expect(job.stages.find(({ stage }) => stage === name)?.completedUnits).toBeGreaterThan(0);
  }
  expect(statesOf(job)["CHURN"]).not.toBe("SUCCEEDED");
  const readings = await watchJob(service, job.id);
  for (const reading of readings) for (const name of stagesBefore) expect(statesOf(reading)[name]).toBe("SUCCEEDED");
  expect(last(readings)).toMatchObject({ state: "SUCCEEDED", retryOfBatchId: failed.id });
  expect(await readJob(service, failed.id)).toEqual(failed);
});

test("RESTART keeps no stage and succeeds [3/retry-carries-earlier-job]", async () => {
  const service = await serviceForTest();
  const failed = await createRetryableJob(service);
  const job = await retrySuccessfully(service, failed.id, "RESTART");
  expect(job.retryOfBatchId).toBe(failed.id);
  for (const { state, completedUnits } of job.stages) {
    expect(["PENDING", "RUNNING", "NOT_REQUIRED"]).toContain(state);
    expect(completedUnits).toBe(0);
  }
  const readings = await watchJob(service, job.id, undefined, { stepMs: 100 });
  for (const name of stagesBefore) expect(readings.some((reading) => statesOf(reading)[name] === "RUNNING")).toBe(true);
  expect(last(readings)).toMatchObject({ state: "SUCCEEDED", retryOfBatchId: failed.id });
});

test("a job that is running, has succeeded or failed permanently cannot be retried", async () => {
  const service = await serviceForTest();
  const done = await runJobToEnd(service, FILE.succeeds);
  const failed = await runJobToEnd(service, FILE.failsForGood);
  const running = await submitJob(service, FILE.succeeds);
  for (const mode of ["SAFE_RESUME", "RESTART"])
    for (const { id } of [done, failed, running])
      expect(expectProblem(await retry(service, id, mode), 409).retryable).toBe(false);
  expect(await readJob(service, done.id)).toEqual(done);
});

test("a second retry of a job is refused while the first one runs and after it has succeeded", async () => {
  const service = await serviceForTest();
  const failed = await createRetryableJob(service);
  const job = await retrySuccessfully(service, failed.id, "SAFE_RESUME");
  expectProblem(await retry(service, failed.id, "SAFE_RESUME"), 409);
  await watchJob(service, job.id);
  expectProblem(await retry(service, failed.id, "RESTART"), 409);
});

test("a canceled job can be retried", async () => {
  const service = await serviceForTest();
  const job = await submitJob(service, FILE.succeeds);
  await service.ok(operations.cancelMicJob, {
    path: { jobId: job.id },
    ifMatch: `"${job.resourceVersion}"`,
    body: { reason: "For another try" },
  });
  expect(last(await watchJob(service, job.id)).state).toBe("CANCELLED");
  const again = await retrySuccessfully(service, job.id, "RESTART");
  expect(last(await watchJob(service, again.id))).toMatchObject({ state: "SUCCEEDED", retryOfBatchId: job.id });
});
