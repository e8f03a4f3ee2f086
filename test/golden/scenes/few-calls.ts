// The tools that do a day's work in few calls: what several actions came to, and where they stopped.
import { makeValue } from "../../emulator/parameters.ts";
import { FILE, fileId, oneInputOffer, retryableJob, runJobToEnd, submitJob } from "../../emulator/work.ts";
import type { Args, Scene, Stage } from "../stage.ts";
import { loseOutcome } from "./failures.ts";

/** The clock stands still: nothing that is waited for would come. */
const waitSeconds = 0;

async function runOf(stage: Stage, file: number): Promise<Args> {
  const { recipe } = await oneInputOffer(stage.service);
  return {
    workspaceId: stage.workspaceId,
    recipeVersionId: recipe.versionId,
    inputs: [{ port: recipe.inputs[0]?.name, referenceId: fileId(stage.service, file) }],
    parameterValues: makeValue(recipe.parameters),
    waitSeconds,
  };
}

const runJob: Scene = async (stage) => {
  const { service } = stage;
  const run = await runOf(stage, FILE.succeeds);
  await stage.show("Submitted", run);
  service.clock.advance(60_000);
  await stage.show("The same call again: the same job", run);
  await stage.show("The scan is not over", await runOf(stage, FILE.waitsForScan));
  await stage.show("The file is quarantined", await runOf(stage, FILE.quarantined));
  const reviewed = { ...(await runOf(stage, FILE.waitsForReview)), idempotencyKey: "nightly-2100-01-15" };
  await stage.call("run_job", reviewed);
  service.clock.advance(5_000);
  await stage.show("A person has to review it", reviewed);
  const failing = await runOf(stage, FILE.failsForGood);
  await stage.call("run_job", failing);
  service.clock.advance(60_000);
  await stage.show("It has failed", failing);
  const fresh = { ...(await runOf(stage, FILE.failsRetryably)), clientReference: "another" };
  await stage.show("What does not fit the recipe", { ...fresh, inputs: [{ port: "none", inputId: "micinput_1" }] });
  const refused = { kind: "status", status: 422, code: "CAPABILITY_EXCEEDED", retryable: false };
  await service.fault(refused, { operationId: "createMicJob" });
  await stage.show("Refused when the input was registered already", fresh);
  await loseOutcome(stage, "createMicJob");
  await stage.show("The outcome is unknown", fresh);
  await stage.show("Invalid arguments", { ...run, inputs: [{ port: "1", alias: "districts" }], recipe: "x" });
  await stage.showBare(run);
};

const retryJobs: Scene = async (stage) => {
  const { service } = stage;
  const resume = { retryMode: "SAFE_RESUME", reason: "The fault has been mended", waitSeconds };
  const failed = async () => (await retryableJob(service)).id;
  const jobIds = [await failed(), await failed()];
  await stage.show("Retried, and still moving", { jobIds, ...resume });
  service.clock.advance(60_000);
  await stage.show("The same call again: the same retries, and how they ended", {
    jobIds,
    ...resume,
    waitSeconds: 1,
  });
  const finishedJob = await runJobToEnd(service, FILE.succeeds);
  const retried = await failed();
  const again = await stage.call("retry_job", { jobId: retried, retryMode: "SAFE_RESUME", reason: "Alone" });
  await stage.call("get_job", { jobId: Object(again.structured?.["data"]).id });
  const mixed = [finishedJob.id, "micjob_none", retried, await failed()];
  await stage.show("Some cannot be retried", { jobIds: mixed, ...resume });
  const lost = await failed();
  await loseOutcome(stage, "retryMicJob");
  await stage.show("An outcome is unknown", { jobIds: [lost], ...resume });
  await stage.show("Another mode while the outcome is unknown", { jobIds: [lost], ...resume, retryMode: "RESTART" });
  const limited = { kind: "status", status: 429, retryAfterSeconds: 3_600 };
  const waiting = [await failed(), await failed()];
  await service.fault(limited, { operationId: "retryMicJob", times: 2 });
  await stage.show("Rate limited", { jobIds: waiting, ...resume });
  await stage.show("Invalid arguments", { jobIds: [], retryMode: "AGAIN", reason: "" });
  await stage.showBare({ jobIds, ...resume });
};

const waitForJobs: Scene = async (stage) => {
  const { service } = stage;
  const succeeded = await runJobToEnd(service, FILE.succeeds);
  const failed = await retryableJob(service);
  const paused = await submitJob(service, FILE.pauses);
  service.clock.advance(60_000);
  const finishedJobIds = [succeeded.id, failed.id, paused.id];
  await stage.show("All have stopped", { jobIds: finishedJobIds, waitSeconds });
  const moving = await submitJob(service, FILE.succeeds);
  await stage.show("One is still moving", { jobIds: [...finishedJobIds, moving.id], waitSeconds });
  await stage.show("Any has stopped", { jobIds: [succeeded.id, moving.id], until: "any" });
  await stage.show("One is not there", { jobIds: [succeeded.id, "micjob_none"] });
  await stage.show("Invalid arguments", { jobIds: ["x", "x"], until: "most", waitSeconds: 60 });
  await stage.showBare({ jobIds: finishedJobIds });
};

const resolveActions: Scene = async (stage) => {
  const { service } = stage;
  await stage.show("Nothing is unresolved", {});
  const { workspaceId } = service.emulator;
  const registration = { workspaceId, inputKind: "M4_FILE", referenceId: fileId(service, FILE.succeeds) };
  const job = await submitJob(service, FILE.succeeds);
  const cancellation = { jobId: job.id, reason: "Wrong file" };
  await loseOutcome(stage, "createMicPublicInput");
  const lost = await stage.call("register_input", registration);
  await loseOutcome(stage, "cancelMicJob");
  await stage.call("cancel_job", cancellation);
  await stage.show("One of several", { idempotencyKey: lost.error?.idempotencyKey });
  await stage.show("All of them", {});
  await stage.show("No such action", { idempotencyKey: "nightly-2100-01-15" });
  await loseOutcome(stage, "createMicPublicInput");
  await stage.call("register_input", { ...registration, idempotencyKey: "nightly-2100-01-15" });
  await loseOutcome(stage, "createMicPublicInput");
  await stage.show("Still unknown", {});
};

export const fewCallsScenes = {
  run_job: runJob,
  retry_jobs: retryJobs,
  wait_for_jobs: waitForJobs,
  resolve_actions: resolveActions,
} as const;
