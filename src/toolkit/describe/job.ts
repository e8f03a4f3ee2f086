// This module describes jobs: the sentence and the next step for each state, the fields of the summary view, and the row in a list.

import { formatDuration } from "../../actions/deduplication-window.ts";
import type { ResourceAction } from "../../actions/history.ts";
import { type Job, JobState, type Stage } from "../../contract/jobs.ts";
import { tally } from "../../core/counts.ts";
import { AGENT, ask, call, forReader, join, own, raw, render, say, type Text } from "../../core/text.ts";
import { CALL_LIMIT_SECONDS } from "../../core/time-limits.ts";
import { formatToken } from "../../core/untrusted-text.ts";
import type { Advice, Description, NextStep, Status } from "../results.ts";
import {
  outOf,
  pointerText,
  problemName,
  toFailureSummary,
  toSummaryFields,
  truncateToSeconds,
  unexpectedFailureText,
  unlistedText,
} from "../summary-view.ts";
import { references } from "../uri.ts";

/** Final states of jobs and operations. */
export const TERMINAL_STATES: ReadonlySet<string> = new Set(["SUCCEEDED", "FAILED", "CANCELLED"] satisfies JobState[]);

const IN_PROGRESS: ReadonlySet<string> = new Set(["PREPARING", "QUEUED", "RUNNING"]);

/** Returns true if the job changes without user action, so that a wait is useful. */
export const isJobInProgress = ({ state }: Job): boolean => IN_PROGRESS.has(state);

/** Returns true if the job continues only after a user of the API acts. */
export const needsUserAction = ({ state }: Job): boolean => state === "WAITING_REVIEW" || state === "PAUSED";

/** Returns true if the contract does not list the job's state: it is not known whether the job has ended or changes. */
export const isUnlisted = ({ state }: Job): boolean => !JobState.safeParse(state).success;

/** Facts about a job that its own fields do not contain. */
export interface JobHistory {
  /** An action on the job with an unknown outcome. */
  readonly unresolved?: Pick<ResourceAction, "tool" | "idempotencyKey" | "createdAt"> | undefined;
  /** The job's retry; its `id` is undefined if the API's response could not be read. */
  readonly retry?: { readonly id: string | undefined } | undefined;
  /** True if a RESTART in the journal created the job. */
  readonly restarted?: boolean;
}

const isDone = ({ state }: Stage): boolean => state === "SUCCEEDED" || state === "NOT_REQUIRED";

/** Returns the job's current stage: the first one that has not succeeded and is required. */
const currentStage = ({ stages }: Job): Stage | undefined => stages.find((stage) => !isDone(stage));

/** The total units of a stage; undefined if it is unknown, or smaller than the completed units. */
const totalUnitsOf = ({ completedUnits, totalUnits }: Stage): number | undefined =>
  totalUnits === null || totalUnits < completedUnits ? undefined : totalUnits;

const failingStage = (job: Job): Stage | undefined =>
  job.stages.find(({ state }) => state === "FAILED") ?? currentStage(job);

/** Formats the current stage as ", at stage …"; returns undefined if there is none. */
export function stagePositionText(job: Job): Text | undefined {
  const stage = currentStage(job);
  if (!stage) return undefined;
  const { completedUnits } = stage;
  const total = totalUnitsOf(stage);
  const position = say`stage ${stage.stage} (${outOf(job.stages.indexOf(stage) + 1, job.stages.length)})`;
  const units = total === undefined ? completedUnits : outOf(completedUnits, total);
  return stage.state === "PENDING" ? say`; ${position} is next` : say`, at ${position}, ${units} units`;
}

/** Returns the state and, if it applies, the stage: "FAILED at CHURN". */
export function jobStateText(job: Job): Text {
  const stage = job.state === "FAILED" ? failingStage(job) : currentStage(job);
  return stage === undefined || stage.state === "PENDING" || job.state === "CANCELLED"
    ? say`${job.state}`
    : say`${job.state} at ${stage.stage}`;
}

