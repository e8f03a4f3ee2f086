// Tests retry_jobs: one retry for each of many jobs, no retry twice, and a wait for the new jobs.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { job, problem, stage } from "../contract/samples.ts";
import type { Service } from "../emulator/service.ts";
import { createJobBodyForFile, createRetryableJob, FILE } from "../emulator/work.ts";
import { operations } from "../operations.ts";
import { countTokens } from "../support/count-tokens.ts";
import type { Progress, Reply } from "../support/mcp.ts";
import { answer } from "../support/stub.ts";
import { sessionForTest } from "../unspecified/session.ts";
import { type Args, type Bench, expectIncreasing } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const reason = "The workers are back";
const resume = { retryMode: "SAFE_RESUME", reason };

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
  test("12 failed jobs are retried and waited for, with few tokens", { tags: ["4.2/retry-job"] }, async () => {
    const jobIds = await createFailedJobs(bench().service, 12);
    const ticks: Progress[] = [];
    let tokens = 0;
    let calls = 0;
    const sent = await captureRetries(bench(), async () => {
      const { structured } = await bench().ok("retry_jobs", { jobIds, ...resume }, bench().withAdvancingClock(ticks));
      for (let answer = structured; ; calls += 1) {
        tokens += countTokens(JSON.stringify(answer));
        const { tool, arguments: args } = Object(answer["nextStep"] ?? {});
        if (tool === undefined) break;
        answer = (await bench().ok(tool, args, bench().withAdvancingClock())).structured;
      }
      const retried = { outcome: "retried", state: "SUCCEEDED", newJobId: expect.any(String) };
      expect(structured["results"]).toMatchObject(jobIds.map((jobId) => ({ jobId, ...retried })));
    });
    expect(sent).toHaveLength(12);
    expect(new Set(sent.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(12);
    expect(calls).toBeLessThanOrEqual(1);
    expect(tokens).toBeLessThanOrEqual(1_500);
    // At least one notification for each job, and the progress never decreases.
    expect(ticks.length).toBeGreaterThanOrEqual(12);
    expectIncreasing(ticks);
  });

  test("jobs that were retried before are reported and not retried again, whether the journal, a list or the API shows it", async () => {
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
      const { structured } = await bench().ok("retry_jobs", { jobIds, ...resume, waitSeconds: 0 });
      const code = "ALREADY_RETRIED";
      expect(structured["results"]).toEqual([
        expect.objectContaining({ jobId: mine, outcome: "retried", newJobId: retryOfMine }),
        { jobId: listed, outcome: "not sent", newJobId: listedAgain, code },
        { jobId: unseen, outcome: "rejected", code, note: expect.stringContaining("list_jobs shows its retry") },
      ]);
      expect(structured["nextStep"]).toMatchObject({ tool: "wait_for_jobs", arguments: { jobIds: [retryOfMine] } });
    });
    expect(sent.map(({ path }) => path.includes(unseen))).toEqual([true]);
  });

  test("a job that was retried in another mode is not sent, and the row names that mode and its reason", async () => {
    const { id: jobId } = await createRetryableJob(bench().service);
    const first = { jobId, retryMode: "RESTART", reason: "The first reason" };
    const newJobId = await bench().idFrom("retry_job", first);
    const { structured } = await bench().ok("retry_jobs", { jobIds: [jobId], ...resume, waitSeconds: 0 });
    const note = 'The first retry had reason "The first reason", retryMode RESTART.';
    expect(structured["results"]).toEqual([{ jobId, outcome: "not sent", newJobId, code: "ALREADY_RETRIED", note }]);
  });

  test("a call with a filter reports groups of outcomes without the ids of successes, or says why there are none", async () => {
    const createdSince = new Date(bench().clock.now()).toISOString();
    const jobIds = await createFailedJobs(bench().service, 4);
    const filter = { workspaceId: bench().workspaceId, createdSince, ...resume };
    const { structured } = await bench().ok("retry_jobs", { ...filter, limit: 3 }, bench().withAdvancingClock());
    expect(structured["results"]).toEqual([{ outcome: "retried", state: "SUCCEEDED", count: 3 }]);
    const rest = await bench().ok("retry_jobs", filter, bench().withAdvancingClock());
    expect(rest.structured["results"]).toMatchObject([
      {
        jobId: expect.stringMatching(/^micjob_/),
        newJobId: expect.any(String),
        outputDatasetVersionId: expect.any(String),
      },
    ]);
    const last = await bench().ok("retry_jobs", filter);
    expect(last.structured).toEqual({ summary: "No job to retry. 4 jobs were retried before.", results: [] });
    const createdBefore = createdSince;
    const none = await bench().ok("retry_jobs", {
      ...filter,
      createdSince: "2020-01-01",
      createdBefore,
      failureCode: "X",
    });
    expect(none.structured["summary"]).toMatch(
      /No job to retry\. No failure of this period has the code X\. There are: \d+ STAGE_UNAVAILABLE, \d+ INPUT_ROWS_INVALID\.$/,
    );
    const final = { createdSince: "2020-01-01", createdBefore, failureCode: "INPUT_ROWS_INVALID" };
    const refused = await bench().ok("retry_jobs", { ...filter, ...final });
    expect(refused.structured["summary"]).toMatch(/No job to retry\. Not retryable: \d+ INPUT_ROWS_INVALID\.$/);
    const future = await bench().ok("retry_jobs", { ...filter, createdSince: "2999-01-01" });
    expect(future.structured["summary"]).toMatch(/No job to retry\. No job of this period FAILED\.$/);
    expect(jobIds).toHaveLength(4);
  });
});

