// Tests list_jobs with a filter: the server reads the pages, returns matching rows, and continues at the cursor.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { createRetryCache } from "../../src/toolkit/caches.ts";
import { findJobs } from "../../src/toolkit/jobs/find-jobs.ts";
import { clientForTest, eagerTiming } from "../api-client/client.ts";
import { job, problem } from "../contract/samples.ts";
import { createRetryableJob } from "../emulator/work.ts";
import { operations } from "../operations.ts";
import { countTokens } from "../support/count-tokens.ts";
import { parseCsv } from "../support/csv.ts";
import { hourlyJobs, type ListedJob, serveJobs } from "../support/job-list.ts";
import type { CallResult } from "../support/results.ts";
import { answer, type Step, type Stub, stubForTest } from "../support/stub.ts";
import { sessionForTest } from "../unspecified/session.ts";
import type { Args, Bench } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const Row = z.looseObject({ id: z.string(), state: z.string() });
const Retried = z.array(z.looseObject({ outcome: z.literal("retried"), count: z.int().default(1) }));
const Found = z.looseObject({
  summary: z.string(),
  nextStep: z.looseObject({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) }).optional(),
  data: z.array(Row),
  failures: z.array(z.looseObject({ count: z.number(), jobIds: z.array(z.string()) })).default([]),
  givenUp: z.number().optional(),
  counts: z.record(z.string(), z.number()),
  read: z.object({ jobs: z.number(), complete: z.boolean() }),
  page: z.object({ nextCursor: z.string().nullable(), hasMore: z.boolean() }),
});
const parseFound = ({ isError, text, structured }: CallResult) => {
  expect(isError, text).toBe(false);
  return Found.parse(structured);
};
const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
/** The ids of all jobs that were found: those with rows, and those that share a failure. */
const foundIds = ({ data, failures }: Pick<z.infer<typeof Found>, "data" | "failures">) =>
  [...idsOf(data), ...failures.flatMap(({ jobIds }) => jobIds)].sort();
const sortedIds = (rows: readonly { readonly id: string }[]) => idsOf(rows).sort();
const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((total, count) => total + count);

async function listEveryJob(bench: Bench) {
  const { workspaceId, service } = bench;
  const first = await service.ok(operations.listMicJobs, { query: { workspaceId, limit: 100 } });
  const cursor = String(first.page.nextCursor);
  const second = await service.ok(operations.listMicJobs, { query: { workspaceId, limit: 100, cursor } });
  return [...first.data, ...second.data];
}

async function followPages(bench: Bench, args: Args) {
  const ids: string[] = [];
  let read = 0;
  for (let next: Args | undefined = args; next; ) {
    const { structured } = await bench.ok("list_jobs", next);
    const page = Found.parse(structured);
    ids.push(...foundIds(page));
    read += page.read.jobs;
    expect(sum(page.counts)).toBe(foundIds(page).length);
    expect(page.read.complete).toBe(page.page.nextCursor === null);
    const cursor = page.page.nextCursor;
    next = cursor === null ? undefined : { ...args, cursor };
  }
  return { ids: ids.sort(), read };
}

