// The five tools that do something: done, done before, refused, not known.
import {
  FILE,
  fileId,
  jobBody,
  oneInputOffer,
  processingBody,
  registerInput,
  retryableJob,
  submitJob,
  watchJob,
} from "../../emulator/work.ts";
import type { Args, Scene } from "../stage.ts";
import { actionStates } from "./failures.ts";

const registerInputScene: Scene = async (stage) => {
  const { service, workspaceId } = stage;
  let count = 0;
  const of = (file: number) => ({ workspaceId, inputKind: "M4_FILE", referenceId: fileId(service, file) });
  const files = [FILE.succeeds, FILE.failsRetryably, FILE.failsForGood, FILE.waitsForReview, FILE.pauses];
  const fresh = async () => ({ ...of(files[count % files.length] ?? 0), alias: `districts ${++count}` });
  const renoted = (args: Args) => ({ ...args, alias: "all districts" });
  const wrong = { ...of(FILE.succeeds), referenceId: "micacq_1", name: "districts" };
  await actionStates(stage, { operationId: "createMicPublicInput", fresh, renoted, wrong });
  await stage.show("Done: WAITING_SCAN", of(FILE.waitsForScan));
  await stage.show("Done: QUARANTINED", of(FILE.quarantined));
  await stage.show("Refused: no such file", { ...of(FILE.succeeds), referenceId: "devfile_none" });
};

const submitJobScene: Scene = async (stage) => {
  const { service } = stage;
  const offer = await oneInputOffer(service);
  const input = await registerInput(service, FILE.succeeds);
  const body = jobBody(service, offer, input.id);
  let count = 0;
  const fresh = async () => ({
    ...body,
    parameterValues: { ...Object(body.parameterValues), vintage: `2026-05-${10 + ++count}` },
    clientReference: `report ${count}`,
  });
  const renoted = (args: Args) => ({ ...args, clientReference: "another report" });
  const wrong = { ...body, inputBindings: [], priority: "high" };
  const operationId = "createMicJob";
  await actionStates(stage, { operationId, fresh, renoted, wrong });
  await service.fault({ kind: "drop-after" }, { operationId, times: 6 });
  await stage.show("No answer at all: the outcome is unknown", await fresh());
  const port = offer.recipe.inputs[0]?.name;
  const bound = (inputId: string | undefined) => ({ ...body, inputBindings: [{ port, inputId }] });
  await stage.show("Refused: the input is not ready", bound(service.emulator.inputIds[FILE.quarantined]));
  await stage.show("Refused: no such input", bound("micinput_none"));
  await stage.show("Refused: the parameters do not fit", { ...body, parameterValues: { none: 1 } });
  await stage.call("get_recipe", { versionId: offer.recipe.versionId });
  await stage.show("Not sent: the parameters do not fit the recipe that was read", {
    ...body,
    parameterValues: { none: 1 },
  });
};

const cancelJobScene: Scene = async (stage) => {
  const { service } = stage;
  const fresh = async () => ({ jobId: (await submitJob(service, FILE.succeeds)).id, reason: "Wrong file" });
  const wrong = { jobId: "micjob_1", resourceVersion: 0 };
  await actionStates(stage, { operationId: "cancelMicJob", fresh, wrong });
  const finishedJob = await submitJob(service, FILE.succeeds);
  await watchJob(service, finishedJob.id);
  await stage.show("The job has ended", { jobId: finishedJob.id, reason: "Too late" });
  const moved = await submitJob(service, FILE.succeeds);
  service.clock.advance(1_000);
  await stage.show("The job has moved on from the version given", {
    jobId: moved.id,
    reason: "x",
    resourceVersion: 1,
  });
  await stage.show("Not found", { jobId: "micjob_none", reason: "Wrong file" });
};

const retryJobScene: Scene = async (stage) => {
  const { service } = stage;
  const fresh = async () => ({
    jobId: (await retryableJob(service)).id,
    retryMode: "SAFE_RESUME",
    reason: "The fault has been mended",
  });
  const wrong = { jobId: "micjob_1", retryMode: "AGAIN", reason: "" };
  await actionStates(stage, { operationId: "retryMicJob", fresh, wrong });
  const restarted = { ...(await fresh()), retryMode: "RESTART" };
  await stage.show("Done: from the start", restarted);
  const otherMode = { ...restarted, retryMode: "SAFE_RESUME" };
  await stage.show("Refused: it was retried already", otherMode);
  const succeeded = await submitJob(service, FILE.succeeds);
  await watchJob(service, succeeded.id);
  await stage.show("Refused: it has not failed", { ...restarted, jobId: succeeded.id });
  await stage.show("Not found", { ...restarted, jobId: "micjob_none" });
};

const requestFileProcessingScene: Scene = async (stage) => {
  const { service } = stage;
  const offer = await oneInputOffer(service);
  const input = await registerInput(service, FILE.succeeds);
  const body = processingBody(service, offer, input.id);
  let count = 0;
  const fresh = async () => ({ ...body, purpose: `Count the mandals of district ${++count}` });
  const wrong = { ...body, recipeVersionHash: "abc", expiresAt: "tomorrow" };
  const operationId = "requestMicSharedFileProcessing";
  await actionStates(stage, { operationId, fresh, wrong });
  await stage.show("Refused: another version's hash", { ...body, recipeVersionHash: "0".repeat(64) });
  await stage.show("Refused: it would last too long", { ...body, expiresAt: "2109-01-15T10:00:00.000Z" });
};

export const actionScenes = {
  register_input: registerInputScene,
  submit_job: submitJobScene,
  cancel_job: cancelJobScene,
  retry_job: retryJobScene,
  request_file_processing: requestFileProcessingScene,
} as const;
