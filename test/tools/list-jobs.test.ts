// Tests list_jobs: pages, and filters, for which the server reads the pages, returns matching rows, and continues at the cursor.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { createRetryCache } from "../../src/toolkit/caches.ts";
import { findJobs } from "../../src/toolkit/jobs/find-jobs.ts";
import { clientForTest, eagerTiming } from "../api-client/client.ts";
import { job, problem } from "../contract/samples.ts";
import { createRetryableJob } from "../emulator/work.ts";
import { argumentsOf } from "../fields.ts";
import { operations } from "../operations.ts";
import { countTokens } from "../support/count-tokens.ts";
import { hourlyJobs, type ListedJob, listEveryJob, serveJobs } from "../support/job-list.ts";
import type { CallResult } from "../support/results.ts";
import { answer, type Step, type Stub, stubForTest } from "../support/stub.ts";
import { sessionForTest } from "../unspecified/session.ts";
import { type Args, type Bench, createFreshBench } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const Found = z.looseObject({
  summary: z.string(),
  nextStep: z.looseObject({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) }).optional(),
  data: z.array(z.looseObject({ id: z.string() })),
  failures: z
    .array(z.looseObject({ count: z.number(), jobIds: z.array(z.string()), more: z.number().default(0) }))
    .default([]),
  counts: z.record(z.string(), z.number()).default({}),
  read: z.object({ jobs: z.number(), complete: z.boolean() }).optional(),
  page: z.object({ nextCursor: z.string().nullable(), hasMore: z.boolean() }),
});
const parseFound = ({ isError, text, structured }: CallResult) => {
  expect(isError, text).toBe(false);
  return Found.parse(structured);
};
const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
/** The ids of the jobs that were found: those with rows, and the first of those that share a failure. */
const foundIds = ({ data, failures }: Pick<z.infer<typeof Found>, "data" | "failures">) =>
  [...idsOf(data), ...failures.flatMap(({ jobIds }) => jobIds)].sort();
const sortedIds = (rows: readonly { readonly id: string }[]) => idsOf(rows).sort();

/** Each page counts all jobs from its first on. */
async function followPages(bench: Bench, args: Args) {
  const pages: (readonly string[])[] = [];
  const totals: number[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const found = Found.parse((await bench.ok("list_jobs", { ...args, cursor })).structured);
    pages.push(idsOf(found.data));
    totals.push(Object.values(found.counts).reduce((sum, count) => sum + count, 0));
    expect(found.read?.complete).toBe(true);
    cursor = found.page.nextCursor;
  }
  expect(totals).toEqual(pages.map((_, page) => pages.slice(page).flat().length));
  return pages.flat().sort();
}

