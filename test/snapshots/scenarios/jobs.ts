// Scenarios of the tools that read one job, operation, input or request, in each of its states.
import type { Job } from "../../../src/contract/jobs.ts";
import type { Problem } from "../../../src/contract/problem.ts";
import {
  createProcessingBody,
  createRetryableJob,
  FILE,
  findOneInputOffer,
  isTerminal,
  registerInput,
  runJobToEnd,
  submitJob,
  watchJob,
} from "../../emulator/work.ts";
import { operations } from "../../operations.ts";
import type { Recorder, Scenario } from "../recorder.ts";
import { injectAnswer, injectLostOutcome, recordReadFailures } from "./failures.ts";

const isInState = (state: Job["state"]) => (job: Job) => job.state === state || isTerminal(job);

async function runJobToState(recorder: Recorder, file: number, state: Job["state"]): Promise<Job> {
  const job = await submitJob(recorder.service, file);
  await watchJob(recorder.service, job.id, isInState(state));
  return job;
}

async function recordFailedJobs(recorder: Recorder): Promise<void> {
  const { service } = recorder;
  const failed = await createRetryableJob(service);
  await recorder.record("FAILED, and a retry may help", { jobId: failed.id });
  const recordChanged = async (state: string, job: Partial<Job>, failure: Partial<Problem> = {}) => {
    await injectAnswer(recorder, "getMicJob", { ...failed, failure: { ...failed.failure, ...failure }, ...job });
    await recorder.record(state, { jobId: failed.id });
  };
  const stages = failed.stages.map((each) => (each.state === "FAILED" ? { ...each, attemptCount: 3 } : each));
  await recordChanged("FAILED for the third time", { stages });
  const empty = { status: 422, code: "INPUT_EMPTY", title: "The input is empty", retryable: false };
  await recordChanged("FAILED for good", {}, empty);
  await recordChanged("FAILED, not explained", { failure: null });
  await recordChanged("FAILED, rejected in review", { reviewState: "REJECTED" });
  await recorder.call("retry_job", { jobId: failed.id, retryMode: "SAFE_RESUME", reason: "Once more" });
  await recorder.record("FAILED, and retried", { jobId: failed.id });
  const invalidInputJob = await runJobToEnd(service, FILE.failsForGood);
  await recorder.record("FAILED, with what is wrong in the input", { jobId: invalidInputJob.id });
}

async function findSeededJob(recorder: Recorder, state: Job["state"]): Promise<Job> {
  const query = { workspaceId: recorder.workspaceId, limit: 100 };
  const { data } = await recorder.service.ok(operations.listMicJobs, { query });
  const found = data.find((job) => job.state === state);
  if (found === undefined) throw new Error(`no job is ${state} from the start`);
  return found;
}

const recordGetJob: Scenario = async (recorder) => {
  const { service } = recorder;
  const { id: preparingId } = await findSeededJob(recorder, "PREPARING");
  const job = await submitJob(service, FILE.succeeds);
  await recorder.record("PREPARING", { jobId: job.id });
  service.clock.advance(300);
  await recorder.record("QUEUED", { jobId: job.id });
  service.clock.advance(1_000);
  await recorder.record("RUNNING", { jobId: job.id });
  await recorder.record("PREPARING, and nothing moves", { jobId: preparingId });
  const reviewed = await runJobToState(recorder, FILE.waitsForReview, "WAITING_REVIEW");
  await recorder.record("WAITING_REVIEW", { jobId: reviewed.id });
  const paused = await runJobToState(recorder, FILE.pauses, "PAUSED");
  await recorder.record("PAUSED", { jobId: paused.id });
  await watchJob(service, job.id);
  await recorder.record("SUCCEEDED", { jobId: job.id });
  await recordFailedJobs(recorder);
  const cancelled = await submitJob(service, FILE.succeeds);
  await recorder.call("cancel_job", { jobId: cancelled.id, reason: "Wrong file", waitSeconds: 0 });
  await watchJob(service, cancelled.id);
  await recorder.record("CANCELLED", { jobId: cancelled.id });
  const uncertainJob = await submitJob(service, FILE.succeeds);
  await injectLostOutcome(recorder, "cancelMicJob");
  await recorder.call("cancel_job", { jobId: uncertainJob.id, reason: "Wrong file" });
  await recorder.record("An action on it has an unknown outcome", { jobId: uncertainJob.id });
  await service.injectFault({ kind: "extra-field" }, { operationId: "getMicJob" });
  await recorder.record("With a field that the contract has not", { jobId: job.id });
  await recorder.record("Not found", { jobId: "micjob_none" }, "not_found NOT_FOUND");
  await recordReadFailures(
    recorder,
    "getMicJob",
    { jobId: job.id },
    { jobId: "../jobs", waitSeconds: 60, wait: true },
    "UNKNOWN_ARGUMENT",
  );
};

