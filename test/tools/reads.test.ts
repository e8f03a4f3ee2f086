// Tests the tools that read: the pages of a list, values that are not rounded, and the parts that a model reads.
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { operations } from "../operations.ts";
import { countTokens } from "../support/count-tokens.ts";
import { createFreshBench } from "./fresh-bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const Page = z.object({
  data: z.array(z.looseObject({ id: z.string() })),
  page: z.object({ nextCursor: z.string().nullable(), hasMore: z.boolean() }),
});

describeLatestRevision((bench, revision) => {
  test("list_jobs returns each job once over all pages", {
    tags: ["4.2/next-cursor", "4.2/has-more", "4.2/list-jobs"],
  }, async () => {
    const { workspaceId } = bench();
    const args = { workspaceId, limit: 20, view: "full" };
    const ids: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const { structured, text } = await bench().ok("list_jobs", { ...args, cursor });
      const { data, page } = Page.parse(structured);
      ids.push(...data.map(({ id }) => id));
      cursor = page.nextCursor;
      expect(page.hasMore).toBe(cursor !== null);
      expect(structured["summary"]).toMatch(cursor === null ? /ends here\.$/ : /continues\.$/);
      if (cursor === null) break;
      expect(data).toHaveLength(20);
      // The next call is complete, with the arguments of this call.
      const next = { ...args, cursor };
      expect(structured).not.toHaveProperty("nextStep");
      expect(text).toContain(`Next page: list_jobs ${JSON.stringify(next)}\n`);
    }
    const { data } = await bench().service.ok(operations.listMicJobs, { query: { workspaceId, limit: 100 } });
    expect(ids.length).toBeGreaterThanOrEqual(130);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.slice(0, 100)).toEqual(data.map(({ id }) => id));
  });

  test("get_usage without a window, or with MONTH, states what is left of each quota in one sentence", async () => {
    const { workspaceId } = bench();
    for (const window of [undefined, "MONTH"]) {
      const { structured } = await bench().ok("get_usage", { workspaceId, window });
      expect(structured["summary"]).toMatch(
        /^Left today \/ in the entitlement, which ends \d{4}-\d\d-\d\d: JOBS_SUBMITTED [\d,]+ \/ [\d,]+; .* The API reports no monthly window\.$/,
      );
      expect(countTokens(JSON.stringify(structured))).toBeLessThan(240);
    }
    const full = await bench().ok("get_usage", { workspaceId, view: "full" });
    expect(full.structured).toMatchObject({ data: { windows: [{ window: "DAY" }, { window: "ENTITLEMENT" }] } });
  });

  test("an empty page is returned", async () => {
    const { workspaceId } = bench();
    const empty = { data: [], meta: { requestId: "r" }, page: { nextCursor: null, hasMore: false } };
    await bench().service.injectFault({ kind: "body", body: JSON.stringify(empty) }, { operationId: "listMicJobs" });
    const { structured, text, requestId } = await bench().ok("list_jobs", { workspaceId });
    const { meta, ...facts } = empty;
    expect(structured).toEqual({ summary: "0 jobs. The list ends here.", ...facts });
    expect(requestId).toBe(meta.requestId);
    expect(text).toMatch(/^0 jobs\. The list ends here\./);
  });

  test("the call for the next page omits the default workspace, and save_table uses that workspace", async () => {
    const { workspaceId, downloadDir } = bench();
    const own = await createFreshBench(bench(), revision, { MIC_WORKSPACE_ID: workspaceId });
    const page = await own.call("list_jobs", { limit: 1 });
    const { nextCursor } = Page.parse(page.structured).page;
    expect(page.text).toContain(`Next page: list_jobs {"limit":1,"cursor":"${nextCursor}"}`);
    expect(page.text).not.toContain(workspaceId);
    const next = await own.call("list_jobs", { limit: 1, cursor: nextCursor });
    expect(next.isError, next.text).toBe(false);
    const saved = await own.call("save_table", { source: "list_jobs", arguments: {}, fileName: "own.csv" });
    expect(saved.isError, saved.text).toBe(false);
    expect(await readFile(`${downloadDir}/own.csv`, "utf8")).toContain("micjob_");
    const other = await bench().ok("list_jobs", { workspaceId, limit: 1 });
    expect(other.text).toContain(`Next page: list_jobs {"workspaceId":"${workspaceId}",`);
  });
});
