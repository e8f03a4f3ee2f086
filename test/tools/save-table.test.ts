// Tests save_table: all rows of a listing as CSV in a new file of the download folder, or no file. list-jobs.test.ts tests broken lists.
import { createHash } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseCsv } from "../support/csv.ts";
import { listEveryJob } from "../support/job-list.ts";
import { type Args, createFreshBench } from "./bench.ts";
import { readDistricts } from "./geography.ts";
import { describeLatestRevision, FAST_GEOGRAPHY } from "./revisions.ts";

const BY_MANDALS = { level: "district", by: "mandalCount" };
const ranking = (fileName: string, args: Args = BY_MANDALS) => ({
  source: "rank_divisions",
  arguments: args,
  fileName,
});

describeLatestRevision((bench, revision) => {
  test("save_table saves all districts as CSV, and the result has the file instead of the rows", async () => {
    const all = await readDistricts(bench());
    // The limit and offset apply only to rows that are shown, and none are.
    const { structured } = await bench().ok("save_table", ranking("all.csv", { ...BY_MANDALS, limit: 2, offset: 5 }));
    const path = join(bench().downloadDir, "all.csv");
    const bytes = await readFile(path);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    expect(structured).toMatchObject({ path, rows: 784, sha256, totalRows: 784, complete: true });
    const [header, ...rows] = parseCsv(bytes.toString());
    expect(header).toEqual(["districtCode", "name", "stateCode", "stateName", "mandalCount"]);
    const cells = all.map(({ code, name, state, mandalCount }) => [code, name, state.code, state.name, mandalCount]);
    expect(rows.toSorted()).toEqual(cells.map((row) => row.map(String)).toSorted());
    if (process.platform !== "win32") expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test("save_table saves all matching jobs as CSV", async () => {
    const { workspaceId, downloadDir, service } = bench();
    const failed = (await listEveryJob(service)).filter(({ state }) => state === "FAILED");
    const fileName = "failed jobs.csv";
    const args = { workspaceId, states: "FAILED", limit: 3 };
    await bench().ok("save_table", { source: "list_jobs", arguments: args, fileName });
    const [header = [], ...rows] = parseCsv(await readFile(join(downloadDir, fileName), "utf8"));
    expect(header.join()).toBe(
      "id,state,stage,failure,retryable,retryOfBatchId,retriedBy,createdAt,updatedAt,recipeVersionId",
    );
    expect(rows.map(([id]) => id)).toEqual(failed.map(({ id }) => id));
  });

  test("save_table uses the default workspace", async () => {
    const own = await createFreshBench(bench(), revision, { MIC_WORKSPACE_ID: bench().workspaceId });
    await own.ok("save_table", { source: "list_jobs", arguments: {}, fileName: "own.csv" });
    expect(await readFile(join(bench().downloadDir, "own.csv"), "utf8")).toContain("micjob_");
  });

  test("save_table reads the near misses of the listing call", async () => {
    const given = { workspaceId: bench().workspaceId, state: "FAILED" };
    const args = { source: "list_jobs", arguments: given, fileName: "failed.csv" };
    expect((await bench().ok("save_table", args)).structured).toMatchObject({
      counts: { FAILED: expect.any(Number) },
    });
  });

  test("save_table overwrites no file, accepts no path, and reads nothing if the name is taken", async () => {
    await writeFile(join(bench().downloadDir, "mine.csv"), "mine");
    await bench().expectNothingSent(async () => {
      const { next } = await bench().refuses("save_table", ranking("mine.csv"), "/fileName");
      expect(next).toBe("Choose another fileName.");
      for (const fileName of ["../x.csv", "/tmp/x.csv", "a/b.csv", ".x", "x.csv\n", ""])
        await bench().refuses("save_table", ranking(fileName), "/fileName");
    });
    expect(await readFile(join(bench().downloadDir, "mine.csv"), "utf8")).toBe("mine");
  });

  test("save_table writes either a file with all rows or no file", async () => {
    const own = await createFreshBench(bench(), revision);
    await bench().service.admin("POST", "geography", { districts: { GA: { status: 502 } } });
    const failed = await own.fails("save_table", ranking("part.csv"), "upstream_unavailable");
    expect(failed).toMatchObject({ retryable: true, sideEffect: "none" });
    // Districts of states that can be read are saved.
    const rest = await own.ok("save_table", ranking("kl.csv", { ...BY_MANDALS, states: ["KL"] }));
    expect(rest.structured).toMatchObject({ rows: 14 });
    expect(await readdir(bench().downloadDir)).not.toContain("part.csv");
  });

  test("save_table refuses a listing call that is not offered", async () => {
    const own = await createFreshBench(bench(), revision, { MIC_TOOLSETS: "geography" });
    const { text } = await own.call("save_table", { source: "list_jobs", arguments: {}, fileName: "jobs.csv" });
    expect(text).toContain("list_jobs is not offered here");
    expect(await readdir(bench().downloadDir)).not.toContain("jobs.csv");
  });
}, FAST_GEOGRAPHY);