const TELL_USER = forReader(" Tell the user.", "");

/** Returns "1 waits for a reviewer or the API's operator (PAUSED at BLEND). Tell the user."; an empty text if no job does. */
export function operatorNeededText(jobs: readonly (Job | undefined)[]): Text {
  const known = jobs.flatMap((job) => job ?? []);
  const unlisted = [...new Set(known.filter(isUnlisted).map(({ state }) => state))].map(unlistedText);
  const waiting = known.filter(needsUserAction).map((job) => render(jobStateText(job), AGENT));
  const [first, ...others] = waiting;
  if (first === undefined) return join(unlisted);
  const [count, states] = others.length === 0 ? [say`1 waits`, first] : [say`${waiting.length} wait`, tally(waiting)];
  return join([say`${count} for a reviewer or the API's operator (${raw(states)}).${TELL_USER}`, ...unlisted]);
}

/**
 * A job that has not changed for 1 h is not worth polling: in that time, 80 waits return the same result. The contract does not
 * state how long a stage may take, so the agent is informed and decides.
 */
const STALLED_AFTER_MS = 3_600_000;

/**
 * Returns "It has not changed since …" if the job has stalled, otherwise undefined. `readAt` is in milliseconds since 1970, by the API's
 * clock, as `updatedAt` is.
 */
function stalledText({ updatedAt }: Job, readAt: number | undefined): Text | undefined {
  const unchangedMs = readAt === undefined ? 0 : readAt - Date.parse(updatedAt);
  if (!(unchangedMs >= STALLED_AFTER_MS)) return undefined;
  return say`It has not changed since ${updatedAt} (${raw(formatDuration(unchangedMs))}).`;
}

const MAX_POINTERS = 3;

/** Formats the first JSON pointers of the failure's field errors. */
function pointersOf({ failure }: Job): Text {
  const pointers = [...new Set(failure?.fieldErrors.map(({ pointer }) => pointer))];
  const more = pointers.length - MAX_POINTERS;
  const shown = join(pointers.slice(0, MAX_POINTERS).map(pointerText), ", ");
  return say`${shown}${more > 0 && say` and ${more} more`}`;
}

/** No operation of the contract reads a job's output. */
const OUTPUT = say`To use its output in another job, pass outputDatasetVersionId to run_job as referenceId, with inputKind DATASET_VERSION. No tool reads its rows.`;

/** No operation of the contract changes a publication: the API advances it, at a time that the contract does not state. */
const publicationText = ({ publicationState: state }: Job): Text | undefined =>
  state === "NOT_REQUESTED"
    ? undefined
    : say`Publication: ${state}${state === "AWAITING_RELEASE" && own(" (not released yet; no tool can release it)")}.`;

/** "The job", with the id of the job that it retries, if any. */
const nameOf = ({ retryOfBatchId }: Job): Text =>
  say`The job${retryOfBatchId !== null && say` (a retry of ${retryOfBatchId})`}`;

/** "2 of 9 stages finished"; undefined if the API has named no stages yet. */
const finishedText = ({ stages }: Job): Text | undefined =>
  stages.length === 0
    ? undefined
    : say`${outOf(stages.filter(({ state }) => state === "SUCCEEDED").length, stages.length)} stages finished`;

const retriedText = (retryId: string | undefined): Text =>
  retryId === undefined
    ? say`It was retried, but the id of that job is not known.`
    : say`It was retried as job ${retryId}.`;

const readRetryStep = ({ workspaceId }: Job, retryId: string | undefined): NextStep =>
  retryId === undefined
    ? {
        tool: "list_jobs",
        arguments: { workspaceId, view: "full" },
        why: say`its retry is the job whose retryOfBatchId is this one`,
      }
    : { tool: "get_job", arguments: { jobId: retryId }, why: say`shows the retry` };

/** After this many attempts of a stage, another retry is not advised. */
const MAX_ATTEMPTS = 3;

