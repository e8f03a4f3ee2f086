// Tests cancel_job and retry_job: versions, conflicts, and jobs that cannot be canceled or retried.
import { expect, test } from "vitest";
import { createRetryableJob, FILE, readJob, runJobToEnd, submitJob, watchJob } from "../emulator/work.ts";
import { describeLatestRevision } from "./revisions.ts";

const reason = "No longer needed";

const stale = { kind: "status", status: 412, code: "VERSION_CONFLICT", retryable: false };

describeLatestRevision((bench) => {
  test("cancel_job reads the version if none is given", {
    tags: ["4.2/if-match-required", "4.2/if-match-form", "9/if-match-current", "4.2/cancel-job"],
  }, async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    bench().clock.advance(1300);
    const { resourceVersion } = await readJob(bench().service, id);
    const sent = await bench().captureRequests(async () => {
      const { structured } = await bench().ok("cancel_job", { jobId: id, reason, waitSeconds: 0 });
      expect(structured["data"]).toMatchObject({ originatingResourceId: id, operationType: "JOB_CANCELLATION" });
      expect(structured["nextStep"]).toMatchObject({ tool: "get_operation" });
    });
    expect(sent.map(({ operationId }) => operationId)).toEqual(["getMicJob", "cancelMicJob"]);
    expect(sent[1]?.headers["if-match"]).toBe(`"${resourceVersion}"`);
  });

  test("cancel_job waits until the cancellation has ended, and returns the job", async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const { structured, requestId } = await bench().ok(
      "cancel_job",
      { jobId: id, reason },
      bench().withAdvancingClock(),
    );
    expect(structured).toMatchObject({ data: { id, state: "CANCELLED" }, action: { replayed: false } });
    expect(structured["summary"]).toMatch(/^The job is CANCELLED; /);
    // The id of the POST, not of a read, of which each call makes others.
    expect(await bench().ok("cancel_job", { jobId: id, reason })).toMatchObject({ requestId });
  });

  test("retry_job waits for the new job with waitSeconds, and a repeated call returns the same job", {
    tags: ["4.2/retry-job"],
  }, async () => {
    const { id: jobId } = await createRetryableJob(bench().service);
    const args = { jobId, retryMode: "SAFE_RESUME", reason: "Once more", waitSeconds: 45 };
    const { structured, requestId } = await bench().ok("retry_job", args, bench().withAdvancingClock());
    expect(structured).toMatchObject({
      data: { state: "SUCCEEDED", retryOfBatchId: jobId },
      action: { replayed: false },
    });
    expect(structured["summary"]).toMatch(/^The job \(a retry of \S+\) SUCCEEDED/);
    const again = await bench().ok("retry_job", { ...args, waitSeconds: 0 });
    expect(again.structured).toMatchObject({ data: { id: Object(structured["data"]).id }, action: { replayed: true } });
    expect(again.requestId).toBe(requestId);
  });

  test("a cancellation is reported even if neither the operation nor the job can be read", async () => {
    const { id, resourceVersion } = await submitJob(bench().service, FILE.succeeds);
    const forbidden = { kind: "status", status: 403, code: "INSUFFICIENT_SCOPE", retryable: false };
    for (const operationId of ["getMicPublicOperation", "getMicJob"])
      await bench().service.injectFault(forbidden, { operationId });
    const { structured } = await bench().ok("cancel_job", { jobId: id, reason, resourceVersion });
    expect(structured["data"]).toMatchObject({ originatingResourceId: id, operationType: "JOB_CANCELLATION" });
    await bench().service.admin("DELETE", "faults");
  });

  test("an outdated version given to cancel_job is explained, and nothing is canceled", {
    tags: ["4.2/if-match-form", "9/if-match-current"],
  }, async () => {
    const { id, resourceVersion } = await submitJob(bench().service, FILE.succeeds);
    bench().clock.advance(1300);
    const job = await readJob(bench().service, id);
    const failed = await bench().fails("cancel_job", { jobId: id, reason, resourceVersion }, "precondition_failed");
    expect(failed).toMatchObject({ status: 412, sideEffect: "none", retryable: false });
    expect(failed.next).toContain(`resourceVersion ${job.resourceVersion}`);
    expect((await readJob(bench().service, id)).state).toBe(job.state);
    // A current version is sent unchanged, and nothing is read before.
    const args = { jobId: id, reason, resourceVersion: job.resourceVersion, waitSeconds: 0 };
    const sent = await bench().captureRequests(() => bench().ok("cancel_job", args));
    expect(sent.map(({ operationId }) => operationId)).toEqual(["cancelMicJob"]);
    expect(sent[0]?.headers["if-match"]).toBe(`"${job.resourceVersion}"`);
  });

  test("a job that changes between the read and the cancellation is canceled in its new version", {
    tags: ["9/if-match-current", "4.2/key-names-one-command"],
  }, async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    await bench().service.injectFault(stale, { operationId: "cancelMicJob" });
    const sent = await bench().captureRequests(() => bench().ok("cancel_job", { jobId: id, reason, waitSeconds: 0 }));
    const round = ["getMicJob", "cancelMicJob"];
    expect(sent.map(({ operationId }) => operationId)).toEqual([...round, ...round]);
    // Another version is another action, so it gets another key.
    const keys = sent.flatMap(({ idempotencyKey = [] }) => idempotencyKey);
    expect(new Set(keys).size).toBe(2);
  });

  // With an explicit key only one attempt is made, because a key stands for one exact action.
  test.each([
    ["at once if an explicit key is given", { idempotencyKey: "my-own-key-1" }, 1],
    ["after a few rounds if no key is given", {}, 5],
  ] as const)("cancel_job reports that the job keeps changing, %s", async (_, own, most) => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    await bench().service.injectFault(stale, { operationId: "cancelMicJob", times: 20 });
    const { result, sent } = await bench().capture(() => bench().call("cancel_job", { jobId: id, reason, ...own }));
    expect(bench().expectFailure(result, "precondition_failed")).toMatchObject(own);
    expect(sent.filter(({ operationId }) => operationId === "cancelMicJob").length).toBeLessThanOrEqual(most);
  });

  test("the new job of retry_job has the earlier job's id and succeeds", {
    tags: ["4.2/retry-job", "3/retry-carries-earlier-job", "4.2/retry-mode"],
  }, async () => {
    for (const retryMode of ["SAFE_RESUME", "RESTART"]) {
      const failed = await runJobToEnd(bench().service, FILE.failsRetryably);
      const result = await bench().ok("get_job", { jobId: failed.id });
      expect(result.structured["nextStep"]).toMatchObject({ tool: "retry_job", arguments: { jobId: failed.id } });
      const { structured } = await bench().ok("retry_job", { jobId: failed.id, retryMode, reason });
      expect(structured["data"]).toMatchObject({ retryOfBatchId: failed.id });
      expect(structured["summary"]).toContain(failed.id);
      const jobId = String(Object(structured["data"]).id);
      const kept = (await readJob(bench().service, jobId)).stages.filter(({ state }) => state === "SUCCEEDED");
      expect(kept.length > 0).toBe(retryMode === "SAFE_RESUME");
      await watchJob(bench().service, jobId, undefined, { stepMs: 1000 });
      expect((await bench().ok("get_job", { jobId })).structured["data"]).toMatchObject({ state: "SUCCEEDED" });
    }
  });
});
