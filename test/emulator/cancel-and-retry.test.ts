// Tests the cancellation and the retry of jobs, docs/contract.md, 3, 4.2 and 9.
import { expect, test } from "vitest";
import type { Job } from "../../src/contract/jobs.ts";
import { operations } from "../operations.ts";
import { expectProblem } from "./http.ts";
import { nextKey, type Service, serviceForTest } from "./service.ts";
import { createRetryableJob, FILE, last, readJob, runJobToEnd, submitJob, watchJob } from "./work.ts";

const cancelRequest = (job: Job, version = job.resourceVersion, key = nextKey()) => ({
  path: { jobId: job.id },
  ifMatch: `"${version}"`,
  key,
  body: { reason: "Not needed any more" },
});
const cancel = (service: Service, ...job: Parameters<typeof cancelRequest>) =>
  service.call(operations.cancelMicJob, cancelRequest(...job));

async function waitForOperation(service: Service, operationId: string) {
  for (let step = 0; step < 100; step += 1) {
    const { data } = await service.ok(operations.getMicPublicOperation, { path: { operationId } });
    if (["SUCCEEDED", "FAILED", "CANCELLED"].includes(data.state)) return data;
    service.clock.advance(100);
  }
  throw new Error(`operation ${operationId} never ends`);
}

test("a cancellation creates an operation that ends a running job [4.2/cancel-job, 6/progress-by-reading, 9/if-match-current]", async () => {
  const service = await serviceForTest();
  const { id } = await submitJob(service, FILE.succeeds);
  const running = last(
    await watchJob(service, id, ({ stages }) =>
      stages.some((one) => one.stage === "REFINE" && one.state === "RUNNING"),
    ),
  );
  const { data: operation } = await service.ok(operations.cancelMicJob, cancelRequest(running));
  expect(operation).toMatchObject({ originatingResourceId: id, failure: null, workspaceId: running.workspaceId });
  expect(operation.requiredScopes).not.toEqual([]);

  const finishedOperation = await waitForOperation(service, operation.id);
  expect(finishedOperation).toMatchObject({ state: "SUCCEEDED", failure: null, originatingResourceId: id });
  expect(finishedOperation.resourceVersion).toBeGreaterThanOrEqual(operation.resourceVersion);

  const job = last(await watchJob(service, id));
  expect(job).toMatchObject({ state: "CANCELLED", failure: null, outputDatasetVersionId: null });
  expect(job.resourceVersion).toBeGreaterThan(running.resourceVersion);
  const states = Object.fromEntries(job.stages.map(({ stage, state }) => [stage, state]));
  expect(states).toMatchObject({ GATHER: "SUCCEEDED", SIFT: "SUCCEEDED", REFINE: "CANCELLED" });
  expect(Object.values(states)).not.toContain("RUNNING");
  service.clock.advance(600_000);
  expect(await readJob(service, id)).toEqual(job);
});

test("a waiting job can be canceled", async () => {
  const service = await serviceForTest();
  const waiting = [
    [FILE.waitsForReview, "WAITING_REVIEW"],
    [FILE.pauses, "PAUSED"],
  ] as const;
  for (const [file, state] of waiting) {
    const { id } = await submitJob(service, file);
    const job = last(await watchJob(service, id, (one) => one.state === state));
    const { data } = await service.ok(operations.cancelMicJob, cancelRequest(job));
    expect((await waitForOperation(service, data.id)).state).toBe("SUCCEEDED");
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

test("a job that has ended cannot be canceled", async () => {
  const service = await serviceForTest();
  for (const file of [FILE.succeeds, FILE.failsRetryably, FILE.failsForGood]) {
    const job = await runJobToEnd(service, file);
    const problem = expectProblem(await cancel(service, job), 409);
    expect(problem.retryable).toBe(false);
    expect(await readJob(service, job.id)).toEqual(job);
  }
});

test("only one of two concurrent cancellations takes effect", async () => {
  const service = await serviceForTest();
  const job = await submitJob(service, FILE.succeeds);
  const answers = await Promise.all([cancel(service, job), cancel(service, job)]);
  const statuses = answers.map(({ status }) => status).sort();
  expect(statuses).toEqual([202, 409]);
});

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
