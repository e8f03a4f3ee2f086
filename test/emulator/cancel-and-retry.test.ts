// Tests the cancellation and the retry of jobs, docs/contract.md, 3, 4.2 and 9.
import { expect } from "vitest";
import type { Job } from "../../src/contract/jobs.ts";
import { operations } from "../operations.ts";
import { expectProblem } from "./http.ts";
import { nextKey, type Service, serviceForTest, test } from "./service.ts";
import { createRetryableJob, FILE, last, readJob, runJobToEnd, submitJob, watchJob } from "./work.ts";

const cancelRequest = (job: Job, version = job.resourceVersion, key = nextKey()) => ({
  path: { jobId: job.id },
  ifMatch: `"${version}"`,
  key,
  body: { reason: "Not needed any more" },
});
const cancel = (service: Service, ...job: Parameters<typeof cancelRequest>) =>
  service.call(operations.cancelMicJob, cancelRequest(...job));
const retryRequest = ({ id: jobId }: Job, retryMode: string) => ({
  path: { jobId },
  body: { retryMode, reason: "Once more" },
});
const retry = (service: Service, ...job: Parameters<typeof retryRequest>) =>
  service.call(operations.retryMicJob, retryRequest(...job));
const retrySuccessfully = async (service: Service, ...job: Parameters<typeof retryRequest>): Promise<Job> =>
  (await service.ok(operations.retryMicJob, retryRequest(...job))).data;
const statesOf = (job: Job) => Object.fromEntries(job.stages.map(({ stage, state }) => [stage, state]));

test("a cancellation creates an operation that ends a running job, which can be retried [4.2/cancel-job, 6/progress-by-reading, 9/if-match-current]", async () => {
  const service = await serviceForTest();
  const { id } = await submitJob(service, FILE.succeeds);
  const running = last(await watchJob(service, id, (one) => statesOf(one)["REFINE"] === "RUNNING"));
  const { data: operation } = await service.ok(operations.cancelMicJob, cancelRequest(running));
  expect(operation).toMatchObject({ originatingResourceId: id, failure: null, workspaceId: running.workspaceId });
  expect(operation.requiredScopes).not.toEqual([]);
  expectProblem(await cancel(service, running), 409);

  const job = last(await watchJob(service, id));
  expect(job).toMatchObject({ state: "CANCELLED", failure: null, outputDatasetVersionId: null });
  expect(job.resourceVersion).toBeGreaterThan(running.resourceVersion);
  expect(statesOf(job)).toMatchObject({ GATHER: "SUCCEEDED", SIFT: "SUCCEEDED", REFINE: "CANCELLED" });
  expect(Object.values(statesOf(job))).not.toContain("RUNNING");
  service.clock.advance(600_000);
  expect(await readJob(service, id)).toEqual(job);

  const path = { operationId: operation.id };
  const { data: finishedOperation } = await service.ok(operations.getMicPublicOperation, { path });
  expect(finishedOperation).toMatchObject({ state: "SUCCEEDED", failure: null, originatingResourceId: id });
  expect(finishedOperation.resourceVersion).toBeGreaterThanOrEqual(operation.resourceVersion);

  const again = await retrySuccessfully(service, job, "RESTART");
  expect(last(await watchJob(service, again.id))).toMatchObject({ state: "SUCCEEDED", retryOfBatchId: id });
});

test("a waiting job can be canceled", async ({ service }) => {
  for (const [file, state] of [
    [FILE.waitsForReview, "WAITING_REVIEW"],
    [FILE.pauses, "PAUSED"],
  ] as const) {
    const { id } = await submitJob(service, file);
    const job = last(await watchJob(service, id, (one) => one.state === state));
    expect((await cancel(service, job)).status).toBe(202);
    expect(last(await watchJob(service, id)).state).toBe("CANCELLED");
  }
});

test("a cancellation with an earlier or later version is refused and changes nothing [9/if-match-current]", async () => {
  const service = await serviceForTest();
  const submitted = await submitJob(service, FILE.succeeds);
  service.clock.advance(2000);
  const job = await readJob(service, submitted.id);
  expect(job.resourceVersion).toBeGreaterThan(submitted.resourceVersion);
  for (const version of [submitted.resourceVersion, job.resourceVersion - 1, job.resourceVersion + 1]) {
    const key = nextKey();
    expectProblem(await cancel(service, job, version, key), 412);
    expect(await service.countExecutions(key)).toBe(0);
  }
  expect(await readJob(service, job.id)).toEqual(job);
  expect((await cancel(service, job)).status).toBe(202);
});

test("a job that has ended cannot be canceled, and one that is running, has succeeded or failed permanently cannot be retried", async () => {
  const service = await serviceForTest();
  const done = await runJobToEnd(service, FILE.succeeds);
  const failed = await runJobToEnd(service, FILE.failsForGood);
  const retryable = await createRetryableJob(service);
  const running = await submitJob(service, FILE.succeeds);
  for (const mode of ["SAFE_RESUME", "RESTART"])
    for (const job of [done, failed, running])
      expect(expectProblem(await retry(service, job, mode), 409).retryable).toBe(false);
  for (const job of [done, failed, retryable]) {
    expect(expectProblem(await cancel(service, job), 409).retryable).toBe(false);
    expect(await readJob(service, job.id)).toEqual(job);
  }
});

const stagesBefore = ["GATHER", "SIFT", "REFINE", "BLEND"];

test("SAFE_RESUME keeps the finished stages and succeeds, and a second retry of the same job is refused [3/retry-carries-earlier-job, 4.2/retry-job]", async () => {
  const service = await serviceForTest();
  const failed = await createRetryableJob(service);
  const job = await retrySuccessfully(service, failed, "SAFE_RESUME");
  expect(job.id).not.toBe(failed.id);
  expect(job).toMatchObject({ retryOfBatchId: failed.id, recipeVersionId: failed.recipeVersionId, failure: null });
  for (const name of stagesBefore)
    expect(job.stages.find(({ stage }) => stage === name)?.completedUnits).toBeGreaterThan(0);
  expect(statesOf(job)["CHURN"]).not.toBe("SUCCEEDED");
  expectProblem(await retry(service, failed, "SAFE_RESUME"), 409);
  const readings = await watchJob(service, job.id);
  for (const reading of readings) for (const name of stagesBefore) expect(statesOf(reading)[name]).toBe("SUCCEEDED");
  expect(last(readings)).toMatchObject({ state: "SUCCEEDED", retryOfBatchId: failed.id });
  expect(await readJob(service, failed.id)).toEqual(failed);
  expectProblem(await retry(service, failed, "RESTART"), 409);
});

test("RESTART keeps no stage and succeeds [3/retry-carries-earlier-job]", async ({ service }) => {
  const failed = await createRetryableJob(service);
  const job = await retrySuccessfully(service, failed, "RESTART");
  expect(job.retryOfBatchId).toBe(failed.id);
  for (const { state, completedUnits } of job.stages) {
    expect(["PENDING", "RUNNING", "NOT_REQUIRED"]).toContain(state);
    expect(completedUnits).toBe(0);
  }
  const readings = await watchJob(service, job.id, undefined, { stepMs: 100 });
  for (const name of stagesBefore) expect(readings.some((reading) => statesOf(reading)[name] === "RUNNING")).toBe(true);
  expect(last(readings)).toMatchObject({ state: "SUCCEEDED", retryOfBatchId: failed.id });
});
