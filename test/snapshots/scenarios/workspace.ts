// Scenarios of the workspace tools: lists, recipes, limits, usage, files and actions.
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/v4";
import { createRetryableJob, FILE, fileId } from "../../emulator/work.ts";
import type { CallResult } from "../../support/results.ts";
import type { Args, Recorder, Scenario } from "../recorder.ts";
import { injectLostOutcome, recordReadFailures } from "./failures.ts";

const Page = z.object({ page: z.object({ nextCursor: z.string() }) });

const nextCursor = ({ structured }: CallResult): string => Page.parse(structured).page.nextCursor;

const recordList =
  (operationId: string): Scenario =>
  async (recorder) => {
    const args = { workspaceId: recorder.workspaceId };
    const first = await recorder.record("The first page", { ...args, limit: 5 });
    await recorder.record("The next page", { ...args, limit: 5, cursor: nextCursor(first) });
    await recorder.record("The default page", args);
    await recorder.record("Whole items", { ...args, limit: 2, view: "full" });
    await recorder.record("A cursor that is none", { ...args, cursor: "nonsense" });
    await recorder.record("Another workspace", { workspaceId: "micws_none" });
    await recordReadFailures(recorder, { operationId, args, invalid: { ...args, limit: 0, state: "FAILED" } });
  };

const recordListJobs: Scenario = async (recorder) => {
  await recordList("listMicJobs")(recorder);
  const args = { workspaceId: recorder.workspaceId };
  const some = await recorder.record("Some states", { ...args, states: ["FAILED", "PAUSED"], limit: 3 });
  await recorder.record("Some states, the next ones", {
    ...args,
    states: ["FAILED", "PAUSED"],
    limit: 3,
    cursor: nextCursor(some),
  });
  await recorder.record("All that failed", { ...args, states: ["FAILED"], limit: 100 });
  await recorder.record("Not retried yet", { ...args, unretried: true, limit: 4 });
  await recorder.record("Created since", { ...args, createdSince: "2100-01-14T00:00:00Z" });
  await recorder.record("None that fits", { ...args, states: ["QUEUED"], createdSince: "2100-01-15T00:00:00Z" });
  await recorder.record("More whole items than have room", { ...args, limit: 100, states: ["FAILED"], view: "full" });
};

const recordListRecipes: Scenario = async (recorder) => {
  const args = { workspaceId: recorder.workspaceId };
  const first = await recorder.record("The first page", { ...args, limit: 1 });
  await recorder.record("The next page", { ...args, limit: 1, cursor: nextCursor(first) });
  await recorder.record("All of them", args);
  await recorder.record("Whole items", { ...args, limit: 2, view: "full" });
  await recorder.record("Another workspace", { workspaceId: "micws_none" });
  const operationId = "listMicExecutableRecipes";
  await recordReadFailures(recorder, { operationId, args, invalid: { ...args, limit: 0 } });
};

const recordGetRecipe: Scenario = async (recorder) => {
  const [flat, nested] = recorder.service.emulator.recipeVersionIds;
  await recorder.record("One input, flat parameters", { versionId: flat });
  await recorder.record("Nested parameters with references", { versionId: nested });
  await recorder.record("Not found", { versionId: `micrecipev_${"0".repeat(32)}` });
  const operationId = "getMicExecutableRecipe";
  await recordReadFailures(recorder, { operationId, args: { versionId: flat }, invalid: {} });
};

const recordGetCapabilities: Scenario = async (recorder) => {
  const args = { workspaceId: recorder.workspaceId };
  await recorder.record("What the workspace can do", args);
  await recorder.record("Another workspace", { workspaceId: "micws_none" });
  const operationId = "getMicPublicCapabilities";
  await recordReadFailures(recorder, { operationId, args, invalid: { workspace: "micws_1" } });
};

