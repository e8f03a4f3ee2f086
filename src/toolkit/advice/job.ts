// This module presents jobs: it selects the phrase, reads the job's history, and builds the summary view.
import { formatDuration } from "../../actions/deduplication-window.ts";
import type { ResourceAction, ResourceHistory } from "../../actions/history.ts";
import type { Job, Stage } from "../../contract/jobs.ts";
import { withTimeoutFallback } from "../../core/async.ts";
import { quote } from "../../core/untrusted-text.ts";
import type { Advice, NextStep, PollableResourcePresenter, ProgressSnapshot, ReadAnswer } from "../results.ts";
import {
  outOf,
  problemText,
  toFailureSummary,
  toSummaryFields,
  truncateToSeconds,
  unexpectedFailureText,
} from "../summary-view.ts";
import type { Ports } from "../tool-context.ts";
import type { ToolName } from "../tool-names.ts";
import { references } from "../uri.ts";
import {
  currentStage,
  ENDED,
  failingStage,
  isDone,
  type JobHistory,
  jobFacts,
  jobStateText,
  stagePositionText,
  stalledText,
  totalUnitsOf,
} from "./job-facts.ts";
import { JOB, toAdvice } from "./phrases.ts";

const MOVING: ReadonlySet<Job["state"]> = new Set(["PREPARING", "QUEUED", "RUNNING"]);

/** Returns true if the job changes without user action, so that a wait is useful. */
export const isJobMoving = ({ state }: Job): boolean => MOVING.has(state);

/** Returns true if the job continues only after a user of the API acts. */
export const needsUserAction = ({ state }: Job): boolean => state === "WAITING_REVIEW" || state === "PAUSED";

/** The tools whose actions in the journal belong to a job's history. */
const RETRY: ToolName = "retry_job";
const CANCEL: ToolName = "cancel_job";

/** The sources of a job's history: the journal first, then other jobs that this process has read. */
export type HistoryPorts = Pick<Ports, "retries"> & {
  readonly actions: Pick<Ports["actions"], "readHistory">;
};

const HISTORY_LIMIT_MS = 1_000;

/** Returns no actions if the journal fails or takes more than 1 s. Then the advice is less precise, but the read succeeds in time. */
const readActions = (jobId: string, { actions }: HistoryPorts): Promise<ResourceHistory> =>
  withTimeoutFallback(actions.readHistory(jobId), { actions: [] }, HISTORY_LIMIT_MS);

function findRetry(actions: readonly ResourceAction[], jobId: string, { retries }: HistoryPorts): JobHistory["retry"] {
  const made = actions.find(({ tool, state }) => tool === RETRY && state === "succeeded");
  const id = made?.resourceId ?? retries.get(jobId);
  return made === undefined && id === undefined ? undefined : { id };
}

/** Returns the job's retry, if it is known. */
export const findKnownRetry = async (jobId: string, ctx: HistoryPorts): Promise<JobHistory["retry"]> =>
  findRetry((await readActions(jobId, ctx)).actions, jobId, ctx);

export async function readJobHistory(job: Job, ctx: HistoryPorts): Promise<JobHistory> {
  const { actions, creationArguments } = await readActions(job.id, ctx);
  const retry = findRetry(actions, job.id, ctx);
  /** An unresolved cancellation is moot if the job has ended. An unresolved, rejected retry is moot if the job's retry is known. */
  const isMoot = ({ tool, isRefused }: ResourceAction): boolean =>
    tool === CANCEL ? ENDED.has(job.state) : isRefused && retry?.id !== undefined;
  const unresolved = actions.find((action) => action.state === "unknown" && !isMoot(action));
  return { unresolved, retry, restarted: creationArguments?.["retryMode"] === "RESTART" };
}

/** After this many attempts of a stage, another retry is not advised. */
const MAX_ATTEMPTS = 3;

