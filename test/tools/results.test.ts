// Tests that a model reads only the parts of a result that it needs.
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { countTokens } from "../support/count-tokens.ts";
import { emulatorEnv, inProcessClientForTest, type TestClient } from "../support/mcp.ts";
import type { Bench } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const serve = (bench: Bench, env: Readonly<Record<string, string>>): Promise<TestClient> =>
  inProcessClientForTest("v2-modern", {
    ...emulatorEnv(bench.service.emulator),
    MIC_DOWNLOAD_DIR: bench.downloadDir,
    MIC_GEOGRAPHY_RATE: "600",
    ...env,
  });

describeLatestRevision((bench) => {
  test("a next step omits the default workspace, and save_table uses it", async () => {
    const { workspaceId, downloadDir } = bench();
    const own = await serve(bench(), { MIC_WORKSPACE_ID: workspaceId });
    const page = await own.callTool("list_jobs", { limit: 1 });
    expect(page.structured).toMatchObject({
      nextStep: { tool: "list_jobs", arguments: { limit: 1, cursor: expect.any(String) } },
    });
    expect(page.text).not.toContain(workspaceId);
    const next = await own.callTool("list_jobs", Object(page.structured?.["nextStep"]).arguments);
    expect(next.isError, next.text).toBe(false);
    const saved = await own.callTool("save_table", { source: "list_jobs", arguments: {}, fileName: "own.csv" });
    expect(saved.isError, saved.text).toBe(false);
    expect(await readFile(`${downloadDir}/own.csv`, "utf8")).toContain("micjob_");
    const other = await (await serve(bench(), {})).callTool("list_jobs", { workspaceId, limit: 1 });
    expect(other.structured).toMatchObject({ nextStep: { arguments: { workspaceId } } });
  });

  test("the data of a view is only in _meta", async () => {
    const own = await serve(bench(), { MIC_APPS: "always" });
    const { structured, view, text } = await own.callTool("show_divisions", { level: "state" });
    expect(structured).toEqual({ summary: text });
    expect(view).toMatchObject({ totalRows: 36, rows: expect.any(Array) });
    expect(countTokens(text)).toBeLessThan(150);
  });
});
