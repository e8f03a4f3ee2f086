// Tests retry_jobs: one retry for each of many jobs, no retry twice, and a wait for the new jobs.

import { expect, test } from "vitest";
import * as z from "zod/v4";
import { covers } from "../covers.ts";
import type { Service } from "../emulator/service.ts";
import { createJobBodyForFile, createRetryableJob, FILE, runJobToEnd } from "../emulator/work.ts";
import { operations } from "../operations.ts";
import { countTokens } from "../support/count-tokens.ts";
import type { Progress, Reply } from "../support/mcp.ts";
import type { Bench } from "./bench.ts";
import { describeEachRevisionInProcess, describeLatestRevision } from "./revisions.ts";

const Rows = z.array(
  z.strictObject({
    jobId: z.string(),
    outcome: z.enum(["retried", "rejected", "unknown", "not sent"]),
    newJobId: z.string().optional(),
    state: z.string().optional(),
    code: z.string().optional(),
    idempotencyKey: z.string().optional(),
  }),
);
const rowsOf = (structured: Readonly<Record<string, unknown>>) => Rows.parse(structured["results"]);

const reason = "The workers are back";
const resume = { retryMode: "SAFE_RESUME", reason };

/** Creates `count` failed jobs that were not retried yet. */
async function createFailedJobs(service: Service, count: number): Promise<readonly string[]> {
  const body = await createJobBodyForFile(service, FILE.failsRetryably);
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) ids.push((await service.ok(operations.createMicJob, { body })).data.id);
  service.clock.advance(60_000);
  return ids;
}

const captureRetries = async (bench: Bench, run: () => Promise<unknown>) =>
  (await bench.captureRequests(run)).filter(({ operationId }) => operationId === "retryMicJob");

