// Tests wait_for_jobs: it reads many jobs together until all or any have stopped.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { covers } from "../covers.ts";
import { FILE, runJobToEnd, submitJob } from "../emulator/work.ts";
import type { Progress } from "../support/mcp.ts";
import { describeLatestRevision } from "./revisions.ts";

const Rows = z.array(z.looseObject({ id: z.string(), state: z.string().optional(), error: z.string().optional() }));
const rowsOf = (structured: Readonly<Record<string, unknown>>) => Rows.parse(structured["jobs"]);

describeLatestRevision((bench) => {
  covers("6/progress-by-reading", "wait_for_jobs waits until all jobs have stopped, and reports progress", async () => {
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
    expect(structured).toMatchObject({ moving: 0, summary: expect.stringContaining("1 SUCCEEDED") });
    const progressValues = ticks.map(({ progress }) => progress);
    expect([...progressValues].sort((a, b) => a - b)).toEqual(progressValues);
    expect(ticks[0]?.message).toContain("3 PREPARING");
  });

  test("the rows of wait_for_jobs are the same as in list_jobs", async () => {
    const { id } = await runJobToEnd(bench().service, FILE.failsForGood);
    const { structured } = await bench().ok("wait_for_jobs", { jobIds: [id] });
    const listed = (await bench().ok("list_jobs", { workspaceId: bench().workspaceId, limit: 10 })).structured;
    expect(listed["data"]).toContainEqual(rowsOf(structured)[0]);
  });

  test("wait_for_jobs waits until any job has stopped; the next step waits for the others", async () => {
    const moving = await submitJob(bench().service, FILE.succeeds);
    const ended = await runJobToEnd(bench().service, FILE.failsForGood);
    const fresh = await submitJob(bench().service, FILE.succeeds);
    const args = { jobIds: [ended.id, fresh.id], until: "any" };
    const sent = await bench().captureRequests(async () => {
      const { structured } = await bench().ok("wait_for_jobs", args);
      expect(structured).toMatchObject({ moving: 1 });
      expect(structured["nextStep"]).toMatchObject({
        tool: "wait_for_jobs",
        arguments: { jobIds: [fresh.id], until: "any" },
      });
    });
    expect(sent).toHaveLength(2);
    expect(moving.id).not.toBe(fresh.id);
  });

  test("an unknown id does not stop the others, and its row has the error", async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const { structured } = await bench().ok(
      "wait_for_jobs",
      { jobIds: ["micjob_none", id] },
      bench().withAdvancingClock(),
    );
    expect(rowsOf(structured)).toMatchObject([
      { id: "micjob_none", error: "NOT_FOUND" },
      { id, state: "SUCCEEDED" },
    ]);
    expect(structured).toMatchObject({ moving: 0 });
  });

  test("when the time is up, the next step has the jobs that still move", async () => {
    const jobs = await Promise.all([1, 2].map(() => submitJob(bench().service, FILE.succeeds)));
    const jobIds = jobs.map(({ id }) => id);
    const sent = await bench().captureRequests(async () => {
      const { structured } = await bench().ok("wait_for_jobs", { jobIds, waitSeconds: 1 });
      expect(structured).toMatchObject({ moving: 2 });
      expect(structured["nextStep"]).toMatchObject({ tool: "wait_for_jobs", arguments: { jobIds } });
    });
    expect(sent.length).toBeGreaterThanOrEqual(4);
    expect(sent.length).toBeLessThanOrEqual(8);
  });

  test("the next step after failures worth resuming retries all of them", async () => {
    const jobs = await Promise.all([1, 2].map(() => submitJob(bench().service, FILE.failsRetryably)));
    const good = await submitJob(bench().service, FILE.failsForGood);
    const jobIds = jobs.map(({ id }) => id);
    bench().clock.advance(60_000);
    const { structured } = await bench().ok("wait_for_jobs", { jobIds: [...jobIds, good.id] });
    expect(structured["nextStep"]).toMatchObject({
      tool: "retry_jobs",
      arguments: { jobIds, retryMode: "SAFE_RESUME" },
    });
  });

  test("wait_for_jobs waits for a job in review until its state changes", async () => {
    const { id } = await submitJob(bench().service, FILE.waitsForReview);
    bench().clock.advance(5_000);
    const { structured } = await bench().ok("wait_for_jobs", { jobIds: [id] }, bench().withAdvancingClock());
    expect(rowsOf(structured)[0]?.state).not.toBe("WAITING_REVIEW");
  });

  test("a job that must not be read has the error in its row", async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const denied = { kind: "status", status: 403, code: "INSUFFICIENT_SCOPE", retryable: false };
    await bench().service.injectFault(denied, { operationId: "getMicJob" });
    const { structured } = await bench().ok("wait_for_jobs", { jobIds: [id] });
    expect(rowsOf(structured)).toEqual([{ id, error: "INSUFFICIENT_SCOPE" }]);
  });
});
