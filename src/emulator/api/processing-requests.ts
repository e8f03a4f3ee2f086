// File-processing permission requests.
import {
  getMicSharedFileProcessingRequest,
  requestMicSharedFileProcessing,
} from "../../contract/endpoints/job-processing.ts";
import { ID_PREFIX, MAX_PERMISSION_MS } from "../assumptions.ts";
import { instant } from "../clock.ts";
import { sha256 } from "../ids.ts";
import { refuseField } from "../problems.ts";
import { inputEndsAt } from "../world/inputs.ts";
import { millisecondsOf, processingRequestAt } from "../world/processing-requests.ts";
import { act, checkWorkspace, enveloped, found, location, type OperationHandler, read } from "./operation.ts";
import { offeredRecipe } from "./workspace.ts";

const createProcessingRequest = act(requestMicSharedFileProcessing, ({ body }, context) => {
  checkWorkspace(body.workspaceId, context, "/workspaceId");
  const { world } = context;
  const now = world.clock.now();
  const input = world.inputs.find(body.inputId);
  if (input === undefined) throw refuseField("INPUT_NOT_FOUND", "/inputId", "There is no such input.");
  const recipe = offeredRecipe(world, body.recipeVersionId);
  if (recipe === undefined)
    throw refuseField("RECIPE_NOT_OFFERED", "/recipeVersionId", "List the recipes to see which are offered.");
  if (body.recipeVersionHash !== recipe.definition.versionHash)
    throw refuseField(
      "RECIPE_HASH_NOT_CURRENT",
      "/recipeVersionHash",
      "Read the recipe version and quote its versionHash.",
    );

  // An input that has ended already is for the review to reject, not a bound on the permission's time.
  const inputEnd = inputEndsAt(input) ?? Number.POSITIVE_INFINITY;
  const latest = Math.min(
    now + MAX_PERMISSION_MS,
    recipe.expiresAt,
    inputEnd > now ? inputEnd : Number.POSITIVE_INFINITY,
  );
  const expiresAt = millisecondsOf(body.expiresAt);
  if (expiresAt <= now || expiresAt > latest)
    throw refuseField("EXPIRY_NOT_ALLOWED", "/expiresAt", `This must be after now and at most ${instant(latest)}.`);

  const record = world.processingRequests.add({
    id: world.ids.next(ID_PREFIX.processingRequest),
    createdAt: now,
    expiresAt: body.expiresAt,
    input,
    recipeVersionId: body.recipeVersionId,
    requestHash: sha256(
      JSON.stringify([body.inputId, body.recipeVersionId, body.recipeVersionHash, body.purpose, body.expiresAt]),
    ),
    purpose: body.purpose,
  });
  world.permissions.set(`${input.id} ${body.recipeVersionId}`, record);
  world.usage.count("PROCESSING_REQUESTS", now);
  const data = processingRequestAt(record, world.workspaceId, now);
  return enveloped(201, data, context, location(`/processing-requests/${record.id}`));
});

const getProcessingRequest = read(getMicSharedFileProcessingRequest, ({ path }, context) => {
  const { world } = context;
  const record = found(world.processingRequests.find(path.requestId), "requestId", "processing request");
  return enveloped(200, processingRequestAt(record, world.workspaceId, world.clock.now()), context);
});

export const processingRequestOperations: readonly OperationHandler[] = [createProcessingRequest, getProcessingRequest];
