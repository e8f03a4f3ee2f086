// Tests get_job: the wait for the end of a job, and advice that depends on the journal. toolkit/descriptions.test.ts has the advice for each
// state.
import { expect, test } from "vitest";
import { openSqlite } from "../../src/store/sqlite.ts";
import { copyAction } from "../actions/samples.ts";
import { createRetryableJob, FILE, submitJob } from "../emulator/work.ts";
import { emulatorEnv, inProcessClientForTest, type Progress } from "../support/mcp.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { expectIncreasing } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const STAGE_MS = 500;

describeLatestRevision((bench, revision) => {
  test("get_job waits for the end and reports the stages", { tags: ["6/progress-by-reading"] }, async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    bench().clock.advance(2 * STAGE_MS);
    const ticks: Progress[] = [];
    const onprogress = (tick: Progress) => {
      ticks.push(tick);
      // Only this advances the emulator's clock: one stage at the first read, then all the rest.
      bench().clock.advance(ticks.length === 1 ? STAGE_MS : 20 * STAGE_MS);
    };
    const sent = await bench().captureRequests(async () => {
      const { structured } = await bench().ok("get_job", { jobId: id, waitSeconds: 20 }, { onprogress });
      expect(structured["data"]).toMatchObject({ id, state: "SUCCEEDED" });
    });
    expect(new Set(sent.map(({ operationId }) => operationId))).toEqual(new Set(["getMicJob"]));
    expect(sent.length).toBeGreaterThanOrEqual(3);
    const [first, second] = ticks;
    expect(first?.message).toMatch(/RUNNING GATHER|RUNNING SIFT/);
    expect(second?.message).toMatch(/RUNNING (SIFT|REFINE)/);
    expect(second?.progress).not.toBe(first?.progress);
    expectIncreasing(ticks);
    expect(second?.total).toBe(9);
  });

  test.each([
    ["WAITING_REVIEW", FILE.waitsForReview],
    ["PAUSED", FILE.pauses],
    ["FAILED", FILE.failsForGood],
  ])("a job that becomes %s ends the wait, and causes none if it is so already", async (state, file) => {
    const { id } = await submitJob(bench().service, file);
    const onprogress = () => bench().clock.advance(9 * STAGE_MS);
    const wait = () => bench().ok("get_job", { jobId: id, waitSeconds: 45 }, { onprogress });
    expect((await wait()).structured["data"]).toMatchObject({ state });
    expect(await bench().captureRequests(wait)).toHaveLength(1);
  });

  test("a read that fails during a wait does not lose the state that was read before", async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const onprogress = () =>
      void bench().service.injectFault({ kind: "status", status: 503 }, { operationId: "getMicJob", times: 100 });
    const { structured } = await bench().ok("get_job", { jobId: id, waitSeconds: 2 }, { onprogress });
    expect(structured["data"]).toEqual({ state: "PREPARING" });
  });

  test("when the time is up, the result has the newest state and the call that continues the wait", async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const sent = await bench().captureRequests(async () => {
      const { structured } = await bench().ok("get_job", { jobId: id, waitSeconds: 1 });
      // Nothing is new, so the result has only the state and the call that continues the wait.
      expect(structured).toEqual({
        summary: expect.stringMatching(/^Still PREPARING, GATHER next after \d s\.$/),
        nextStep: { tool: "get_job", arguments: { jobId: id, waitSeconds: 45 }, why: "waits for it" },
        data: { state: "PREPARING" },
      });
    });
    expect(sent.length).toBeGreaterThanOrEqual(2);
    expect(sent.length).toBeLessThanOrEqual(4);
  });

  test("canceling ends the wait and the reads at once", async () => {
    const { id: left } = await submitJob(bench().service, FILE.succeeds);
    const { id: other } = await submitJob(bench().service, FILE.succeeds);
    const abort = new AbortController();
    const options = { signal: abort.signal, onprogress: () => abort.abort() };
    await expect(bench().call("get_job", { jobId: left, waitSeconds: 40 }, options)).rejects.toThrow();
    const readings = async () => (await bench().requests("getMicJob")).filter(({ path }) => path.includes(left)).length;
    const before = await readings();
    // The wait for another job lasts a second: long enough for another read of the first job if its wait had not ended.
    await bench().ok("get_job", { jobId: other, waitSeconds: 1 });
    expect(await readings()).toBe(before);
  });

  test("a RESTART is still taken into account after many later actions", async () => {
    const stateDir = await folderForTest();
    const env = { ...emulatorEnv(bench().service.emulator), MIC_STATE_DIR: stateDir };
    const own = bench().withConnection(await inProcessClientForTest(revision, env));
    const failed = await createRetryableJob(bench().service);
    const idempotencyKey = "a restart of its own";
    const retry = { jobId: failed.id, retryMode: "RESTART", reason: "again", idempotencyKey };
    const jobId = await own.idFrom("retry_job", retry);
    const database = await openSqlite(stateDir);
    const created_at = "created_at + n.i";
    await copyAction(database, idempotencyKey, 1_500, { resource_id: "resource_id || n.i", created_at });
    await database.close();
    const data = { ...failed, id: jobId, retryOfBatchId: failed.id };
    const body = JSON.stringify({ data, meta: { requestId: "r-1" } });
    await bench().service.injectFault({ kind: "body", body }, { operationId: "getMicJob" });
    const { structured } = await own.ok("get_job", { jobId });
    expect(structured["summary"]).toMatch(/after a RESTART too: stop retrying/);
  });
});