describeLatestRevision((bench, revision) => {
  test("list_jobs returns each job once over all pages", {
    tags: ["4.2/next-cursor", "4.2/has-more", "4.2/list-jobs"],
  }, async () => {
    const args = { workspaceId: bench().workspaceId, limit: 20, view: "full" };
    const ids: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const { structured, text } = await bench().ok("list_jobs", { ...args, cursor });
      const { data, page, summary } = Found.parse(structured);
      ids.push(...idsOf(data));
      cursor = page.nextCursor;
      expect(page.hasMore).toBe(cursor !== null);
      expect(summary).toMatch(cursor === null ? /ends here\.$/ : /continues\.$/);
      expect(structured).not.toHaveProperty("nextStep");
      if (cursor === null) break;
      expect(data).toHaveLength(20);
      // The next call is complete, with the arguments of this call.
      expect(text).toContain(`Next page: list_jobs ${JSON.stringify({ ...args, cursor })}\n`);
    }
    expect(ids).toEqual(idsOf(await listEveryJob(bench().service)));
    expect(ids.length).toBeGreaterThanOrEqual(130);
  });

  test("an empty page is returned", async () => {
    const empty = { data: [], meta: { requestId: "r" }, page: { nextCursor: null, hasMore: false } };
    await bench().service.injectFault({ kind: "body", body: JSON.stringify(empty) }, { operationId: "listMicJobs" });
    const { structured, requestId } = await bench().ok("list_jobs", { workspaceId: bench().workspaceId });
    const { meta, ...facts } = empty;
    expect(structured).toEqual({ summary: "0 jobs. The list ends here.", ...facts });
    expect(requestId).toBe(meta.requestId);
  });

  test("the call for the next page omits the default workspace", async () => {
    const { workspaceId } = bench();
    const own = await createFreshBench(bench(), revision, { MIC_WORKSPACE_ID: workspaceId });
    const page = await own.call("list_jobs", { limit: 1 });
    const { nextCursor } = parseFound(page).page;
    expect(page.text).toContain(`Next page: list_jobs {"limit":1,"cursor":"${nextCursor}"}`);
    expect(page.text).not.toContain(workspaceId);
    parseFound(await own.call("list_jobs", { limit: 1, cursor: nextCursor }));
    const other = await bench().ok("list_jobs", { workspaceId, limit: 1 });
    expect(other.text).toContain(`Next page: list_jobs {"workspaceId":"${workspaceId}",`);
  });

  test("a filter by states returns all matching jobs in one call", {
    tags: ["4.2/list-jobs", "4.2/next-cursor"],
  }, async () => {
    const jobs = await listEveryJob(bench().service);
    const args = { workspaceId: bench().workspaceId, states: ["FAILED", "PAUSED"], limit: 100 };
    const { result, sent } = await bench().capture(() => bench().ok("list_jobs", args));
    const all = Found.parse(result.structured);
    const countOf = (state: string) => jobs.filter((job) => job.state === state).length;
    const counts = { FAILED: countOf("FAILED"), PAUSED: countOf("PAUSED") };
    expect(all).toMatchObject({ read: { jobs: jobs.length, complete: true }, counts });
    expect(idsOf(all.data)).toEqual(idsOf(jobs.filter(({ state }) => state === "PAUSED")));
    expect(all.failures.reduce((sum, { count }) => sum + count, 0)).toBe(counts.FAILED);
    for (const { count, jobIds, more } of all.failures) expect(jobIds).toHaveLength(Math.min(5, count - more));
    expect(all.nextStep).toBeUndefined();
    expect(sent.map(({ path }) => new URLSearchParams(path.split("?")[1]).get("limit"))).toEqual(["100", "100"]);
  });

  test("each filter leaves out jobs", async () => {
    const { workspaceId, service } = bench();
    const all = (await listEveryJob(service)).length;
    const filters = argumentsOf(operations.listMicJobs).filter(
      ({ name }) => !["workspaceId", "limit", "cursor", "view"].includes(name),
    );
    expect(filters.length).toBeGreaterThan(5);
    for (const { name, values } of filters) {
      const calls = values.accepts.map((value) => bench().ok("list_jobs", { workspaceId, [name]: value }));
      const found = (await Promise.all(calls)).map(({ structured }) => Object.values(Found.parse(structured).counts));
      const numbers = found.map((counts) => counts.reduce((sum, count) => sum + count, 0));
      expect(Math.min(...numbers), `${name} leaves out no job`).toBeLessThan(all);
    }
  });

  test.each([
    { states: ["SUCCEEDED", "PAUSED"], limit: 7 },
    { states: ["SUCCEEDED"] },
    { states: ["FAILED", "SUCCEEDED"], limit: 30, view: "full" },
  ])(
    "with a low limit, each next call continues exactly after the last row: %j",
    {
      tags: ["4.2/next-cursor"],
    },
    async (args) => {
      const listed = await listEveryJob(bench().service);
      const ids = await followPages(bench(), { workspaceId: bench().workspaceId, ...args });
      expect(ids).toEqual(sortedIds(listed.filter(({ state }) => args.states.includes(state))));
    },
  );

  test("unretried leaves out jobs that any server retried, and the summary explains how to retry the rest", async () => {
    const { workspaceId, service } = bench();
    const [ours, theirs] = [await createRetryableJob(service), await createRetryableJob(service)];
    const left = await createRetryableJob(service);
    const retry = { retryMode: "SAFE_RESUME", reason: "Once more" };
    await bench().ok("retry_job", { jobId: ours.id, ...retry });
    const elsewhere = await service.ok(operations.retryMicJob, { path: { jobId: theirs.id }, body: retry });
    const found = Found.parse((await bench().ok("list_jobs", { workspaceId, unretried: true, limit: 100 })).structured);
    const failed = (await listEveryJob(service)).filter(({ failure }) => failure?.retryable === true);
    const unretried = failed.filter(({ id }) => id !== ours.id && id !== theirs.id);
    const { length: count } = unretried;
    expect(foundIds(found)).toContain(left.id);
    const jobIds = unretried.slice(0, 5).map(({ id }) => id);
    expect(found.failures).toMatchObject([{ failure: "STAGE_UNAVAILABLE", retryable: true, count, jobIds }]);
    const period = { createdSince: expect.any(String), createdBefore: expect.any(String) };
    expect(found.nextStep).toMatchObject({ tool: "retry_jobs", arguments: { ...period, limit: count } });
    // A later failure is not among the jobs that were listed.
    service.clock.advance(2_000);
    const later = await createRetryableJob(service);
    const retried = await bench().ok("retry_jobs", { ...found.nextStep?.arguments, waitSeconds: 20 });
    const rows = z
      .array(z.looseObject({ outcome: z.literal("retried"), count: z.int().default(1) }))
      .parse(retried.structured["results"]);
    expect(rows.reduce((sum, row) => sum + row.count, 0)).toBe(count);
    const remaining = Found.parse((await bench().ok("list_jobs", { workspaceId, unretried: true })).structured);
    expect(idsOf(remaining.data)).toEqual([later.id]);
    expect(remaining.nextStep).toMatchObject({ arguments: { jobIds: [later.id] } });
    const page = (await bench().ok("list_jobs", { workspaceId, limit: 100 })).structured;
    for (const row of [
      { id: theirs.id, retriedBy: elsewhere.data.id },
      { id: elsewhere.data.id, retryOfBatchId: theirs.id },
    ])
      expect(page["data"]).toContainEqual(expect.objectContaining(row));
  });

  test("a server that reads only the page after the retry of a job lists the job as retried", async () => {
    const { workspaceId, service } = bench();
    const { id } = await createRetryableJob(service);
    const retry = { retryMode: "SAFE_RESUME", reason: "Once more" };
    const { data: made } = await service.ok(operations.retryMicJob, { path: { jobId: id }, body: retry });
    const limit = idsOf(await listEveryJob(service)).indexOf(id);
    expect(limit).toBeGreaterThan(0);
    const { page } = await service.ok(operations.listMicJobs, { query: { workspaceId, limit } });
    const args = { workspaceId, cursor: page.nextCursor, limit: 1 };
    const row = { id, retriedBy: made.id };
    const paged = await createFreshBench(bench(), revision);
    expect((await paged.ok("list_jobs", args)).structured["data"]).toMatchObject([row]);
    const filtered = await createFreshBench(bench(), revision);
    const { failures } = Found.parse((await filtered.ok("list_jobs", { ...args, ...onlyFailed })).structured);
    expect(failures.find(({ jobIds }) => jobIds.includes(id))).toMatchObject({ retried: true });
    const other = await createFreshBench(bench(), revision);
    expect(foundIds(Found.parse((await other.ok("list_jobs", { ...args, unretried: true })).structured))).not.toContain(
      id,
    );
  });
});

