// How a job moves: a pure function from its record and the time to what a GET shows. The contract gives no transitions
// (section 3); these are the emulator's own.
//
//   PREPARING -> QUEUED -> RUNNING, stage by stage up to the recipe's last -> SUCCEEDED
//   RUNNING -> WAITING_REVIEW (at TASTE) -> RUNNING when approved
//   RUNNING -> FAILED (at SIFT, or retryably at CHURN);  RUNNING -> PAUSED (at BLEND)
//   any state that is not terminal -> CANCELLED
//
// A dataset that was frozen is published: NOT_REQUESTED -> AWAITING_RELEASE -> BUILDING -> ACTIVE.
import { type Job, STAGES, type Stage, type StageName } from "../../contract/jobs.ts";
import type { FieldError, Problem } from "../../contract/problem.ts";
import type { RecipeDefinition } from "../../contract/recipes.ts";
import { ID_PREFIX, lastStageOf, REVIEW_MS } from "../assumptions.ts";
import { instant } from "../clock.ts";
import type { Ids } from "../ids.ts";
import { makeProblem } from "../problems.ts";
import type { JobOutcome } from "./files.ts";

/** What a job is going to do. */
export interface Plan {
  readonly startsAt: number;
  readonly stageMs: number;
  readonly outcome: JobOutcome;
  /** Indexes into STAGES. */
  readonly first: number;
  readonly last: number;
  /** Of the request that made the job: a failure names it. */
  readonly requestId: string;
  readonly outputDatasetVersionId: string;
}

export interface Cancellation {
  readonly requestedAt: number;
  readonly doneAt: number;
}

/** One visible change: one step of resourceVersion. */
interface JobChange {
  readonly at: number;
  readonly job?: Partial<Job>;
  readonly stages?: readonly (readonly [index: number, set: Partial<Stage>])[];
}

export const stageIndex = (name: StageName): number => STAGES.indexOf(name);
const SERVE = stageIndex("SERVE");

/** How many units each stage counts. */
const UNITS: readonly number[] = [4, 6, 5, 3, 8, 4, 2, 3, 2];
const unitsOf = (index: number): number => UNITS[index] ?? 1;

const state = (value: Job["state"]): Partial<Job> => ({ state: value, processingState: value });

