// Scenarios of the five tools with one action: succeeded, replayed, refused, unknown.

import {
  createJobBody,
  createProcessingBody,
  createRetryableJob,
  FILE,
  fileId,
  findOneInputOffer,
  registerInput,
  submitJob,
  watchJob,
} from "../../emulator/work.ts";
import { operations } from "../../operations.ts";
import type { Args, Scenario } from "../recorder.ts";
import { recordActionStates } from "./failures.ts";

const recordRegisterInput: Scenario = async (recorder) => {
  const { service, workspaceId } = recorder;
  const argumentsFor = (file: number) => ({ workspaceId, inputKind: "M4_FILE", referenceId: fileId(service, file) });
  const files = [FILE.succeeds, FILE.failsRetryably, FILE.failsForGood, FILE.waitsForReview, FILE.pauses];
  // A second registration of a file would be a repetition, so the last calls register acquisitions.
  const createArguments = async (count: number) => ({
    ...argumentsFor(files[count - 1] ?? 0),
    ...(count > files.length && { inputKind: "ACQUISITION", referenceId: `micacq_${count}` }),
    alias: `districts ${count}`,
  });
  const withOtherNote = (args: Args) => ({ ...args, alias: "all districts" });
  const invalid = { ...argumentsFor(FILE.succeeds), referenceId: "micacq_1", name: "districts" };
  await recordActionStates(recorder, {
    operationId: "createMicPublicInput",
    ...{ createArguments, withOtherNote, invalid, codes: "INVALID UNKNOWN_ARGUMENT" },
  });
  await recorder.record("Done: WAITING_SCAN", argumentsFor(FILE.waitsForScan));
  await recorder.record("Done: QUARANTINED", argumentsFor(FILE.quarantined));
  await recorder.record(
    "Refused: no such file",
    { ...argumentsFor(FILE.succeeds), referenceId: "devfile_none" },
    "rejected REFERENCE_NOT_FOUND",
  );
};

const recordSubmitJob: Scenario = async (recorder) => {
  const { service } = recorder;
  const offer = await findOneInputOffer(service);
  const input = await registerInput(service, FILE.succeeds);
  const body = createJobBody(service, offer, input.id);
  const createArguments = async (count: number) => ({
    ...body,
    parameterValues: { ...Object(body.parameterValues), vintage: `2026-05-${10 + count}` },
    clientReference: `report ${count}`,
  });
  const withOtherNote = (args: Args) => ({ ...args, clientReference: "another report" });
  const invalid = { ...body, inputBindings: [], nickname: "x" };
  const operationId = "createMicJob";
  await recordActionStates(recorder, {
    ...{ operationId, createArguments, withOtherNote, invalid },
    codes: "TOO_SMALL UNKNOWN_ARGUMENT",
  });
  await service.injectFault({ kind: "drop-after" }, { operationId, times: 6 });
  await recorder.record("No answer at all: the outcome is unknown", await createArguments(8), "outcome_unknown");
  const port = offer.recipe.inputs[0]?.name;
  const withInput = (inputId: string | undefined) => ({ ...body, inputBindings: [{ port, inputId }] });
  await recorder.record(
    "Refused: the input is not ready",
    withInput(service.emulator.inputIds[FILE.quarantined]),
    "conflict INPUT_NOT_READY",
  );
  await recorder.record("Refused: no such input", withInput("micinput_none"), "rejected INPUT_NOT_FOUND");
  const shared = await registerInput(service, FILE.succeeds);
  const permission = createProcessingBody(service, offer, shared.id);
  await service.ok(operations.requestMicSharedFileProcessing, { body: permission });
  await recorder.record(
    "Refused: the processing is not approved yet",
    withInput(shared.id),
    "forbidden PROCESSING_NOT_PERMITTED",
  );
  const unfit = { ...body, parameterValues: { none: 1 } };
  await recorder.record("Refused: the parameters do not fit", unfit, "rejected PARAMETERS_INVALID");
  await recorder.call("get_recipe", { versionId: offer.recipe.versionId });
  await recorder.record(
    "Not sent: the parameters do not fit the recipe that was read",
    unfit,
    "invalid_arguments ADDITIONALPROPERTIES REQUIRED",
  );
};