describeLatestRevision((bench) => {
  covers("4.2/retry-job", "12 failed jobs are retried and waited for, with few tokens", async () => {
    const jobIds = await createFailedJobs(bench().service, 12);
    const ticks: Progress[] = [];
    let tokens = 0;
    let calls = 0;
    const sent = await captureRetries(bench(), async () => {
      const { structured } = await bench().ok("retry_jobs", { jobIds, ...resume }, bench().withAdvancingClock(ticks));
      let answer = structured;
      for (calls = 1; ; calls += 1) {
        tokens += countTokens(JSON.stringify(answer));
        const { tool, arguments: args } = Object(answer["nextStep"] ?? {});
        if (tool === undefined) break;
        answer = (await bench().ok(tool, args, bench().withAdvancingClock())).structured;
      }
      const rows = rowsOf(structured);
      expect(rows.map(({ jobId }) => jobId)).toEqual(jobIds);
      expect(rows.every(({ outcome, state }) => outcome === "retried" && state === "SUCCEEDED")).toBe(true);
      expect(new Set(rows.map(({ newJobId }) => newJobId)).size).toBe(12);
      expect(rows.every(({ idempotencyKey }) => idempotencyKey === undefined)).toBe(true);
    });
    expect(sent).toHaveLength(12);
    expect(new Set(sent.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(12);
    expect(calls).toBeLessThanOrEqual(2);
    expect(tokens).toBeLessThanOrEqual(1_500);
    // At least one notification for each job, and the progress never decreases.
    const progressValues = ticks.map(({ progress }) => progress);
    expect(progressValues.length).toBeGreaterThanOrEqual(12);
    expect([...progressValues].sort((a, b) => a - b)).toEqual(progressValues);
  });

  test("12 jobs need two calls: one that retries without waiting, and one that waits", async () => {
    const jobIds = await createFailedJobs(bench().service, 12);
    const first = await bench().ok("retry_jobs", { jobIds, ...resume, waitSeconds: 0 });
    const { tool, arguments: args } = Object(first.structured["nextStep"]);
    expect(tool).toBe("wait_for_jobs");
    expect(args.jobIds).toEqual(rowsOf(first.structured).map(({ newJobId }) => newJobId));
    const second = await bench().ok(tool, args, bench().withAdvancingClock());
    expect(second.structured).toMatchObject({ moving: 0 });
    const weights = [first, second].map(({ structured }) => countTokens(JSON.stringify(structured)));
    expect(weights[0] ?? 0, String(weights)).toBeLessThanOrEqual(1_500);
  });

  test("a job that cannot be retried does not stop the others, and each is reported", async () => {
    const [one = "", other = ""] = await createFailedJobs(bench().service, 2);
    const { id: ended } = await runJobToEnd(bench().service, FILE.succeeds);
    const jobIds = [ended, one, "micjob_none", other];
    const { structured } = await bench().ok("retry_jobs", { jobIds, ...resume, waitSeconds: 0 });
    expect(rowsOf(structured)).toMatchObject([
      { jobId: ended, outcome: "rejected", code: "JOB_NOT_RETRYABLE" },
      { jobId: one, outcome: "retried" },
      { jobId: "micjob_none", outcome: "rejected", code: "NOT_FOUND" },
      { jobId: other, outcome: "retried" },
    ]);
    expect(structured["summary"]).toMatch(/^Retried 2 of 4: /);
  });

  test("jobs that were retried before are reported and not retried again: known from the journal, a list or the API", async () => {
    const [mine = "", listed = "", unseen = ""] = await createFailedJobs(bench().service, 3);
    const made = await bench().ok("retry_job", { jobId: mine, ...resume });
    const retryOfMine = Object(made.structured["data"]).id;
    await bench().ok("get_job", { jobId: retryOfMine });
    const retryDirectly = async (jobId: string): Promise<string> => {
      const parts = { path: { jobId }, body: { ...resume } };
      return (await bench().service.ok(operations.retryMicJob, parts)).data.id;
    };
    const listedAgain = await retryDirectly(listed);
    await bench().ok("list_jobs", { workspaceId: bench().workspaceId });
    await retryDirectly(unseen);
    const jobIds = [mine, listed, unseen];
    const sent = await captureRetries(bench(), async () => {
      const { structured } = await bench().ok("retry_jobs", { jobIds, ...resume });
      const code = "ALREADY_RETRIED";
      expect(rowsOf(structured)).toEqual([
        expect.objectContaining({ jobId: mine, outcome: "retried", newJobId: retryOfMine }),
        { jobId: listed, outcome: "not sent", newJobId: listedAgain, code },
        { jobId: unseen, outcome: "rejected", code },
      ]);
      expect(structured["nextStep"]).toMatchObject({ tool: "wait_for_jobs", arguments: { jobIds: [retryOfMine] } });
    });
    expect(sent.map(({ path }) => path.includes(unseen))).toEqual([true]);
  });

  covers("4.2/key-names-one-command", "an unknown outcome has a key, and the next step resolves it", async () => {
    const [lost = "", fine = ""] = await createFailedJobs(bench().service, 2);
    // All attempts for the first job fail; the second job has its own attempts after that.
    await bench().service.injectFault(
      { kind: "status", status: 503, afterCommit: true },
      { operationId: "retryMicJob", times: 6 },
    );
    const first = await bench().ok("retry_jobs", { jobIds: [lost], ...resume, waitSeconds: 0 });
    const [row] = rowsOf(first.structured);
    expect(row).toMatchObject({ jobId: lost, outcome: "unknown" });
    expect(first.structured["nextStep"]).toMatchObject({
      tool: "retry_jobs",
      arguments: { jobIds: [lost], ...resume },
    });
    const { actions } = Object((await bench().call("list_actions", { state: "unknown" })).structured);
    expect(actions).toContainEqual(
      expect.objectContaining({ tool: "retry_job", idempotencyKey: row?.idempotencyKey, about: lost }),
    );
    const again = await bench().ok("retry_jobs", { jobIds: [lost, fine], ...resume, waitSeconds: 0 });
    expect(rowsOf(again.structured).map(({ outcome }) => outcome)).toEqual(["retried", "retried"]);
    const keys = (await bench().requests("retryMicJob")).filter(({ path }) => path.includes(lost));
    expect(new Set(keys.map(({ idempotencyKey }) => idempotencyKey))).toEqual(new Set([row?.idempotencyKey]));
  });

  test("a Retry-After that exceeds the call stops all retries: the rest is not sent, and is the next step", async () => {
    const jobIds = await createFailedJobs(bench().service, 12);
    const limited = { kind: "status", status: 429, code: "RATE_LIMITED", retryAfterSeconds: 3_600, retryable: true };
    await bench().service.injectFault(limited, { operationId: "retryMicJob", times: 8 });
    const sent = await captureRetries(bench(), async () => {
      const { structured } = await bench().ok("retry_jobs", { jobIds, ...resume });
      const rows = rowsOf(structured);
      expect(new Set(rows.map(({ outcome }) => outcome))).toEqual(new Set(["not sent"]));
      const step = Object(structured["nextStep"]);
      expect(step).toMatchObject({ tool: "retry_jobs", arguments: { jobIds, ...resume } });
      expect(step.why).toMatch(/^wait 3\d\d\d s first/);
    });
    // At most the requests that were in flight already.
    expect(sent.length).toBeLessThanOrEqual(8);
    await bench().service.admin("DELETE", "faults");
    const { structured } = await bench().ok("retry_jobs", { jobIds, ...resume, waitSeconds: 0 });
    expect(rowsOf(structured).every(({ outcome }) => outcome === "retried")).toBe(true);
  });

  test("all retries wait for a Retry-After that fits into the call", async () => {
    const jobIds = await createFailedJobs(bench().service, 10);
    const limited = { kind: "status", status: 429, code: "RATE_LIMITED", retryAfterSeconds: 1, retryable: true };
    await bench().service.injectFault(limited, { operationId: "retryMicJob" });
    const { structured } = await bench().ok("retry_jobs", { jobIds, ...resume, waitSeconds: 0 });
    expect(rowsOf(structured).every(({ outcome }) => outcome === "retried")).toBe(true);
  });
});

const questions: string[] = [];
let reply: Reply = { action: "accept", content: {} };
const onElicitation = (question: string): Reply => {
  questions.push(question);
  return reply;
};

describeEachRevisionInProcess(
  (bench) => {
    test("RESTART asks the user once for all jobs; declined, nothing is sent", async () => {
      const jobIds = await createFailedJobs(bench().service, 3);
      const restart = { jobIds, retryMode: "RESTART", reason, waitSeconds: 0 };
      questions.length = 0;
      reply = { action: "decline" };
      const sent = await captureRetries(bench(), async () => {
        const { structured } = await bench().ok("retry_jobs", restart);
        expect(structured).toMatchObject({ declined: true });
      });
      expect(sent).toEqual([]);
      expect(questions).toHaveLength(1);
      for (const id of jobIds) expect(questions[0]).toContain(`${id} (FAILED)`);
      expect(questions[0]).toContain(JSON.stringify(reason));

      reply = { action: "accept", content: {} };
      const { structured } = await bench().ok("retry_jobs", restart);
      expect(rowsOf(structured).every(({ outcome }) => outcome === "retried")).toBe(true);
      expect(questions).toHaveLength(2);
      // All retries are in the journal: an identical call does not ask, and sends nothing.
      const again = await captureRetries(bench(), async () => {
        const repeated = await bench().ok("retry_jobs", restart);
        expect(rowsOf(repeated.structured).map(({ newJobId }) => newJobId)).toEqual(
          rowsOf(structured).map(({ newJobId }) => newJobId),
        );
      });
      expect(again).toEqual([]);
      expect(questions).toHaveLength(2);

      // Only the additional job is asked about.
      const { id } = await createRetryableJob(bench().service);
      await bench().ok("retry_jobs", { ...restart, jobIds: [...jobIds, id] });
      expect(questions).toHaveLength(3);
      expect(questions[2]).toMatch(/^Run 1 job anew/);
      expect(questions[2]).toContain(id);
      expect(questions[2]).not.toContain(jobIds[0]);
    });

    test("retry_jobs does not ask about SAFE_RESUME or about jobs that do not exist", async () => {
      const [jobId = ""] = await createFailedJobs(bench().service, 1);
      questions.length = 0;
      await bench().ok("retry_jobs", { jobIds: [jobId], ...resume, waitSeconds: 0 });
      const { structured } = await bench().ok("retry_jobs", { jobIds: ["micjob_none"], retryMode: "RESTART", reason });
      expect(rowsOf(structured)).toMatchObject([{ outcome: "rejected", code: "NOT_FOUND" }]);
      expect(questions).toEqual([]);
    });

    test("retry_jobs within the deduplication window returns the same retries and reports the replay", async () => {
      const jobIds = await createFailedJobs(bench().service, 3);
      const first = rowsOf((await bench().ok("retry_jobs", { jobIds, ...resume, waitSeconds: 0 })).structured);
      const sent = await captureRetries(bench(), async () => {
        const args = { jobIds, retryMode: "SAFE_RESUME", reason: "worded otherwise", waitSeconds: 0 };
        const { structured } = await bench().ok("retry_jobs", args);
        const second = rowsOf(structured);
        expect(second.map(({ newJobId }) => newJobId)).toEqual(first.map(({ newJobId }) => newJobId));
        expect(structured["summary"]).toMatch(
          /^Retried 3 of 3: 3 \w+\. Not run again, since an identical call ran before: all of them\.$/,
        );
      });
      expect(sent).toEqual([]);
    });
  },
  { onElicitation },
);
