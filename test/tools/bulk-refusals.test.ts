// Tests how the tools for many rows stop: at the first failure that concerns all rows, with the API's answer and the time of the next call.
import { expect, test } from "vitest";
import { createRetryableJob, FILE, fileId, submitJob } from "../emulator/work.ts";
import type { OperationId } from "../operations.ts";
import { type Args, type Bench, createBatchArguments, refusal } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const FILES = [FILE.succeeds, FILE.failsForGood, FILE.pauses, FILE.waitsForReview, FILE.failsRetryably];

/** `name`: the key of all submissions, so that no test continues the jobs of another. */
async function batchOf({ service }: Bench, name: string, files: readonly number[] = FILES): Promise<Args> {
  return { ...(await createBatchArguments(service, files)), waitSeconds: 0, idempotencyKey: `bulk refusals, ${name}` };
}

const retriesOf = async ({ service }: Bench): Promise<Args> => {
  const jobs = [1, 2, 3, 4, 5, 6].map(() => createRetryableJob(service));
  const jobIds = (await Promise.all(jobs)).map(({ id }) => id);
  return { jobIds, retryMode: "SAFE_RESUME", reason: "Once more", waitSeconds: 0 };
};

const waitsOf = async ({ service }: Bench): Promise<Args> => {
  const jobs = [1, 2, 3, 4, 5, 6].map(() => submitJob(service, FILE.pauses));
  return { jobIds: (await Promise.all(jobs)).map(({ id }) => id), waitSeconds: 0 };
};

const cancellationsOf = async ({ service }: Bench): Promise<Args> => {
  const jobs = [1, 2, 3, 4, 5, 6].map(() => submitJob(service, FILE.succeeds));
  return { jobIds: (await Promise.all(jobs)).map(({ id }) => id), reason: "No longer needed", waitSeconds: 0 };
};

const ARGUMENTS = { cancel_jobs: cancellationsOf, run_jobs: batchOf, retry_jobs: retriesOf, wait_for_jobs: waitsOf };

const quota = { kind: "status", status: 429, code: "QUOTA_EXHAUSTED", retryable: true, retryAfterSeconds: 9_000 };
const outage = { kind: "status", status: 503, code: "DOWN", retryable: true, retryAfterSeconds: 3_600 };
const unauthorized = refusal(401, "BAD_TOKEN");
const forbidden = refusal(403, "NO_RIGHT");
const later = (minutes: number) => new RegExp(`Call again after [-\\d: ]+ UTC \\(in ${minutes} min\\); `);

const injectFault = (bench: Bench, what: object, operationId: OperationId, times: number) =>
  bench.service.injectFault({ ...what }, { operationId, times });