describeLatestRevision((bench) => {
  test("a filter by states returns all matching jobs in one call", {
    tags: ["4.2/list-jobs", "4.2/next-cursor"],
  }, async () => {
    const { workspaceId } = bench();
    const jobs = await listEveryJob(bench());
    const args = { workspaceId, states: ["FAILED", "PAUSED"], limit: 100 };
    const { result, sent } = await bench().capture(() => bench().ok("list_jobs", args));
    const all = Found.parse(result.structured);
    const wanted = jobs.filter(({ state }) => state === "FAILED" || state === "PAUSED");
    expect(foundIds(all)).toEqual(sortedIds(wanted));
    expect(all.read).toEqual({ jobs: jobs.length, complete: true });
    const FAILED = jobs.filter(({ state }) => state === "FAILED").length;
    expect(all.counts).toEqual({ FAILED, PAUSED: wanted.length - FAILED });
    expect(all.nextStep).toBeUndefined();
    expect(sent.map(({ path }) => new URLSearchParams(path.split("?")[1]).get("limit"))).toEqual(["100", "100"]);
  });

  test("with a low limit, each next call continues exactly after the last row", {
    tags: ["4.2/next-cursor"],
  }, async () => {
    const { workspaceId } = bench();
    const jobs = await listEveryJob(bench());
    for (const args of [
      { states: ["FAILED"], limit: 7 },
      { states: ["SUCCEEDED"] },
      { states: ["FAILED", "SUCCEEDED"], limit: 30, view: "full" },
    ]) {
      const { ids, read } = await followPages(bench(), { workspaceId, ...args });
      expect(ids).toEqual(sortedIds(jobs.filter(({ state }) => args.states.includes(state))));
      expect(read).toBe(jobs.length);
    }
  });

  test("save_table saves all matching rows as CSV", async () => {
    const { workspaceId, downloadDir } = bench();
    const failed = (await listEveryJob(bench())).filter(({ state }) => state === "FAILED");
    const fileName = "failed jobs.csv";
    const args = { workspaceId, states: "FAILED", limit: 3 };
    await bench().ok("save_table", { source: "list_jobs", arguments: args, fileName });
    const [header = [], ...rows] = parseCsv(await readFile(join(downloadDir, fileName), "utf8"));
    expect(header.join()).toBe(
      "id,state,stage,failure,retryable,retryOfBatchId,retriedBy,createdAt,updatedAt,recipeVersionId",
    );
    expect(rows.map(([id]) => id)).toEqual(idsOf(failed));
  });

  test("unretried leaves out jobs that any server retried, and the summary explains how to retry the rest", async () => {
    const { workspaceId, service } = bench();
    const [ours, theirs] = [await createRetryableJob(service), await createRetryableJob(service)];
    const left = await createRetryableJob(service);
    const retry = { retryMode: "SAFE_RESUME", reason: "Once more" };
    await bench().ok("retry_job", { jobId: ours.id, ...retry });
    const elsewhere = await service.ok(operations.retryMicJob, { path: { jobId: theirs.id }, body: retry });
    const { structured } = await bench().ok("list_jobs", { workspaceId, unretried: true, limit: 100 });
    const found = Found.parse(structured);
    const failed = (await listEveryJob(bench())).filter(({ failure }) => failure?.retryable === true);
    const unretried = failed.filter(({ id }) => id !== ours.id && id !== theirs.id);
    expect(foundIds(found)).toEqual(sortedIds(unretried));
    expect(foundIds(found)).toContain(left.id);
    expect(found.failures).toMatchObject([{ failure: "STAGE_UNAVAILABLE", retryable: true, count: unretried.length }]);
    expect(found.nextStep).toMatchObject({ tool: "retry_jobs", arguments: { limit: unretried.length } });
    const retried = await bench().ok("retry_jobs", { ...found.nextStep?.arguments, waitSeconds: 20 });
    const rows = Retried.parse(retried.structured["results"]);
    expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(unretried.length);
    const page = (await bench().ok("list_jobs", { workspaceId, limit: 100 })).structured;
    for (const row of [
      { id: theirs.id, retriedBy: elsewhere.data.id },
      { id: elsewhere.data.id, retryOfBatchId: theirs.id },
    ])
      expect(page["data"]).toContainEqual(expect.objectContaining(row));
  });
});

const args = { workspaceId: "micws_1" };
const failed = { state: "FAILED", processingState: "FAILED", failure: { ...problem, retryable: true } };

async function findIn(jobs: readonly ListedJob[], filter: Args, answerInstead?: (request: number) => Step | undefined) {
  const { stub, connection } = await sessionForTest();
  const requestedPages = serveJobs(stub, () => jobs, answerInstead);
  const found = parseFound(await connection.callTool("list_jobs", { ...args, ...filter }));
  return { found, requestedPages, connection, stub };
}
const onlyFailed = { states: ["FAILED"] };

test("a call reads at most 1,000 jobs, and the next call continues after the last of them", async () => {
  const jobs = hourlyJobs(1_250, (index) => (index % 400 === 399 ? failed : {}));
  const { found: first, requestedPages, connection } = await findIn(jobs, onlyFailed);
  const page = { nextCursor: "at 1000", hasMore: true };
  expect(first).toMatchObject({ read: { jobs: 1_000, complete: false }, page });
  expect(foundIds(first)).toEqual(["job-399", "job-799"]);
  expect(requestedPages).toHaveLength(10);
  expect(first.nextStep).toBeUndefined();
  const second = parseFound(
    await connection.callTool("list_jobs", { ...args, states: ["FAILED"], cursor: first.page.nextCursor }),
  );
  expect(second).toMatchObject({ read: { jobs: 250, complete: true }, data: [{ id: "job-1199" }] });
});

test("a page that fails ends the read, and the rows of earlier pages are returned", async () => {
  const refused = answer(403, { ...problem, status: 403 });
  const jobs = hourlyJobs(300, (index) => (index % 90 === 0 ? failed : {}));
  const { found, connection, stub } = await findIn(jobs, onlyFailed, (at) => (at === 3 ? refused : undefined));
  expect(foundIds(found)).toEqual(["job-0", "job-180", "job-90"]);
  expect(found).toMatchObject({ read: { jobs: 200, complete: false }, page: { nextCursor: "at 200", hasMore: true } });
  expect(found.summary).toMatch(/Reading ended early: .*403/);
  stub.respond(() => refused);
  expect((await connection.callTool("list_jobs", { ...args, ...onlyFailed })).error?.kind).toBe("forbidden");
});

