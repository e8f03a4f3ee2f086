// Scenarios of the tools that combine several actions: their results, and the step at which they stopped.
import { createRetryableJob, FILE, fileId, runJobToEnd, submitJob } from "../../emulator/work.ts";
import { createBatchArguments, createRunArguments } from "../../tools/bench.ts";
import type { Args, Recorder, Scenario } from "../recorder.ts";
import { injectLostOutcome } from "./failures.ts";

/** The clock is stopped, so a wait could not succeed. */
const waitSeconds = 0;

const runArguments = async ({ service }: Recorder, file: number): Promise<Args> => ({
  ...(await createRunArguments(service, file)),
  waitSeconds,
});

const recordRunJob: Scenario = async (recorder) => {
  const { service } = recorder;
  const run = await runArguments(recorder, FILE.succeeds);
  await recorder.record("Submitted", run);
  service.clock.advance(60_000);
  await recorder.record("The same call again: the same job", run);
  await recorder.record("The scan is not over", await runArguments(recorder, FILE.waitsForScan));
  await recorder.record("The file is quarantined", await runArguments(recorder, FILE.quarantined));
  const idempotencyKey = "nightly-2100-01-15";
  const reviewed = { ...(await runArguments(recorder, FILE.waitsForReview)), idempotencyKey };
  await recorder.call("run_job", reviewed);
  service.clock.advance(5_000);
  await recorder.record("A person has to review it", reviewed);
  const failing = await runArguments(recorder, FILE.failsForGood);
  await recorder.call("run_job", failing);
  service.clock.advance(60_000);
  await recorder.record("It has failed", failing);
  const otherRun = { ...(await runArguments(recorder, FILE.failsRetryably)), clientReference: "another" };
  const unfit = [{ port: "none", inputId: "micinput_1" }];
  await recorder.record(
    "What does not fit the recipe",
    { ...otherRun, inputs: unfit },
    "invalid_arguments MISSING_PORT UNKNOWN_PORT",
  );
  const refused = { kind: "status", status: 422, code: "CAPABILITY_EXCEEDED", retryable: false };
  await service.injectFault(refused, { operationId: "createMicJob" });
  await recorder.record("Refused when the input was registered already", otherRun, "rejected CAPABILITY_EXCEEDED");
  await injectLostOutcome(recorder, "createMicJob");
  await recorder.record("The outcome is unknown", otherRun, "outcome_unknown FAULT_ON_REQUEST");
  await recorder.record(
    "Invalid arguments",
    { ...run, inputs: [{ port: "1", alias: "districts" }], recipe: "x" },
    "invalid_arguments INVALID UNKNOWN_ARGUMENT",
  );
  await recorder.recordUnconfigured(run);
};

const recordRunJobs: Scenario = async (recorder) => {
  const { service } = recorder;
  const files = [FILE.succeeds, FILE.failsRetryably, FILE.pauses, FILE.failsForGood, FILE.quarantined];
  const { files: ids, ...common } = await createBatchArguments(service, files);
  const some = { ...common, waitSeconds, files: ids };
  await recorder.call("get_recipe", { versionId: some.recipeVersionId });
  await recorder.record("Submitted, four at a time", some);
  service.clock.advance(60_000);
  await recorder.record("The same call again: all have ended or paused", { ...some, waitSeconds: 45 });
  await injectLostOutcome(recorder, "createMicJob");
  const withKey = { ...some, files: ids.slice(0, 1), idempotencyKey: "nightly-2100-01-15" };
  await recorder.record("The outcome of one is unknown", withKey);
  await recorder.record(
    "The parameters do not fit the recipe",
    { ...some, parameterValues: { bogus: 1 } },
    "invalid_arguments ADDITIONALPROPERTIES REQUIRED",
  );
  await recorder.record("Invalid arguments", { ...some, files: ["micinput_1"] }, "invalid_arguments INVALID");
  await recorder.recordUnconfigured(some);
};

