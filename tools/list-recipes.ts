import * as z from "zod/v4";
import { listMicExecutableRecipes } from "../src/contract/endpoints/job-processing.ts";
import type { RecipeOffer } from "../src/contract/recipes.ts";
import { summarizeOffer } from "../src/toolkit/advice/recipe.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { pageResult, readPage, view } from "../src/toolkit/pages.ts";
import { uris } from "../src/toolkit/resources/uri.ts";

export const listRecipes = defineTool({
  endpoint: listMicExecutableRecipes,
  name: "list_recipes",
  title: "List recipes",
  description:
    "Recipe versions that jobs of the workspace can run, with the ports to bind; get_recipe has the parameters.",
  effect: "read",
  input: z.strictObject({ ...listMicExecutableRecipes.query.shape, view }),
  output: outputs.page<RecipeOffer>(),
  candidates: {
    kind: "versionId",
    keptMs: 60_000,
    arguments: (workspaceId) => (workspaceId === undefined ? undefined : { workspaceId, limit: 100 }),
    from: (offers) => offers.map(({ recipe: { versionId, name } }) => ({ value: versionId, name })),
  },
  async run({ view, ...query }, { context }, { service, offers }) {
    const { answer, isCut } = await readPage(
      (limit = query.limit) =>
        service.call(listMicExecutableRecipes, { query: { ...query, ...(limit !== undefined && { limit }) } }, context),
      view,
    );
    const { data } = answer.value;
    offers.remember(data);
    return pageResult(answer, {
      tool: "list_recipes",
      query,
      view,
      summary: `${data.length} recipe ${data.length === 1 ? "offer" : "offers"}.`,
      isCut,
      summarize: summarizeOffer,
      link: uris.recipes(query.workspaceId),
    });
  },
});