test("the pages before a failed job are read once, and only if this process has not read them", async () => {
  const ofIndex = new Map<number, object>([
    [3, { retryOfBatchId: "job-120" }],
    [120, failed],
    [121, failed],
  ]);
  const jobs = hourlyJobs(250, (index) => ofIndex.get(index) ?? {});
  const { found, requestedPages, connection } = await findIn(jobs, { cursor: "at 120", limit: 10 });
  expect(found.data[0]).toMatchObject({ id: "job-120", retriedBy: "job-3" });
  const earlier = [
    { limit: 100, cursor: undefined },
    { limit: 100, cursor: "at 100" },
  ];
  expect(requestedPages).toEqual([{ limit: 10, cursor: "at 120" }, ...earlier]);
  await connection.callTool("list_jobs", { ...args, cursor: "at 130", states: ["FAILED"] });
  expect(requestedPages.slice(3)).toEqual([
    { limit: 100, cursor: "at 130" },
    { limit: 100, cursor: "at 230" },
  ]);
  const full = await findIn(jobs, { cursor: "at 120", limit: 100, view: "full" });
  const shortened = { limit: full.found.data.length, cursor: "at 120" };
  expect(full.requestedPages).toEqual([{ limit: 100, cursor: "at 120" }, ...earlier, shortened]);
});

