// Tests get_recipe: numbers that a double cannot represent, and versions with another hash.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { micEnveloped, recipeDefinition, recipeList, recipeOffer } from "../contract/samples.ts";
import { answer } from "../support/stub.ts";
import { sessionForFile } from "../unspecified/session.ts";

const session = sessionForFile();

test("the server never shows numbers of a recipe as null or as different numbers", {
  tags: ["2.2/recipe-parameters-definition"],
}, async () => {
  const { stub, connection } = session();
  const offer = JSON.stringify(micEnveloped(recipeOffer));
  for (const [sent, shown] of [
    ["1e308", 1e308],
    ["9007199254740991", 9007199254740991],
    ["9007199254740993", "9007199254740993"],
    ["1e400", `more than ${Number.MAX_VALUE}`],
    ["-1e400", `less than -${Number.MAX_VALUE}`],
  ] as const) {
    stub.expect(answer(200, offer.replaceAll('"maximum":2026', `"maximum":${sent}`)));
    const { structured, text } = await connection.callTool("get_recipe", { versionId: recipeOffer.recipe.versionId });
    const { parameters } = z
      .looseObject({ data: z.looseObject({ recipe: z.looseObject({ parameters: z.unknown() }) }) })
      .parse(structured).data.recipe;
    expect(parameters, sent).toMatchObject({ references: { year: { maximum: shown } } });
    expect(text).toContain(`"maximum":${JSON.stringify(shown)}`);
  }
});

test("the server returns a recipe version with its current id and hash", {
  tags: ["9/recipe-version-identity"],
}, async () => {
  const { stub, connection } = session();
  const { versionId } = recipeDefinition;
  for (const versionHash of ["1".repeat(64), "2".repeat(64)]) {
    const offer = { ...recipeOffer, recipe: { ...recipeDefinition, versionHash } };
    stub.expect(answer(200, micEnveloped(offer)), answer(200, { ...recipeList, data: [offer] }));
    const read = await connection.callTool("get_recipe", { versionId });
    expect(read.structured).toMatchObject({ data: { recipe: { versionId, versionHash } } });
    expect(read.text).toContain(versionHash);
    const listed = await connection.callTool("list_recipes", { workspaceId: "micws_1", view: "full" });
    expect(listed.structured).toMatchObject({ data: [{ recipe: { versionId, versionHash } }] });
  }
});