/** The failed stage, otherwise the current one. */
function failedStageOf(job: Job) {
  const { stage = own("the job"), attemptCount = 0 } = failingStage(job) ?? {};
  return { stage, attemptCount };
}

/** Returns how often a failed, retryable job has failed, if that is too often for another retry. */
function repeatedFailure(job: Job, { restarted }: JobHistory): Text | undefined {
  const { attemptCount } = failedStageOf(job);
  if (attemptCount >= MAX_ATTEMPTS) return say`${attemptCount} times`;
  return restarted === true ? say`after a RESTART too` : undefined;
}

/** Returns the advice on a failed job that was not retried. */
function adviseFailure(job: Job, history: JobHistory): Advice {
  const { id, failure, recipeVersionId } = job;
  const failed = say`${nameOf(job)} FAILED${stagePositionText(job)}`;
  if (!failure)
    return {
      summary: say`${failed}; the API gives no reason. ${ask("Contact")} the API's operator before another try.`,
    };
  const why = say`${failed}: ${problemName(failure)}.`;
  if (job.reviewState === "REJECTED")
    return {
      summary: say`${why} A reviewer REJECTED it: ${forReader("ask the user before you", "read the review before you")} submit another job.`,
    };
  if (!failure.retryable)
    return failure.fieldErrors.length === 0
      ? { summary: say`${why} Retrying will not help, and the API names nothing to correct.${TELL_USER}` }
      : {
          summary: say`${why} Retrying the same job will not help: correct ${pointersOf(job)} and submit a new one.`,
          nextStep: {
            tool: "get_recipe",
            arguments: { versionId: recipeVersionId },
            why: say`shows the schema; correct the named fields, then submit a new job`,
          },
        };
  const { stage, attemptCount } = failedStageOf(job);
  const repeated = repeatedFailure(job, history);
  if (repeated !== undefined)
    return {
      summary: say`${why} ${stage} has failed ${repeated}: stop retrying and ${forReader("ask the user to ", "")}contact the operator of the API.`,
    };
  const reason = `Retry after ${formatToken(failure.code)}`;
  if (attemptCount > 1 && job.retryOfBatchId !== null)
    return {
      summary: say`${why} A resumed run failed at ${stage} again; RESTART runs it from the start.`,
      nextStep: {
        tool: "retry_job",
        arguments: { jobId: id, retryMode: "RESTART", reason, waitSeconds: CALL_LIMIT_SECONDS },
        why: say`${stage} failed again, so the results of earlier stages may be the cause; RESTART discards them${forReader(": ask the user first", "")}`,
      },
    };
  return {
    summary: say`${why} It may be retried.`,
    nextStep: {
      tool: "retry_job",
      arguments: { jobId: id, retryMode: "SAFE_RESUME", reason, waitSeconds: CALL_LIMIT_SECONDS },
      why: say`keeps the ${finishedText(job) ?? own("finished stages")}`,
    },
  };
}

