// Tests list_recipes: the limit that it sends, pages of any length, and a list that is broken.
import { expect, test } from "vitest";
import { recipeList, recipeOffer } from "../contract/samples.ts";
import { answer } from "../support/stub.ts";
import { sessionForFile } from "../unspecified/session.ts";

const session = sessionForFile();

test("the server sends no limit if none was given, and accepts pages of any length", {
  tags: ["4.2/assumes-no-default-recipe-page"],
}, async () => {
  const { stub, connection } = session();
  const cursor = "c".repeat(43);
  for (const count of [0, 3]) {
    const data = Array.from({ length: count }, () => recipeOffer);
    const page = { limit: 7, nextCursor: cursor, hasMore: true };
    stub.expect(answer(200, { ...recipeList, data, page }));
    const { structured, text } = await connection.callTool("list_recipes", { workspaceId: "micws_1", view: "full" });
    expect(structured).toMatchObject({ data, page });
    expect(text).toContain(cursor);
    expect(stub.requests.at(-1)?.target).toBe("/sandbox/v1/mic/recipes?workspaceId=micws_1");
  }
  // A requested limit is not taken as the page's limit either.
  stub.expect(answer(200, { ...recipeList, page: { limit: 5, nextCursor: null, hasMore: false } }));
  const result = await connection.callTool("list_recipes", { workspaceId: "micws_1", limit: 50 });
  expect(result.structured).toMatchObject({ page: { limit: 5 } });
  expect(stub.requests.at(-1)?.target).toContain("limit=50");
});

test("a page of recipes whose next cursor equals the given cursor is reported as broken", {
  tags: ["4.2/next-cursor"],
}, async () => {
  const { stub, connection } = session();
  const cursor = "c".repeat(43);
  stub.expect(answer(200, { ...recipeList, page: { limit: 1, nextCursor: cursor, hasMore: true } }));
  const { structured, text } = await connection.callTool("list_recipes", { workspaceId: "micws_1", cursor });
  expect(structured).toMatchObject({ page: { nextCursor: null, hasMore: true } });
  expect(structured).not.toHaveProperty("nextStep");
  expect(text).toMatch(/The API's list is broken: .* Ask the user to report this/);
});
