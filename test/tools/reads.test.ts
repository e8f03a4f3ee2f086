// Tests the tools that read: the pages of a list, values that are not rounded, and the parts that a model reads.
// success.test.ts compares all fields with those of the API.
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { operations } from "../operations.ts";
import type { Args, Bench } from "./bench.ts";
import { createFreshBench } from "./fresh-bench.ts";
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

describeLatestRevision((bench, revision) => {
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

  test("an empty page is returned", async () => {
    const { workspaceId } = bench();
    const empty = { data: [], meta: { requestId: "r" }, page: { nextCursor: null, hasMore: false } };
    await bench().service.injectFault({ kind: "body", body: JSON.stringify(empty) }, { operationId: "listMicJobs" });
    const { structured, text, requestId } = await bench().ok("list_jobs", { workspaceId });
    const { meta, ...facts } = empty;
    expect(structured).toEqual({ summary: "0 jobs. No more.", ...facts });
    expect(requestId).toBe(meta.requestId);
    expect(text).toMatch(/^0 jobs\. No more\./);
  });

  test("a next step omits the default workspace, and save_table uses it", async () => {
    const { workspaceId, downloadDir } = bench();
    const own = await createFreshBench(bench(), revision, { MIC_WORKSPACE_ID: workspaceId });
    const page = await own.call("list_jobs", { limit: 1 });
    const nextStep = { tool: "list_jobs", arguments: { limit: 1, cursor: expect.any(String) } };
    expect(page.structured).toMatchObject({ nextStep });
    expect(page.text).not.toContain(workspaceId);
    const next = await own.call("list_jobs", Object(page.structured?.["nextStep"]).arguments);
    expect(next.isError, next.text).toBe(false);
    const saved = await own.call("save_table", { source: "list_jobs", arguments: {}, fileName: "own.csv" });
    expect(saved.isError, saved.text).toBe(false);
    expect(await readFile(`${downloadDir}/own.csv`, "utf8")).toContain("micjob_");
    const other = await bench().ok("list_jobs", { workspaceId, limit: 1 });
    expect(other.structured).toMatchObject({ nextStep: { arguments: { workspaceId } } });
  });
});
