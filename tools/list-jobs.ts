// This module defines list_jobs, which lists the jobs of a workspace: one page as the API returns it, or the jobs that match a filter.

import * as z from "zod/v4";
import { listMicJobs } from "../src/contract/endpoints/job-processing.ts";
import { DEFAULT_JOB_PAGE } from "../src/contract/envelope.ts";
import type { Job } from "../src/contract/jobs.ts";
import { formatUtc } from "../src/contract/scalars.ts";
import { countLabels, countPart, groupByKey, tallyText } from "../src/core/counts.ts";
import { formatRecordTable } from "../src/core/table.ts";
import { join, own, say, type Text } from "../src/core/text.ts";
import { cursorText, MAX_JOBS, view } from "../src/toolkit/arguments.ts";
import type { Table } from "../src/toolkit/csv.ts";
import { type CompletionValue, defineTool } from "../src/toolkit/define-tool.ts";
import { adviseJob, isSafeRetry, summarizeJob, TERMINAL_STATES } from "../src/toolkit/describe/job.ts";
import {
  type FoundJobs,
  findJobs,
  type JobFilter,
  jobFilter,
  MAX_READ,
  microsOf,
} from "../src/toolkit/jobs/find-jobs.ts";
import { readOrigins } from "../src/toolkit/jobs/origins.ts";
import { type Retries, readJobPage } from "../src/toolkit/jobs/retries.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { BROKEN_LIST, leftOutText, pageResult, readPage } from "../src/toolkit/pages.ts";
import type { NextStep, ToolResult } from "../src/toolkit/results.ts";
import { truncateToSeconds } from "../src/toolkit/summary-view.ts";
import type { ToolContext } from "../src/toolkit/tool-context.ts";
import { references } from "../src/toolkit/uri.ts";

const query = listMicJobs.query.shape;

const input = z.strictObject({
  workspaceId: query.workspaceId,
  limit: query.limit.describe(`Rows (default ${DEFAULT_JOB_PAGE}).`),
  cursor: query.cursor.describe(cursorText),
  ...jobFilter,
  view,
});

type ListArguments = z.output<typeof input>;
type JobList = ToolResult<readonly Job[]>;

const statesOf = (jobs: readonly Job[]): readonly string[] => jobs.map(({ state }) => state);

const countStates = (jobs: readonly Job[]): object => Object.fromEntries(countLabels(statesOf(jobs)));

/** The contract promises no order. */
function isNewestFirst(jobs: readonly Job[]): boolean {
  const instants = jobs.map(({ createdAt }) => microsOf(createdAt));
  return jobs.length > 1 && instants.every((instant, at) => at === 0 || instant <= (instants[at - 1] ?? 0n));
}

/** Formats ": 12 SUCCEEDED, 3 FAILED"; returns undefined without jobs. */
const tallyStates = (jobs: readonly Job[]): Text | undefined =>
  jobs.length === 0 ? undefined : say`: ${tallyText(statesOf(jobs))}`;

const readRowOrigins = (jobs: readonly Job[], ctx: ToolContext) =>
  readOrigins(
    jobs.map(({ id }) => id),
    ctx,
  );

/**
 * Prepares the rows of a filtered list, which have the end of their jobs, and `recipe`: a key of `recipes`, unless all have the same. Nothing
 * names the recipe version of the filter. An unfiltered list has neither, because it has many rows.
 */
async function prepareRows(
  jobs: readonly Job[],
  { recipeVersionId: known }: JobFilter,
  { retryOf }: Retries,
  ctx: ToolContext,
) {
  const versions = new Set(known === undefined ? jobs.map(({ recipeVersionId }) => recipeVersionId) : []);
  const recipes = [...versions].map((version, at) => [`R${at + 1}`, version] as const);
  const keys = new Map(recipes.map(([key, version]) => [version, key]));
  const named = recipes.map(([key, version]) => say`${key} ${version}`);
  const origins = await readRowOrigins(jobs, ctx);
  return {
    facts: recipes.length > 0 && { recipes: Object.fromEntries(recipes) },
    line: recipes.length > 0 ? say`Recipes: ${join(named, ", ")}` : undefined,
    summarize: (job: Job) => ({
      ...summarizeJob(job, retryOf(job.id), true),
      ...(recipes.length > 1 && { recipe: keys.get(job.recipeVersionId) }),
      ...origins.get(job.id),
    }),
  };
}