/** Returns the sentence and the next step for a job. `readAt`: as for `describeJob`. */
export function adviseJob(job: Job, history: JobHistory = {}, readAt?: number): Advice {
  const { id, state, failure } = job;
  const { unresolved, retry } = history;
  const name = nameOf(job);
  const isNow = say`${name} is ${state}${stagePositionText(job)}`;
  // The outcome of an earlier action on a job must be resolved before a new action.
  if (unresolved)
    return {
      summary: say`${isNow}. Its ${own(unresolved.tool === "cancel_job" ? "cancellation" : "retry")}, sent at ${unresolved.createdAt}, has an unknown outcome.`,
      nextStep: {
        tool: "resolve_actions",
        arguments: { idempotencyKey: unresolved.idempotencyKey },
        why: say`returns its outcome; the action never runs twice`,
      },
    };
  const stalled = stalledText(job, readAt);
  switch (state) {
    case "PREPARING":
    case "QUEUED":
    case "RUNNING":
      return stalled === undefined
        ? {
            isRoutine: true,
            summary: say`${isNow}.`,
            nextStep: {
              tool: "get_job",
              arguments: { jobId: id, waitSeconds: CALL_LIMIT_SECONDS },
              why: say`waits for it`,
            },
          }
        : {
            summary: say`${isNow}. ${stalled} ${forReader("Ask the user whether", "Decide whether")} to contact the API's operator or to cancel the job; waiting longer may not help.`,
          };
    case "WAITING_REVIEW":
      return { summary: join([say`${name} waits for a review (${jobStateText(job)}).${TELL_USER}`, stalled]) };
    case "PAUSED":
      return {
        summary: join([say`${name} is ${jobStateText(job)} until the API's operator resumes it.${TELL_USER}`, stalled]),
      };
    case "SUCCEEDED": {
      const output = job.outputDatasetVersionId !== null && OUTPUT;
      return { summary: join([say`${name} SUCCEEDED.`, output, publicationText(job)]) };
    }
    case "CANCELLED": {
      const finished = finishedText(job);
      const cancelled = say`${name} is CANCELLED${finished && say`; ${finished}`}.`;
      if (!retry) return { summary: say`${cancelled} It can be retried.` };
      return { summary: say`${cancelled} ${retriedText(retry.id)}`, nextStep: readRetryStep(job, retry.id) };
    }
    case "FAILED": {
      if (!retry) return adviseFailure(job, history);
      // Whatever the cause of the failure, the retry is more relevant now.
      const cause = failure !== null && say`: ${problemName(failure)}`;
      return {
        summary: say`${name} FAILED${stagePositionText(job)}${cause}. ${retriedText(retry.id)}`,
        nextStep: readRetryStep(job, retry.id),
      };
    }
    default:
      return { summary: say`${isNow}. ${unlistedText(state)}` };
  }
}

/** Usual values, which the summary view omits. */
const DEFAULT_VALUES: Partial<Job> = { publicationState: "NOT_REQUESTED", reviewState: "NOT_REQUIRED" };

function jobFields(job: Job): object {
  const { workspaceId, resourceVersion, updatedAt, processingState, stages, failure, ...rest } = job;
  return {
    ...toSummaryFields(rest, DEFAULT_VALUES),
    ...(processingState !== job.state && { processingState }),
    ...(!stages.every(isDone) && { stages: stagesLine(job) }),
    ...toFailureSummary(failure),
  };
}

/**
 * Describes a job. `readAt`: the time of the API's response in milliseconds since 1970. If it is undefined, the description does not
 * consider whether the job has stalled.
 */
export function describeJob(job: Job, history: JobHistory = {}, readAt?: number): Description {
  const advice = adviseJob(job, history, readAt);
  return {
    fields: jobFields(job),
    link: references.job(job.id),
    job,
    hasEnded: TERMINAL_STATES.has(job.state),
    ...advice,
    summary: join([advice.summary, unexpectedFailureText(job)]),
  };
}

export function jobStatus(job: Job): Status {
  const { resourceVersion, failure, stages } = job;
  const stage = currentStage(job);
  const detail =
    stage?.state === "PENDING"
      ? say`${stage.stage} next`
      : stage && say`${stage.stage} ${outOf(stage.completedUnits, totalUnitsOf(stage) ?? own("?"))}`;
  return {
    version: resourceVersion,
    isInProgress: isJobInProgress(job),
    text: jobStateText(job),
    detail,
    units: stages.reduce((sum, each) => sum + each.completedUnits, 0),
    progress: jobProgress(job),
    mayRunAgain: !(job.state === "FAILED" && failure?.retryable === true),
  };
}

/** Returns the progress of a job for progress notifications: finished stages of all stages, and units of the current stage. */
export function jobProgress(job: Job) {
  const stage = currentStage(job);
  const units = stage ? ` ${stage.stage} ${stage.completedUnits}/${totalUnitsOf(stage) ?? "?"} units` : "";
  return { progress: job.stages.filter(isDone).length, total: job.stages.length, message: `${job.state}${units}` };
}