test("a list whose earlier pages cannot be read contains the jobs without their retries", async () => {
  const jobs = hourlyJobs(30, (index) => (index === 20 ? failed : index === 3 ? { retryOfBatchId: "job-20" } : {}));
  const refused = answer(403, { ...problem, status: 403 });
  const { found } = await findIn(jobs, { cursor: "at 20" }, (request) => (request === 2 ? refused : undefined));
  expect(found.data[0]).toMatchObject({ id: "job-20", retryable: true });
  expect(found.data[0]).not.toHaveProperty("retriedBy");
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
  const second = await connection.callTool("list_jobs", { ...args, ...onlyFailed, cursor: page.nextCursor });
  expect(parseFound(second)).toMatchObject({ read: { jobs: 250, complete: true }, data: [{ id: "job-1199" }] });
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
  "each tool reports a list that repeats an earlier cursor as broken, with the rows that were read: %s",
  { tags: ["4.2/next-cursor"] },
  async ([cursors = []]) => {
    const { stub, connection } = await sessionForTest();
    serveRing(stub, cursors);
    const found = parseFound(await connection.callTool("list_jobs", { ...args, ...onlyFailed }));
    const jobs = cursors.length + 1;
    expect(foundIds(found)).toHaveLength(jobs);
    expect(found).toMatchObject({ page: uncalled, read: { jobs, complete: false } });
    expect(found.summary).toMatch(LOOP);
    expect(found.nextStep).toBeUndefined();
    expect(stub.requests).toHaveLength(jobs);

    const save = { source: "list_jobs", arguments: { ...args, ...onlyFailed }, fileName: "loop.csv" };
    const saved = await connection.callTool("save_table", save);
    expect(saved, saved.text).toMatchObject({ isError: false, structured: { rows: jobs } });
    expect(saved.structured).not.toHaveProperty("nextStep");
    expect(saved.text).not.toContain('"cursor":');
    const retry = {
      createdSince: "2026-01-01",
      failureCode: "other_code",
      retryMode: "SAFE_RESUME",
      reason: "Try again",
    };
    for (const { text } of [saved, await connection.callTool("retry_jobs", { ...args, ...retry })])
      expect(text).toMatch(LOOP);
  },
);

test("a page whose next cursor equals the given cursor is reported as broken", {
  tags: ["4.2/next-cursor"],
}, async () => {
  const { stub, connection } = await sessionForTest();
  serveRing(stub, ["one"]);
  for (const view of ["summary", "full"])
    for (const filter of [{}, onlyFailed]) {
      const list = { ...args, ...filter, cursor: "one", view };
      const { structured, text } = await connection.callTool("list_jobs", list);
      const summary = expect.stringMatching(LOOP);
      expect(structured).toMatchObject({ data: [{ id: "job-1" }], page: uncalled, summary });
      expect(structured).not.toHaveProperty("nextStep");
      expect(text).not.toContain("cursor:");
    }
});

test("jobs that are created while a page is read again are neither lost nor repeated", async () => {
  const paused = { state: "PAUSED", processingState: "PAUSED" };
  const jobs = [...hourlyJobs(60, () => paused)];
  const { found, requestedPages } = await findIn(jobs, { states: ["PAUSED"], limit: 10 }, (request) => {
    if (request === 2) jobs.unshift(...hourlyJobs(2, (index) => ({ ...paused, id: `new-${index}` })));
    return undefined;
  });
  // The rest is read to be counted.
  expect(requestedPages.map(({ limit }) => limit)).toEqual([100, 10, 100]);
  expect(foundIds(found)).toEqual([...idsOf(hourlyJobs(8)), "new-0", "new-1"]);
  expect(found).toMatchObject({ page: { nextCursor: "at 10" }, counts: { PAUSED: 62 } });
});

test.each([{}, onlyFailed])(
  "the full view returns the jobs that fit into one answer, and continues after the last: %j",
  {
    tags: ["4.2/list-limit"],
  },
  async (filter) => {
    const { stub, connection } = await sessionForTest();
    const fieldError = { pointer: "/a", code: "c", message: "ज़ज़ज़ज़ज़ ".repeat(12) };
    const failure = { ...problem, fieldErrors: Array(20).fill(fieldError) };
    const jobs = hourlyJobs(30, () => ({ ...failed, failure }));
    const requestedPages = serveJobs(stub, () => jobs);
    const ids: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = parseFound(await connection.callTool("list_jobs", { ...args, ...filter, view: "full", cursor }));
      const json = JSON.stringify(page);
      expect(json.length).toBeLessThan(50_000);
      expect(countTokens(json)).toBeLessThan(25_000);
      ids.push(...idsOf(page.data));
      if (page.page.hasMore) expect(page.summary).toContain("This answer has reached its size limit.");
      cursor = page.page.nextCursor;
    }
    expect(ids).toEqual(idsOf(jobs));
    expect(requestedPages.length).toBeGreaterThan(2);
  },
);

