// Tests cancel_jobs: one cancellation for each of many jobs, one question for all, and a row for each outcome.
import { expect, test } from "vitest";
import { FILE, readJob, submitJob } from "../emulator/work.ts";
import type { Reply } from "../support/mcp.ts";
import type { Bench } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const reason = "The files were replaced";

/** Jobs that do not end while the clock advances, unless `file` says otherwise. */
async function submitJobs({ service }: Bench, count: number, file: number = FILE.pauses): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) ids.push((await submitJob(service, file)).id);
  return ids;
}

const captureCancellations = async (bench: Bench, run: () => Promise<unknown>) =>
  (await bench.captureRequests(run)).filter(({ operationId }) => operationId === "cancelMicJob");

describeLatestRevision((bench) => {
  test("each job is canceled once, and equal outcomes are one row", { tags: ["4.2/cancel-job"] }, async () => {
    const jobIds = await submitJobs(bench(), 6);
    const args = { jobIds, reason };
    const sent = await captureCancellations(bench(), async () => {
      const { structured } = await bench().ok("cancel_jobs", args, bench().withAdvancingClock());
      expect(structured).toMatchObject({
        summary: expect.stringMatching(/^6 jobs: 6 CANCELLED\./),
        results: [{ outcome: "canceled", state: "CANCELLED", count: 6, jobIds }],
      });
      expect(structured).not.toHaveProperty("nextStep");
    });
    expect(new Set(sent.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(6);
    for (const jobId of jobIds) expect((await readJob(bench().service, jobId)).state).toBe("CANCELLED");
    // The same action as that of cancel_job, in both directions.
    const again = await captureCancellations(bench(), async () => {
      expect((await bench().ok("cancel_jobs", args)).structured["summary"]).toMatch(
        /^6 jobs: 6 CANCELLED\. Already canceled by an earlier identical call: all, \w+ \w+ ago\./,
      );
      const single = await bench().ok("cancel_job", { jobId: jobIds[0], reason });
      expect(single.structured["action"]).toMatchObject({ replayed: true });
    });
    expect(again).toEqual([]);
  });

  test("jobs that have ended or do not exist are rejected and do not keep the others from being canceled", async () => {
    const [ended = ""] = await submitJobs(bench(), 1, FILE.succeeds);
    const [canceled = "", paused = ""] = await submitJobs(bench(), 2);
    await bench().ok("cancel_job", { jobId: canceled, reason }, bench().withAdvancingClock());
    const other = { reason: "Another reason", idempotencyKey: "another-cancellation" };
    bench().clock.advance(60_000);
    const jobIds = [ended, canceled, "micjob_none", paused];
    const { structured } = await bench().ok("cancel_jobs", { jobIds, ...other }, bench().withAdvancingClock());
    expect(structured["results"]).toEqual([
      { jobId: ended, outcome: "rejected", code: "ALREADY_SUCCEEDED" },
      { jobId: canceled, outcome: "rejected", code: "ALREADY_CANCELLED" },
      { jobId: "micjob_none", outcome: "rejected", code: "NOT_FOUND", note: expect.stringContaining("32 hex digits") },
      { jobId: paused, outcome: "canceled", state: "CANCELLED" },
    ]);
  });

  test("without a wait, the next call waits for the end of the cancellations and sends nothing", async () => {
    const jobIds = await submitJobs(bench(), 2);
    const { structured } = await bench().ok("cancel_jobs", { jobIds, reason, waitSeconds: 0 });
    const requested = { outcome: "requested", operationId: expect.any(String) };
    expect(structured).toMatchObject({
      results: jobIds.map((jobId) => ({ jobId, ...requested })),
      nextStep: { tool: "cancel_jobs", arguments: { jobIds, reason } },
    });
    const sent = await captureCancellations(bench(), async () => {
      const { tool, arguments: args } = Object(structured["nextStep"]);
      const last = await bench().ok(tool, args, bench().withAdvancingClock());
      expect(last.structured["results"]).toEqual([{ outcome: "canceled", state: "CANCELLED", count: 2, jobIds }]);
      expect(last.structured).not.toHaveProperty("nextStep");
    });
    expect(sent).toEqual([]);
  });
});

const questions: string[] = [];
let reply: Reply;

describeLatestRevision(
  (bench) => {
    test("the user is asked once about all jobs that have not ended; if they decline, nothing is sent", async () => {
      const [ended = ""] = await submitJobs(bench(), 1, FILE.succeeds);
      bench().clock.advance(60_000);
      const jobIds = await submitJobs(bench(), 3);
      const args = { jobIds: [ended, ...jobIds], reason, waitSeconds: 0 };
      reply = { action: "decline" };
      const sent = await captureCancellations(bench(), async () => {
        expect((await bench().ok("cancel_jobs", args)).structured).toMatchObject({ declined: true });
      });
      expect(sent).toEqual([]);
      expect(questions).toHaveLength(1);
      expect(questions[0]).toMatch(/^Cancel 3 jobs\? Their finished work is discarded: /);
      for (const id of jobIds) expect(questions[0]).toContain(`${id} (`);
      expect(questions[0]).not.toContain(ended);
      expect(questions[0]).toContain(JSON.stringify(reason));

      reply = { action: "accept", content: {} };
      const accepted = await captureCancellations(bench(), () => bench().ok("cancel_jobs", args));
      expect(accepted).toHaveLength(3);
      expect(questions).toHaveLength(2);
      // No question and no request for actions in the journal.
      const again = await captureCancellations(bench(), () => bench().ok("cancel_jobs", { ...args, jobIds }));
      expect(again).toEqual([]);
      expect(questions).toHaveLength(2);
    });
  },
  {
    onElicitation(question) {
      questions.push(question);
      return reply;
    },
  },
);