describeLatestRevision((bench) => {
  test.for([
    ["run_jobs", "createMicJob", quota, "rate_limited", "5 files"],
    ["run_jobs", "createMicJob", unauthorized, "unauthorized", "5 files"],
    ["run_jobs", "createMicJob", forbidden, "forbidden", "5 files"],
    ["retry_jobs", "retryMicJob", quota, "rate_limited", "6 jobs"],
    ["retry_jobs", "retryMicJob", unauthorized, "unauthorized", "6 jobs"],
    ["cancel_jobs", "cancelMicJob", quota, "rate_limited", "6 jobs"],
    ["cancel_jobs", "cancelMicJob", forbidden, "forbidden", "6 jobs"],
    ["wait_for_jobs", "getMicJob", quota, "rate_limited", "6 jobs"],
    ["wait_for_jobs", "getMicJob", outage, "upstream_unavailable", "6 jobs"],
    ["wait_for_jobs", "getMicJob", unauthorized, "unauthorized", "6 jobs"],
  ] as const)("%s stops without a result: %s %j", async ([tool, operationId, what, kind, counts]) => {
    const args = await ARGUMENTS[tool](bench(), `${operationId} ${what.status}`);
    const before = (await bench().requests(operationId)).length;
    await injectFault(bench(), what, operationId, 50);
    const failed = await bench().fails(tool, args, kind);
    expect(failed).toMatchObject({ sideEffect: "none", status: what.status, code: what.code });
    expect(failed.message).toContain(` ${counts} were not `);
    expect(failed.next).toMatch(
      "retryAfterSeconds" in what ? later(what.retryAfterSeconds / 60) : /^Ask the user | ask the user /,
    );
    // At most two for each of the 4 workers: with a renewed token, or for a second row.
    expect((await bench().requests(operationId)).length - before).toBeLessThanOrEqual(8);
    await bench().service.admin("DELETE", "faults");
    const again = await bench().ok(tool, { ...args, waitSeconds: 45 }, bench().withAdvancingClock());
    expect(again.structured["summary"]).not.toMatch(/NOT_RUN|not sent|not read|Stopped/);
  });

  test("run_jobs counts what ran, what is unknown and what was not sent, and says when to call again", async () => {
    const args = await batchOf(bench(), "counts");
    const [first = ""] = [args["files"]].flat().map(String);
    await bench().ok("run_jobs", { ...args, files: [first] });
    await injectFault(bench(), outage, "createMicJob", 1);
    await injectFault(bench(), quota, "createMicJob", 50);
    const { structured } = await bench().ok("run_jobs", args);
    expect(structured["summary"]).toMatch(/ 5 files: 3 NOT_SENT, 1 PREPARING, 1 UNKNOWN\. /);
    expect(structured["summary"]).toMatch(later(150));
    expect(structured["nextStep"]).toBeUndefined();
    expect(JSON.stringify(structured).match(/QUOTA_EXHAUSTED/g)).toHaveLength(1);
    // Leaves no unknown outcome, which a new key would resolve first.
    await bench().service.admin("DELETE", "faults");
    await bench().ok("run_jobs", { ...args, waitSeconds: 45 }, bench().withAdvancingClock());
  });

  test("neither a file without permission nor a file that always gets a 503 stops the other files", async () => {
    for (const what of [forbidden, outage]) {
      const args = await batchOf(bench(), `one ${what.status}`, [FILE.succeeds, FILE.failsForGood, FILE.pauses]);
      await injectFault(bench(), what, "createMicJob", 1);
      const { structured } = await bench().ok("run_jobs", { ...args, waitSeconds: 45 }, bench().withAdvancingClock());
      expect(structured["summary"]).not.toContain("Stopped");
      expect(structured["results"]).toHaveLength(3);
      expect(JSON.stringify(structured["results"]).match(/jobId/g)).toHaveLength(2);
      if (what === outage) expect(structured["summary"]).toMatch(later(60));
      expect(structured["nextStep"]).toBeUndefined();
    }
  });

  test("if an outage begins while jobs run, run_jobs advises a later call instead of an immediate wait", async () => {
    // The outcomes of other files are unknown since the test above, so a new key would resolve those first.
    const args = await batchOf(bench(), "running", [FILE.failsRetryably, FILE.waitsForReview]);
    await bench().ok("run_jobs", args);
    await injectFault(bench(), outage, "getMicJob", 50);
    const { structured } = await bench().ok("run_jobs", args);
    expect(structured).toMatchObject({ results: [{ state: "NOT_READ", error: "DOWN" }, { state: "NOT_READ" }] });
    expect(structured["summary"]).toMatch(later(60));
    expect(structured["nextStep"]).toBeUndefined();
  });
});

describeLatestRevision((bench) => {
  test("resolve_actions stops at a refusal, states it once, and leaves all actions unknown", async () => {
    const { service } = bench();
    for (const file of [FILE.succeeds, FILE.failsForGood, FILE.pauses]) {
      await injectFault(bench(), outage, "createMicPublicInput", 1);
      const args = { inputKind: "M4_FILE", referenceId: fileId(service, file), workspaceId: bench().workspaceId };
      await bench().fails("register_input", { ...args, idempotencyKey: `unresolved-${file}` }, "outcome_unknown");
    }
    const before = (await bench().requests("createMicPublicInput")).length;
    for (const [what, advice] of [
      [unauthorized, /Ask the user to correct the client id and secret/],
      [quota, later(150)],
    ] as const) {
      await injectFault(bench(), what, "createMicPublicInput", 50);
      const { structured } = await bench().ok("resolve_actions");
      expect(structured["summary"]).toMatch(/ 3 actions: 3 still unknown\. /);
      expect(structured["summary"]).toMatch(advice);
      expect(structured["nextStep"]).toBeUndefined();
      await service.admin("DELETE", "faults");
    }
    // One action each, the first of them with a renewed token too.
    expect((await bench().requests("createMicPublicInput")).length - before).toBe(3);
    const { structured } = await bench().ok("resolve_actions");
    expect(structured["summary"]).toBe("3 actions: 3 resolved.");
  });
});
