// Tests the cancellation and the retry of jobs, docs/contract.md, 3, 4.2 and 9.
import { expect } from "vitest";
import type { Job } from "../../src/contract/jobs.ts";
import { operations } from "../operations.ts";
import { expectProblem } from "./http.ts";
import { type Service, serviceForTest, test } from "./service.ts";
import { createRetryableJob, FILE, last, readJob, runJobToEnd, submitJob, watchJob } from "./work.ts";

const cancelRequest = (job: Job) => ({
  path: { jobId: job.id },
  ifMatch: `"${job.resourceVersion}"`,
  body: { reason: "Not needed any more" },
});
const cancel = (service: Service, job: Job) => service.call(operations.cancelMicJob, cancelRequest(job));
const retryRequest = ({ id: jobId }: Job, retryMode: string) => ({
  path: { jobId },
  body: { retryMode, reason: "Once more" },
});
const statesOf = (job: Job) => Object.fromEntries(job.stages.map(({ stage, state }) => [stage, state]));

test("a cancellation creates an operation that ends a running job, which can be retried", {
  tags: ["4.2/cancel-job", "6/progress-by-reading", "9/if-match-current"],
}, async ({ service }) => {
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

  const { data: again } = await service.ok(operations.retryMicJob, retryRequest(job, "RESTART"));
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

test("a job that has ended cannot be canceled, and only a job that failed retryably can be retried, once", async () => {
  const service = await serviceForTest();
  const done = await runJobToEnd(service, FILE.succeeds);
  const failed = await runJobToEnd(service, FILE.failsForGood);
  const retryable = await createRetryableJob(service);
  const running = await submitJob(service, FILE.succeeds);
  await service.ok(operations.retryMicJob, retryRequest(retryable, "SAFE_RESUME"));
  for (const mode of ["SAFE_RESUME", "RESTART"])
    for (const job of [done, failed, running, retryable]) {
      const answer = await service.call(operations.retryMicJob, retryRequest(job, mode));
      expect(expectProblem(answer, 409).retryable).toBe(false);
    }
  for (const job of [done, failed, retryable]) {
    expect(expectProblem(await cancel(service, job), 409).retryable).toBe(false);
    expect(await readJob(service, job.id)).toEqual(job);
  }
});
