// Computes the job that a GET returns, as a pure function of the job's record and the time. The contract does not show the transitions
// (docs/contract.md, 3); these are the emulator's own.
//
//   PREPARING -> QUEUED -> RUNNING, stage by stage up to the recipe's last -> SUCCEEDED
//   RUNNING -> WAITING_REVIEW (at TASTE) -> RUNNING when approved
//   RUNNING -> FAILED (at SIFT, or retryably at CHURN);  RUNNING -> PAUSED (at BLEND)
//   any non-terminal state -> CANCELLED
//
// A frozen dataset is published: NOT_REQUESTED -> AWAITING_RELEASE -> BUILDING -> ACTIVE.
import { type Job, STAGES, type Stage, type StageName } from "../../contract/jobs.ts";
import type { FieldError, Problem } from "../../contract/problem.ts";
import type { RecipeDefinition } from "../../contract/recipes.ts";
import { ID_PREFIX, lastStageFor, REVIEW_MS } from "../assumptions.ts";
import { toInstant } from "../clock.ts";
import type { IdGenerator } from "../ids.ts";
import { createProblem } from "../problems.ts";
import type { JobOutcome } from "./files.ts";

export interface JobPlan {
  readonly startsAt: number;
  readonly stageMs: number;
  readonly outcome: JobOutcome;
  /** Indexes into STAGES. */
  readonly first: number;
  readonly last: number;
  /** The id of the request that created the job; a failure contains it. */
  readonly requestId: string;
  readonly outputDatasetVersionId: string;
}

export interface Cancellation {
  readonly requestedAt: number;
  readonly doneAt: number;
}

/** One visible change of a job, which increases resourceVersion by 1. */
interface JobChange {
  readonly at: number;
  readonly job?: Partial<Job>;
  readonly stages?: readonly (readonly [index: number, set: Partial<Stage>])[];
}

export const stageIndex = (name: StageName): number => STAGES.indexOf(name);
const SERVE = stageIndex("SERVE");

const UNITS: readonly number[] = [4, 6, 5, 3, 8, 4, 2, 3, 2];
const unitCount = (index: number): number => UNITS[index] ?? 1;

const stateFields = (value: Job["state"]): Partial<Job> => ({ state: value, processingState: value });

/** Index of the stage at which each outcome stops a job. If the recipe stops earlier, the outcome applies at its last stage. */
const STOP_STAGE_INDEXES: Readonly<Record<JobOutcome, number>> = {
  "fails at SIFT": stageIndex("SIFT"),
  pauses: stageIndex("BLEND"),
  "fails at CHURN, retryably": stageIndex("CHURN"),
  "waits for review": stageIndex("TASTE"),
  succeeds: -1,
};

const BROKEN_ROWS: readonly FieldError[] = [
  "Row 1, mandalCount: not an integer.",
  "Row 2, code: empty.",
  "Row 2, mandalCount: below 0.",
].map((message) => ({ pointer: "/inputBindings/0/inputId", code: "ROW_INVALID", message }));

const createFailure = ({ outcome, requestId }: JobPlan): Problem =>
  outcome === "fails at SIFT"
    ? createProblem(
        { status: 422, title: "The input has rows that do not fit the recipe's schema", retryable: false },
        "INPUT_ROWS_INVALID",
        requestId,
        BROKEN_ROWS,
      )
    : createProblem(
        { status: 503, title: "The stage ran out of workers; a retry continues from here", retryable: true },
        "STAGE_UNAVAILABLE",
        requestId,
      );

/** Yields all changes of the plan in order. `attempts` are the attempt counts of the stages before this job. */
function* generateChanges(plan: JobPlan, attempts: readonly number[]): Generator<JobChange> {
  const { stageMs, first, last, outcome } = plan;
  const stopIndex = Math.min(STOP_STAGE_INDEXES[outcome], last);
  const startStage = (index: number): readonly [number, Partial<Stage>] => [
    index,
    { state: "RUNNING", attemptCount: (attempts[index] ?? 0) + 1, completedUnits: 0, totalUnits: unitCount(index) },
  ];
  let at = plan.startsAt;
  yield { at: at + Math.round(stageMs / 2), job: stateFields("QUEUED") };
  at += stageMs;
  yield { at, job: stateFields("RUNNING"), stages: [startStage(first)] };
  for (let index = first; index <= last; index += 1) {
    const units = unitCount(index);
    const stopsHere = index === stopIndex && outcome !== "waits for review";
    const countedUnits = stopsHere ? Math.ceil(units / 2) : units - 1;
    const unitAt = (unit: number): number => at + Math.round((stageMs * unit) / units);
    for (let unit = 1; unit <= countedUnits; unit += 1)
      yield { at: unitAt(unit), stages: [[index, { completedUnits: unit }]] };
    if (stopsHere) {
      yield outcome === "pauses"
        ? { at: unitAt(countedUnits + 1), job: stateFields("PAUSED") }
        : {
            at: unitAt(countedUnits + 1),
            job: { ...stateFields("FAILED"), failure: createFailure(plan) },
            stages: [[index, { state: "FAILED" }]],
          };
      return;
    }
    at += stageMs;
    if (index === stopIndex) {
      yield {
        at,
        job: { ...stateFields("WAITING_REVIEW"), reviewState: "PENDING" },
        stages: [[index, { state: "WAITING_REVIEW", completedUnits: units }]],
      };
      at += REVIEW_MS;
    }
    const reviewed: Partial<Job> = index === stopIndex ? { reviewState: "APPROVED" } : {};
    const done = [index, { state: "SUCCEEDED", completedUnits: units }] as const;
    if (index < last)
      yield { at, job: { ...stateFields("RUNNING"), ...reviewed }, stages: [done, startStage(index + 1)] };
    else yield { at, job: { ...successFields(plan), ...reviewed }, stages: [done] };
  }
  if (last < SERVE) return;
  yield { at: at + 2 * stageMs, job: { publicationState: "BUILDING" } };
  yield { at: at + 4 * stageMs, job: { publicationState: "ACTIVE" } };
}

