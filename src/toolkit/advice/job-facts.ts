// What a job's phrases are filled with: its place among the stages, its failure, what has become of it since.
import type { ResourceAction } from "../../actions/service-actions.ts";
import type { Job, JobState, Stage } from "../../contract/jobs.ts";
import { formatToken } from "../../core/untrusted-text.ts";
import { problemName } from "../summary-view.ts";

/** States of jobs and operations that have ended: they do not change any more. */
export const ENDED: ReadonlySet<string> = new Set(["SUCCEEDED", "FAILED", "CANCELLED"] satisfies JobState[]);

/** What is known about a job beyond its own fields. */
export interface JobHistory {
  /** An action on the job of unknown outcome. */
  readonly unresolved?: ResourceAction | undefined;
  /** The job's retry; its `id` is undefined if the API's answer could not be read. */
  readonly retry?: { readonly id: string | undefined } | undefined;
  /** A RESTART of this server made the job. */
  readonly restarted?: boolean;
}

export const isDone = ({ state }: Stage): boolean => state === "SUCCEEDED" || state === "NOT_REQUIRED";

/** The stage the job is at: the first one that is neither finished nor not needed. */
export const currentStage = ({ stages }: Job): Stage | undefined => stages.find((stage) => !isDone(stage));

export const failingStage = (job: Job): Stage | undefined =>
  job.stages.find(({ state }) => state === "FAILED") ?? currentStage(job);

/** ", at stage …", or nothing. */
export function stagePositionText(job: Job): string {
  const stage = currentStage(job);
  if (!stage) return "";
  const { completedUnits, totalUnits } = stage;
  const position = `stage ${stage.stage} (${job.stages.indexOf(stage) + 1} of ${job.stages.length})`;
  const units = totalUnits === null ? `${completedUnits}` : `${completedUnits} of ${totalUnits}`;
  return stage.state === "PENDING" ? `, ${position} next` : `, at ${position}, ${units} units`;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * A job that has not changed for an hour is not worth polling: that hour is 80 waits of 45 s, each with the same answer. It
 * is no verdict, since the contract does not state how long a stage may take: the agent is informed and decides.
 */
const STALLED_AFTER_MS = HOUR_MS;

/** " Nothing has moved since …" if that is long; `readAt` is the API's clock, as `updatedAt` is. */
export function stalledText({ updatedAt }: Job, readAt: number | undefined): string {
  const unchangedMs = readAt === undefined ? 0 : readAt - Date.parse(updatedAt);
  if (!(unchangedMs >= STALLED_AFTER_MS)) return "";
  const long =
    unchangedMs < 2 * DAY_MS ? `${Math.floor(unchangedMs / HOUR_MS)} h` : `${Math.floor(unchangedMs / DAY_MS)} days`;
  return ` Nothing has moved since ${updatedAt} (${long}).`;
}

const MAX_POINTERS = 3;

/** JSON pointers of what the failure finds wrong. */
function pointersOf({ failure }: Job): string {
  const named = (failure?.fieldErrors ?? []).map(({ pointer }) =>
    pointer === "" ? "the whole" : formatToken(pointer),
  );
  const pointers = [...new Set(named)];
  const more = pointers.length - MAX_POINTERS;
  return pointers.slice(0, MAX_POINTERS).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** No operation of the contract reads a job's output. */
const outputText = (output: string): string =>
  ` Output: dataset version ${formatToken(output)}. Its rows cannot be read through this API: bind it to another job (register_input, DATASET_VERSION) or open it at the service.`;

/** No operation of the contract changes it: the API advances a publication, at a time that the contract does not state. */
const PUBLICATION: Readonly<Record<Job["publicationState"], string>> = {
  NOT_REQUESTED: "",
  AWAITING_RELEASE: " Publication: AWAITING_RELEASE (the API advances it; get_job shows it).",
  BUILDING: " Publication: BUILDING.",
  ACTIVE: " Publication: ACTIVE.",
  WITHDRAWN: " Publication: WITHDRAWN.",
};

export type JobFacts = ReturnType<typeof jobFacts>;

/** `still`: how long nothing has moved. */
export function jobFacts(job: Job, { unresolved, retry }: JobHistory, still: string) {
  const { id, state, workspaceId, recipeVersionId, failure, outputDatasetVersionId: output } = job;
  const stage = failingStage(job);
  const stagesFinished = job.stages.filter((each) => each.state === "SUCCEEDED").length;
  return {
    ...{ id, state, workspaceId, recipeVersionId, unresolved, still },
    /** "The job", with the job it retries. */
    what: `The job${job.retryOfBatchId === null ? "" : `, a retry of ${formatToken(job.retryOfBatchId)},`}`,
    place: stagePositionText(job),
    /** Its output and its publication, or nothing. */
    results: `${output === null ? "" : outputText(output)}${PUBLICATION[job.publicationState]}`,
    finished: `${stagesFinished} of ${job.stages.length} stages finished`,
    failure: failure ? problemName(failure) : "",
    code: failure ? formatToken(failure.code) : "",
    /** The stage that failed, and how often. */
    stage: stage?.stage ?? "the job",
    attempts: stage?.attemptCount ?? 0,
    pointers: pointersOf(job),
    /** The job that retries it; undefined if the retry's id was never learned. */
    retriedBy: retry?.id,
  };
}
