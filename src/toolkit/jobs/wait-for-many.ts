// How many jobs stand, once they have stopped or time is up, and the one call that makes sense next.
import { table } from "../../table.ts";
import { jobAdvice } from "../advice/job.ts";
import { historyOf } from "../advice/job-history.ts";
import type { JobPorts } from "../ports.ts";
import { type NextStep, type ToolResult, wholeResult } from "../results.ts";
import type { ToolCall } from "../tool-call.ts";
import { advisedText, countsOf, PATIENT_SECONDS } from "./batch.ts";
import { movingIds, stateOf, type WatchedJob, watchedRow, watchJobs } from "./watch-jobs.ts";

interface WaitArguments {
  readonly jobIds: readonly string[];
  readonly until?: "all" | "any" | undefined;
  readonly waitSeconds?: number | undefined;
}

type Row = ReturnType<typeof watchedRow>;

interface WaitAnswer {
  readonly summary: string;
  readonly nextStep?: NextStep;
  readonly jobs: readonly Row[];
  readonly moving: number;
}

/** The failed jobs that are worth resuming, each by its own advice. */
async function worthResuming(watched: readonly WatchedJob[], ports: JobPorts): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const { id, job } of watched) {
    if (job?.state !== "FAILED") continue;
    const step = jobAdvice(job, await historyOf(job, ports)).nextStep;
    if (step?.tool === "retry_job" && step.arguments["retryMode"] === "SAFE_RESUME") ids.push(id);
  }
  return ids;
}

async function nextStep(
  watched: readonly WatchedJob[],
  until: WaitArguments["until"],
  ports: JobPorts,
): Promise<NextStep | undefined> {
  const moving = movingIds(watched);
  if (moving.length > 0) {
    const given = { jobIds: moving, ...(until !== undefined && { until }) };
    return { tool: "wait_for_jobs", arguments: given, why: "they are still moving; this waits for them" };
  }
  const failed = await worthResuming(watched, ports);
  if (failed.length === 0) return undefined;
  const given = { jobIds: failed, retryMode: "SAFE_RESUME", reason: "Retry after a retryable failure" };
  return { tool: "retry_jobs", arguments: given, why: "their failures are retryable; finished stages are kept" };
}

export async function waitForMany(
  { jobIds, until, waitSeconds = PATIENT_SECONDS }: WaitArguments,
  call: ToolCall,
  ports: JobPorts,
): Promise<ToolResult<WaitAnswer>> {
  const watched = await watchJobs(jobIds, { until: until ?? "all", seconds: waitSeconds }, call, ports);
  const step = await nextStep(watched, until, ports);
  const jobs = watched.map((each) => watchedRow(each, ports));
  const answer: WaitAnswer = {
    summary: `${countsOf(watched.map(stateOf))}.`,
    ...(step && call.isOffered(step.tool) && { nextStep: step }),
    jobs,
    moving: movingIds(watched).length,
  };
  return wholeResult(answer, { text: advisedText(answer, `${rowsText(jobs)}\nmoving ${answer.moving}`) });
}

/** Columns are those that any row has. */
function rowsText(rows: readonly Row[]): string {
  const named = rows.map((row) => new Map(Object.entries(row).map(([name, value]) => [name, String(value)])));
  const columns = [...new Set(named.flatMap((row) => [...row.keys()]))];
  return table(
    columns,
    named.map((row) => columns.map((column) => row.get(column) ?? "")),
  );
}