const recordGetOperation: Scenario = async (recorder) => {
  const { service } = recorder;
  const job = await submitJob(service, FILE.succeeds);
  const { data } = await service.ok(operations.cancelMicJob, {
    path: { jobId: job.id },
    ifMatch: `"${job.resourceVersion}"`,
    body: { reason: "Wrong file" },
  });
  const args = { operationId: data.id };
  await recorder.record(data.state, args);
  service.clock.advance(250);
  await recorder.record("A moment later", args);
  service.clock.advance(60_000);
  await recorder.record("At its end", args);
  await recorder.record("Not found", { operationId: "micop_none" }, "not_found NOT_FOUND");
  await recordReadFailures(recorder, "getMicPublicOperation", args, { operationId: "" }, "LENGTH");
};

const recordGetInput: Scenario = async (recorder) => {
  const { inputIds } = recorder.service.emulator;
  const seededInput = (index: number) => ({ inputId: inputIds.at(index) });
  await recorder.record("READY", seededInput(FILE.succeeds));
  await recorder.record("WAITING_SCAN", seededInput(FILE.waitsForScan));
  await recorder.record("QUARANTINED", seededInput(FILE.quarantined));
  await recorder.record("A dataset version", seededInput(-3));
  await recorder.record("Expired", seededInput(-2));
  await recorder.record("Withdrawn", seededInput(-1));
  await recorder.record("Not found", { inputId: "micinput_none" }, "not_found NOT_FOUND");
  await recordReadFailures(recorder, "getMicPublicInput", seededInput(0), { inputId: "" }, "LENGTH");
};

const recordGetFileProcessingRequest: Scenario = async (recorder) => {
  const { service } = recorder;
  const offer = await findOneInputOffer(service);
  const requestProcessing = async (file: number, purpose: string) => {
    const input = await registerInput(service, file);
    const body = { ...createProcessingBody(service, offer, input.id), purpose };
    return (await service.ok(operations.requestMicSharedFileProcessing, { body })).data;
  };
  const request = await requestProcessing(FILE.succeeds, "Count the mandals of each district");
  const refused = await requestProcessing(FILE.succeeds, "Prepare a marketing campaign");
  const infected = await requestProcessing(FILE.failsForGood, "Compare with last year");
  const args = { requestId: request.id };
  await recorder.record("SUBMITTED", args);
  service.clock.advance(3_000);
  await recorder.record("REVIEWABLE", args);
  service.clock.advance(10_000);
  await recorder.record("APPROVED", args);
  await recorder.record("REJECTED for its purpose", { requestId: refused.id });
  const decided = { ...infected, revision: 3, decidedAt: infected.createdAt };
  for (const [state, change] of [
    ["REJECTED for its source", { state: "REJECTED", reasonCode: "SOURCE_NOT_ELIGIBLE" }],
    ["REVOKED", { state: "REVOKED", reasonCode: "SECURITY_REVOKED" }],
  ] as const) {
    await injectAnswer(recorder, "getMicSharedFileProcessingRequest", { ...decided, ...change });
    await recorder.record(state, { requestId: infected.id });
  }
  service.clock.advance(24 * 3_600_000);
  await recorder.record("Past its end", args);
  await recorder.record("Not found", { requestId: `micsharedrequest_${"0".repeat(32)}` }, "not_found NOT_FOUND");
  await recordReadFailures(recorder, "getMicSharedFileProcessingRequest", args, { requestId: "a b" }, "INVALID_FORMAT");
};

export const jobScenarios = {
  get_job: recordGetJob,
  get_operation: recordGetOperation,
  get_input: recordGetInput,
  get_file_processing_request: recordGetFileProcessingRequest,
} as const;
