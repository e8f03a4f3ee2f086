// How many jobs stand, once they have stopped or time is up, and the one call that makes sense next.
import { tableOf } from "../../table.ts";
import { jobAdvice } from "../advice/job.ts";
import { historyOf } from "../advice/job-history.ts";
import type { JobPorts } from "../ports.ts";
import { answerResult, type NextStep, type ToolResult } from "../results.ts";
import type { ToolCall } from "../tool-call.ts";
import { countsOf, PATIENT_SECONDS } from "./batch.ts";
import { movingIds, stateOf, type WatchedJob, watchedRow, watchJobs } from "./watch-jobs.ts";

interface WaitArguments {
  readonly jobIds: readonly string[];
  readonly until?: "all" | "any" | undefined;
  readonly waitSeconds?: number | undefined;
}

type Row = ReturnType<typeof watchedRow>;

interface WaitAnswer {
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
  const summary = `${countsOf(watched.map(stateOf))}.`;
  const advice = { summary, ...(step && call.isOffered(step.tool) && { nextStep: step }) };
  const moving = movingIds(watched).length;
  return answerResult({ jobs, moving }, { advice, body: `${tableOf(jobs)}\nmoving ${moving}` });
}
