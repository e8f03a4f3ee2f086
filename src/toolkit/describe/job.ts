// This module describes jobs: the sentence and the next step for each state, the fields of the summary view, and the row in a list.

import type { ResourceAction } from "../../actions/history.ts";
import { type Job, JobState, type Stage } from "../../contract/jobs.ts";
import { tally } from "../../core/counts.ts";
import { join, toText, type Words } from "../../core/text.ts";
import { CALL_LIMIT_SECONDS } from "../../core/time-limits.ts";

import { formatJson, formatToken } from "../../core/untrusted-text.ts";
import type { Advice, Description, NextStep, Status } from "../results.ts";
import {
  outOf,
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

/** Formats the current stage as ", at stage …"; returns an empty string if there is none. */
export function stagePositionText(job: Job): string {
  const stage = currentStage(job);
  if (!stage) return "";
  const { completedUnits } = stage;
  const total = totalUnitsOf(stage);
  const position = `stage ${stage.stage} (${outOf(job.stages.indexOf(stage) + 1, job.stages.length)})`;
  const units = total === undefined ? `${completedUnits}` : outOf(completedUnits, total);
  return stage.state === "PENDING" ? `; ${position} is next` : `, at ${position}, ${units} units`;
}

/** Returns the state and, if it applies, the stage: "FAILED at CHURN". */
export function jobStateText(job: Job): string {
  const stage = job.state === "FAILED" ? failingStage(job) : currentStage(job);
  return stage === undefined || stage.state === "PENDING" || job.state === "CANCELLED"
    ? job.state
    : `${job.state} at ${stage.stage}`;
}

/** Returns "1 waits for a reviewer or the API's operator (PAUSED at BLEND). Tell the user."; an empty string if no job does. */
export function operatorNeededText(jobs: readonly (Job | undefined)[]): string {
  const waiting = jobs.flatMap((job) => (job && needsUserAction(job) ? jobStateText(job) : []));
  const unlisted = new Set(jobs.flatMap((job) => (job && isUnlisted(job) ? unlistedText(job.state) : [])));
  const [first, ...others] = waiting;
  if (first === undefined) return [...unlisted].join(" ");
  const [wait, states] = others.length === 0 ? ["1 waits", first] : [`${waiting.length} wait`, tally(waiting)];
  return [`${wait} for a reviewer or the API's operator (${states}). Tell the user.`, ...unlisted].join(" ");
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * A job that has not changed for 1 h is not worth polling: in that time, 80 waits return the same result. The contract does not
 * state how long a stage may take, so the agent is informed and decides.
 */
const STALLED_AFTER_MS = HOUR_MS;

/**
 * Returns " It has not changed since …" if the job has stalled, otherwise an empty string. `readAt` is in milliseconds since 1970, by the
 * API's clock, as `updatedAt` is.
 */
function stalledText({ updatedAt }: Job, readAt: number | undefined): string {
  const unchangedMs = readAt === undefined ? 0 : readAt - Date.parse(updatedAt);
  if (!(unchangedMs >= STALLED_AFTER_MS)) return "";
  const long =
    unchangedMs < 2 * DAY_MS ? `${Math.floor(unchangedMs / HOUR_MS)} h` : `${Math.floor(unchangedMs / DAY_MS)} days`;
  return ` It has not changed since ${updatedAt} (${long}).`;
}

const MAX_POINTERS = 3;

/** Formats the first JSON pointers of the failure's field errors. */
function pointersOf({ failure }: Job): string {
  const named = (failure?.fieldErrors ?? []).map(({ pointer }) =>
    pointer === "" ? "the whole" : formatToken(pointer),
  );
  const pointers = [...new Set(named)];
  const more = pointers.length - MAX_POINTERS;
  return pointers.slice(0, MAX_POINTERS).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** No operation of the contract reads a job's output. */
const OUTPUT =
  " To use its output in another job, pass outputDatasetVersionId to run_job as referenceId, with inputKind DATASET_VERSION. No tool reads its rows.";

/** No operation of the contract changes a publication: the API advances it, at a time that the contract does not state. */
const PUBLICATION: Readonly<Record<string, string>> = {
  NOT_REQUESTED: "",
  AWAITING_RELEASE: " Publication: AWAITING_RELEASE (the API advances it).",
  BUILDING: " Publication: BUILDING.",
  ACTIVE: " Publication: ACTIVE.",
  WITHDRAWN: " Publication: WITHDRAWN.",
};

/** "The job", with the id of the job that it retries, if any. */
const nameOf = ({ retryOfBatchId }: Job): string =>
  `The job${retryOfBatchId === null ? "" : ` (a retry of ${formatToken(retryOfBatchId)})`}`;

/** "2 of 9 stages finished"; undefined if the API has named no stages yet. */
const finishedText = ({ stages }: Job): string | undefined =>
  stages.length === 0
    ? undefined
    : `${outOf(stages.filter(({ state }) => state === "SUCCEEDED").length, stages.length)} stages finished`;

const retriedText = (retryId: string | undefined): string =>
  retryId === undefined
    ? "It was retried, but the id of that job is not known."
    : `It was retried as job ${formatToken(retryId)}.`;

const readRetryStep = ({ workspaceId }: Job, retryId: string | undefined): NextStep =>
  retryId === undefined
    ? {
        tool: "list_jobs",
        arguments: { workspaceId, view: "full" },
        why: "its retry is the job whose retryOfBatchId is this one",
      }
    : { tool: "get_job", arguments: { jobId: retryId }, why: "shows the retry" };

/** After this many attempts of a stage, another retry is not advised. */
const MAX_ATTEMPTS = 3;

/** The failed stage, otherwise the current one. */
function failedStageOf(job: Job) {
  const { stage = "the job", attemptCount = 0 } = failingStage(job) ?? {};
  return { stage, attemptCount };
}

/** Returns how often a failed, retryable job has failed, if that is too often for another retry. */
function repeatedFailure(job: Job, { restarted }: JobHistory): string | undefined {
  const { attemptCount } = failedStageOf(job);
  if (attemptCount >= MAX_ATTEMPTS) return `${attemptCount} times`;
  return restarted === true ? "after a RESTART too" : undefined;
}

/** Returns the advice on a failed job that was not retried. */
function adviseFailure(job: Job, history: JobHistory): Advice {
  const { id, failure, recipeVersionId } = job;
  const failed = `${nameOf(job)} FAILED${stagePositionText(job)}`;
  if (!failure)
    return {
      summary: `${failed}; the API gives no reason. Ask the user to contact the API's operator before another try.`,
    };
  const why = `${failed}: ${problemName(failure)}.`;
  if (job.reviewState === "REJECTED")
    return { summary: `${why} A reviewer REJECTED it: ask the user before you submit another job.` };
  if (!failure.retryable)
    return failure.fieldErrors.length === 0
      ? { summary: `${why} Retrying will not help, and the API names nothing to correct. Tell the user.` }
      : {
          summary: `${why} Retrying the same job will not help: correct ${pointersOf(job)} and submit a new one.`,
          nextStep: {
            tool: "get_recipe",
            arguments: { versionId: recipeVersionId },
            why: "shows the schema; correct the named fields, then submit a new job",
          },
        };
  const { stage, attemptCount } = failedStageOf(job);
  const repeated = repeatedFailure(job, history);
  if (repeated !== undefined)
    return {
      summary: `${why} ${stage} has failed ${repeated}: stop retrying and ask the user to contact the operator of the API.`,
    };
  const reason = `Retry after ${formatToken(failure.code)}`;
  if (attemptCount > 1 && job.retryOfBatchId !== null)
    return {
      summary: `${why} A resumed run failed at ${stage} again; RESTART runs it from the start.`,
      nextStep: {
        tool: "retry_job",
        arguments: { jobId: id, retryMode: "RESTART", reason },
        why: `${stage} failed again, so the results of earlier stages may be the cause; RESTART discards them: ask the user first`,
      },
    };
  return {
    summary: `${why} It may be retried.`,
    nextStep: {
      tool: "retry_job",
      arguments: { jobId: id, retryMode: "SAFE_RESUME", reason },
      why: `keeps the ${finishedText(job) ?? "finished stages"}`,
    },
  };
}

/** Returns the sentence and the next step for a job. `readAt`: as for `describeJob`. */
export function adviseJob(job: Job, history: JobHistory = {}, readAt?: number): Advice {
  const { id, state, failure } = job;
  const { unresolved, retry } = history;
  const name = nameOf(job);
  const isNow = `${name} is ${state}${stagePositionText(job)}`;
  // The outcome of an earlier action on a job must be resolved before a new action.
  if (unresolved)
    return {
      summary: `${isNow}. Its ${unresolved.tool === "cancel_job" ? "cancellation" : "retry"}, sent at ${unresolved.createdAt}, has an unknown outcome.`,
      nextStep: {
        tool: "resolve_actions",
        arguments: { idempotencyKey: unresolved.idempotencyKey },
        why: "returns its outcome; the action never runs twice",
      },
    };
  const stalled = stalledText(job, readAt);
  switch (state) {
    case "PREPARING":
    case "QUEUED":
    case "RUNNING":
      return stalled === ""
        ? {
            isRoutine: true,
            summary: `${isNow}.`,
            nextStep: {
              tool: "get_job",
              arguments: { jobId: id, waitSeconds: CALL_LIMIT_SECONDS },
              why: "waits for it",
            },
          }
        : {
            summary: `${isNow}.${stalled} Ask the user whether to contact the API's operator or to cancel the job; waiting longer may not help.`,
          };
    case "WAITING_REVIEW":
      return { summary: `${name} waits for a review (${jobStateText(job)}). Tell the user.${stalled}` };
    case "PAUSED":
      return {
        summary: `${name} is ${jobStateText(job)} until the API's operator resumes it. Tell the user.${stalled}`,
      };
    case "SUCCEEDED": {
      const output = job.outputDatasetVersionId === null ? "" : OUTPUT;
      return {
        summary: `${name} SUCCEEDED.${output}${PUBLICATION[job.publicationState] ?? ` Publication: ${job.publicationState}.`}`,
      };
    }
    case "CANCELLED": {
      const finished = finishedText(job);
      const cancelled = `${name} is CANCELLED${finished === undefined ? "" : `; ${finished}`}.`;
      if (!retry) return { summary: `${cancelled} It can be retried.` };
      return { summary: `${cancelled} ${retriedText(retry.id)}`, nextStep: readRetryStep(job, retry.id) };
    }
    case "FAILED": {
      if (!retry) return adviseFailure(job, history);
      // Whatever the cause of the failure, the retry is more relevant now.
      const cause = failure ? `: ${problemName(failure)}` : "";
      return {
        summary: `${name} FAILED${stagePositionText(job)}${cause}. ${retriedText(retry.id)}`,
        nextStep: readRetryStep(job, retry.id),
      };
    }
    default:
      return { summary: `${isNow}. ${unlistedText(state)}` };
  }
}

/** Usual values, which the summary view omits. */
const DEFAULT_VALUES = { publicationState: "NOT_REQUESTED", reviewState: "NOT_REQUIRED" };

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
    summary: join([toText(advice.summary), toText(unexpectedFailureText(job))], ""),
  };
}

export function jobStatus(job: Job): Status {
  const { resourceVersion, failure, stages } = job;
  const stage = currentStage(job);
  const total = stage && (totalUnitsOf(stage) ?? "?");
  const detail =
    stage?.state === "PENDING"
      ? `${stage.stage} next`
      : stage && `${stage.stage} ${outOf(stage.completedUnits, total ?? "?")}`;
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
export function retryRefusalText(job: Job): Words | undefined {
  const { id, state, failure } = job;
  switch (state) {
    case "SUCCEEDED":
      return "The job SUCCEEDED, so there is nothing to retry. run_job with a new idempotencyKey runs it again.";
    case "FAILED":
      return failure?.retryable === true ? undefined : adviseFailure(job, {}).summary;
    case "PAUSED":
    case "WAITING_REVIEW":
      return `The job is ${state}: only its operator or a reviewer can continue it. Ask the user to contact them, or to cancel the job before a retry.`;
    case "PREPARING":
    case "QUEUED":
    case "RUNNING":
      return `The job is ${state}: get_job ${formatJson({ jobId: id, waitSeconds: CALL_LIMIT_SECONDS })} waits for its end.`;
    default:
      return undefined;
  }
}

export const NOT_RETRYABLE = "not retryable";
export const REJECTED_IN_REVIEW = "rejected in review";

/** Returns why no retry of a failed job is advised; undefined if one is advised or was made, or if an action must be resolved first. */
export function giveUpReason(job: Job, history: JobHistory): string | undefined {
  if (job.state !== "FAILED" || history.retry || history.unresolved) return undefined;
  if (adviseJob(job, history).nextStep?.tool === "retry_job") return undefined;
  if (job.reviewState === "REJECTED") return REJECTED_IN_REVIEW;
  if (job.failure?.retryable !== true) return NOT_RETRYABLE;
  return `${failedStageOf(job).stage} failed ${repeatedFailure(job, history)}`;
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

/** Returns the row of a job in a list, without usual values. `updatedAt` shows whether a job in progress has stalled. */
export function summarizeJob(job: Job, retriedBy: string | undefined) {
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
    ...(isJobInProgress(job) && { updatedAt: truncateToSeconds(job.updatedAt) }),
  };
}