const successFields = ({ last, outputDatasetVersionId }: JobPlan): Partial<Job> => ({
  ...stateFields("SUCCEEDED"),
  outputDatasetVersionId,
  ...(last >= SERVE && { publicationState: "AWAITING_RELEASE" }),
});

export const isTerminal = (value: Job["state"]): boolean =>
  value === "SUCCEEDED" || value === "FAILED" || value === "CANCELLED";

const UNFINISHED_STATES: readonly Stage["state"][] = ["PENDING", "RUNNING", "WAITING_REVIEW"];

/** A job does not change after its cancellation is requested. When the cancellation is done, all unfinished stages are CANCELLED. */
const createCancellationChange = (job: Job, at: number): JobChange => ({
  at,
  job: stateFields("CANCELLED"),
  stages: job.stages.flatMap((stage, index) =>
    UNFINISHED_STATES.includes(stage.state) ? [[index, { state: "CANCELLED" }] as const] : [],
  ),
});

/** Modifies `job` in place, which is a private copy. */
function applyChange(job: Job, change: JobChange): void {
  for (const [index, set] of change.stages ?? []) Object.assign(job.stages[index] ?? {}, set);
  Object.assign(job, change.job);
  job.resourceVersion += 1;
}

export function jobAt(initial: Job, plan: JobPlan | undefined, cancel: Cancellation | undefined, now: number): Job {
  const attempts = initial.stages.map(({ attemptCount }) => attemptCount);
  const end = cancel?.requestedAt ?? Number.POSITIVE_INFINITY;
  const job: Job = { ...initial, stages: initial.stages.map((stage) => ({ ...stage })) };
  let changedAt: number | undefined;
  for (const change of plan === undefined ? [] : generateChanges(plan, attempts)) {
    if (change.at > Math.min(end, now)) break;
    applyChange(job, change);
    changedAt = change.at;
  }
  if (cancel !== undefined && cancel.doneAt <= now) {
    applyChange(job, createCancellationChange(job, cancel.doneAt));
    changedAt = cancel.doneAt;
  }
  if (changedAt !== undefined) job.updatedAt = toInstant(changedAt);
  return job;
}

const pendingStage = (stage: StageName, attemptCount: number): Stage => ({
  stage,
  state: "PENDING",
  attemptCount,
  completedUnits: 0,
  totalUnits: null,
});

/** Returns a job's stages before it runs. `kept` are the stages of the job that it retries; only SUCCEEDED ones are reused. */
const createInitialStages = (last: number, kept: readonly Stage[] = []): Stage[] =>
  STAGES.map((name, index) => {
    const previous = kept[index];
    if (index > last) return { ...pendingStage(name, 0), state: "NOT_REQUIRED" };
    return previous?.state === "SUCCEEDED" ? previous : pendingStage(name, previous?.attemptCount ?? 0);
  });

interface NewJob {
  readonly recipe: RecipeDefinition;
  readonly createdAt: number;
  readonly stageMs: number;
  readonly outcome: JobOutcome;
  readonly requestId: string;
  /** The stages of the job that this one retries, if the retry resumes them. */
  readonly kept?: readonly Stage[];
  readonly retryOfBatchId?: string;
}

export function planJob(
  { ids, workspaceId }: { readonly ids: IdGenerator; readonly workspaceId: string },
  { recipe, createdAt, stageMs, outcome, requestId, kept = [], retryOfBatchId }: NewJob,
): { readonly initial: Job; readonly plan: JobPlan } {
  const last = stageIndex(lastStageFor(recipe.stopAfterStage));
  const stages = createInitialStages(last, kept);
  const initial: Job = {
    id: ids.next(ID_PREFIX.job),
    workspaceId,
    environment: "SANDBOX",
    state: "PREPARING",
    resourceVersion: 1,
    createdAt: toInstant(createdAt),
    updatedAt: toInstant(createdAt),
    recipeVersionId: recipe.versionId,
    processingState: "PREPARING",
    publicationState: "NOT_REQUESTED",
    outputDatasetVersionId: null,
    reviewState: "NOT_REQUIRED",
    stages,
    retryOfBatchId: retryOfBatchId ?? null,
    failure: null,
  };
  const first = stages.findIndex(({ state }) => state !== "SUCCEEDED");
  const outputDatasetVersionId = ids.next(ID_PREFIX.datasetVersion);
  return { initial, plan: { startsAt: createdAt, stageMs, outcome, first, last, requestId, outputDatasetVersionId } };
}
