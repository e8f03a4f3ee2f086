// Lists of jobs as an agent reads them: a page as the service has it, or the rows that a filter keeps.

import { fileNameSchema } from "../../api-client/file-names.ts";
import { listMicJobs } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import { jobAdvice, summarizeJob } from "../advice/job.ts";
import { toTheSecond } from "../lean.ts";
import { pageResult, readPage } from "../pages.ts";
import type { JobPorts, Ports } from "../ports.ts";
import { uris } from "../resources/uri.ts";
import { answerResult, type NextStep, type ToolResult, type View } from "../results.ts";
import { checkSaveAs, savedText, saveRows } from "../save-rows.ts";
import type { ToolCall } from "../tool-call.ts";
import { type FoundJobs, findJobs, MAX_READ } from "./find-jobs.ts";
import { countStates, countsText, type JobCounts, type JobFilter } from "./job-filter.ts";

interface ListArguments extends JobFilter {
  readonly workspaceId: string;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  readonly view?: View | undefined;
}

type JobList = ToolResult<readonly Job[]>;

const TOOL = "list_jobs";

const rowsOf = ({ retries }: JobPorts, { workspaceId }: ListArguments) =>
  ({
    tool: TOOL,
    summarize: (job: Job) => summarizeJob(job, retries.of(job.id)),
    link: uris.jobs(workspaceId),
  }) as const;

const counted = (count: number): string => `${count} ${count === 1 ? "job" : "jobs"}`;

const inStates = (counts: JobCounts): string => (Object.keys(counts).length === 0 ? "" : `: ${countsText(counts)}`);

export async function pageOfJobs(args: ListArguments, { context }: ToolCall, ports: JobPorts): Promise<JobList> {
  const { view, workspaceId, limit: wanted, cursor } = args;
  const query = { workspaceId, ...(cursor !== undefined && { cursor }) };
  const { answer, isCut } = await readPage((limit = wanted) => {
    const asked = { ...query, ...(limit !== undefined && { limit }) };
    return ports.service.call(listMicJobs, { query: asked }, context);
  }, view);
  const { data } = answer.value;
  ports.retries.remember(data);
  return pageResult(answer, {
    ...rowsOf(ports, args),
    query: { workspaceId, ...(wanted !== undefined && { limit: wanted }) },
    view,
    summary: `${counted(data.length)}${inStates(countStates(data))}.`,
    isCut,
  });
}

const mayResume = (job: Job): boolean => {
  const step = jobAdvice(job).nextStep;
  return step?.tool === "retry_job" && step.arguments["retryMode"] === "SAFE_RESUME";
};

/** What to do about those that a retry may help and that lose nothing by it. Their ids stand in the rows: a step would say them again. */
function retryText(jobs: readonly Job[], call: ToolCall): string {
  const count = jobs.filter(mayResume).length;
  if (count === 0 || !call.isOffered("retry_jobs")) return "";
  const which = count === jobs.length ? "" : ` ${count} of`;
  return ` retry_jobs with retryMode SAFE_RESUME retries${which} them in one call.`;
}

function findingText({ data, counts, read, ended, isRestOld }: FoundJobs, { createdSince = "" }: JobFilter): string {
  const found = `${counted(data.length)} found; ${read.jobs} ${read.jobs === 1 ? "was" : "were"} read${inStates(counts)}.`;
  const early = ended === undefined ? "" : ` Reading ended early: ${ended}`;
  const old = isRestOld
    ? ` So far the list is newest first, and the last page was created before ${createdSince}.`
    : "";
  return found + early + old;
}

/** Columns of the CSV: what a row may say, and what only the whole job does. */
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

const nameOfRest = (fileName: string): string => {
  const name = `more-${fileName}`;
  return fileNameSchema.safeParse(name).success ? name : "more-jobs.csv";
};

/** All jobs that fit, as far as they could be read, as CSV: `page.nextCursor` goes on where reading ended. */
export async function savedJobs(
  args: ListArguments,
  fileName: string,
  call: ToolCall,
  ports: JobPorts & Pick<Ports, "files">,
): Promise<JobList> {
  const { workspaceId, cursor, states, createdSince, unretried } = args;
  const filter = { states, createdSince, unretried };
  await checkSaveAs(ports, fileName);
  const found = await findJobs({ workspaceId, limit: MAX_READ, cursor, filter, isFull: false }, call, ports);
  const { data, page, counts, read, drift, meta } = found;
  const rows = data.map((job) => {
    const { updatedAt, recipeVersionId } = job;
    const cells: Readonly<Record<string, unknown>> = {
      ...summarizeJob(job, ports.retries.of(job.id)),
      updatedAt: toTheSecond(updatedAt),
      recipeVersionId,
    };
    return COLUMNS.map((column) => String(cells[column] ?? ""));
  });
  const asked = { workspaceId, ...filter, ...(cursor !== undefined && { cursor }), saveAs: fileName };
  const madeBy = { tool: TOOL, arguments: asked };
  const { said, file } = await saveRows(ports, fileName, { columns: COLUMNS, rows }, madeBy);
  const again = { workspaceId, ...filter, cursor: page.nextCursor, saveAs: nameOfRest(fileName) };
  const nextStep: NextStep | undefined =
    page.hasMore && page.nextCursor !== null && !found.isRestOld
      ? { tool: TOOL, arguments: again, why: "saves the rest to a file of its own" }
      : undefined;
  const summary = `${findingText(found, filter)} ${savedText(said)}`;
  const advice = { summary, ...(nextStep && { nextStep }) };
  return { ...answerResult({ ...said, counts, read, page, meta }, { advice, drift, file }), data };
}

export async function filteredJobs(args: ListArguments, call: ToolCall, ports: JobPorts): Promise<JobList> {
  const { workspaceId, limit, cursor, view, states, createdSince, unretried } = args;
  const filter = { states, createdSince, unretried };
  const found = await findJobs({ workspaceId, limit, cursor, filter, isFull: view === "full" }, call, ports);
  const { data, page, meta, drift, counts, read, isCut, isRestOld } = found;
  const { cursor: _, view: _view, ...query } = args;
  return pageResult(
    { value: { data, page, meta }, drift },
    {
      ...rowsOf(ports, args),
      query,
      view,
      summary: findingText(found, filter) + (unretried === true ? retryText(data, call) : ""),
      isCut,
      isEnough: isRestOld,
      facts: { counts, read },
    },
  );
}