async function listJobPage(args: ListArguments, ctx: ToolContext): Promise<JobList> {
  const { view, workspaceId, limit: requestedLimit, cursor } = args;
  const query = { workspaceId, ...(cursor !== undefined && { cursor }) };
  const { answer, isCut } = await readPage(
    (limit = requestedLimit) => readJobPage({ ...query, ...(limit !== undefined && { limit }) }, ctx),
    view,
  );
  const { data } = answer.value;
  const origins = await readRowOrigins(view === "full" ? [] : data, ctx);
  const options = {
    query: { workspaceId, cursor, ...(requestedLimit !== undefined && { limit: requestedLimit }) },
    summary: say`${countPart(data.length, "job")}${isNewestFirst(data) && own(", newest first")}${tallyStates(data)}.`,
    link: references.jobs(workspaceId),
    summarize: (job: Job) => ({ ...summarizeJob(job, answer.retries.retryOf(job.id)), ...origins.get(job.id) }),
  };
  return pageResult(answer, { ...options, view, isCut }, ctx);
}

/** `unretried: false` filters nothing. */
const isFiltered = (args: ListArguments): boolean =>
  Object.entries(args).some(
    ([name, value]) => Object.hasOwn(jobFilter, name) && value !== undefined && value !== false,
  );

const SECOND = 1_000_000n;

/**
 * Returns the call that retries exactly these jobs: by their ids, or by their period if that is shorter and selects no others. Retries are not
 * among them: a filter of retry_jobs does not select them.
 */
function retryStep(
  jobs: readonly Job[],
  { workspaceId, cursor, recipeVersionId, updatedSince }: ListArguments,
): NextStep | undefined {
  const retried = jobs
    .filter((job) => job.retryOfBatchId === null && isSafeRetry(adviseJob(job).nextStep))
    .slice(0, MAX_JOBS);
  const created = retried.map(({ createdAt }) => createdAt).sort();
  const [oldest] = created;
  const newest = created.at(-1);
  if (oldest === undefined || newest === undefined) return undefined;
  const createdBefore = formatUtc((microsOf(newest) / SECOND + 1n) * SECOND);
  // The other filters are not those of retry_jobs, and a later page does not begin with the newest job.
  const isByIds =
    retried.length <= MAX_NAMED || [cursor, recipeVersionId, updatedSince].some((value) => value !== undefined);
  const selection = isByIds
    ? { jobIds: retried.map(({ id }) => id) }
    : { workspaceId, createdSince: truncateToSeconds(oldest), createdBefore, limit: retried.length };
  const how = { retryMode: "SAFE_RESUME", reason: "Retry after a retryable failure" };
  return { tool: "retry_jobs", arguments: { ...selection, ...how }, why: say`retries them; finished stages are kept` };
}

/** Maximum number of jobs that a group names. */
const MAX_NAMED = 5;

/** Jobs that failed alike have one row. */
const failureKey = ({ id, state, stages, failure }: Job): string =>
  state === "FAILED" && failure
    ? JSON.stringify([
        stages.find((stage) => stage.state === "FAILED")?.stage,
        failure.code,
        failure.title,
        failure.retryable,
      ])
    : id;

/**
 * Groups two or more jobs that share a failure, if one of them is on the page, and names the first `maxNamed` of each. `grouped`: these jobs.
 */
function groupFailures(jobs: readonly Job[], page: ReadonlySet<Job>, maxNamed: number, { retryOf }: Retries) {
  const failed = jobs.flatMap((job) => {
    const { stage, failure, retryable, retryOfBatchId, retriedBy } = summarizeJob(job, retryOf(job.id));
    if (job.state !== "FAILED" || failure === undefined || retryable === undefined) return [];
    const shared = {
      ...(stage !== undefined && { stage }),
      ...{ failure, title: job.failure?.title ?? "", retryable },
      ...(retriedBy !== undefined && { retried: true as const }),
      ...(retryOfBatchId !== undefined && { areRetries: true as const }),
    };
    return { shared, job };
  });
  const equal = groupByKey(failed.map((each) => [JSON.stringify(each.shared), each]));
  const large = [...equal.values()].filter((group) => group.length > 1 && group.some(({ job }) => page.has(job)));
  const grouped = new Set(large.flat().map(({ job }) => job));
  const failures = large.flatMap((group) => {
    const [first] = group;
    const more = group.length - maxNamed;
    const jobIds = group.slice(0, maxNamed).map(({ job }) => job.id);
    return first ? { ...first.shared, count: group.length, jobIds, ...(more > 0 && { more }) } : [];
  });
  return { failures, grouped };
}

/** "all 33 jobs"; "33 jobs read" after earlier pages, or if all others are too old. */
function readText({ read, isRestOld }: FoundJobs, cursor: string | undefined): Text {
  const jobs = countPart(read.jobs, "job");
  if (cursor !== undefined || isRestOld) return say`${jobs} read`;
  return say`${own(read.complete ? "all" : "the first")} ${jobs}`;
}

function findingText(found: FoundJobs, cursor: string | undefined): Text {
  const { matching, givenUp, ended, leftOut: broken } = found;
  const count = matching.length === 0 ? own("none") : matching.length;
  return join([
    say`Of ${readText(found, cursor)}, ${count} match${tallyStates(matching)}.`,
    givenUp.length > 0 &&
      say`Not listed: ${givenUp.length} not worth a retry: failed too often, or rejected in review.`,
    leftOutText(broken),
    ended && say`Reading ended early: ${ended}`,
  ]);
}

