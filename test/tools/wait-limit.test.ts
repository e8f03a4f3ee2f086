// Tests that waitSeconds limits the whole call of tools for many jobs, even if one request never receives a response (45 s otherwise).
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { createRetryableJob, FILE, submitJob } from "../emulator/work.ts";
import { rowOfEachJob } from "../support/job-rows.ts";
import { type Args, type Bench, createBatchArguments, createRunArguments } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const waitSeconds = 3;
const Step = z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) });

const retry = { retryMode: "SAFE_RESUME", reason: "Once more" };

const ARGUMENTS = {
  wait_for_jobs: async ({ service }: Bench): Promise<Args> => ({
    jobIds: [(await submitJob(service, FILE.succeeds)).id],
  }),
  retry_jobs: async ({ service }: Bench): Promise<Args> => ({
    jobIds: [(await createRetryableJob(service)).id],
    ...retry,
  }),
  run_jobs: async ({ service }: Bench, key: string): Promise<Args> => ({
    ...(await createBatchArguments(service, [FILE.succeeds])),
    idempotencyKey: key,
  }),
};

describeLatestRevision((bench) => {
  test.for([
    ["wait_for_jobs", "getMicJob", false, { jobs: [{ error: "TIMEOUT" }], running: 1 }],
    ["retry_jobs", "retryMicJob", false, { results: [{ outcome: "unknown" }] }],
    ["retry_jobs", "retryMicJob", true, { results: [{ outcome: "unknown" }] }],
    // A job that cannot be read in time is retried, and its retry is waited for.
    ["retry_jobs", "getMicJob", false, { results: [{ outcome: "retried" }] }],
    ["run_jobs", "createMicPublicInput", true, {}],
    ["run_jobs", "createMicJob", true, {}],
    ["run_jobs", "getMicJob", true, {}],
  ] as const)(
    "the next step of %s continues if %s receives no response (executed: %s)",
    async ([tool, operationId, afterCommit, first]) => {
      const args = await ARGUMENTS[tool](bench(), `a hanging ${operationId}`);
      const before = (await bench().requests(operationId)).length;
      await bench().service.injectFault({ kind: "hang", afterCommit }, { operationId, times: 6 });
      const signal = AbortSignal.timeout(20_000);
      const { structured } = await bench().ok(tool, { ...args, waitSeconds }, { signal });
      await bench().service.admin("DELETE", "faults");
      expect(structured).toMatchObject(first);
      const step = Step.parse(structured["nextStep"]);
      if (tool !== "retry_jobs" || operationId !== "getMicJob") expect(step).toEqual({ tool, arguments: args });
      const again = await bench().ok(step.tool, step.arguments, bench().withAdvancingClock());
      expect(again.structured[step.tool === "wait_for_jobs" ? "jobs" : "results"]).toMatchObject([
        { state: "SUCCEEDED" },
      ]);
      // The same action: all requests have one key.
      const keys = (await bench().requests(operationId)).slice(before).map(({ idempotencyKey }) => idempotencyKey);
      expect(new Set(keys).size).toBe(1);
    },
  );

  test("retries that do not fit into the call's time are not sent, and the next step sends them", async () => {
    const jobs = await Promise.all(Array.from({ length: 20 }, () => createRetryableJob(bench().service)));
    const args = { jobIds: jobs.map(({ id }) => id), ...retry };
    const slow = { kind: "delay", delayMs: 1_800 };
    await bench().service.injectFault(slow, { operationId: "retryMicJob", times: 20 });
    const { result, sent } = await bench().capture(() => bench().ok("retry_jobs", { ...args, waitSeconds }));
    await bench().service.admin("DELETE", "faults");
    const rows = z
      .array(z.object({ jobId: z.string(), outcome: z.string() }))
      .parse(rowOfEachJob(result.structured["results"]));
    const unsent = z.object({ jobIds: z.array(z.string()) }).parse(result.structured["notSent"]).jobIds;
    expect(unsent).not.toEqual([]);
    expect(sent.filter(({ operationId }) => operationId === "retryMicJob")).toHaveLength(20 - unsent.length);
    // On a busy machine, a retry that was sent may have no response yet.
    const unfinished = rows.filter(({ outcome }) => outcome !== "retried").map(({ jobId }) => jobId);
    const jobIds = args.jobIds.filter((id) => unfinished.includes(id) || unsent.includes(id));
    expect(result.structured["nextStep"]).toMatchObject({ tool: "retry_jobs", arguments: { ...args, jobIds } });
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
