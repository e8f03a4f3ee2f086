// This module defines list_recipes, which lists the recipe versions that jobs of a workspace can run.

import * as z from "zod/v4";
import { listMicExecutableRecipes } from "../src/contract/endpoints/job-processing.ts";
import type { RecipeOffer } from "../src/contract/recipes.ts";
import { countPart } from "../src/core/counts.ts";
import { say } from "../src/core/text.ts";
import { cursorText, view } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { summarizeOffer } from "../src/toolkit/describe/recipe.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { pageResult, readPage } from "../src/toolkit/pages.ts";
import { references } from "../src/toolkit/uri.ts";

const { workspaceId, limit, cursor, sort } = listMicExecutableRecipes.query.shape;

export const listRecipes = defineTool({
  endpoint: listMicExecutableRecipes,
  name: "list_recipes",
  title: "List recipes: available pipelines and workflows",
  description:
    "List the recipe versions that are offered to this workspace, with their input ports. Next: get_recipe for the parameter schema.",
  searchHint: "available pipelines, workflows",
  effect: "read",
  input: z.strictObject({ workspaceId, limit, cursor: cursor.describe(cursorText), sort, view }),
  output: outputs.page<RecipeOffer>(),
  completions: {
    kind: "versionId",
    ttlMs: 60_000,
    arguments: (workspaceId) => (workspaceId === undefined ? undefined : { workspaceId, limit: 100 }),
    toValues: (offers) => offers.map(({ recipe: { versionId, name } }) => ({ value: versionId, name })),
  },
  async run({ view, ...query }, ctx) {
    const { answer, isCut } = await readPage((limit = query.limit) => {
      const page = { ...query, ...(limit !== undefined && { limit }) };
      return ctx.api.call(listMicExecutableRecipes, { query: page }, ctx);
    }, view);
    const { data } = answer.value;
    ctx.offers.remember(data);
    const summary = say`${countPart(data.length, "recipe offer")}.`;
    const link = references.recipes(query.workspaceId);
    return pageResult(answer, { query, view, summary, isCut, summarize: summarizeOffer, link }, ctx);
  },
});
