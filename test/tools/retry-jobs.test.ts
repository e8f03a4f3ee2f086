// retry_jobs: one retry for each of many jobs, none of them twice, and the new jobs waited for.
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { covers } from "../covers.ts";
import type { Service } from "../emulator/service.ts";
import { createJobBodyForFile, createRetryableJob, FILE, runJobToEnd } from "../emulator/work.ts";
import { operations } from "../operations.ts";
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

/** So many jobs that have failed, and that nobody has retried yet. */
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
  covers("4.2/retry-job", "12 failed jobs are retried and waited for, at few tokens", async () => {
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
    // One for each job at least, and never back.
    const progressValues = ticks.map(({ progress }) => progress);
    expect(progressValues.length).toBeGreaterThanOrEqual(12);
    expect([...progressValues].sort((a, b) => a - b)).toEqual(progressValues);
  });

  test("retried without waiting and then waited for, 12 jobs cost two calls", async () => {
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

  test("one that cannot be retried stops no other, and each is told", async () => {
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

  test("jobs that were retried before are named and not sent: by the journal, by a list, by the service", async () => {
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

  covers("4.2/key-names-one-command", "an unknown outcome has a key, and the next step settles it", async () => {
    const [lost = "", fine = ""] = await createFailedJobs(bench().service, 2);
    // Every try of the first job's: the second one has its own after that.
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

  test("a Retry-After that does not fit pauses all: the rest is not sent, and is the next step", async () => {
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
    // Those that were on their way already, at most.
    expect(sent.length).toBeLessThanOrEqual(8);
    await bench().service.admin("DELETE", "faults");
    const { structured } = await bench().ok("retry_jobs", { jobIds, ...resume, waitSeconds: 0 });
    expect(rowsOf(structured).every(({ outcome }) => outcome === "retried")).toBe(true);
  });

  test("a Retry-After that fits is waited for by all", async () => {
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
    test("RESTART asks the person once for all; declined, nothing is sent", async () => {
      const jobIds = await createFailedJobs(bench().service, 3);
      const restart = { jobIds, retryMode: "RESTART", reason, waitSeconds: 0 };
      questions.length = 0;
      reply = { action: "decline" };
      const declined = await captureRetries(bench(), () => bench().fails("retry_jobs", restart, "cancelled"));
      expect(declined).toEqual([]);
      expect(questions).toHaveLength(1);
      for (const id of jobIds) expect(questions[0]).toContain(`${id} (FAILED)`);
      expect(questions[0]).toContain(JSON.stringify(reason));

      reply = { action: "accept", content: {} };
      const { structured } = await bench().ok("retry_jobs", restart);
      expect(rowsOf(structured).every(({ outcome }) => outcome === "retried")).toBe(true);
      expect(questions).toHaveLength(2);
      // All are in the journal: the same call again asks nobody, and does nothing.
      const again = await captureRetries(bench(), async () => {
        const repeated = await bench().ok("retry_jobs", restart);
        expect(rowsOf(repeated.structured).map(({ newJobId }) => newJobId)).toEqual(
          rowsOf(structured).map(({ newJobId }) => newJobId),
        );
      });
      expect(again).toEqual([]);
      expect(questions).toHaveLength(2);

      // One more is asked about alone.
      const { id } = await createRetryableJob(bench().service);
      await bench().ok("retry_jobs", { ...restart, jobIds: [...jobIds, id] });
      expect(questions).toHaveLength(3);
      expect(questions[2]).toMatch(/^Run 1 job anew/);
      expect(questions[2]).toContain(id);
      expect(questions[2]).not.toContain(jobIds[0]);
    });

    test("nobody is asked about SAFE_RESUME, nor about jobs that are not there", async () => {
      const [jobId = ""] = await createFailedJobs(bench().service, 1);
      questions.length = 0;
      await bench().ok("retry_jobs", { jobIds: [jobId], ...resume, waitSeconds: 0 });
      const { structured } = await bench().ok("retry_jobs", { jobIds: ["micjob_none"], retryMode: "RESTART", reason });
      expect(rowsOf(structured)).toMatchObject([{ outcome: "rejected", code: "NOT_FOUND" }]);
      expect(questions).toEqual([]);
    });

    test("within the deduplication window the same call is the same retries, and says so", async () => {
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
