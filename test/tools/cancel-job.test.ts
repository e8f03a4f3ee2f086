// Tests cancel_job: the version that it sends, conflicts, and the wait for the end of the cancellation.
import { expect, test } from "vitest";
import { FILE, readJob, submitJob } from "../emulator/work.ts";
import { refusal } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const reason = "No longer needed";
const STALE = refusal(412, "VERSION_CONFLICT");
const ROUND = ["getMicJob", "cancelMicJob"];

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
    expect(sent.map(({ operationId }) => operationId)).toEqual(ROUND);
    expect(sent[1]?.headers["if-match"]).toBe(`"${resourceVersion}"`);
  });

  test("cancel_job waits until the cancellation has ended, and returns the job", async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const options = bench().withAdvancingClock();
    const { structured, requestId } = await bench().ok("cancel_job", { jobId: id, reason }, options);
    expect(structured).toMatchObject({ data: { id, state: "CANCELLED" }, action: { replayed: false } });
    // The id of the POST, not of a read, of which each call makes others.
    expect(await bench().ok("cancel_job", { jobId: id, reason })).toMatchObject({ requestId });
  });

  test("a cancellation is reported even if neither the operation nor the job can be read", async () => {
    const { id, resourceVersion } = await submitJob(bench().service, FILE.succeeds);
    for (const operationId of ["getMicPublicOperation", "getMicJob"])
      await bench().service.injectFault(refusal(403), { operationId });
    const { structured } = await bench().ok("cancel_job", { jobId: id, reason, resourceVersion });
    expect(structured["data"]).toMatchObject({ originatingResourceId: id, operationType: "JOB_CANCELLATION" });
  });

  // test/snapshots/cancel_job.md has the error for an outdated version.
  test("a given version is sent unchanged without a read, and an outdated one cancels nothing", {
    tags: ["4.2/if-match-form", "9/if-match-current"],
  }, async () => {
    const { id, resourceVersion } = await submitJob(bench().service, FILE.succeeds);
    bench().clock.advance(1300);
    const job = await readJob(bench().service, id);
    const failed = await bench().fails("cancel_job", { jobId: id, reason, resourceVersion }, "precondition_failed");
    expect(failed).toMatchObject({ status: 412, sideEffect: "none", retryable: false });
    expect((await readJob(bench().service, id)).state).toBe(job.state);
    const args = { jobId: id, reason, resourceVersion: job.resourceVersion, waitSeconds: 0 };
    const sent = await bench().captureRequests(() => bench().ok("cancel_job", args));
    expect(sent.map(({ operationId }) => operationId)).toEqual(["cancelMicJob"]);
    expect(sent[0]?.headers["if-match"]).toBe(`"${job.resourceVersion}"`);
  });

  test("a job that changes between the read and the cancellation is canceled in its new version", {
    tags: ["9/if-match-current", "4.2/key-names-one-command"],
  }, async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    await bench().service.injectFault(STALE, { operationId: "cancelMicJob" });
    const sent = await bench().captureRequests(() => bench().ok("cancel_job", { jobId: id, reason, waitSeconds: 0 }));
    expect(sent.map(({ operationId }) => operationId)).toEqual([...ROUND, ...ROUND]);
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
    await bench().service.injectFault(STALE, { operationId: "cancelMicJob", times: 20 });
    const { result, sent } = await bench().capture(() => bench().call("cancel_job", { jobId: id, reason, ...own }));
    expect(bench().expectFailure(result, "precondition_failed")).not.toHaveProperty("idempotencyKey");
    expect(sent.filter(({ operationId }) => operationId === "cancelMicJob").length).toBeLessThanOrEqual(most);
  });

  test("after the API refuses a cancellation for its version, the error advises to read the job, not to cancel again", async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const args = { jobId: id, reason };
    for (const fault of [{ kind: "drop-before" }, { kind: "status", status: 429, retryAfterSeconds: 3600 }])
      await bench().service.injectFault(fault, { operationId: "cancelMicJob" });
    const { idempotencyKey } = await bench().fails("cancel_job", args, "outcome_unknown");
    bench().clock.advance(1_300);
    for (const again of [args, { ...args, idempotencyKey }]) {
      const refused = await bench().fails("cancel_job", again, "precondition_failed");
      expect(refused).toMatchObject({ sideEffect: "unknown", retryable: false, idempotencyKey });
      expect(refused.message).toContain(`Job ${id} is RUNNING now`);
      expect(refused.next).toMatch(new RegExp(`^get_job \\{"jobId":"${id}","waitSeconds":30\\} shows`));
      expect(refused.next).not.toContain("cancel_job {");
    }
    await bench().ok("cancel_job", { ...args, waitSeconds: 0, idempotencyKey: `${id}-new` });
    bench().clock.advance(60_000);
    // Once the job has ended, the unknown cancellation no longer matters.
    const { structured } = await bench().ok("get_job", { jobId: id });
    expect(structured["data"]).toMatchObject({ state: "CANCELLED" });
    expect(structured).not.toHaveProperty("nextStep");
    const ended = await bench().fails("cancel_job", { ...args, idempotencyKey }, "conflict");
    expect(ended.message).toContain(`Job ${id} is CANCELLED now`);
  });
});