/** The stage at which each outcome stops a job; a recipe that stops earlier is stopped at its last stage. */
const STRIKES: Readonly<Record<JobOutcome, number>> = {
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

const failureOf = ({ outcome, requestId }: Plan): Problem =>
  outcome === "fails at SIFT"
    ? makeProblem(
        { status: 422, title: "The input has rows that do not fit the recipe's schema", retryable: false },
        "INPUT_ROWS_INVALID",
        requestId,
        BROKEN_ROWS,
      )
    : makeProblem(
        { status: 503, title: "The stage ran out of workers; a retry continues from here", retryable: true },
        "STAGE_UNAVAILABLE",
        requestId,
      );

/** All changes of the plan in order. `attempts` are the stages' attempt counts before this job. */
function* changesOf(plan: Plan, attempts: readonly number[]): Generator<JobChange> {
  const { stageMs, first, last, outcome } = plan;
  const strike = Math.min(STRIKES[outcome], last);
  const start = (index: number): readonly [number, Partial<Stage>] => [
    index,
    { state: "RUNNING", attemptCount: (attempts[index] ?? 0) + 1, completedUnits: 0, totalUnits: unitsOf(index) },
  ];
  let at = plan.startsAt;
  yield { at: at + Math.round(stageMs / 2), job: state("QUEUED") };
  at += stageMs;
  yield { at, job: state("RUNNING"), stages: [start(first)] };
  for (let index = first; index <= last; index += 1) {
    const units = unitsOf(index);
    const stopsHere = index === strike && outcome !== "waits for review";
    const counted = stopsHere ? Math.ceil(units / 2) : units - 1;
    const unitAt = (unit: number): number => at + Math.round((stageMs * unit) / units);
    for (let unit = 1; unit <= counted; unit += 1)
      yield { at: unitAt(unit), stages: [[index, { completedUnits: unit }]] };
    if (stopsHere) {
      yield outcome === "pauses"
        ? { at: unitAt(counted + 1), job: state("PAUSED") }
        : {
            at: unitAt(counted + 1),
            job: { ...state("FAILED"), failure: failureOf(plan) },
            stages: [[index, { state: "FAILED" }]],
          };
      return;
    }
    at += stageMs;
    if (index === strike) {
      yield {
        at,
        job: { ...state("WAITING_REVIEW"), reviewState: "PENDING" },
        stages: [[index, { state: "WAITING_REVIEW", completedUnits: units }]],
      };
      at += REVIEW_MS;
    }
    const reviewed: Partial<Job> = index === strike ? { reviewState: "APPROVED" } : {};
    const done = [index, { state: "SUCCEEDED", completedUnits: units }] as const;
    if (index < last) yield { at, job: { ...state("RUNNING"), ...reviewed }, stages: [done, start(index + 1)] };
    else yield { at, job: { ...succeeded(plan), ...reviewed }, stages: [done] };
  }
  if (last < SERVE) return;
  yield { at: at + 2 * stageMs, job: { publicationState: "BUILDING" } };
  yield { at: at + 4 * stageMs, job: { publicationState: "ACTIVE" } };
}

const succeeded = ({ last, outputDatasetVersionId }: Plan): Partial<Job> => ({
  ...state("SUCCEEDED"),
  outputDatasetVersionId,
  ...(last >= SERVE && { publicationState: "AWAITING_RELEASE" }),
});

export const isTerminal = (value: Job["state"]): boolean =>
  value === "SUCCEEDED" || value === "FAILED" || value === "CANCELLED";

const OPEN_STAGES: readonly Stage["state"][] = ["PENDING", "RUNNING", "WAITING_REVIEW"];

/** Nothing moves from the request on; when it is done, all that was open is CANCELLED. */
const cancelled = (job: Job, at: number): JobChange => ({
  at,
  job: state("CANCELLED"),
  stages: job.stages.flatMap((stage, index) =>
    OPEN_STAGES.includes(stage.state) ? [[index, { state: "CANCELLED" }] as const] : [],
  ),
});

/** Changes `job` itself: it is a copy of ours. */
function apply(job: Job, change: JobChange): void {
  for (const [index, set] of change.stages ?? []) Object.assign(job.stages[index] ?? {}, set);
  Object.assign(job, change.job);
  job.resourceVersion += 1;
  job.updatedAt = instant(change.at);
}

/** The job as it is at `now`. */
export function jobAt(initial: Job, plan: Plan | undefined, cancel: Cancellation | undefined, now: number): Job {
  const attempts = initial.stages.map(({ attemptCount }) => attemptCount);
  const end = cancel?.requestedAt ?? Number.POSITIVE_INFINITY;
  const job: Job = { ...initial, stages: initial.stages.map((stage) => ({ ...stage })) };
  for (const change of plan === undefined ? [] : changesOf(plan, attempts)) {
    if (change.at > end) break;
    if (change.at > now) return job;
    apply(job, change);
  }
  if (cancel !== undefined && cancel.doneAt <= now) apply(job, cancelled(job, cancel.doneAt));
  return job;
}

const open = (stage: StageName, attemptCount: number): Stage => ({
  stage,
  state: "PENDING",
  attemptCount,
  completedUnits: 0,
  totalUnits: null,
});

/** A job's stages before it runs; `kept` are finished stages of the job it retries. */
const freshStages = (last: number, kept: readonly Stage[] = []): Stage[] =>
  STAGES.map((name, index) => {
    const earlier = kept[index];
    if (index > last) return { ...open(name, 0), state: "NOT_REQUIRED" };
    return earlier?.state === "SUCCEEDED" ? earlier : open(name, earlier?.attemptCount ?? 0);
  });

interface NewJob {
  readonly recipe: RecipeDefinition;
  readonly createdAt: number;
  readonly stageMs: number;
  readonly outcome: JobOutcome;
  readonly requestId: string;
  /** The stages of the job that this one retries, if it keeps them. */
  readonly kept?: readonly Stage[];
  readonly retryOf?: string;
}

/** A job as it is created, and what it is going to do. */
export function newJob(
  { ids, workspaceId }: { readonly ids: Ids; readonly workspaceId: string },
  { recipe, createdAt, stageMs, outcome, requestId, kept = [], retryOf }: NewJob,
): { readonly initial: Job; readonly plan: Plan } {
  const last = stageIndex(lastStageOf(recipe.stopAfterStage));
  const stages = freshStages(last, kept);
  const initial: Job = {
    id: ids.next(ID_PREFIX.job),
    workspaceId,
    environment: "SANDBOX",
    state: "PREPARING",
    resourceVersion: 1,
    createdAt: instant(createdAt),
    updatedAt: instant(createdAt),
    recipeVersionId: recipe.versionId,
    processingState: "PREPARING",
    publicationState: "NOT_REQUESTED",
    outputDatasetVersionId: null,
    reviewState: "NOT_REQUIRED",
    stages,
    retryOfBatchId: retryOf ?? null,
    failure: null,
  };
  const first = stages.findIndex(({ state }) => state !== "SUCCEEDED");
  const outputDatasetVersionId = ids.next(ID_PREFIX.datasetVersion);
  return { initial, plan: { startsAt: createdAt, stageMs, outcome, first, last, requestId, outputDatasetVersionId } };
}
