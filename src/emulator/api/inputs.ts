// Implements the operations that create and read inputs, and the download of their files.
import {
  createMicPublicInput,
  getMicPublicAssetContent,
  getMicPublicInput,
} from "../../contract/endpoints/job-processing.ts";
import { assetHeaders, ID_PREFIX, INPUT_LIFETIME_MS, NO_STORE } from "../assumptions.ts";
import { sha256 } from "../ids.ts";
import { createFieldProblem, ProblemError } from "../problems.ts";
import { createFileInput, type InputIdentity, type InputRecord, inputAt } from "../world/inputs.ts";
import type { World } from "../world/world.ts";
import {
  type ActionRequest,
  checkWorkspace,
  defineAction,
  defineRead,
  envelopeResponse,
  locationHeader,
  type OperationHandler,
  requireResource,
} from "./operation.ts";

function createInputRecord(
  { inputKind, referenceId }: ActionRequest<typeof createMicPublicInput>["body"],
  world: World,
  now: number,
): InputRecord | undefined {
  const identity = { id: world.ids.next(ID_PREFIX.input), createdAt: now, inputKind, referenceId };
  if (inputKind === "M4_FILE") {
    const file = world.files.find(({ id }) => id === referenceId);
    return file && createFileInput(file, identity);
  }
  const existing = world.inputs.seeded.find(
    (input) => input.inputKind === inputKind && input.referenceId === referenceId,
  );
  if (existing !== undefined)
    return { ...existing, ...identity, expiresAt: existing.expiresAt === null ? null : now + INPUT_LIFETIME_MS };
  return inputKind === "DATASET_VERSION" ? createDatasetInput(identity, world, now) : undefined;
}

/** Creates an input from the output of a job that has succeeded. The emulator has no bytes of it: size 0 is below every limit. */
function createDatasetInput(identity: InputIdentity, world: World, now: number): InputRecord | undefined {
  if (!world.jobs.hasOutput(identity.referenceId, now)) return undefined;
  return {
    ...identity,
    sha256: sha256(identity.referenceId),
    bytes: 0,
    rows: 0,
    classification: "DATASET",
    outcome: "succeeds",
    scan: "not applicable",
    expiresAt: null,
  };
}

const createInput = defineAction(createMicPublicInput, ({ body }, context) => {
  checkWorkspace(body.workspaceId, context, "/workspaceId");
  const { world } = context;
  const now = world.clock.now();
  const record = createInputRecord(body, world, now);
  if (record === undefined)
    throw createFieldProblem(
      "REFERENCE_NOT_FOUND",
      "/referenceId",
      body.inputKind === "M4_FILE"
        ? "For M4_FILE this must be the id of a file the workspace owns (devfile_… or devsignfile_…)."
        : `The workspace owns nothing of kind ${body.inputKind} with this id.`,
    );
  world.inputs.add(record);
  world.usage.count("INPUTS_REGISTERED", now);
  return envelopeResponse(
    201,
    inputAt(record, world.workspaceId, now),
    context,
    locationHeader(`/inputs/${record.id}`),
  );
});

const getInput = defineRead(getMicPublicInput, ({ path }, context) => {
  const { world } = context;
  const record = requireResource(world.inputs.find(path.inputId), "inputId", "input");
  return envelopeResponse(200, inputAt(record, world.workspaceId, world.clock.now()), context);
});

const getAssetContent = defineRead(getMicPublicAssetContent, ({ path }, { world, isHead }) => {
  const file = requireResource(
    world.files.find(({ id }) => id === path.assetId),
    "assetId",
    "asset",
  );
  if (file.scan !== "clean") throw new ProblemError("CONTENT_WITHHELD");
  if (!isHead) {
    world.usage.count("ASSET_DOWNLOADS", world.clock.now());
    world.usage.count("ASSET_BYTES", world.clock.now(), file.bytes.length);
  }
  return { status: 200, headers: { ...assetHeaders(file), "Cache-Control": NO_STORE }, body: file.bytes };
});

export const inputOperations: readonly OperationHandler[] = [createInput, getInput, getAssetContent];