const recordCancelJob: Scenario = async (recorder) => {
  const { service } = recorder;
  const createArguments = async () => ({
    jobId: (await submitJob(service, FILE.succeeds)).id,
    reason: "Wrong file",
    // The clock is stopped, so that no cancellation ends during a wait.
    waitSeconds: 1,
  });
  const invalid = { jobId: "micjob_1", resourceVersion: 0 };
  await recordActionStates(recorder, {
    operationId: "cancelMicJob",
    ...{ createArguments, invalid, codes: "REQUIRED TOO_SMALL" },
  });
  const canceled = await createArguments();
  await recorder.call("cancel_job", { ...canceled, waitSeconds: 0 });
  service.clock.advance(60_000);
  await recorder.record("The cancellation has ended", canceled);
  const finishedJob = await submitJob(service, FILE.succeeds);
  await watchJob(service, finishedJob.id);
  await recorder.record(
    "The job has ended",
    { jobId: finishedJob.id, reason: "Too late" },
    "conflict ALREADY_SUCCEEDED",
  );
  const changedJob = await submitJob(service, FILE.succeeds);
  service.clock.advance(1_000);
  const outdated = { jobId: changedJob.id, reason: "x", resourceVersion: 1 };
  await recorder.record(
    "The job has moved on from the version given",
    outdated,
    "precondition_failed VERSION_CONFLICT",
  );
  await recorder.record("Not found", { jobId: "micjob_none", reason: "Wrong file" }, "not_found NOT_FOUND");
};

const recordRetryJob: Scenario = async (recorder) => {
  const { service } = recorder;
  const createArguments = async () => ({
    jobId: (await createRetryableJob(service)).id,
    retryMode: "SAFE_RESUME",
    reason: "The input was corrected",
  });
  const invalid = { jobId: "micjob_1", retryMode: "AGAIN", reason: "" };
  await recordActionStates(recorder, {
    operationId: "retryMicJob",
    ...{ createArguments, invalid, codes: "INVALID_VALUE LENGTH" },
  });
  const restarted = { ...(await createArguments()), retryMode: "RESTART" };
  await recorder.record("Done: from the start", restarted);
  const otherMode = { ...restarted, retryMode: "SAFE_RESUME" };
  await recorder.record("Refused: it was retried already", otherMode);
  const succeeded = await submitJob(service, FILE.succeeds);
  await watchJob(service, succeeded.id);
  await recorder.record(
    "Refused: it has not failed",
    { ...restarted, jobId: succeeded.id },
    "conflict JOB_NOT_RETRYABLE",
  );
  await recorder.record("Not found", { ...restarted, jobId: "micjob_none" }, "not_found NOT_FOUND");
};

const recordRequestFileProcessing: Scenario = async (recorder) => {
  const { service } = recorder;
  const offer = await findOneInputOffer(service);
  const createArguments = async () =>
    createProcessingBody(service, offer, (await registerInput(service, FILE.succeeds)).id);
  const body = await createArguments();
  const invalid = { ...body, recipeVersionHash: "abc", expiresAt: "tomorrow" };
  const operationId = "requestMicSharedFileProcessing";
  await recordActionStates(recorder, { operationId, createArguments, invalid, codes: "INVALID_FORMAT" });
  await recorder.record(
    "Refused: another version's hash",
    { ...body, recipeVersionHash: "0".repeat(64) },
    "conflict RECIPE_HASH_NOT_CURRENT",
  );
  await recorder.record(
    "Refused: it would last too long",
    { ...body, expiresAt: "2109-01-15T10:00:00.000Z" },
    "rejected EXPIRY_NOT_ALLOWED",
  );
  await recorder.call("request_file_processing", body);
  await recorder.record("Not requested again", { ...body, purpose: "Count the talukas of each district" });
};

export const actionScenarios = {
  register_input: recordRegisterInput,
  submit_job: recordSubmitJob,
  cancel_job: recordCancelJob,
  retry_job: recordRetryJob,
  request_file_processing: recordRequestFileProcessing,
} as const;