const LOOP = /The API's list is broken: its next cursor cannot be sent, or leads back to a page that was already read/;
const uncalled = { nextCursor: null, hasMore: true };
/** Each page has one failed job and the next cursor of this ring. The page without a cursor continues at the first one. */
const serveRing = (stub: Stub, cursors: readonly string[]) =>
  stub.respond(({ target }) => {
    const at = cursors.indexOf(new URL(target, "http://service.example").searchParams.get("cursor") ?? "") + 1;
    const page = { nextCursor: cursors[at % cursors.length], hasMore: true };
    return answer(200, { data: hourlyJobs(1, () => ({ ...failed, id: `job-${at}` })), meta: { requestId: "r" }, page });
  });

test.for([[["one"]], [["one", "two", "three"]]])(
  "a list that repeats an earlier cursor is reported as broken, with the rows that were read: %s",
  { tags: ["4.2/next-cursor"] },
  async ([cursors = []]) => {
    const { stub, connection } = await sessionForTest();
    serveRing(stub, cursors);
    const found = parseFound(await connection.callTool("list_jobs", { ...args, ...onlyFailed }));
    expect(foundIds(found)).toHaveLength(cursors.length + 1);
    expect(found).toMatchObject({ page: uncalled, read: { jobs: cursors.length + 1, complete: false } });
    expect(found.summary).toMatch(LOOP);
    expect(found.nextStep).toBeUndefined();
    expect(stub.requests).toHaveLength(cursors.length + 1);

    const save = { source: "list_jobs", arguments: { ...args, ...onlyFailed }, fileName: "loop.csv" };
    const saved = await connection.callTool("save_table", save);
    expect(saved, saved.text).toMatchObject({ isError: false, structured: { rows: cursors.length + 1 } });
    expect(saved.text).toMatch(LOOP);
    expect(saved.structured).not.toHaveProperty("nextStep");
    expect(saved.text).not.toContain('"cursor":');
  },
);

test("a page whose next cursor equals the given cursor is reported as broken", {
  tags: ["4.2/next-cursor"],
}, async () => {
  const { stub, connection } = await sessionForTest();
  serveRing(stub, ["one"]);
  const lists = ["summary", "full"].flatMap((view) => [
    ["list_jobs", { ...args, cursor: "one", view }],
    ["list_jobs", { ...args, ...onlyFailed, cursor: "one", view }],
  ]) satisfies readonly [string, Args][];
  for (const [tool, given] of lists) {
    const { structured, text } = await connection.callTool(tool, given);
    expect(structured).toMatchObject({ data: [{ id: "job-1" }], page: uncalled, summary: expect.stringMatching(LOOP) });
    expect(structured).not.toHaveProperty("nextStep");
    expect(text).not.toContain("cursor:");
  }
});

test("retry_jobs reports that reading the list failed part-way, and retries the jobs that were read", async () => {
  const { stub, connection } = await sessionForTest();
  serveRing(stub, ["one"]);
  const filter = { createdSince: "2026-01-01T00:00:00Z", failureCode: "other_code" };
  const { text } = await connection.callTool("retry_jobs", {
    ...{ workspaceId: "micws_1", retryMode: "SAFE_RESUME", reason: "Try again" },
    ...filter,
  });
  expect(text).toMatch(LOOP);
});

test("jobs that are created while a page is read again are neither lost nor repeated", async () => {
  const jobs = [...hourlyJobs(60, () => failed)];
  const { found, requestedPages } = await findIn(jobs, { ...onlyFailed, limit: 10 }, (request) => {
    if (request === 2) jobs.unshift(...hourlyJobs(2, (index) => ({ ...failed, id: `new-${index}` })));
    return undefined;
  });
  expect(requestedPages.map(({ limit }) => limit)).toEqual([100, 10]);
  expect(foundIds(found)).toEqual([...idsOf(hourlyJobs(8, () => failed)), "new-0", "new-1"]);
  expect(found.page.nextCursor).toBe("at 10");
});