const recordRetryJobs: Scenario = async (recorder) => {
  const { service } = recorder;
  const resume = { retryMode: "SAFE_RESUME", reason: "The input was corrected", waitSeconds };
  const createFailedJobId = async () => (await createRetryableJob(service)).id;
  const jobIds = [await createFailedJobId(), await createFailedJobId()];
  await recorder.record("Retried, and still moving", { jobIds, ...resume });
  service.clock.advance(60_000);
  const patient = { jobIds, ...resume, waitSeconds: 1 };
  await recorder.record("The same call again: the same retries, and how they ended", patient);
  const finishedJob = await runJobToEnd(service, FILE.succeeds);
  const retried = await createFailedJobId();
  const again = await recorder.call("retry_job", { jobId: retried, retryMode: "SAFE_RESUME", reason: "Alone" });
  await recorder.call("get_job", { jobId: Object(again.structured?.["data"]).id });
  const mixed = [finishedJob.id, "micjob_none", retried, await createFailedJobId()];
  await recorder.record("Some cannot be retried", { jobIds: mixed, ...resume });
  const lost = await createFailedJobId();
  await injectLostOutcome(recorder, "retryMicJob");
  await recorder.record("An outcome is unknown", { jobIds: [lost], ...resume });
  const restart = { jobIds: [lost], ...resume, retryMode: "RESTART" };
  await recorder.record("Another mode while the outcome is unknown", restart);
  const limited = { kind: "status", status: 429, retryAfterSeconds: 3_600 };
  const waiting = [await createFailedJobId(), await createFailedJobId()];
  await service.injectFault(limited, { operationId: "retryMicJob", times: 2 });
  await recorder.record("Rate limited", { jobIds: waiting, ...resume }, "rate_limited FAULT_ON_REQUEST");
  await service.admin("DELETE", "faults");
  const since = new Date(service.clock.now()).toISOString();
  await createFailedJobId();
  await createFailedJobId();
  const filtered = { workspaceId: recorder.workspaceId, createdSince: since, ...resume };
  await recorder.record("All failed jobs since a time", filtered);
  service.clock.advance(60_000);
  await recorder.record("The same filter again: the retries are not retried", filtered);
  const { id: final } = await runJobToEnd(service, FILE.failsForGood);
  await recorder.record("Jobs that are given up", { jobIds: [final], ...resume });
  await recorder.record(
    "Invalid arguments",
    { jobIds: [], retryMode: "AGAIN", reason: "" },
    "invalid_arguments INVALID_VALUE LENGTH TOO_SMALL",
  );
  await recorder.recordUnconfigured({ jobIds, ...resume });
};

const recordCancelJobs: Scenario = async (recorder) => {
  const { service } = recorder;
  const reason = "The files were replaced";
  const submitJobId = async (file: number) => (await submitJob(service, file)).id;
  const succeeded = (await runJobToEnd(service, FILE.succeeds)).id;
  const paused = await submitJobId(FILE.pauses);
  service.clock.advance(60_000);
  const jobIds = [paused, await submitJobId(FILE.succeeds), succeeded, "micjob_none"];
  const all = { jobIds, reason };
  await recorder.record("Requested", { ...all, waitSeconds });
  service.clock.advance(60_000);
  await recorder.record("The same call again: how they ended", { ...all, waitSeconds: 1 });
  const more = [await submitJobId(FILE.succeeds), await submitJobId(FILE.succeeds)];
  await injectLostOutcome(recorder, "cancelMicJob");
  await recorder.record("An outcome is unknown", { jobIds: more, reason, waitSeconds });
  await recorder.record("Invalid arguments", { jobIds: [], reason: "" }, "invalid_arguments LENGTH TOO_SMALL");
  await recorder.recordUnconfigured(all);
};

const recordWaitForJobs: Scenario = async (recorder) => {
  const { service } = recorder;
  const succeeded = await runJobToEnd(service, FILE.succeeds);
  const failed = await createRetryableJob(service);
  const paused = await submitJob(service, FILE.pauses);
  service.clock.advance(60_000);
  const finishedJobIds = [succeeded.id, failed.id, paused.id];
  await recorder.record("All have stopped", { jobIds: finishedJobIds, waitSeconds });
  const runningJob = await submitJob(service, FILE.succeeds);
  await recorder.record("One is still moving", { jobIds: [...finishedJobIds, runningJob.id], waitSeconds });
  await recorder.record("Any has stopped", { jobIds: [succeeded.id, runningJob.id], until: "any" });
  await recorder.record("One is not there", { jobIds: [succeeded.id, "micjob_none"] });
  await recorder.record(
    "Invalid arguments",
    { jobIds: ["x", "x"], until: "most", waitSeconds: 60 },
    "invalid_arguments INVALID_VALUE",
  );
  await recorder.recordUnconfigured({ jobIds: finishedJobIds });
};

const recordResolveActions: Scenario = async (recorder) => {
  const { service } = recorder;
  await recorder.record("Nothing is unresolved", {});
  const { workspaceId } = service.emulator;
  const registration = { workspaceId, inputKind: "M4_FILE", referenceId: fileId(service, FILE.succeeds) };
  const job = await submitJob(service, FILE.succeeds);
  const cancellation = { jobId: job.id, reason: "Wrong file" };
  await injectLostOutcome(recorder, "createMicPublicInput");
  const lost = await recorder.call("register_input", registration);
  await injectLostOutcome(recorder, "cancelMicJob");
  await recorder.call("cancel_job", cancellation);
  await recorder.record("One of several", { idempotencyKey: lost.error?.idempotencyKey });
  await recorder.record("All of them", {});
  await recorder.record("No such action", { idempotencyKey: "nightly-2100-01-15" }, "not_found");
  await injectLostOutcome(recorder, "createMicPublicInput");
  await recorder.call("register_input", { ...registration, idempotencyKey: "nightly-2100-01-15" });
  await injectLostOutcome(recorder, "createMicPublicInput");
  await recorder.record("Still unknown", {});
};

export const fewCallsScenarios = {
  run_job: recordRunJob,
  run_jobs: recordRunJobs,
  retry_jobs: recordRetryJobs,
  cancel_jobs: recordCancelJobs,
  wait_for_jobs: recordWaitForJobs,
  resolve_actions: recordResolveActions,
} as const;
