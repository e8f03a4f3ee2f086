// This module computes the facts for the phrases about a job: its current stage, its failure, its results and its retry.
import type { ResourceAction } from "../../actions/history.ts";
import type { Job, JobState, Stage } from "../../contract/jobs.ts";
import { formatToken } from "../../core/untrusted-text.ts";
import { outOf, problemName } from "../summary-view.ts";

/** Final states of jobs and operations. */
export const ENDED: ReadonlySet<string> = new Set(["SUCCEEDED", "FAILED", "CANCELLED"] satisfies JobState[]);

/** Facts about a job that its own fields do not contain. */
export interface JobHistory {
  /** An action on the job with an unknown outcome. */
  readonly unresolved?: Pick<ResourceAction, "tool" | "idempotencyKey" | "createdAt"> | undefined;
  /** The job's retry; its `id` is undefined if the API's response could not be read. */
  readonly retry?: { readonly id: string | undefined } | undefined;
  /** True if a RESTART in the journal created the job. */
  readonly restarted?: boolean;
}

export const isDone = ({ state }: Stage): boolean => state === "SUCCEEDED" || state === "NOT_REQUIRED";

/** Returns the job's current stage: the first one that has not succeeded and is required. */
export const currentStage = ({ stages }: Job): Stage | undefined => stages.find((stage) => !isDone(stage));

/** The total units of a stage; undefined if it is unknown, or smaller than the completed units. */
export const totalUnitsOf = ({ completedUnits, totalUnits }: Stage): number | undefined =>
  totalUnits === null || totalUnits < completedUnits ? undefined : totalUnits;

export const failingStage = (job: Job): Stage | undefined =>
  job.stages.find(({ state }) => state === "FAILED") ?? currentStage(job);

/** Formats the current stage as ", at stage …"; returns an empty string if there is none. */
export function stagePositionText(job: Job): string {
  const stage = currentStage(job);
  if (!stage) return "";
  const { completedUnits } = stage;
  const total = totalUnitsOf(stage);
  const position = `stage ${stage.stage} (${outOf(job.stages.indexOf(stage) + 1, job.stages.length)})`;
  const units = total === undefined ? `${completedUnits}` : outOf(completedUnits, total);
  return stage.state === "PENDING" ? `, ${position} next` : `, at ${position}, ${units} units`;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * A job that has not changed for 1 h is not worth polling: in that time, 80 waits of 45 s return the same result. The contract does not
 * state how long a stage may take, so the agent is informed and decides.
 */
const STALLED_AFTER_MS = HOUR_MS;

/**
 * Returns " Nothing has moved since …" if the job has stalled, otherwise an empty string. `readAt` is in milliseconds since 1970, by the
 * API's clock, as `updatedAt` is.
 */
export function stalledText({ updatedAt }: Job, readAt: number | undefined): string {
  const unchangedMs = readAt === undefined ? 0 : readAt - Date.parse(updatedAt);
  if (!(unchangedMs >= STALLED_AFTER_MS)) return "";
  const long =
    unchangedMs < 2 * DAY_MS ? `${Math.floor(unchangedMs / HOUR_MS)} h` : `${Math.floor(unchangedMs / DAY_MS)} days`;
  return ` Nothing has moved since ${updatedAt} (${long}).`;
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
  " Its output (outputDatasetVersionId) can be bound to another job (register_input, DATASET_VERSION); its rows cannot be read here.";

/** No operation of the contract changes a publication: the API advances it, at a time that the contract does not state. */
const PUBLICATION: Readonly<Record<Job["publicationState"], string>> = {
  NOT_REQUESTED: "",
  AWAITING_RELEASE: " Publication: AWAITING_RELEASE (the API advances it).",
  BUILDING: " Publication: BUILDING.",
  ACTIVE: " Publication: ACTIVE.",
  WITHDRAWN: " Publication: WITHDRAWN.",
};

/** Returns the state and, if it applies, the stage: "FAILED at CHURN". */
export function jobStateText(job: Job): string {
  const stage = job.state === "FAILED" ? failingStage(job) : currentStage(job);
  return stage === undefined || stage.state === "PENDING" || job.state === "CANCELLED"
    ? job.state
    : `${job.state} at ${stage.stage}`;
}

export type JobFacts = ReturnType<typeof jobFacts>;

/** `still`: the result of `stalledText`. */
export function jobFacts(job: Job, { unresolved, retry }: JobHistory, still: string) {
  const { id, state, workspaceId, recipeVersionId, failure, outputDatasetVersionId: output } = job;
  const stage = failingStage(job);
  const stagesFinished = job.stages.filter((each) => each.state === "SUCCEEDED").length;
  return {
    ...{ id, state, workspaceId, recipeVersionId, unresolved, still },
    /** "The job", with the id of the job that it retries, if any. */
    what: `The job${job.retryOfBatchId === null ? "" : `, a retry of ${formatToken(job.retryOfBatchId)},`}`,
    place: stagePositionText(job),
    where: jobStateText(job),
    /** Sentences about the output and the publication, or an empty string. */
    results: `${output === null ? "" : OUTPUT}${PUBLICATION[job.publicationState]}`,
    finished: `${outOf(stagesFinished, job.stages.length)} stages finished`,
    failure: failure ? problemName(failure) : "",
    code: failure ? formatToken(failure.code) : "",
    /** The failed stage, otherwise the current one; `attempts` is the number of its attempts. */
    stage: stage?.stage ?? "the job",
    attempts: stage?.attemptCount ?? 0,
    pointers: pointersOf(job),
    /** The id of the job's retry; undefined if there is none, or if its id is unknown. */
    retriedBy: retry?.id,
  };
}