/** Returns what to do about a job that the API refuses to retry; undefined if its state does not explain the refusal. */
export function retryRefusalText(job: Job): Text | undefined {
  const { id, state, failure } = job;
  if (state === "SUCCEEDED") return say`The job SUCCEEDED, so there is nothing to retry.`;
  if (state === "CANCELLED" || (state === "FAILED" && failure?.retryable === true)) return undefined;
  const wait = isJobInProgress(job) && call("get_job", { jobId: id, waitSeconds: CALL_LIMIT_SECONDS });
  return join([adviseJob(job).summary, wait && say`${wait} waits for it.`]);
}

/** Why no retry of a failed job is advised. */
export interface GiveUpReason {
  /** GIVEN_UP: it has failed too often, as `note` says. */
  readonly code: "NOT_RETRYABLE" | "REJECTED_IN_REVIEW" | "GIVEN_UP";
  readonly note?: Text;
}

/** Returns why no retry of a failed job is advised; undefined if one is advised or was made, or if an action must be resolved first. */
export function giveUpReason(job: Job, history: JobHistory): GiveUpReason | undefined {
  if (job.state !== "FAILED" || history.retry || history.unresolved) return undefined;
  if (adviseJob(job, history).nextStep?.tool === "retry_job") return undefined;
  if (job.reviewState === "REJECTED") return { code: "REJECTED_IN_REVIEW" };
  if (job.failure?.retryable !== true) return { code: "NOT_RETRYABLE" };
  return { code: "GIVEN_UP", note: say`${failedStageOf(job).stage} failed ${repeatedFailure(job, history)}` };
}

/** Returns true if the step retries a job without discarding finished stages. */
export const isSafeRetry = (step: NextStep | undefined): boolean =>
  step?.tool === "retry_job" && step.arguments["retryMode"] === "SAFE_RESUME";

const COMPACT_STATE_LABELS: Readonly<Record<string, string>> = {
  SUCCEEDED: "done",
  PENDING: "pending",
  NOT_REQUIRED: "not needed",
  CANCELLED: "canceled",
};

/**
 * Formats all stages on one line. Adjacent stages that are done, pending, not needed or canceled before they began are grouped; the other
 * stages show their units. A repeated stage shows the number of its attempts.
 */
function stagesLine(job: Job): string {
  const parts: { text: string; names: string[] }[] = [];
  for (const each of job.stages) {
    const { stage, state, attemptCount, completedUnits } = each;
    const compactLabel = state === "CANCELLED" && completedUnits > 0 ? undefined : COMPACT_STATE_LABELS[state];
    const tries = attemptCount > 1 ? `, try ${attemptCount}` : "";
    const text =
      (compactLabel ??
        `${job.state === "PAUSED" && state === "RUNNING" ? job.state : state} ${completedUnits}/${totalUnitsOf(each) ?? "?"}`) +
      tries;
    const last = parts.at(-1);
    if (compactLabel !== undefined && last?.text === text) last.names.push(stage);
    else parts.push({ text, names: [stage] });
  }
  return parts.map(({ text, names }) => `${names.join(" ")} ${text}`).join("; ");
}

/**
 * Returns the row of a job in a list, without usual values. `updatedAt`: since when the job waits, has stalled, or, if `withEnd` is true, has
 * ended.
 */
export function summarizeJob(job: Job, retriedBy: string | undefined, withEnd = false) {
  const stage = currentStage(job);
  return {
    id: job.id,
    state: job.state,
    ...(stage && job.state !== "CANCELLED" && { stage: stage.stage }),
    ...(job.failure && { failure: job.failure.code, retryable: job.failure.retryable }),
    ...(job.retryOfBatchId !== null && { retryOfBatchId: job.retryOfBatchId }),
    retriedBy,
    ...(job.reviewState === "PENDING" && { review: job.reviewState }),
    createdAt: truncateToSeconds(job.createdAt),
    ...((withEnd || !TERMINAL_STATES.has(job.state)) && { updatedAt: truncateToSeconds(job.updatedAt) }),
  };
}