function failureCase(job: Job, { restarted }: JobHistory): keyof typeof JOB {
  const { failure } = job;
  if (!failure) return "failed, unexplained";
  if (job.reviewState === "REJECTED") return "failed, rejected in review";
  if (!failure.retryable)
    return failure.fieldErrors.length > 0 ? "failed, input or parameters wrong" : "failed for good";
  const attempts = failingStage(job)?.attemptCount ?? 0;
  if (attempts >= MAX_ATTEMPTS || restarted === true) return "failed again and again";
  return attempts > 1 && job.retryOfBatchId !== null ? "failed, worth restarting" : "failed, worth resuming";
}

function jobCase(job: Job, history: JobHistory, isStalled: boolean): keyof typeof JOB {
  if (history.unresolved) return "unresolved";
  switch (job.state) {
    case "PREPARING":
    case "QUEUED":
    case "RUNNING":
      return isStalled ? "stalled" : "moving";
    case "WAITING_REVIEW":
      return "waiting for review";
    case "PAUSED":
      return "paused";
    case "SUCCEEDED":
      return "succeeded";
    case "CANCELLED":
      return history.retry ? "cancelled, retried" : "cancelled";
    case "FAILED":
      return history.retry ? "failed, retried" : failureCase(job, history);
  }
}

/**
 * Returns the sentence and the next step for a job. `readAt`: the time of the API's response in milliseconds since 1970. If it is
 * undefined, the advice does not consider whether the job has stalled.
 */
export function jobAdvice(job: Job, history: JobHistory = {}, readAt?: number): Advice {
  const still = stalledText(job, readAt);
  const advice = toAdvice(JOB[jobCase(job, history, still !== "")], jobFacts(job, history, still));
  return { ...advice, summary: advice.summary + unexpectedFailureText(job) };
}

/** Returns why `jobAdvice` gives up on a failed job that was not retried; undefined if it recommends a retry, or resolves an action first. */
export function giveUpReason(job: Job, history: JobHistory): string | undefined {
  if (job.state !== "FAILED" || history.retry || history.unresolved) return undefined;
  if (jobAdvice(job, history).nextStep?.tool === RETRY) return undefined;
  if (job.reviewState === "REJECTED") return "rejected in review";
  if (job.failure?.retryable !== true) return "not retryable";
  const { stage, attempts } = jobFacts(job, history, "");
  return `${stage} failed ${attempts >= MAX_ATTEMPTS ? `${attempts} times` : "after a RESTART too"}`;
}

/** Returns true if the step retries a job without discarding finished stages. */
export const isSafeRetry = (step: NextStep | undefined): boolean =>
  step?.tool === RETRY && step.arguments["retryMode"] === "SAFE_RESUME";

const COMPACT_STATE_LABELS: Readonly<Partial<Record<Stage["state"], string>>> = {
  SUCCEEDED: "done",
  PENDING: "pending",
  NOT_REQUIRED: "not needed",
};

/**
 * Formats all stages on one line. Adjacent stages that are done, pending or not needed are grouped; the other stages show their units. A
 * repeated stage shows the number of its attempts.
 */
export function stagesLine(stages: readonly Stage[]): string {
  const parts: { text: string; names: string[] }[] = [];
  for (const each of stages) {
    const { stage, state, attemptCount, completedUnits } = each;
    const compactLabel = COMPACT_STATE_LABELS[state];
    const tries = attemptCount > 1 ? `, try ${attemptCount}` : "";
    const text = (compactLabel ?? `${state} ${completedUnits}/${totalUnitsOf(each) ?? "?"}`) + tries;
    const last = parts.at(-1);
    if (compactLabel !== undefined && last?.text === text) last.names.push(stage);
    else parts.push({ text, names: [stage] });
  }
  return parts.map(({ text, names }) => `${names.join(" ")} ${text}`).join("; ");
}

/** Usual values, which the summary view omits. */
const DEFAULT_VALUES = { publicationState: "NOT_REQUESTED", reviewState: "NOT_REQUIRED" };

