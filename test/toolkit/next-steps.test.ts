// Tests advice in tool results that depends on attempts, on the history of a retry, and on the journal.
import { expect, test } from "vitest";
import { openSqlite } from "../../src/store/sqlite.ts";
import { createRetryableJob, FILE, submitJob } from "../emulator/work.ts";
import { emulatorEnv, inProcessClientForTest } from "../support/mcp.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import type { Bench } from "../tools/bench.ts";
import { describeLatestRevision } from "../tools/revisions.ts";

const RETRY_LATER = { kind: "status", status: 429, retryAfterSeconds: 3600 } as const;

async function readNextStep(bench: Bench, jobId: string) {
  const { structured, text } = await bench.ok("get_job", { jobId });
  const { nextStep: step } = structured;
  if (step !== undefined)
    expect(text).toContain(`Next: ${Object(step).tool} ${JSON.stringify(Object(step).arguments)}`);
  return { summary: String(structured["summary"]), step: Object(step) };
}

describeLatestRevision((bench, revision) => {
  test("the next step is to resolve an action with an unknown outcome; a call with the action's key also resolves it", async () => {
    const { id } = await createRetryableJob(bench().service);
    const args = { jobId: id, retryMode: "SAFE_RESUME", reason: "again" };
    await bench().service.injectFault({ kind: "drop-after" }, { operationId: "retryMicJob" });
    await bench().service.injectFault(RETRY_LATER, { operationId: "retryMicJob" });
    const { idempotencyKey } = await bench().fails("retry_job", args, "outcome_unknown");
    const { summary, step } = await readNextStep(bench(), id);
    expect(summary).toMatch(/FAILED.*Its retry.*unknown outcome/);
    expect(step).toMatchObject({ tool: "resolve_actions", arguments: { idempotencyKey } });
    const again = await bench().ok("retry_job", { idempotencyKey });
    expect(again.structured["action"]).toMatchObject({ idempotencyKey, replayed: true });
    // Once the action is resolved, the next step is its retry.
    const retryId = Object(again.structured["data"]).id;
    expect((await readNextStep(bench(), id)).step).toMatchObject({ tool: "get_job", arguments: { jobId: retryId } });
  });

  test("a retry by another server is taken into account once a list or a read of the job has returned the retry", async () => {
    const { id } = await createRetryableJob(bench().service);
    const cancelled = await submitJob(bench().service, FILE.succeeds);
    const cancellation = { jobId: cancelled.id, reason: "no", waitSeconds: 0 };
    await bench().ok("cancel_job", { ...cancellation, idempotencyKey: `${cancelled.id}-c` });
    bench().clock.advance(60_000);
    const retryJob = async (jobId: string) => {
      const made = await bench().ok("retry_job", { jobId, retryMode: "RESTART", reason: "again" });
      return String(Object(made.structured["data"]).id);
    };
    const [retryId, secondRetryId] = [await retryJob(id), await retryJob(cancelled.id)];

    // Another server, with another journal.
    const other = bench().withConnection(await inProcessClientForTest(revision, emulatorEnv(bench().service.emulator)));
    const args = { jobId: id, retryMode: "SAFE_RESUME", reason: "again" };
    const unseen = await other.fails("retry_job", args, "conflict");
    expect(unseen.next).toMatch(/^list_jobs shows the job's retry, if there is one/);
    expect((await readNextStep(other, id)).summary).toMatch(/may be retried/);

    await other.ok("get_job", { jobId: secondRetryId });
    const advice = await readNextStep(other, cancelled.id);
    expect(advice.summary).toContain(`CANCELLED; 0 of 9 stages finished. It was retried as job ${secondRetryId}.`);
    expect(advice.step).toMatchObject({ tool: "get_job", arguments: { jobId: secondRetryId } });

    const { structured } = await other.ok("list_jobs", { workspaceId: bench().workspaceId });
    expect(structured["data"]).toContainEqual(expect.objectContaining({ id, retriedBy: retryId }));
    expect((await readNextStep(other, id)).step).toMatchObject({ tool: "get_job", arguments: { jobId: retryId } });
    const seen = await other.fails("retry_job", { ...args, idempotencyKey: `${id}-2` }, "conflict");
    expect(seen.message).toContain(retryId);
    expect(seen.next).toContain(`get_job {"jobId":"${retryId}"}`);
  });

  test("after the API refuses a cancellation for its version, the error advises to read the job, not to cancel again", async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const args = { jobId: id, reason: "no" };
    await bench().service.injectFault({ kind: "drop-before" }, { operationId: "cancelMicJob" });
    await bench().service.injectFault(RETRY_LATER, { operationId: "cancelMicJob" });
    const { idempotencyKey } = await bench().fails("cancel_job", args, "outcome_unknown");
    bench().clock.advance(1_300);
    for (const again of [args, { ...args, idempotencyKey }]) {
      const refused = await bench().fails("cancel_job", again, "precondition_failed");
      expect(refused).toMatchObject({ sideEffect: "unknown", retryable: false, idempotencyKey });
      expect(refused.message).toContain(`Job ${id} is RUNNING now`);
      expect(refused.next).toMatch(new RegExp(`^get_job \\{"jobId":"${id}","waitSeconds":30\\} shows`));
      expect(refused.next).not.toContain("cancel_job {");
    }
    const { summary, step } = await readNextStep(bench(), id);
    expect(summary).toMatch(/RUNNING.*Its cancellation.*unknown outcome/);
    expect(step).toMatchObject({ tool: "resolve_actions", arguments: { idempotencyKey } });
    await bench().ok("cancel_job", { ...args, waitSeconds: 0, idempotencyKey: `${id}-new` });
    bench().clock.advance(60_000);
    // Once the job has ended, the unknown cancellation no longer matters.
    const after = await readNextStep(bench(), id);
    expect(after.summary).toMatch(/is CANCELLED; \d of 9 stages finished\. It can be retried\.$/);
    expect(after.step).toEqual({});
    const ended = await bench().fails("cancel_job", { ...args, idempotencyKey }, "conflict");
    expect(ended.message).toContain(`Job ${id} is CANCELLED now`);
    expect(ended.next).toMatch(/nothing left to cancel/);
  });

  test("a RESTART is still taken into account after many later actions", async () => {
    const stateDir = await folderForTest();
    const env = { ...emulatorEnv(bench().service.emulator), MIC_STATE_DIR: stateDir };
    const own = bench().withConnection(await inProcessClientForTest(revision, env));
    const failed = await createRetryableJob(bench().service);
    const made = await own.ok("retry_job", { jobId: failed.id, retryMode: "RESTART", reason: "anew" });
    const jobId = String(Object(made.structured["data"]).id);
    const database = await openSqlite(stateDir);
    await database.query(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
       INSERT INTO actions (service, key, upstream_key, tool, arguments, fingerprint, slot, about, path, if_match, body, state,
         indeterminate, attempts, owner, lease_until, outcome, resource_id, created_at, first_sent_at, updated_at, resolved_at)
       SELECT service, key || i, upstream_key, tool, arguments, fingerprint || i, slot, about, path, if_match, body, state,
         0, 1, owner, 0, outcome, resource_id || i, created_at + i, first_sent_at, updated_at + i, resolved_at
       FROM actions, n`,
    );
    await database.close();
    const data = { ...failed, id: jobId, retryOfBatchId: failed.id };
    const body = JSON.stringify({ data, meta: { requestId: "r-1" } });
    await bench().service.injectFault({ kind: "body", body }, { operationId: "getMicJob" });
    expect((await readNextStep(own, jobId)).summary).toMatch(/after a RESTART too: stop retrying/);
  });

  test("an unreadable journal does not make a read fail", async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const env = { ...emulatorEnv(bench().service.emulator), MIC_STATE_DIR: "/dev/null/nowhere" };
    const connection = await inProcessClientForTest(revision, env);
    const { isError, text } = await connection.callTool("get_job", { jobId: id });
    expect(isError, text).toBe(false);
  });
});