const questions: string[] = [];
let reply: Reply;

describeLatestRevision(
  (bench) => {
    test("RESTART asks the user once for all jobs; if the user declines, nothing is sent", async () => {
      const jobIds = await createFailedJobs(bench().service, 3);
      const restart = { jobIds, retryMode: "RESTART", reason, waitSeconds: 0 };
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
      expect(structured["results"]).toMatchObject(jobIds.map((jobId) => ({ jobId, outcome: "retried" })));
      expect(questions).toHaveLength(2);
      // All retries are in the journal: an identical call does not ask, and sends nothing.
      const again = await bench().capture(() => bench().ok("retry_jobs", restart));
      expect(again.sent.filter(({ method }) => method === "POST")).toEqual([]);
      expect(again.result.structured["results"]).toEqual(structured["results"]);
      expect(questions).toHaveLength(2);

      // Only the additional job is asked about.
      const { id } = await createRetryableJob(bench().service);
      await bench().ok("retry_jobs", { ...restart, jobIds: [...jobIds, id] });
      expect(questions).toHaveLength(3);
      expect(questions[2]).toMatch(/^Run 1 job again from the start/);
      expect(questions[2]).toContain(id);
      expect(questions[2]).not.toContain(jobIds[0]);
    });
  },
  {
    onElicitation(question) {
      questions.push(question);
      return reply;
    },
  },
);

/** Serves jobs that fail at CHURN for ever, as an API with broken workers does. */
async function serveFailingJobs(count: number) {
  const { stub, connection } = await sessionForTest();
  const jobs = new Map<string, Record<string, unknown>>();
  const sent: string[] = [];
  function add(id: string, retryOfBatchId: string | null, attemptCount: number): Record<string, unknown> {
    const churn = { ...stage, stage: "CHURN", state: "FAILED", attemptCount };
    const createdAt = new Date(Date.parse("2026-11-22T00:00:00Z") + jobs.size * 1_000).toISOString();
    const data = { ...failedJob, id, retryOfBatchId, createdAt, stages: [churn] };
    jobs.set(id, data);
    return data;
  }
  for (let index = 0; index < count; index += 1) add(`job-${index}`, null, 1);
  stub.respond(({ method, target, body }) => {
    const [, id = "", action] = /\/jobs\/([^/?]+)(\/retries)?/.exec(target) ?? [];
    const meta = { requestId: "r" };
    if (method === "POST" && action !== undefined) {
      sent.push(id);
      const { retryMode } = JSON.parse(body.toString());
      const [earlier] = z.array(z.looseObject({ attemptCount: z.number() })).parse(jobs.get(id)?.["stages"]);
      const attempts = retryMode === "RESTART" ? 1 : (earlier?.attemptCount ?? 0) + 1;
      return answer(202, { data: add(`${id}-again`, id, attempts), meta });
    }
    if (id !== "") return answer(200, { data: jobs.get(id), meta });
    return answer(200, { data: [...jobs.values()].reverse(), meta, page: { nextCursor: null, hasMore: false } });
  });
  return { sent, connection };
}

