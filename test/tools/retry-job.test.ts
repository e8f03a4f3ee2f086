// Tests retry_job: the new job and its stages in each mode, the wait for it, and retries by other servers.
import { expect, test } from "vitest";
import { createRetryableJob, FILE, readJob, submitJob } from "../emulator/work.ts";
import { emulatorEnv, inProcessClientForTest } from "../support/mcp.ts";
import { describeLatestRevision } from "./revisions.ts";

describeLatestRevision((bench, revision) => {
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
      expect(structured["summary"]).toContain(`(a retry of ${jobId}) SUCCEEDED`);
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
    expect((await adviceOn(id))["summary"]).toMatch(/may be retried/);

    await other.ok("get_job", { jobId: secondRetryId });
    expect(await adviceOn(canceled)).toMatchObject({
      summary: expect.stringContaining(`CANCELLED; 0 of 9 stages finished. It was retried as job ${secondRetryId}.`),
      nextStep: { tool: "get_job", arguments: { jobId: secondRetryId } },
    });

    const { structured } = await other.ok("list_jobs", { workspaceId: bench().workspaceId });
    expect(structured["data"]).toContainEqual(expect.objectContaining({ id, retriedBy: retryId }));
    const seen = await other.fails("retry_job", { ...args, idempotencyKey: `${id}-2` }, "conflict");
    expect(seen.message).toContain(retryId);
    expect(seen.next).toContain(`get_job {"jobId":"${retryId}"}`);
  });
});