/** The part of the list that was read is newest first; the contract promises no order. */
function endText({ isRestOld, isLoop }: FoundJobs, { createdSince = "" }: JobFilter): Text | undefined {
  if (isLoop) return BROKEN_LIST;
  return isRestOld ? say`All remaining jobs are older than ${createdSince}: the list is newest first.` : undefined;
}

async function listFilteredJobs(args: ListArguments, ctx: ToolContext): Promise<JobList> {
  const { cursor, view, ...query } = args;
  const { workspaceId, limit, ...filter } = query;
  const isFull = view === "full";
  const search = { workspaceId, limit, cursor, filter, isFull, ...(!isFull && { rowKey: failureKey }) };
  const found = await findJobs(search, ctx);
  const { matching, data, page, meta, drift, givenUp, read, isCut, retries } = found;
  const maxNamed = Math.min(limit ?? MAX_NAMED, MAX_NAMED);
  const { failures, grouped } = groupFailures(isFull ? [] : matching, new Set(data), maxNamed, retries);
  const rest = isFull ? [] : data.filter((job) => !grouped.has(job));
  const rows = await prepareRows(rest, filter, retries, ctx);
  const options = {
    summary: findingText(found, cursor),
    link: references.jobs(workspaceId),
    ...{ summarize: rows.summarize, items: rest },
    facts: {
      ...{ counts: countStates(matching), read, ...rows.facts },
      ...(givenUp.length > 0 && { givenUp: givenUp.length }),
      ...(failures.length > 0 && { failures }),
    },
    lines: [
      rows.line,
      ...(failures.length > 0
        ? [say`Equal failures:`, formatRecordTable(failures.map((group) => ({ ...group })))]
        : []),
    ],
    nextStep: filter.unretried === true ? retryStep(matching, args) : undefined,
    end: endText(found, filter) ?? (read.complete && page.nextCursor !== null ? say`More rows follow.` : undefined),
  };
  return pageResult({ value: { data, page, meta }, drift }, { ...options, query, view, isCut }, ctx);
}

/** Columns of the CSV: the fields of a list row, and the recipe version's id. */
const COLUMNS = [
  "id",
  "state",
  "stage",
  "failure",
  "retryable",
  "retryOfBatchId",
  "retriedBy",
  "createdAt",
  "updatedAt",
  "recipeVersionId",
];

/** `rest` continues where reading ended. Throws Failure. */
async function tabulate(args: ListArguments, ctx: ToolContext): Promise<Table> {
  const { workspaceId, cursor, view: _, limit: __, ...filter } = args;
  const found = await findJobs({ workspaceId, limit: MAX_READ, cursor, filter, isFull: false }, ctx);
  const { data, page, read, drift, retries } = found;
  const end = endText(found, filter);
  const rows = data.map((job) => {
    const { recipeVersionId } = job;
    const cells: Readonly<Record<string, unknown>> = {
      recipeVersionId,
      ...summarizeJob(job, retries.retryOf(job.id), true),
    };
    return COLUMNS.map((column) => String(cells[column] ?? ""));
  });
  const isMore = page.hasMore && page.nextCursor !== null && end === undefined;
  const rest = isMore ? { workspaceId, ...filter, cursor: page.nextCursor } : undefined;
  const summary = join([findingText(found, cursor), end]);
  return { columns: COLUMNS, rows, fields: { counts: countStates(data), read }, summary, lines: [], drift, rest };
}

const toCompletionValue = ({ id, state, failure }: Job): CompletionValue => ({
  value: id,
  name: `${state} ${failure?.code ?? ""}`,
  isUnresolved: !TERMINAL_STATES.has(state),
});

export const listJobs = defineTool({
  endpoint: listMicJobs,
  name: "list_jobs",
  title: "List jobs: which failed, run or finished",
  description: "List the workspace's jobs: id, state, stage, failure. Filters read up to 1,000 jobs.",
  searchHint: "failed, running, finished, today",
  effect: "read",
  input,
  output: outputs.page<Job>({ counts: outputs.object, read: outputs.object, recipes: outputs.object }),
  completions: {
    kind: "jobId",
    ttlMs: 10_000,
    arguments: (workspaceId) => (workspaceId === undefined ? undefined : { workspaceId, limit: 100 }),
    toValues: (jobs) =>
      jobs.toSorted((one, other) => Date.parse(other.createdAt) - Date.parse(one.createdAt)).map(toCompletionValue),
  },
  run: (args, ctx) => (isFiltered(args) ? listFilteredJobs(args, ctx) : listJobPage(args, ctx)),
  tabulate,
});