const recordGetUsage: Scenario = async (recorder) => {
  const args = { workspaceId: recorder.workspaceId, window: "DAY" };
  await recorder.record("By day", args);
  await recorder.record("By entitlement", { ...args, window: "ENTITLEMENT" });
  await recorder.record("By month", { ...args, window: "MONTH" });
  const operationId = "getMicPublicUsage";
  await recordReadFailures(recorder, { operationId, args, invalid: { ...args, window: "YEAR" } });
};

const recordDownloadAsset: Scenario = async (recorder) => {
  const args = { assetId: fileId(recorder.service, FILE.succeeds) };
  await recorder.record("Saved under its own name", args);
  await recorder.record("Saved once more", args);
  await recorder.record("Saved under a name that was asked for", { ...args, fileName: "districts.csv" });
  await recorder.record("Saved under a name in another script", {
    assetId: fileId(recorder.service, FILE.waitsForReview),
  });
  await recorder.record("With a preview", { ...args, preview: true });
  const binary = { assetId: recorder.service.emulator.assetIds.at(-1) };
  await recorder.record("With a preview of what is no text", { ...binary, preview: true });
  await recorder.record("An input's id", { assetId: recorder.service.emulator.inputIds[0] });
  await recorder.record("A name that is a path", { ...args, fileName: "../districts.csv" });
  await recorder.record("Not found", { assetId: fileId(recorder.service, FILE.quarantined) });
  const operationId = "getMicPublicAssetContent";
  await recorder.service.injectFault({ kind: "status", status: 429, retryAfterSeconds: 60 }, { operationId });
  await recorder.record("Rate limited", args);
  await recorder.record("Invalid arguments", { asset: args.assetId });
  await recorder.recordUnconfigured(args);
};

async function waitForRequest(recorder: Recorder, operationId: string): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    if ((await recorder.service.requests(operationId)).length > 0) return;
    await sleep(25);
  }
  throw new Error(`no ${operationId} was sent`);
}

const recordListActions: Scenario = async (recorder) => {
  const { service, workspaceId } = recorder;
  await recorder.record("Nothing was done yet");
  const failed = await createRetryableJob(service);
  const other = await createRetryableJob(service);
  const input: Args = { workspaceId, inputKind: "M4_FILE", referenceId: fileId(service, FILE.succeeds) };
  await recorder.call("register_input", input);
  await recorder.call("retry_job", { jobId: failed.id, retryMode: "SAFE_RESUME", reason: "Once more" });
  await service.injectFault({ kind: "status", status: 403, problem: true }, { operationId: "retryMicJob" });
  await recorder.call("retry_job", { jobId: other.id, retryMode: "SAFE_RESUME", reason: "Once more" });
  await injectLostOutcome(recorder, "createMicPublicInput");
  await recorder.call("register_input", { ...input, alias: "districts" });
  await service.injectFault({ kind: "hang" }, { operationId: "requestMicSharedFileProcessing" });
  const cancelling = new AbortController();
  const inFlight = recorder.connection
    .callTool(
      "request_file_processing",
      {
        workspaceId,
        inputId: service.emulator.inputIds[0],
        recipeVersionId: service.emulator.recipeVersionIds[0],
        recipeVersionHash: "0".repeat(64),
        purpose: "Count the mandals of each district",
        expiresAt: "2100-01-16T10:00:00.000Z",
      },
      { signal: cancelling.signal },
    )
    .catch(() => undefined);
  await waitForRequest(recorder, "requestMicSharedFileProcessing");
  await recorder.record("Open, unknown, rejected, succeeded");
  for (const state of ["open", "unknown", "rejected", "succeeded"]) await recorder.record(`Only ${state}`, { state });
  await recorder.record("The latest one", { limit: 1 });
  cancelling.abort();
  await inFlight;
  await recorder.record("Invalid arguments", { state: "done", limit: 0 });
  await recorder.recordUnconfigured({});
};

export const workspaceScenarios = {
  get_capabilities: recordGetCapabilities,
  download_asset: recordDownloadAsset,
  list_recipes: recordListRecipes,
  get_recipe: recordGetRecipe,
  list_jobs: recordListJobs,
  get_usage: recordGetUsage,
  list_actions: recordListActions,
} as const;
