// What the workspace has: lists, recipes, limits, usage, files, and what was done in it.
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/v4";
import { FILE, fileId, retryableJob } from "../../emulator/work.ts";
import type { CallResult } from "../../support/results.ts";
import type { Args, Scene, Stage } from "../stage.ts";
import { loseOutcome, readFailures } from "./failures.ts";

const Page = z.object({ page: z.object({ nextCursor: z.string() }) });

const nextCursor = ({ structured }: CallResult): string => Page.parse(structured).page.nextCursor;

const list =
  (operationId: string): Scene =>
  async (stage) => {
    const args = { workspaceId: stage.workspaceId };
    const first = await stage.show("The first page", { ...args, limit: 5 });
    await stage.show("The next page", { ...args, limit: 5, cursor: nextCursor(first) });
    await stage.show("The default page", args);
    await stage.show("Whole items", { ...args, limit: 2, view: "full" });
    await stage.show("A cursor that is none", { ...args, cursor: "nonsense" });
    await stage.show("Another workspace", { workspaceId: "micws_none" });
    await readFailures(stage, { operationId, args, wrong: { ...args, limit: 0, state: "FAILED" } });
  };

const listJobs: Scene = async (stage) => {
  await list("listMicJobs")(stage);
  const args = { workspaceId: stage.workspaceId };
  const some = await stage.show("Some states", { ...args, states: ["FAILED", "PAUSED"], limit: 3 });
  await stage.show("Some states, the next ones", {
    ...args,
    states: ["FAILED", "PAUSED"],
    limit: 3,
    cursor: nextCursor(some),
  });
  await stage.show("All that failed", { ...args, states: ["FAILED"], limit: 100 });
  await stage.show("Not retried yet", { ...args, unretried: true, limit: 4 });
  await stage.show("Created since", { ...args, createdSince: "2100-01-14T00:00:00Z" });
  await stage.show("None that fits", { ...args, states: ["QUEUED"], createdSince: "2100-01-15T00:00:00Z" });
  await stage.show("More whole items than have room", { ...args, limit: 100, states: ["FAILED"], view: "full" });
};

const listRecipes: Scene = async (stage) => {
  const args = { workspaceId: stage.workspaceId };
  const first = await stage.show("The first page", { ...args, limit: 1 });
  await stage.show("The next page", { ...args, limit: 1, cursor: nextCursor(first) });
  await stage.show("All of them", args);
  await stage.show("Whole items", { ...args, limit: 2, view: "full" });
  await stage.show("Another workspace", { workspaceId: "micws_none" });
  const operationId = "listMicExecutableRecipes";
  await readFailures(stage, { operationId, args, wrong: { ...args, limit: 0 } });
};

const getRecipe: Scene = async (stage) => {
  const [flat, nested] = stage.service.emulator.recipeVersionIds;
  await stage.show("One input, flat parameters", { versionId: flat });
  await stage.show("Nested parameters with references", { versionId: nested });
  await stage.show("Not found", { versionId: `micrecipev_${"0".repeat(32)}` });
  const operationId = "getMicExecutableRecipe";
  await readFailures(stage, { operationId, args: { versionId: flat }, wrong: {} });
};

const getCapabilities: Scene = async (stage) => {
  const args = { workspaceId: stage.workspaceId };
  await stage.show("What the workspace can do", args);
  await stage.show("Another workspace", { workspaceId: "micws_none" });
  const operationId = "getMicPublicCapabilities";
  await readFailures(stage, { operationId, args, wrong: { workspace: "micws_1" } });
};

const getUsage: Scene = async (stage) => {
  const args = { workspaceId: stage.workspaceId, window: "DAY" };
  await stage.show("By day", args);
  await stage.show("By entitlement", { ...args, window: "ENTITLEMENT" });
  await stage.show("By month", { ...args, window: "MONTH" });
  const operationId = "getMicPublicUsage";
  await readFailures(stage, { operationId, args, wrong: { ...args, window: "YEAR" } });
};

const downloadAsset: Scene = async (stage) => {
  const args = { assetId: fileId(stage.service, FILE.succeeds) };
  await stage.show("Saved under its own name", args);
  await stage.show("Saved once more", args);
  await stage.show("Saved under a name that was asked for", { ...args, fileName: "districts.csv" });
  await stage.show("Saved under a name in another script", { assetId: fileId(stage.service, FILE.waitsForReview) });
  await stage.show("With a preview", { ...args, preview: true });
  const binary = { assetId: stage.service.emulator.assetIds.at(-1) };
  await stage.show("With a preview of what is no text", { ...binary, preview: true });
  await stage.show("An input's id", { assetId: stage.service.emulator.inputIds[0] });
  await stage.show("A name that is a path", { ...args, fileName: "../districts.csv" });
  await stage.show("Not found", { assetId: fileId(stage.service, FILE.quarantined) });
  const operationId = "getMicPublicAssetContent";
  await stage.service.fault({ kind: "status", status: 429, retryAfterSeconds: 60 }, { operationId });
  await stage.show("Rate limited", args);
  await stage.show("Invalid arguments", { asset: args.assetId });
  await stage.showBare(args);
};

async function until(stage: Stage, operationId: string): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const sent = z
      .array(z.looseObject({ operationId: z.string().nullable() }))
      .parse(await stage.service.admin("GET", "requests"));
    if (sent.some((request) => request.operationId === operationId)) return;
    await sleep(25);
  }
  throw new Error(`no ${operationId} was sent`);
}

const listActions: Scene = async (stage) => {
  const { service, workspaceId } = stage;
  await stage.show("Nothing was done yet");
  const failed = await retryableJob(service);
  const other = await retryableJob(service);
  const input: Args = { workspaceId, inputKind: "M4_FILE", referenceId: fileId(service, FILE.succeeds) };
  await stage.call("register_input", input);
  await stage.call("retry_job", { jobId: failed.id, retryMode: "SAFE_RESUME", reason: "Once more" });
  await service.fault({ kind: "status", status: 403, problem: true }, { operationId: "retryMicJob" });
  await stage.call("retry_job", { jobId: other.id, retryMode: "SAFE_RESUME", reason: "Once more" });
  await loseOutcome(stage, "createMicPublicInput");
  await stage.call("register_input", { ...input, alias: "districts" });
  await service.fault({ kind: "hang" }, { operationId: "requestMicSharedFileProcessing" });
  const cancelling = new AbortController();
  const inFlight = stage.connection
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
  await until(stage, "requestMicSharedFileProcessing");
  await stage.show("Open, unknown, rejected, succeeded");
  for (const state of ["open", "unknown", "rejected", "succeeded"]) await stage.show(`Only ${state}`, { state });
  await stage.show("The latest one", { limit: 1 });
  cancelling.abort();
  await inFlight;
  await stage.show("Invalid arguments", { state: "done", limit: 0 });
  await stage.showBare({});
};

export const workspaceScenes = {
  get_capabilities: getCapabilities,
  download_asset: downloadAsset,
  list_recipes: listRecipes,
  get_recipe: getRecipe,
  list_jobs: listJobs,
  get_usage: getUsage,
  list_actions: listActions,
} as const;
