// The workspace: its capabilities, its usage, and the recipes that it is offered, listed by versionId, page by page.
import {
  getMicExecutableRecipe,
  getMicPublicCapabilities,
  getMicPublicUsage,
  listMicExecutableRecipes,
} from "../../contract/endpoints/job-processing.ts";
import type { CapabilitySet } from "../../contract/usage.ts";
import { DEFAULT_RECIPE_PAGE, ID_PREFIX } from "../assumptions.ts";
import { jsonAnswer } from "../http/answer.ts";
import { refuseField } from "../problems.ts";
import { CAPABILITIES } from "../world/capabilities.ts";
import type { Recipe } from "../world/recipes.ts";
import type { World } from "../world/world.ts";
import { checkWorkspace, enveloped, found, type OperationHandler, read } from "./operation.ts";

const versionIdOf = ({ definition }: Recipe): string => definition.versionId;

export const offeredRecipe = ({ recipes, clock }: World, versionId: string): Recipe | undefined =>
  recipes.find((recipe) => versionIdOf(recipe) === versionId && recipe.isOfferedAt(clock.now()));

/** A cursor's position: the 16 bytes of the last versionId's hex32. */
const position = (versionId: string): Buffer => Buffer.from(versionId.slice(ID_PREFIX.recipeVersion.length), "hex");

const listRecipes = read(listMicExecutableRecipes, ({ query }, context) => {
  checkWorkspace(query.workspaceId, context, "/query/workspaceId");
  const { world, requestId } = context;
  const { limit = DEFAULT_RECIPE_PAGE, cursor } = query;
  // Both orders are the same: without `sort`, the list is sorted by versionId as well.
  const list = `recipes of ${world.workspaceId} by versionId`;
  const after =
    cursor === undefined ? "" : ID_PREFIX.recipeVersion + world.cursors.decode(list, cursor).toString("hex");
  const rest = world.recipes
    .filter((recipe) => recipe.isOfferedAt(world.clock.now()) && versionIdOf(recipe) > after)
    .sort((a, b) => (versionIdOf(a) < versionIdOf(b) ? -1 : 1));
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const hasMore = rest.length > page.length;
  const nextCursor = hasMore && last !== undefined ? world.cursors.encode(list, position(versionIdOf(last))) : null;
  return jsonAnswer(200, {
    data: page.map(({ offer }) => offer),
    page: { limit, nextCursor, hasMore },
    meta: { requestId },
  });
});

const getRecipe = read(getMicExecutableRecipe, ({ path }, context) => {
  const recipe = found(offeredRecipe(context.world, path.versionId), "versionId", "offered recipe version");
  return enveloped(200, recipe.offer, context);
});

const capabilities = read(getMicPublicCapabilities, ({ query }, context) => {
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
  return enveloped(200, set, context);
});

const usage = read(getMicPublicUsage, ({ query }, context) => {
  checkWorkspace(query.workspaceId, context, "/query/workspaceId");
  const { world } = context;
  if (query.window === "MONTH")
    throw refuseField("WINDOW_NOT_AVAILABLE", "/query/window", "Ask for the window DAY or ENTITLEMENT.");
  return enveloped(200, world.usage.summary(world.workspaceId, query.window, world.clock.now()), context);
});

export const workspaceOperations: readonly OperationHandler[] = [capabilities, usage, listRecipes, getRecipe];
