// Tests waitSeconds: the answer is delayed until the resource stops changing or the time is up, with progress notifications.
import { expect, test } from "vitest";
import { FILE, registerInput, submitJob } from "../emulator/work.ts";
import type { Progress } from "../support/mcp.ts";
import { describeLatestRevision } from "./revisions.ts";

const STAGE_MS = 500;

describeLatestRevision((bench) => {
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
    expect(second?.progress).toBeGreaterThan(first?.progress ?? Number.NaN);
    expect(second?.total).toBe(9);
  });

  test("a job that starts to wait for a review or an operator ends the wait, and a finished job causes no wait", async () => {
    for (const [file, state] of [
      [FILE.waitsForReview, "WAITING_REVIEW"],
      [FILE.pauses, "PAUSED"],
      [FILE.failsForGood, "FAILED"],
    ] as const) {
      const { id } = await submitJob(bench().service, file);
      const onprogress = () => bench().clock.advance(9 * STAGE_MS);
      const { structured } = await bench().ok("get_job", { jobId: id, waitSeconds: 45 }, { onprogress });
      expect(structured["data"]).toMatchObject({ state });
    }
    const { id } = await submitJob(bench().service, FILE.failsForGood);
    bench().clock.advance(9 * STAGE_MS);
    const sent = await bench().captureRequests(() => bench().ok("get_job", { jobId: id, waitSeconds: 45 }));
    expect(sent).toHaveLength(1);
  });

  test("a read that fails during a wait does not lose the state that was read before", async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const onprogress = () =>
      void bench().service.injectFault({ kind: "status", status: 503 }, { operationId: "getMicJob", times: 100 });
    const { structured } = await bench().ok("get_job", { jobId: id, waitSeconds: 2 }, { onprogress });
    expect(structured["data"]).toEqual({ state: "PREPARING" });
    await bench().service.admin("DELETE", "faults");
  });

  test("get_input waits for the scan, get_file_processing_request for the review", async () => {
    const { id: inputId } = await registerInput(bench().service, FILE.waitsForScan);
    const scanning = await bench().ok("get_input", { inputId });
    const nextStep = { tool: "get_input", arguments: { inputId, waitSeconds: 45 } };
    expect(scanning.structured).toMatchObject({ nextStep });
    const scanned = await bench().ok("get_input", { inputId, waitSeconds: 20 }, bench().withAdvancingClock());
    expect(scanned.structured["data"]).toMatchObject({ id: inputId, state: "READY" });

    const args = await bench().argumentsFor("requestMicSharedFileProcessing");
    const submitted = await bench().ok("request_file_processing", args);
    const requestId = Object(submitted.structured["data"]).id;
    expect(submitted.structured["nextStep"]).toMatchObject({ arguments: { requestId, waitSeconds: 45 } });
    const wait = () =>
      bench().ok("get_file_processing_request", { requestId, waitSeconds: 20 }, bench().withAdvancingClock());
    expect(Object((await wait()).structured["data"]).state).toMatch(/APPROVED|REJECTED/);
    expect(await bench().captureRequests(wait)).toHaveLength(1);
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
});