function toJobSummaryView(job: Job): object {
  const { workspaceId, resourceVersion, updatedAt, processingState, stages, failure, ...rest } = job;
  return {
    ...toSummaryFields(rest, DEFAULT_VALUES),
    ...(processingState !== job.state && { processingState }),
    ...(!stages.every(isDone) && { stages: stagesLine(stages) }),
    ...toFailureSummary(failure),
  };
}

function progressSnapshot(job: Job): ProgressSnapshot {
  const stage = currentStage(job);
  if (!stage) return { state: job.state };
  const { stage: name, state, completedUnits } = stage;
  const detail = state === "PENDING" ? `${name} next` : `${name} ${outOf(completedUnits, totalUnitsOf(stage) ?? "?")}`;
  const units = job.stages.reduce((sum, each) => sum + each.completedUnits, 0);
  return { state: job.state, detail, units };
}

/** Returns the progress of a job for progress notifications: finished stages of all stages, and units of the current stage. */
export function jobProgress(job: Job) {
  const stage = currentStage(job);
  const units = stage ? ` ${stage.stage} ${stage.completedUnits}/${totalUnitsOf(stage) ?? "?"} units` : "";
  return { progress: job.stages.filter(isDone).length, total: job.stages.length, message: `${job.state}${units}` };
}

export const createJobPresenter = (ctx: HistoryPorts): PollableResourcePresenter<Job> => ({
  version: ({ resourceVersion }) => resourceVersion,
  isMoving: isJobMoving,
  progressSnapshot,
  state: jobStateText,
  mayRunAgain: ({ state, failure }) => !(state === "FAILED" && failure?.retryable === true),
  job: (job) => job,
  progress: jobProgress,
  reference: ({ id }) => references.job(id),
  toSummary: toJobSummaryView,
  hasEnded: ({ state }) => ENDED.has(state),
  async advise(job, readAt, isNew = false) {
    ctx.retries.remember([job]);
    return jobAdvice(job, isNew ? {} : await readJobHistory(job, ctx), readAt);
  },
});

/** Presents a job to the agent that has just named its recipe, and that reads its publication in the summary. */
export function createRunPresenter(ctx: HistoryPorts): PollableResourcePresenter<Job> {
  const presenter = createJobPresenter(ctx);
  const omitted = ["recipeVersionId", "createdAt", "publicationState"];
  const toSummary = (job: Job) =>
    Object.fromEntries(Object.entries(toJobSummaryView(job)).filter(([name]) => !omitted.includes(name)));
  return { ...presenter, toSummary };
}

/** Describes a job to the user: state, recipe, age and client reference. `recipeName`: if known (default: the recipe version's id). */
export function describeJob(
  { value: { data: job }, respondedAt }: ReadAnswer<Job>,
  recipeName: string = job.recipeVersionId,
  clientReference?: string,
): string {
  const ageMs = (respondedAt ?? Number.NaN) - Date.parse(job.createdAt);
  const facts = [
    `It is ${job.state}${stagePositionText(job)}`,
    `recipe ${quote(recipeName)}`,
    ageMs >= 0 && `created ${formatDuration(ageMs)} ago`,
    clientReference !== undefined && `client reference ${quote(clientReference)}`,
  ];
  const failed = job.failure ? ` Its failure: ${problemText(job.failure)}.` : "";
  return `${facts.filter(Boolean).join("; ")}.${failed}`;
}

/** Returns the row of a job in a list, without usual values. `updatedAt` shows whether a moving job has stalled. */
export function summarizeJob(job: Job, retriedBy: string | undefined) {
  const stage = currentStage(job);
  return {
    id: job.id,
    state: job.state,
    ...(stage && job.state !== "CANCELLED" && { stage: stage.stage }),
    ...(job.failure && { failure: job.failure.code, retryable: job.failure.retryable }),
    ...(job.retryOfBatchId !== null && { retryOf: job.retryOfBatchId }),
    retriedBy,
    ...(job.reviewState === "PENDING" && { review: job.reviewState }),
    createdAt: truncateToSeconds(job.createdAt),
    ...(isJobMoving(job) && { updatedAt: truncateToSeconds(job.updatedAt) }),
  };
}
