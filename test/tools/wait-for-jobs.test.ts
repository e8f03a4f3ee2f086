// Tests wait_for_jobs: it reads many jobs together until all or any have stopped.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { FILE, submitJob } from "../emulator/work.ts";
import type { Progress } from "../support/mcp.ts";
import { createRunArguments, expectIncreasing } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const Rows = z.array(z.looseObject({ id: z.string(), state: z.string().optional(), error: z.string().optional() }));
const rowsOf = (structured: Readonly<Record<string, unknown>>) => Rows.parse(structured["jobs"]);

describeLatestRevision((bench) => {
  test("wait_for_jobs waits until all jobs have stopped, and reports progress", {
    tags: ["6/progress-by-reading"],
  }, async () => {
    const jobs = await Promise.all(
      [FILE.succeeds, FILE.failsForGood, FILE.pauses].map((file) => submitJob(bench().service, file)),
    );
    const ticks: Progress[] = [];
    const onprogress = (tick: Progress) => {
      ticks.push(tick);
      bench().clock.advance(4_000);
    };
    const { structured } = await bench().ok("wait_for_jobs", { jobIds: jobs.map(({ id }) => id) }, { onprogress });
    expect(rowsOf(structured).map(({ id }) => id)).toEqual(jobs.map(({ id }) => id));
    expect(rowsOf(structured).map(({ state }) => state)).toEqual(["SUCCEEDED", "FAILED", "PAUSED"]);
    expect(structured).toMatchObject({ running: 0, summary: expect.stringContaining("1 SUCCEEDED") });
    expectIncreasing(ticks);
    expect(ticks[0]?.message).toContain("3 PREPARING");
  });

  test("rows show the notes and files of jobs in the journal and of the retries of these jobs", async () => {
    const run = await createRunArguments(bench().service, FILE.failsRetryably);
    const referenceId = run.inputs[0]?.referenceId;
    const args = { ...run, clientReference: "the census of 2011" };
    const id = await bench().idFrom("run_job", args, bench().withAdvancingClock());
    const retry = { jobId: id, retryMode: "SAFE_RESUME", reason: "Once more" };
    const again = await bench().idFrom("retry_job", retry);
    const { id: foreign } = await submitJob(bench().service, FILE.succeeds);
    const origin = { clientReference: args.clientReference, inputs: [referenceId] };
    const { structured, text } = await bench().ok("wait_for_jobs", { jobIds: [id, again, foreign], waitSeconds: 0 });
    const rows = rowsOf(structured);
    expect(rows.slice(0, 2)).toMatchObject([origin, origin]);
    expect(rows[2]).not.toHaveProperty("inputs");
    expect(text).toContain(referenceId);
    const listed = (await bench().ok("list_jobs", { workspaceId: bench().workspaceId, limit: 10 })).structured;
    expect(listed["data"]).toContainEqual(expect.objectContaining({ id: again, ...origin }));
  });

  test("a wait is an error if no job has any of the ids", async () => {
    const { text } = await bench().fails("wait_for_jobs", { jobIds: ["micjob_none", "micjob_other"] }, "not_found");
    expect(text).toContain("None of these jobs was found.");
  });

  test("wait_for_jobs returns after one read if no job is in progress, and counts the jobs that wait for their operator", async () => {
    const paused = await submitJob(bench().service, FILE.pauses);
    const { id } = await submitJob(bench().service, FILE.waitsForReview);
    bench().clock.advance(5_000);
    const sent = await bench().captureRequests(async () => {
      const { structured } = await bench().ok("wait_for_jobs", { jobIds: [id] });
      expect(structured).toMatchObject({ running: 0, jobs: [{ id, state: "WAITING_REVIEW" }] });
      expect(structured["nextStep"]).toBeUndefined();
    });
    expect(sent).toHaveLength(1);
    const { structured } = await bench().ok("wait_for_jobs", { jobIds: [id, paused.id] });
    expect(structured["summary"]).toContain(" 2 wait for a reviewer or the API's operator (1 ");
  });
});
