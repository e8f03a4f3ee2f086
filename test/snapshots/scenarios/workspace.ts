// Scenarios of the workspace tools: lists, recipes, limits, usage, files and actions.
import { expect } from "vitest";
import * as z from "zod/v4";
import { createRetryableJob, FILE, fileId } from "../../emulator/work.ts";
import type { CallResult } from "../../support/results.ts";
import type { Args, Scenario } from "../recorder.ts";
import { injectLostOutcome, recordReadFailures } from "./failures.ts";

const Page = z.object({ page: z.object({ nextCursor: z.string() }) });

const nextCursor = ({ structured }: CallResult): string => Page.parse(structured).page.nextCursor;

const recordListJobs: Scenario = async (recorder) => {
  const args = { workspaceId: recorder.workspaceId };
  const first = await recorder.record("The first page", { ...args, limit: 5 });
  await recorder.record("The next page", { ...args, limit: 5, cursor: nextCursor(first) });
  await recorder.record("The default page", args);
  await recorder.record("Whole items", { ...args, limit: 2, view: "full" });
  await recorder.record("A cursor that is none", { ...args, cursor: "nonsense" }, "rejected INVALID_CURSOR");
  await recorder.record("Another workspace", { workspaceId: "micws_none" }, "forbidden WORKSPACE_FORBIDDEN");
  await recordReadFailures(
    recorder,
    "listMicJobs",
    args,
    { ...args, limit: -1, failureCode: "x", recipe: "x" },
    "INVALID TOO_SMALL UNKNOWN_ARGUMENT",
  );
  const twoStates = { ...args, states: ["FAILED", "PAUSED"], limit: 3 };
  const some = await recorder.record("Some states", twoStates);
  await recorder.record("Some states, the next ones", { ...twoStates, cursor: nextCursor(some) });
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
  await recorder.record("Another workspace", { workspaceId: "micws_none" }, "forbidden WORKSPACE_FORBIDDEN");
  await recordReadFailures(recorder, "listMicExecutableRecipes", args, { ...args, limit: -1 }, "TOO_SMALL");
};

const recordGetRecipe: Scenario = async (recorder) => {
  const [flat, nested] = recorder.service.emulator.recipeVersionIds;
  await recorder.record("One input, flat parameters", { versionId: flat });
  await recorder.record("Nested parameters with references", { versionId: nested });
  await recorder.record("Not found", { versionId: `micrecipev_${"0".repeat(32)}` }, "not_found NOT_FOUND");
  await recordReadFailures(recorder, "getMicExecutableRecipe", { versionId: flat }, {}, "REQUIRED");
};

const recordGetCapabilities: Scenario = async (recorder) => {
  const args = { workspaceId: recorder.workspaceId };
  await recorder.record("What the workspace can do", args);
  await recorder.record("Another workspace", { workspaceId: "micws_none" }, "forbidden WORKSPACE_FORBIDDEN");
  await recordReadFailures(
    recorder,
    "getMicPublicCapabilities",
    args,
    { workspace: "micws_1" },
    "REQUIRED UNKNOWN_ARGUMENT",
  );
};

const recordGetUsage: Scenario = async (recorder) => {
  const args = { workspaceId: recorder.workspaceId, window: "DAY" };
  await recorder.record("By day", args);
  await recorder.record("By entitlement", { ...args, window: "ENTITLEMENT" });
  await recorder.record("By month", { ...args, window: "MONTH" });
  await recorder.record("In all windows", { workspaceId: recorder.workspaceId });
  await recordReadFailures(recorder, "getMicPublicUsage", args, { ...args, window: "YEAR" }, "INVALID_VALUE");
};

const recordDownloadAsset: Scenario = async (recorder) => {
  const args = { assetId: fileId(recorder.service, FILE.succeeds) };
  await recorder.record("Saved under its own name", args);
  await recorder.record("Saved once more", args);
  await recorder.record("Saved under a name that was asked for", { ...args, fileName: "districts.csv" });
  const hindi = { assetId: fileId(recorder.service, FILE.waitsForReview) };
  await recorder.record("Saved under a name in another script", hindi);
  await recorder.record("With a preview", { ...args, preview: true });
  const binary = { assetId: recorder.service.emulator.assetIds.at(-1) };
  await recorder.record("With a preview of what is no text", { ...binary, preview: true });
  await recorder.record("An input's id", { assetId: recorder.service.emulator.inputIds[0] }, "not_found NOT_FOUND");
  await recorder.record(
    "A name that is a path",
    { ...args, fileName: "../districts.csv" },
    "invalid_arguments INVALID",
  );
  await recorder.record("Not found", { assetId: "devfile_none" }, "not_found NOT_FOUND");
  const quarantined = { assetId: fileId(recorder.service, FILE.quarantined) };
  await recorder.record("Withheld: quarantined", quarantined, "conflict CONTENT_WITHHELD");
  const operationId = "getMicPublicAssetContent";
  await recorder.service.injectFault({ kind: "status", status: 429, retryAfterSeconds: 60 }, { operationId });
  await recorder.record("Rate limited", args, "rate_limited FAULT_ON_REQUEST");
  await recorder.record("Invalid arguments", { asset: args.assetId }, "invalid_arguments REQUIRED UNKNOWN_ARGUMENT");
  await recorder.recordUnconfigured(args);
};

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
  const permission = {
    workspaceId,
    inputId: service.emulator.inputIds[0],
    recipeVersionId: service.emulator.recipeVersionIds[0],
    recipeVersionHash: "0".repeat(64),
    purpose: "Count the mandals of each district",
    expiresAt: "2100-01-16T10:00:00.000Z",
  };
  const inFlight = recorder.connection
    .callTool("request_file_processing", permission, { signal: cancelling.signal })
    .catch(() => undefined);
  await expect.poll(() => service.requests("requestMicSharedFileProcessing")).not.toEqual([]);
  await recorder.record("Open, unknown, rejected, succeeded");
  for (const state of ["in_progress", "unknown", "rejected", "succeeded"])
    await recorder.record(`Only ${state}`, { state });
  await recorder.record("The latest one", { limit: 1 });
  cancelling.abort();
  await inFlight;
  await recorder.record("Invalid arguments", { state: "done", limit: -1 }, "invalid_arguments INVALID_VALUE TOO_SMALL");
  await recorder.recordUnconfigured({}, { succeeds: true });
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
