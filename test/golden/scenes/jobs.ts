// One job, one operation, one input, one request: each state that can be read.
import type { Job } from "../../../src/contract/jobs.ts";
import type { Problem } from "../../../src/contract/problem.ts";
import {
  FILE,
  isTerminal,
  oneInputOffer,
  processingBody,
  registerInput,
  retryableJob,
  runJobToEnd,
  submitJob,
  watchJob,
} from "../../emulator/work.ts";
import { operations } from "../../operations.ts";
import type { Scene, Stage } from "../stage.ts";
import { answerOnce, loseOutcome, readFailures } from "./failures.ts";

const standsAt = (state: Job["state"]) => (job: Job) => job.state === state || isTerminal(job);

/** The job of a file, let run until it is in this state. */
async function jobIn(stage: Stage, file: number, state: Job["state"]): Promise<Job> {
  const job = await submitJob(stage.service, file);
  await watchJob(stage.service, job.id, standsAt(state));
  return job;
}

async function failedJobs(stage: Stage): Promise<void> {
  const { service } = stage;
  const failed = await retryableJob(service);
  await stage.show("FAILED, and a retry may help", { jobId: failed.id });
  const show = async (state: string, job: Partial<Job>, failure: Partial<Problem> = {}) => {
    await answerOnce(stage, "getMicJob", { ...failed, failure: { ...failed.failure, ...failure }, ...job });
    await stage.show(state, { jobId: failed.id });
  };
  const stages = failed.stages.map((each) => (each.state === "FAILED" ? { ...each, attemptCount: 3 } : each));
  await show("FAILED for the third time", { stages });
  await show(
    "FAILED for good",
    {},
    { status: 422, code: "INPUT_EMPTY", title: "The input is empty", retryable: false },
  );
  await show("FAILED, not explained", { failure: null });
  await show("FAILED, rejected in review", { reviewState: "REJECTED" });
  await stage.call("retry_job", { jobId: failed.id, retryMode: "SAFE_RESUME", reason: "Once more" });
  await stage.show("FAILED, and retried", { jobId: failed.id });
  const broken = await runJobToEnd(service, FILE.failsForGood);
  await stage.show("FAILED, with what is wrong in the input", { jobId: broken.id });
}

async function seededJob(stage: Stage, state: Job["state"]): Promise<Job> {
  const query = { workspaceId: stage.workspaceId, limit: 100 };
  const { data } = await stage.service.ok(operations.listMicJobs, { query });
  const found = data.find((job) => job.state === state);
  if (found === undefined) throw new Error(`no job is ${state} from the start`);
  return found;
}

const getJob: Scene = async (stage) => {
  const { service } = stage;
  const { id: still } = await seededJob(stage, "PREPARING");
  const job = await submitJob(service, FILE.succeeds);
  await stage.show("PREPARING", { jobId: job.id });
  service.clock.advance(300);
  await stage.show("QUEUED", { jobId: job.id });
  service.clock.advance(1_000);
  await stage.show("RUNNING", { jobId: job.id });
  await stage.show("PREPARING, and nothing moves", { jobId: still });
  const reviewed = await jobIn(stage, FILE.waitsForReview, "WAITING_REVIEW");
  await stage.show("WAITING_REVIEW", { jobId: reviewed.id });
  const paused = await jobIn(stage, FILE.pauses, "PAUSED");
  await stage.show("PAUSED", { jobId: paused.id });
  await watchJob(service, job.id);
  await stage.show("SUCCEEDED", { jobId: job.id });
  await failedJobs(stage);
  const cancelled = await submitJob(service, FILE.succeeds);
  await stage.call("cancel_job", { jobId: cancelled.id, reason: "Wrong file" });
  await watchJob(service, cancelled.id);
  await stage.show("CANCELLED", { jobId: cancelled.id });
  const uncertainJob = await submitJob(service, FILE.succeeds);
  await loseOutcome(stage, "cancelMicJob");
  await stage.call("cancel_job", { jobId: uncertainJob.id, reason: "Wrong file" });
  await stage.show("An action on it has an unknown outcome", { jobId: uncertainJob.id });
  await service.fault({ kind: "extra-field" }, { operationId: "getMicJob" });
  await stage.show("With a field that the contract has not", { jobId: job.id });
  await stage.show("Not found", { jobId: "micjob_none" });
  const wrong = { jobId: "../jobs", waitSeconds: 60, wait: true };
  await readFailures(stage, { operationId: "getMicJob", args: { jobId: job.id }, wrong });
};

