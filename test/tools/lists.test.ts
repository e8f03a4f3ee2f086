// Tests list_jobs and list_recipes: the cursors return each item once, the summary view is small, and the full view is complete.

import { expect, test } from "vitest";
import * as z from "zod/v4";
import { Job } from "../../src/contract/jobs.ts";
import { RecipeOffer } from "../../src/contract/recipes.ts";
import { operations } from "../operations.ts";
import { countTokens } from "../support/count-tokens.ts";
import type { Args, Bench } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const Page = z.object({
  data: z.array(z.looseObject({})),
  page: z.object({ nextCursor: z.string().nullable(), hasMore: z.boolean() }),
});
type Page = z.infer<typeof Page>;

async function pages(bench: Bench, tool: string, args: Args): Promise<readonly Page[]> {
  const all: Page[] = [];
  let cursor: string | null | undefined;
  do {
    const { structured, text } = await bench.ok(tool, { ...args, ...(cursor && { cursor }) });
    const page = Page.parse(structured);
    expect(page.page.hasMore).toBe(page.page.nextCursor !== null);
    // The text contains the complete next call, with the arguments of this call.
    const next = new RegExp(`^Next: ${tool} (\\{.*\\}) \\(the next page\\)$`, "m").exec(text)?.[1];
    const expected = page.page.nextCursor === null ? undefined : { ...args, cursor: page.page.nextCursor };
    expect(next === undefined ? next : JSON.parse(next)).toEqual(expected);
    const step = expected && { tool, arguments: expected, why: "the next page" };
    expect(structured["nextStep"]).toEqual(step);
    expect(structured["summary"]).toMatch(step ? /More remain\.$/ : /No more\.$/);
    all.push(page);
    cursor = page.page.nextCursor;
  } while (cursor !== null);
  return all;
}

const jobSummaryFields = [
  ...["id", "state", "stage", "failure", "retryable", "retryOf", "retriedBy", "review"],
  ...["createdAt", "updatedAt"],
];
const MOVING = ["PREPARING", "QUEUED", "RUNNING"];

describeLatestRevision((bench) => {
  test("list_jobs returns each job once over all pages [4.2/next-cursor, 4.2/has-more, 4.2/list-jobs]", async () => {
    const { workspaceId } = bench();
    const all = await pages(bench(), "list_jobs", { workspaceId, limit: 20, view: "full" });
    const { data } = await bench().service.ok(operations.listMicJobs, { query: { workspaceId, limit: 100 } });
    const ids = all.flatMap((page) => page.data.map(({ id }) => id));
    expect(ids.length).toBeGreaterThanOrEqual(130);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.slice(0, 100)).toEqual(data.map(({ id }) => id));
    expect(all.slice(0, -1).every((page) => page.data.length === 20)).toBe(true);
  });

  test("list_recipes returns each offer once over all pages [4.2/next-cursor, 4.2/has-more, 4.2/list-recipes]", async () => {
    const { workspaceId, service } = bench();
    const all = await pages(bench(), "list_recipes", { workspaceId, limit: 2, sort: "versionId" });
    const ids = all.flatMap((page) => page.data.map(({ versionId }) => versionId));
    expect([...ids].sort()).toEqual([...service.emulator.recipeVersionIds].sort());
    expect(ids).toEqual([...ids].sort());
  });

  test("the full view returns the contract's items, including nulls [2.2/all-fields-required]", async () => {
    const { workspaceId } = bench();
    const query = { workspaceId, limit: 25 };
    const jobs = await bench().ok("list_jobs", { ...query, view: "full" });
    expect(z.array(Job).parse(jobs.structured["data"])).toHaveLength(25);
    expect(jobs.structured["data"]).toEqual((await bench().service.ok(operations.listMicJobs, { query })).data);
    const recipes = await bench().ok("list_recipes", { ...query, view: "full" });
    z.array(RecipeOffer).parse(recipes.structured["data"]);
    expect(recipes.structured["data"]).toEqual(
      (await bench().service.ok(operations.listMicExecutableRecipes, { query })).data,
    );
    expect(recipes.structured["page"]).toEqual({ limit: 25, nextCursor: null, hasMore: false });
  });

  test("the summary view has the fields for decisions, and no nulls", async () => {
    const { workspaceId } = bench();
    const query = { workspaceId, limit: 100 };
    const { structured } = await bench().ok("list_jobs", query);
    const items = z.array(z.record(z.string(), z.unknown())).parse(structured["data"]);
    const { data } = await bench().service.ok(operations.listMicJobs, { query });
    // Instants have a precision of seconds, and only moving jobs have updatedAt.
    const seconds = (instant: string): string => instant.replace(/\.\d+Z$/, "Z");
    expect(items.map(({ id, state, createdAt, updatedAt }) => ({ id, state, createdAt, updatedAt }))).toEqual(
      data.map(({ id, state, createdAt, updatedAt }) => ({
        id,
        state,
        createdAt: seconds(createdAt),
        updatedAt: MOVING.includes(state) ? seconds(updatedAt) : undefined,
      })),
    );
    for (const [index, item] of items.entries()) {
      expect(jobSummaryFields).toEqual(expect.arrayContaining(Object.keys(item)));
      expect(Object.values(item)).not.toContain(null);
      const { failure } = data[index] ?? { failure: null };
      expect([item["failure"], item["retryable"]]).toEqual([failure?.code, failure?.retryable]);
    }
    expect(new Set(items.map(({ state }) => state)).size).toBe(8);
    const recipes = await bench().ok("list_recipes", { workspaceId });
    for (const item of z.array(z.record(z.string(), z.unknown())).parse(recipes.structured["data"]))
      expect(Object.keys(item).sort()).toEqual(["expiresAt", "name", "ports", "versionId"]);
    expect((await bench().ok("list_jobs", { ...query, view: "summary" })).structured["data"]).toEqual(items);
  });

  test("the full view of jobs as text has at most 0.45 of the tokens of its JSON", async () => {
    const query = { workspaceId: bench().workspaceId, limit: 100, view: "full" };
    const { structured, text } = await bench().ok("list_jobs", query);
    const tokens = { json: countTokens(JSON.stringify(structured)), text: countTokens(text) };
    expect(tokens.text / tokens.json, JSON.stringify(tokens)).toBeLessThanOrEqual(0.45);
  });

  test("a page that exceeds the contract is refused, and an empty page is returned", async () => {
    const { workspaceId } = bench();
    const empty = { data: [], meta: { requestId: "r" }, page: { nextCursor: null, hasMore: false } };
    await bench().service.injectFault({ kind: "body", body: JSON.stringify(empty) }, { operationId: "listMicJobs" });
    const { structured, text, requestId } = await bench().ok("list_jobs", { workspaceId });
    const { meta, ...facts } = empty;
    expect(structured).toEqual({ summary: "0 jobs. No more.", ...facts });
    expect(requestId).toBe(meta.requestId);
    expect(text).toMatch(/^0 jobs\. No more\./);
    const { data } = await bench().service.ok(operations.listMicJobs, { query: { workspaceId, limit: 1 } });
    const long = { ...empty, data: Array.from({ length: 101 }, () => data[0]) };
    await bench().service.injectFault({ kind: "body", body: JSON.stringify(long) }, { operationId: "listMicJobs" });
    expect((await bench().fails("list_jobs", { workspaceId }, "contract_violation")).message).toContain("/data");
  });
});