const failedJob = { ...job, state: "FAILED", processingState: "FAILED", failure: { ...problem, retryable: true } };

test("a job that always fails is resumed, restarted and then given up, and no tool recommends another retry", async () => {
  const { connection, sent } = await serveFailingJobs(1);
  const call = async (tool: string, args: Args) => (await connection.callTool(tool, args)).structured ?? {};
  const resumed = await call("retry_jobs", { jobIds: ["job-0"], ...resume });
  expect(resumed["results"]).toMatchObject([
    { outcome: "retried", newJobId: "job-0-again", state: "FAILED", stage: "CHURN", code: problem.code },
  ]);
  const nextStep = { tool: "retry_jobs", arguments: { jobIds: ["job-0-again"], retryMode: "RESTART" } };
  expect(resumed).toMatchObject({ nextStep });
  const restarted = await call("retry_jobs", Object(resumed["nextStep"]).arguments);
  expect(restarted["results"]).toMatchObject([{ newJobId: "job-0-again-again", state: "FAILED", stage: "CHURN" }]);
  expect(restarted["nextStep"]).toBeUndefined();
  const last = ["job-0-again-again"];
  expect((await call("wait_for_jobs", { jobIds: last }))["nextStep"]).toBeUndefined();
  const given = await call("retry_jobs", { jobIds: last, ...resume });
  const note = "CHURN failed after a RESTART too";
  expect(given["results"]).toEqual([{ jobId: last[0], outcome: "not sent", state: "FAILED", code: "GIVEN_UP", note }]);
  expect(given["summary"]).toContain("contact the operator. retry_job retries one of them anyway.");
  const unretried = await call("list_jobs", { workspaceId: "micws_1", unretried: true });
  expect(unretried).toMatchObject({ data: [], givenUp: 1 });
  expect(unretried["nextStep"]).toBeUndefined();
  expect(sent).toEqual(["job-0", "job-0-again"]);
  await connection.callTool("retry_job", { jobId: last[0], ...resume });
  expect(sent).toHaveLength(3);
});

test("retry_jobs with a filter retries each failed job once, continues after the limit, and never retries its own retries", async () => {
  const { connection, sent } = await serveFailingJobs(4);
  const call = async (args: Args) => (await connection.callTool("retry_jobs", { ...args, ...resume })).structured ?? {};
  const filter = { workspaceId: "micws_1", createdSince: "2026-11-22T00:00:01Z" };
  expect((await call({ ...filter, failureCode: "OTHER" }))["results"]).toEqual([]);
  const first = await call({ ...filter, limit: 2 });
  const failedAgain = { outcome: "retried", state: "FAILED", stage: "CHURN", code: problem.code, count: 2 };
  expect(first["results"]).toEqual([{ ...failedAgain, jobIds: ["job-3-again", "job-2-again"] }]);
  expect(first["summary"]).toContain("1 more job matches.");
  expect(first).toMatchObject({ nextStep: { tool: "retry_jobs", arguments: { ...filter, limit: 2 } } });
  const second = await call(Object(first["nextStep"]).arguments);
  expect(second).toMatchObject({ results: [{ jobId: "job-1" }] });
  const retries = [{ state: "FAILED", count: 2, jobIds: ["job-2-again", "job-3-again"] }];
  expect(second["retries"]).toEqual(retries);
  const third = await call({ ...filter, failureCode: problem.code });
  expect(third["results"]).toEqual([]);
  expect(third["summary"]).toBe("No job to retry. 3 jobs were retried before. 3 earlier retries did not succeed.");
  expect(third).toMatchObject({ nextStep: { tool: "retry_jobs", arguments: { retryMode: "RESTART" } } });
  expect(sent).toEqual(["job-3", "job-2", "job-1"]);
  // A retry that was retried itself is not listed: only the latest state counts.
  await connection.callTool("retry_job", { jobId: "job-1-again", ...resume, retryMode: "RESTART" });
  const latest = [{ state: "FAILED", count: 3, jobIds: ["job-1-again-again", "job-2-again", "job-3-again"] }];
  expect((await call(filter))["retries"]).toEqual(latest);
});