test.each([{}, onlyFailed])(
  "one job that exceeds the maximum size of an answer is returned anyway: %j",
  async (filter) => {
    const fieldErrors = Array(60).fill({ pointer: "/a", code: "c", message: "m".repeat(1_000) });
    const jobs = hourlyJobs(2, () => ({ ...failed, failure: { ...problem, fieldErrors } }));
    const { found } = await findIn(jobs, { ...filter, view: "full" });
    expect(found).toMatchObject({ data: [{ id: "job-0" }], page: { nextCursor: "at 1", hasMore: true } });
  },
);

test("a retry on a later page removes the row from the result", async () => {
  const jobs = hourlyJobs(150, (index) => (index === 3 ? failed : index === 140 ? { retryOfBatchId: "job-3" } : {}));
  const { found } = await findIn(jobs, { unretried: true });
  expect(found).toMatchObject({ data: [], read: { jobs: 150, complete: true } });
});

test("filters by recipe version and by times select exactly the jobs between the bounds", async () => {
  const other = `micrecipev_${"1".repeat(32)}`;
  const jobs = hourlyJobs(6, (index) => ({
    ...(index % 2 === 0 && { recipeVersionId: other }),
    updatedAt: new Date(Date.parse("2026-11-21T00:00:00Z") + index * 3_600_000).toISOString(),
  }));
  for (const [filter, expected] of [
    [{ recipeVersionId: other }, [0, 2, 4]],
    [{ createdBefore: "2026-11-20T10:00:00Z" }, [3, 4, 5]],
    [{ createdSince: "2026-11-20T10:00:00Z" }, [0, 1, 2]],
    [{ updatedSince: "2026-11-21T02:00:00Z" }, [2, 3, 4, 5]],
    [{ recipeVersionId: other, createdBefore: "2026-11-20T11:00:00Z", updatedSince: "2026-11-21T04:00:00Z" }, [4]],
  ] as const)
    expect(foundIds((await findIn(jobs, filter)).found)).toEqual(expected.map((index) => `job-${index}`));
});

