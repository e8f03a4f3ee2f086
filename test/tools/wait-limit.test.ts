// Tests that waitSeconds limits the whole call of tools for many jobs, even if one request never receives a response (45 s otherwise).
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { createRetryableJob, FILE, submitJob } from "../emulator/work.ts";
import type { OperationId } from "../operations.ts";
import { type Args, type Bench, createBatchArguments, createRunArguments } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const waitSeconds = 3;
const Step = z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) });

/** Makes the call while one request of the operation never receives a response, and returns its result. */
async function callWithHang(bench: Bench, operationId: OperationId, tool: string, args: Args, afterCommit = false) {
  await bench.service.injectFault({ kind: "hang", afterCommit }, { operationId, times: 6 });
  const signal = AbortSignal.timeout(20_000);
  const { structured } = await bench.ok(tool, { ...args, waitSeconds }, { signal });
  await bench.service.admin("DELETE", "faults");
  return { structured, step: Step.parse(structured["nextStep"]) };
}

describeLatestRevision((bench) => {
  test("if a read receives no response, wait_for_jobs returns the jobs and the call that continues the wait", async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const { structured, step } = await callWithHang(bench(), "getMicJob", "wait_for_jobs", { jobIds: [id] });
    expect(structured).toMatchObject({ jobs: [{ id, error: "TIMEOUT" }], running: 1 });
    expect(step).toEqual({ tool: "wait_for_jobs", arguments: { jobIds: [id] } });
  });

  for (const afterCommit of [false, true])
    test(`the next call of retry_jobs resolves a retry that received no response (executed: ${afterCommit})`, async () => {
      const { id } = await createRetryableJob(bench().service);
      const args = { jobIds: [id], retryMode: "SAFE_RESUME", reason: "Once more" };
      const before = (await bench().requests("retryMicJob")).length;
      const { structured, step } = await callWithHang(bench(), "retryMicJob", "retry_jobs", args, afterCommit);
      expect(structured["results"]).toMatchObject([{ jobId: id, outcome: "unknown" }]);
      expect(step).toEqual({ tool: "retry_jobs", arguments: args });
      const again = await bench().ok(step.tool, step.arguments, bench().withAdvancingClock());
      expect(again.structured["results"]).toMatchObject([{ jobId: id, outcome: "retried", state: "SUCCEEDED" }]);
      const keys = (await bench().requests("retryMicJob")).slice(before).map(({ idempotencyKey }) => idempotencyKey);
      expect(new Set(keys).size).toBe(1);
    });

  test("retries that do not fit into the call's time are not sent, and the next step sends them", async () => {
    const jobs = await Promise.all(Array.from({ length: 20 }, () => createRetryableJob(bench().service)));
    const args = { jobIds: jobs.map(({ id }) => id), retryMode: "SAFE_RESUME", reason: "Slow, but sure" };
    const slow = { kind: "delay", delayMs: 1_800 };
    await bench().service.injectFault(slow, { operationId: "retryMicJob", times: 20 });
    const { result, sent } = await bench().capture(() => bench().ok("retry_jobs", { ...args, waitSeconds }));
    await bench().service.admin("DELETE", "faults");
    const rows = z.array(z.object({ jobId: z.string(), outcome: z.string() })).parse(result.structured["results"]);
    const unsent = z.object({ jobIds: z.array(z.string()) }).parse(result.structured["notSent"]).jobIds;
    expect(unsent).not.toEqual([]);
    expect(sent.filter(({ operationId }) => operationId === "retryMicJob")).toHaveLength(20 - unsent.length);
    // On a busy machine, a retry that was sent may have no response yet.
    const unfinished = rows.filter(({ outcome }) => outcome !== "retried").map(({ jobId }) => jobId);
    const jobIds = args.jobIds.filter((id) => unfinished.includes(id) || unsent.includes(id));
    expect(result.structured["nextStep"]).toMatchObject({ tool: "retry_jobs", arguments: { ...args, jobIds } });
  });

  test("retry_jobs retries a job that cannot be read in time", async () => {
    const { id } = await createRetryableJob(bench().service);
    const args = { jobIds: [id], retryMode: "SAFE_RESUME", reason: "Once more" };
    const { structured } = await callWithHang(bench(), "getMicJob", "retry_jobs", args);
    expect(structured["results"]).toMatchObject([{ jobId: id, outcome: "retried" }]);
  });

  for (const operationId of ["createMicPublicInput", "createMicJob", "getMicJob"] as const)
    test(`run_jobs continues in the next call if ${operationId} receives no response`, async () => {
      const batch = await createBatchArguments(bench().service, [FILE.succeeds]);
      const args = { ...batch, idempotencyKey: `a hanging ${operationId}` };
      const { step } = await callWithHang(bench(), operationId, "run_jobs", args, true);
      expect(step).toEqual({ tool: "run_jobs", arguments: args });
      const again = await bench().ok(step.tool, step.arguments, bench().withAdvancingClock());
      expect(again.structured["results"]).toMatchObject([{ state: "SUCCEEDED" }]);
    });

  test("an action in flight at the end of the call continues, and its outcome is recorded", async () => {
    const run = { ...(await createRunArguments(bench().service, FILE.succeeds)), waitSeconds: 1 };
    const args = { ...run, idempotencyKey: "an action that takes longer than its call" };
    await bench().service.injectFault({ kind: "delay", delayMs: 3_000 }, { operationId: "createMicJob" });
    const before = (await bench().requests("createMicJob")).length;
    const failed = await bench().fails("run_job", args, "timeout");
    expect(failed).toMatchObject({ code: "IN_PROGRESS", retryable: true, sideEffect: "unknown" });
    const readState = async () => {
      const { structured } = await bench().call("list_actions");
      return JSON.stringify(structured?.["actions"]).match(/"submit_job"[^}]*?"state":"(\w+)"/)?.[1];
    };
    expect(await readState()).toBe("in_progress");
    await expect.poll(readState).toBe("succeeded");
    const again = await bench().ok("run_job", { ...args, waitSeconds: 0 });
    expect(again.structured["action"]).toMatchObject({ replayed: true });
    expect(await bench().requests("createMicJob")).toHaveLength(before + 1);
  });
});
