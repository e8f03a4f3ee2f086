// Implements the operations that create and read file-processing permission requests.
import {
  getMicSharedFileProcessingRequest,
  requestMicSharedFileProcessing,
} from "../../contract/endpoints/job-processing.ts";
import { ID_PREFIX, MAX_PERMISSION_MS } from "../assumptions.ts";
import { toInstant } from "../clock.ts";
import { sha256 } from "../ids.ts";
import { createFieldProblem } from "../problems.ts";
import { inputEndsAt } from "../world/inputs.ts";
import { processingRequestAt, toMilliseconds } from "../world/processing-requests.ts";
import {
  checkWorkspace,
  defineAction,
  defineRead,
  envelopeResponse,
  locationHeader,
  type OperationHandler,
  requireResource,
} from "./operation.ts";
import { requireOfferedRecipe } from "./workspace.ts";

const createProcessingRequest = defineAction(requestMicSharedFileProcessing, ({ body }, context) => {
  checkWorkspace(body.workspaceId, context, "/workspaceId");
  const { world } = context;
  const now = world.clock.now();
  const input = world.inputs.find(body.inputId);
  if (input === undefined) throw createFieldProblem("INPUT_NOT_FOUND", "/inputId", "There is no such input.");
  const recipe = requireOfferedRecipe(world, body.recipeVersionId);
  if (body.recipeVersionHash !== recipe.definition.versionHash)
    throw createFieldProblem(
      "RECIPE_HASH_NOT_CURRENT",
      "/recipeVersionHash",
      "Read the recipe version and quote its versionHash.",
    );

  // An input that has already ended does not limit the expiry, because the review rejects the request.
  const inputEnd = inputEndsAt(input) ?? Number.POSITIVE_INFINITY;
  const latestExpiry = Math.min(
    now + MAX_PERMISSION_MS,
    recipe.expiresAt,
    inputEnd > now ? inputEnd : Number.POSITIVE_INFINITY,
  );
  const expiresAt = toMilliseconds(body.expiresAt);
  if (expiresAt <= now || expiresAt > latestExpiry)
    throw createFieldProblem(
      "EXPIRY_NOT_ALLOWED",
      "/expiresAt",
      `This must be after now and at most ${toInstant(latestExpiry)}.`,
    );

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
  return envelopeResponse(201, data, context, locationHeader(`/processing-requests/${record.id}`));
});

const getProcessingRequest = defineRead(getMicSharedFileProcessingRequest, ({ path }, context) => {
  const { world } = context;
  const record = requireResource(world.processingRequests.find(path.requestId), "requestId", "processing request");
  return envelopeResponse(200, processingRequestAt(record, world.workspaceId, world.clock.now()), context);
});

export const processingRequestOperations: readonly OperationHandler[] = [createProcessingRequest, getProcessingRequest];
