// Tests retry_job: the new job and its stages in each mode, the wait for it, and retries by other servers.
import { expect, test } from "vitest";
import { createRetryableJob, FILE, last, readJob, submitJob, watchJob } from "../emulator/work.ts";
import { emulatorEnv, inProcessClientForTest } from "../support/mcp.ts";
import { describeLatestRevision } from "./revisions.ts";

const resume = { retryMode: "SAFE_RESUME", reason: "Once more" };

describeLatestRevision((bench, revision) => {
  /** Submits a job of this file, and advances the clock until the job is in this state. */
  async function jobIn(file: number, wanted: string) {
    const { id } = await submitJob(bench().service, file);
    return last(await watchJob(bench().service, id, ({ state }) => state === wanted));
  }

  test.each(["SAFE_RESUME", "RESTART"])(
    "the new job of a %s has the earlier job's id and succeeds, and a repeated call returns the same job",
    {
      tags: ["4.2/retry-job", "3/retry-carries-earlier-job", "4.2/retry-mode"],
    },
    async (retryMode) => {
      const { id: jobId } = await createRetryableJob(bench().service);
      const args = { jobId, retryMode, reason: "Once more" };
      const made = await bench().ok("retry_job", args);
      expect(made.structured).toMatchObject({ data: { retryOfBatchId: jobId }, action: { replayed: false } });
      const { id } = Object(made.structured["data"]);
      const kept = (await readJob(bench().service, id)).stages.filter(({ state }) => state === "SUCCEEDED");
      expect(kept.length > 0).toBe(retryMode === "SAFE_RESUME");
      const waiting = { ...args, waitSeconds: 45 };
      const { structured, requestId } = await bench().ok("retry_job", waiting, bench().withAdvancingClock());
      expect(structured).toMatchObject({
        data: { id, state: "SUCCEEDED", retryOfBatchId: jobId },
        action: { replayed: true },
      });
      expect(requestId).toBe(made.requestId);
    },
  );

  test("retry_job waits for the new job with waitSeconds", async () => {
    const { id: jobId } = await createRetryableJob(bench().service);
    const args = { jobId, retryMode: "SAFE_RESUME", reason: "Once more", waitSeconds: 45 };
    const { structured } = await bench().ok("retry_job", args, bench().withAdvancingClock());
    expect(structured).toMatchObject({ data: { state: "SUCCEEDED" }, action: { replayed: false } });
  });

  test("a retry by another server is taken into account once a list or a read of the job has returned the retry", async () => {
    const { id } = await createRetryableJob(bench().service);
    const { id: canceled } = await submitJob(bench().service, FILE.succeeds);
    await bench().ok("cancel_job", { jobId: canceled, reason: "no", waitSeconds: 0 });
    bench().clock.advance(60_000);
    const retry = (jobId: string) => bench().idFrom("retry_job", { jobId, retryMode: "RESTART", reason: "again" });
    const [retryId, secondRetryId] = [await retry(id), await retry(canceled)];

    // Another server, with another journal.
    const other = bench().withConnection(await inProcessClientForTest(revision, emulatorEnv(bench().service.emulator)));
    const adviceOn = async (jobId: string) => (await other.ok("get_job", { jobId })).structured;
    const args = { jobId: id, retryMode: "SAFE_RESUME", reason: "again" };
    const unseen = await other.fails("retry_job", args, "conflict");
    expect(unseen.next).toMatch(/^If the job was retried before, list_jobs shows its retry/);
    expect((await adviceOn(id))["nextStep"]).toMatchObject({ tool: "retry_job" });

    await other.ok("get_job", { jobId: secondRetryId });
    expect(await adviceOn(canceled)).toMatchObject({
      nextStep: { tool: "get_job", arguments: { jobId: secondRetryId } },
    });

    const { structured } = await other.ok("list_jobs", { workspaceId: bench().workspaceId });
    expect(structured["data"]).toContainEqual(expect.objectContaining({ id, retriedBy: retryId }));
    const seen = await other.fails("retry_job", { ...args, idempotencyKey: `${id}-2` }, "conflict");
    expect(seen.message).toContain(retryId);
    expect(seen.next).toContain(`get_job {"jobId":"${retryId}"}`);
  });

  test.each([
    [
      "RUNNING",
      FILE.succeeds,
      /^The job is RUNNING, at stage .* get_job \{"jobId":"micjob_\w+","waitSeconds":45\} waits for it\.$/,
    ],
    ["PAUSED", FILE.pauses, /^The job is PAUSED at \w+ until the API's operator resumes it/],
    ["WAITING_REVIEW", FILE.waitsForReview, /^The job waits for a review/],
    ["SUCCEEDED", FILE.succeeds, /nothing to retry/],
  ])(
    "retry_job and retry_jobs give the same advice for a job that is %s, and no key or next step",
    async (state, file, advice) => {
      const { id: jobId } = await jobIn(file, state);
      const refused = await bench().fails("retry_job", { jobId, ...resume }, "conflict");
      expect(refused).toMatchObject({ sideEffect: "none", next: expect.stringMatching(advice) });
      expect(refused).not.toHaveProperty("idempotencyKey");
      const { structured } = await bench().ok("retry_jobs", { jobIds: [jobId], ...resume });
      const row = { jobId, outcome: "rejected", code: "JOB_NOT_RETRYABLE", note: refused.next };
      expect(structured["results"]).toEqual([row]);
      expect(structured).not.toHaveProperty("nextStep");
    },
  );

  test("retry_job and retry_jobs do not retry a FAILED job that is not retryable", async () => {
    const { id: jobId } = await jobIn(FILE.failsForGood, "FAILED");
    const refused = await bench().fails("retry_job", { jobId, ...resume }, "conflict");
    expect(refused.next).toMatch(/^.*Retrying the same job will not help: correct .* and submit a new one\.$/);
    expect(refused).not.toHaveProperty("idempotencyKey");
    const { result, sent } = await bench().capture(() => bench().ok("retry_jobs", { jobIds: [jobId], ...resume }));
    expect(sent.filter(({ method }) => method === "POST")).toEqual([]);
    const row = { jobId, outcome: "not sent", state: "FAILED", code: "NOT_RETRYABLE" };
    expect(result.structured["results"]).toEqual([row]);
  });

  test.each(["retry_job", "retry_jobs"])("%s retries a CANCELLED job", async (tool) => {
    const { id: jobId } = await submitJob(bench().service, FILE.pauses);
    await bench().ok("cancel_job", { jobId, reason: "no", waitSeconds: 0 });
    await watchJob(bench().service, jobId, ({ state }) => state === "CANCELLED");
    const args = { ...(tool === "retry_job" ? { jobId } : { jobIds: [jobId] }), ...resume, waitSeconds: 0 };
    const { structured } = await bench().ok(tool, args);
    const retried = { outcome: "retried", jobId, newJobId: expect.any(String) };
    expect(structured).toMatchObject(
      tool === "retry_job" ? { data: { retryOfBatchId: jobId } } : { results: [retried] },
    );
  });
});