test("the full view returns as many jobs as fit into one answer, and the cursor continues after the last job", {
  tags: ["4.2/list-limit"],
}, async () => {
  const { stub, connection } = await sessionForTest();
  const fieldError = { pointer: "/a", code: "c", message: "ज़ज़ज़ज़ज़ ".repeat(12) };
  const failure = { ...problem, fieldErrors: Array(20).fill(fieldError) };
  const jobs = hourlyJobs(30, () => ({ ...failed, failure }));
  const requestedPages = serveJobs(stub, () => jobs);
  for (const filter of [{}, { states: ["FAILED"] }]) {
    const ids: string[] = [];
    for (let next: Args | undefined = { ...args, ...filter, view: "full" }; next; ) {
      const { structured, text, isError } = await connection.callTool("list_jobs", next);
      expect(isError, text).toBe(false);
      const json = JSON.stringify(structured);
      expect(json.length).toBeLessThan(50_000);
      expect(countTokens(json)).toBeLessThan(25_000);
      const page = Found.partial({ counts: true, read: true }).parse(structured);
      ids.push(...idsOf(page.data));
      if (page.page.hasMore) expect(page.summary).toContain("This answer has reached its size limit.");
      const cursor = page.page.nextCursor;
      next = cursor === null ? undefined : { ...args, ...filter, view: "full", cursor };
    }
    expect(ids).toEqual(jobs.map(({ id }) => id));
  }
  expect(requestedPages.length).toBeGreaterThan(4);
});

test("one job that exceeds the maximum size of an answer is returned anyway", async () => {
  const { stub, connection } = await sessionForTest();
  const fieldErrors = Array(60).fill({ pointer: "/a", code: "c", message: "m".repeat(1_000) });
  serveJobs(stub, () => hourlyJobs(2, () => ({ ...failed, failure: { ...problem, fieldErrors } })));
  for (const filter of [{}, { states: ["FAILED"] }]) {
    const { structured } = await connection.callTool("list_jobs", { ...args, ...filter, view: "full" });
    expect(structured).toMatchObject({ data: [{ id: "job-0" }], page: { nextCursor: "at 1", hasMore: true } });
  }
});

test("a retry on a later page removes the row from the result", async () => {
  const jobs = hourlyJobs(150, (index) => (index === 3 ? failed : index === 140 ? { retryOfBatchId: "job-3" } : {}));
  const { found } = await findIn(jobs, { unretried: true });
  expect(found).toMatchObject({ data: [], read: { jobs: 150, complete: true } });
});

test("jobs that share a failure have one row, with their number and ids", async () => {
  const otherCode = { ...failed, failure: { ...problem, code: "OTHER" } };
  const jobs = hourlyJobs(12, (index) => (index < 10 ? failed : index === 10 ? otherCode : {}));
  const { found } = await findIn(jobs, onlyFailed);
  const jobIds = idsOf(jobs.slice(0, 10));
  expect(found.failures).toMatchObject([{ failure: problem.code, retryable: true, count: 10, jobIds }]);
  expect(found).toMatchObject({ data: [{ id: "job-10", failure: "OTHER" }], counts: { FAILED: 11 } });
});

test("unretried omits and counts jobs that get_job advises not to retry; the next step names at most 50 jobs", async () => {
  const stage = { ...job.stages[0], stage: "CHURN", state: "FAILED" };
  const jobs = hourlyJobs(64, (at) => ({ ...failed, stages: [{ ...stage, attemptCount: at < 4 ? 3 : 1 }] }));
  const { found } = await findIn(jobs, { unretried: true, limit: 100 });
  expect(found.givenUp).toBe(4);
  expect(found.summary).toContain("Of 64 jobs read, 60 match: 60 FAILED. Not listed: 4 ");
  expect(found.nextStep).toMatchObject({ tool: "retry_jobs", arguments: { limit: 50, retryMode: "SAFE_RESUME" } });
});

const SECONDS_A_PAGE = 9;

test("a filtered read takes at most 20 s", async () => {
  const stub = await stubForTest();
  const requestedPages = serveJobs(stub, () => hourlyJobs(900));
  const clockMs = () => Date.now() + requestedPages.length * SECONDS_A_PAGE * 1_000;
  const { service: api } = clientForTest(stub.baseUrl, { timing: { ...eagerTiming, clockMs } });
  const context = { signal: new AbortController().signal, deadlineAt: clockMs() + 45_000 };
  const wish = { workspaceId: "micws_1", filter: { states: ["FAILED"] as const }, isFull: false };
  const actions = { readHistory: async () => ({ actions: [] }) };
  const ports = { api, retries: createRetryCache(), actions };
  const found = await findJobs(wish, { ...context, ...ports, report: () => undefined });
  expect(requestedPages).toHaveLength(3);
  const page = { nextCursor: "at 300", hasMore: true };
  expect(found).toMatchObject({ data: [], read: { jobs: 300, complete: false }, page });
});