const getOperation: Scene = async (stage) => {
  const { service } = stage;
  const job = await submitJob(service, FILE.succeeds);
  const { data } = await service.ok(operations.cancelMicJob, {
    path: { jobId: job.id },
    ifMatch: `"${job.resourceVersion}"`,
    body: { reason: "Wrong file" },
  });
  const args = { operationId: data.id };
  await stage.show(data.state, args);
  service.clock.advance(250);
  await stage.show("A moment later", args);
  service.clock.advance(60_000);
  await stage.show("At its end", args);
  await stage.show("Not found", { operationId: "micop_none" });
  const wrong = { operationId: "../jobs" };
  await readFailures(stage, { operationId: "getMicPublicOperation", args, wrong });
};

const getInput: Scene = async (stage) => {
  const { inputIds } = stage.service.emulator;
  const seeded = (index: number) => ({ inputId: inputIds.at(index) });
  await stage.show("READY", seeded(FILE.succeeds));
  await stage.show("WAITING_SCAN", seeded(FILE.waitsForScan));
  await stage.show("QUARANTINED", seeded(FILE.quarantined));
  await stage.show("A dataset version", seeded(-3));
  await stage.show("Expired", seeded(-2));
  await stage.show("Withdrawn", seeded(-1));
  await stage.show("Not found", { inputId: "micinput_none" });
  const operationId = "getMicPublicInput";
  await readFailures(stage, { operationId, args: seeded(0), wrong: { inputId: "" } });
};

const getFileProcessingRequest: Scene = async (stage) => {
  const { service } = stage;
  const offer = await oneInputOffer(service);
  const requestProcessing = async (file: number, purpose: string) => {
    const input = await registerInput(service, file);
    const body = { ...processingBody(service, offer, input.id), purpose };
    return (await service.ok(operations.requestMicSharedFileProcessing, { body })).data;
  };
  const request = await requestProcessing(FILE.succeeds, "Count the mandals of each district");
  const refused = await requestProcessing(FILE.succeeds, "Prepare a marketing campaign");
  const infected = await requestProcessing(FILE.failsForGood, "Compare with last year");
  const args = { requestId: request.id };
  await stage.show("SUBMITTED", args);
  service.clock.advance(3_000);
  await stage.show("REVIEWABLE", args);
  service.clock.advance(10_000);
  await stage.show("APPROVED", args);
  await stage.show("REJECTED for its purpose", { requestId: refused.id });
  const decided = { ...infected, revision: 3, decidedAt: infected.createdAt };
  for (const [state, change] of [
    ["REJECTED for its source", { state: "REJECTED", reasonCode: "SOURCE_NOT_ELIGIBLE" }],
    ["REVOKED", { state: "REVOKED", reasonCode: "SECURITY_REVOKED" }],
  ] as const) {
    await answerOnce(stage, "getMicSharedFileProcessingRequest", { ...decided, ...change });
    await stage.show(state, { requestId: infected.id });
  }
  service.clock.advance(24 * 3_600_000);
  await stage.show("Past its end", args);
  await stage.show("Not found", { requestId: "micsharedrequest_none" });
  const operationId = "getMicSharedFileProcessingRequest";
  await readFailures(stage, { operationId, args, wrong: { requestId: "a b" } });
};

export const jobScenes = {
  get_job: getJob,
  get_operation: getOperation,
  get_input: getInput,
  get_file_processing_request: getFileProcessingRequest,
} as const;