test("rows of a filtered list have the time of the last change, and the key of their recipe version if there are several", async () => {
  const [one, other] = ["1", "2"].map((digit) => `micrecipev_${digit.repeat(32)}`);
  const jobs = hourlyJobs(2, (index) => ({
    ...(index === 0
      ? { state: "PAUSED", processingState: "PAUSED", recipeVersionId: one }
      : { recipeVersionId: other }),
    updatedAt: "2026-11-21T00:00:00Z",
  }));
  const { found } = await findIn(jobs, { createdSince: "2026-11-01" });
  const updatedAt = "2026-11-21T00:00:00Z";
  expect(found).toMatchObject({
    data: [
      { state: "PAUSED", updatedAt, recipe: "R1" },
      { updatedAt, recipe: "R2" },
    ],
    recipes: { R1: one, R2: other },
  });
  const { found: filtered } = await findIn(jobs, { recipeVersionId: one });
  expect(filtered).not.toHaveProperty("recipes");
  expect(filtered.data[0]).not.toHaveProperty("recipe");
  const { found: page } = await findIn(jobs, {});
  expect(page.data[0]).toMatchObject({ state: "PAUSED", updatedAt });
  expect(page).not.toHaveProperty("recipes");
});

test("jobs that share a failure have one row, with their number and the first ids", async () => {
  const otherCode = { ...failed, failure: { ...problem, code: "OTHER" } };
  const jobs = hourlyJobs(12, (index) => (index < 10 ? failed : index === 10 ? otherCode : {}));
  const { found } = await findIn(jobs, onlyFailed);
  const jobIds = idsOf(jobs.slice(0, 5));
  expect(found.failures).toMatchObject([{ failure: problem.code, retryable: true, count: 10, jobIds, more: 5 }]);
  expect(found).toMatchObject({ data: [{ id: "job-10", failure: "OTHER" }], counts: { FAILED: 11 } });
});

test("unretried omits and counts jobs that get_job advises not to retry; the next step names at most 50 jobs", async () => {
  const stage = { ...job.stages[0], stage: "CHURN", state: "FAILED" };
  const jobs = hourlyJobs(64, (at) => ({ ...failed, stages: [{ ...stage, attemptCount: at < 4 ? 3 : 1 }] }));
  const { found } = await findIn(jobs, { unretried: true, limit: 100 });
  expect(found["givenUp"]).toBe(4);
  expect(found.summary).toContain("Of all 64 jobs, 60 match: 60 FAILED. Not listed: 4 ");
  expect(found.nextStep).toMatchObject({ tool: "retry_jobs", arguments: { limit: 50, retryMode: "SAFE_RESUME" } });
});

const SECONDS_A_PAGE = 9;

test("a filtered read takes at most 20 s", async () => {
  const stub = await stubForTest();
  const requestedPages = serveJobs(stub, () => hourlyJobs(900));
  const clockMs = () => Date.now() + requestedPages.length * SECONDS_A_PAGE * 1_000;
  const { service: api } = clientForTest(stub.baseUrl, { timing: { ...eagerTiming, clockMs } });
  const context = { signal: new AbortController().signal, deadlineAt: clockMs() + 45_000 };
  const wish = { workspaceId: "micws_1", filter: { states: ["FAILED" as const] }, isFull: false };
  const actions = { readHistory: async () => ({ actions: [] }) };
  const ports = { api, retries: createRetryCache(), actions };
  const found = await findJobs(wish, { ...context, ...ports, report: () => undefined });
  expect(requestedPages).toHaveLength(3);
  const page = { nextCursor: "at 300", hasMore: true };
  expect(found).toMatchObject({ data: [], read: { jobs: 300, complete: false }, page });
});
