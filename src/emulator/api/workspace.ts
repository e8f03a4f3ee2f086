// Implements the operations that read a workspace: its capabilities, its usage, and its offered recipes in pages sorted by versionId.
import {
  getMicExecutableRecipe,
  getMicPublicCapabilities,
  getMicPublicUsage,
  listMicExecutableRecipes,
} from "../../contract/endpoints/job-processing.ts";
import type { CapabilitySet } from "../../contract/usage.ts";
import { DEFAULT_RECIPE_PAGE, ID_PREFIX } from "../assumptions.ts";
import { jsonResponse } from "../http/response.ts";
import { createFieldProblem } from "../problems.ts";
import { CAPABILITIES } from "../world/capabilities.ts";
import type { Recipe } from "../world/recipes.ts";
import type { World } from "../world/world.ts";
import {
  checkWorkspace,
  cutPage,
  defineRead,
  envelopeResponse,
  type OperationHandler,
  requireResource,
} from "./operation.ts";

const getVersionId = ({ definition }: Recipe): string => definition.versionId;

export const findOfferedRecipe = ({ recipes, clock }: World, versionId: string): Recipe | undefined =>
  recipes.find((recipe) => getVersionId(recipe) === versionId && recipe.isOfferedAt(clock.now()));

export function requireOfferedRecipe(world: World, versionId: string): Recipe {
  const recipe = findOfferedRecipe(world, versionId);
  if (recipe !== undefined) return recipe;
  throw createFieldProblem("RECIPE_NOT_OFFERED", "/recipeVersionId", "List the recipes to see which are offered.");
}

/** Encodes the position of a cursor: the 32 hexadecimal digits of the last versionId as 16 bytes. */
const encodePosition = (versionId: string): Buffer =>
  Buffer.from(versionId.slice(ID_PREFIX.recipeVersion.length), "hex");

const listRecipes = defineRead(listMicExecutableRecipes, ({ query }, context) => {
  checkWorkspace(query.workspaceId, context, "/query/workspaceId");
  const { world, requestId } = context;
  const { limit = DEFAULT_RECIPE_PAGE, cursor } = query;
  // `sort` is ignored: the list is sorted by versionId in any case.
  const list = `recipes of ${world.workspaceId} by versionId`;
  const after =
    cursor === undefined ? "" : ID_PREFIX.recipeVersion + world.cursors.decode(list, cursor).toString("hex");
  const remaining = world.recipes
    .filter((recipe) => recipe.isOfferedAt(world.clock.now()) && getVersionId(recipe) > after)
    .sort((a, b) => (getVersionId(a) < getVersionId(b) ? -1 : 1));
  const { data, page } = cutPage(remaining, limit, (last) =>
    world.cursors.encode(list, encodePosition(getVersionId(last))),
  );
  return jsonResponse(200, { data: data.map(({ offer }) => offer), page: { limit, ...page }, meta: { requestId } });
});

const getRecipe = defineRead(getMicExecutableRecipe, ({ path }, context) => {
  const recipe = requireResource(findOfferedRecipe(context.world, path.versionId), "versionId", "recipe version");
  return envelopeResponse(200, recipe.offer, context);
});

const getCapabilities = defineRead(getMicPublicCapabilities, ({ query }, context) => {
  checkWorkspace(query.workspaceId, context, "/query/workspaceId");
  const { world } = context;
  const set: CapabilitySet = {
    workspaceId: world.workspaceId,
    environment: "SANDBOX",
    capabilities: Object.values(CAPABILITIES).map((capability) => ({
      ...capability,
      languages: [...capability.languages],
    })),
    limits: [...world.usage.quotas(world.clock.now())],
  };
  return envelopeResponse(200, set, context);
});

const getUsage = defineRead(getMicPublicUsage, ({ query }, context) => {
  checkWorkspace(query.workspaceId, context, "/query/workspaceId");
  const { world } = context;
  if (query.window === "MONTH")
    throw createFieldProblem("WINDOW_NOT_AVAILABLE", "/query/window", "Ask for the window DAY or ENTITLEMENT.");
  return envelopeResponse(200, world.usage.summary(world.workspaceId, query.window, world.clock.now()), context);
});

export const workspaceOperations: readonly OperationHandler[] = [getCapabilities, getUsage, listRecipes, getRecipe];
