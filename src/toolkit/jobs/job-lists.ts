// This module lists jobs for agents: one page as the API returns it, or the jobs that match a filter.
import { listMicJobs } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import { isSafeRetry, jobAdvice, summarizeJob } from "../advice/job.ts";
import { pageResult, readPage } from "../pages.ts";
import type { ToolResult, View } from "../results.ts";
import type { Table } from "../save-rows.ts";
import { truncateToSeconds } from "../summary-view.ts";
import type { JobPorts, ToolCall } from "../tool-call.ts";
import { uris } from "../uri.ts";
import { formatCount } from "./batch.ts";
import { countStates, type FoundJobs, findJobs, type JobCounts, type JobFilter, MAX_READ } from "./find-jobs.ts";

interface ListArguments extends JobFilter {
  readonly workspaceId: string;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  readonly view?: View | undefined;
}

type JobList = ToolResult<readonly Job[]>;

/** Formats counts as ": 12 SUCCEEDED, 3 FAILED"; returns an empty string if there are none. */
function stateCountsText(counts: JobCounts): string {
  const parts = Object.entries(counts).map(([state, count]) => `${count} ${state}`);
  return parts.length === 0 ? "" : `: ${parts.join(", ")}`;
}

async function listJobPage(args: ListArguments, call: ToolCall, ports: JobPorts): Promise<JobList> {
  const { view, workspaceId, limit: requestedLimit, cursor } = args;
  const { answer, isCut } = await readPage((limit = requestedLimit) => {
    const query = { workspaceId, ...(cursor !== undefined && { cursor }), ...(limit !== undefined && { limit }) };
    return ports.service.call(listMicJobs, { query }, call.context);
  }, view);
  const { data } = answer.value;
  ports.retries.remember(data);
  const options = {
    query: { workspaceId, ...(requestedLimit !== undefined && { limit: requestedLimit }) },
    summary: `${formatCount(data.length, "job")}${stateCountsText(countStates(data))}.`,
    link: uris.jobs(workspaceId),
    summarize: (job: Job) => summarizeJob(job, ports.retries.get(job.id)),
  };
  return pageResult(answer, { ...options, view, isCut }, call);
}

/** Suggests retry_jobs if a safe retry may help some of the jobs. This is not a next step, which would repeat the ids in the rows. */
function retryText(jobs: readonly Job[], call: ToolCall): string {
  const count = jobs.filter((job) => isSafeRetry(jobAdvice(job).nextStep)).length;
  if (count === 0 || !call.isOffered("retry_jobs")) return "";
  const which = count === jobs.length ? "" : ` ${count} of`;
  return ` retry_jobs with retryMode SAFE_RESUME retries${which} them in one call.`;
}

function findingText({ data, counts, read, ended, isRestOld }: FoundJobs, { createdSince = "" }: JobFilter): string {
  const found = `${formatCount(data.length, "job")} found; ${formatCount(read.jobs, "was", "were")} read${stateCountsText(counts)}.`;
  const early = ended === undefined ? "" : ` Reading ended early: ${ended}`;
  const old = isRestOld
    ? ` So far the list is newest first, and the last page was created before ${createdSince}.`
    : "";
  return found + early + old;
}

async function listFilteredJobs(args: ListArguments, call: ToolCall, ports: JobPorts): Promise<JobList> {
  const { cursor, view, ...query } = args;
  const { workspaceId, limit, ...filter } = query;
  const found = await findJobs({ workspaceId, limit, cursor, filter, isFull: view === "full" }, call, ports);
  const { data, page, meta, drift, counts, read, isCut, isRestOld } = found;
  const options = {
    summary: findingText(found, filter) + (filter.unretried === true ? retryText(data, call) : ""),
    link: uris.jobs(workspaceId),
    summarize: (job: Job) => summarizeJob(job, ports.retries.get(job.id)),
    facts: { counts, read },
  };
  return pageResult(
    { value: { data, page, meta }, drift },
    { ...options, query, view, isCut, isEnough: isRestOld },
    call,
  );
}

export const listJobs = (args: ListArguments, call: ToolCall, ports: JobPorts): Promise<JobList> =>
  args.states !== undefined || args.createdSince !== undefined || args.unretried === true
    ? listFilteredJobs(args, call, ports)
    : listJobPage(args, call, ports);

/** Columns of the CSV: the fields of a list row, and two that are always taken from the full job (`updatedAt`, `recipeVersionId`). */
const COLUMNS = [
  "id",
  "state",
  "stage",
  "failure",
  "retryable",
  "retryOf",
  "retriedBy",
  "createdAt",
  "updatedAt",
  "recipeVersionId",
];

/** Returns the matching jobs that could be read. `rest` continues where reading ended. Throws Failure. */
export async function tabulateJobs(args: ListArguments, call: ToolCall, ports: JobPorts): Promise<Table> {
  const { workspaceId, cursor, states, createdSince, unretried } = args;
  const filter = { states, createdSince, unretried };
  const found = await findJobs({ workspaceId, limit: MAX_READ, cursor, filter, isFull: false }, call, ports);
  const { data, page, counts, read, drift, isRestOld } = found;
  const rows = data.map((job) => {
    const { updatedAt, recipeVersionId } = job;
    const summary = summarizeJob(job, ports.retries.get(job.id));
    const cells: Readonly<Record<string, unknown>> = {
      ...summary,
      updatedAt: truncateToSeconds(updatedAt),
      recipeVersionId,
    };
    return COLUMNS.map((column) => String(cells[column] ?? ""));
  });
  const isMore = page.hasMore && page.nextCursor !== null && !isRestOld;
  const rest = isMore ? { workspaceId, ...filter, cursor: page.nextCursor } : undefined;
  const summary = findingText(found, filter);
  return { columns: COLUMNS, rows, fields: { counts, read, page }, summary, lines: [], drift, rest };
}
