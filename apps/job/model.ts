// Reads a job from a result and defines the labels of its states. An unknown state is shown unchanged.
import type { Job } from "../../src/contract/jobs.ts";
import type { FieldError } from "../../src/contract/problem.ts";
import { fieldsOf, listOf, numberOf, type ToolResult, textOf } from "../values.ts";

export type Tone = "good" | "bad" | "work" | "wait" | "muted";

export interface StageShown {
  readonly name: string;
  readonly state: string;
  readonly attempts: number;
  readonly done: number;
  /** Undefined if the API does not report it. */
  readonly total: number | undefined;
}

export interface FieldErrorShown {
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

export interface FailureShown {
  readonly code: string;
  readonly title: string;
  readonly retryable: boolean;
  readonly fieldErrors: readonly FieldErrorShown[];
}

export interface JobShown {
  readonly id: string;
  readonly state: string;
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly recipeVersionId: string;
  readonly retryOfBatchId: string | undefined;
  readonly output: string | undefined;
  readonly stages: readonly StageShown[];
  readonly failure: FailureShown | undefined;
}

function stageOf(value: unknown): StageShown {
  const { stage, state, attemptCount, completedUnits, totalUnits } = fieldsOf<Job["stages"][number]>(value);
  return {
    name: textOf(stage),
    state: textOf(state),
    attempts: numberOf(attemptCount) ?? 0,
    done: numberOf(completedUnits) ?? 0,
    total: numberOf(totalUnits),
  };
}

function failureOf(value: unknown): FailureShown | undefined {
  const { code, title, retryable, fieldErrors } = fieldsOf<NonNullable<Job["failure"]>>(value);
  if (typeof code !== "string") return undefined;
  const errors = listOf(fieldErrors).map((each) => {
    const { pointer, code: kind, message } = fieldsOf<FieldError>(each);
    return { pointer: textOf(pointer), code: textOf(kind), message: textOf(message) };
  });
  return { code, title: textOf(title), retryable: retryable === true, fieldErrors: errors };
}

/** Undefined if the result is not a complete job: it is from another tool, or the host invented it. */
export function jobOf({ structured }: ToolResult): JobShown | undefined {
  const job = fieldsOf<Job>(structured["data"]);
  const { id, state, resourceVersion, retryOfBatchId, outputDatasetVersionId, stages, failure } = job;
  if (typeof id !== "string" || typeof state !== "string" || !Array.isArray(stages)) return undefined;
  return {
    id,
    state,
    version: numberOf(resourceVersion) ?? 0,
    createdAt: textOf(job.createdAt),
    updatedAt: textOf(job.updatedAt),
    recipeVersionId: textOf(job.recipeVersionId),
    retryOfBatchId: typeof retryOfBatchId === "string" ? retryOfBatchId : undefined,
    output: typeof outputDatasetVersionId === "string" ? outputDatasetVersionId : undefined,
    stages: stages.map(stageOf),
    failure: failureOf(failure),
  };
}

interface StateLabel {
  readonly label: string;
  readonly tone: Tone;
}

const STATES: ReadonlyMap<string, StateLabel> = new Map([
  ["PREPARING", { label: "preparing", tone: "work" }],
  ["QUEUED", { label: "queued", tone: "work" }],
  ["RUNNING", { label: "running", tone: "work" }],
  ["WAITING_REVIEW", { label: "in review", tone: "wait" }],
  ["PAUSED", { label: "paused", tone: "wait" }],
  ["SUCCEEDED", { label: "done", tone: "good" }],
  ["FAILED", { label: "failed", tone: "bad" }],
  ["CANCELLED", { label: "cancelled", tone: "muted" }],
  ["PENDING", { label: "pending", tone: "muted" }],
  ["NOT_REQUIRED", { label: "not needed", tone: "muted" }],
]);

export const stateLabelOf = (state: string): StateLabel => STATES.get(state) ?? { label: state, tone: "wait" };

const ENDED: ReadonlySet<string> = new Set(["SUCCEEDED", "FAILED", "CANCELLED"]);
export const hasEnded = ({ state }: JobShown): boolean => ENDED.has(state);

const isStageFinished = ({ state }: StageShown): boolean => state === "SUCCEEDED" || state === "NOT_REQUIRED";
export const countFinishedStages = ({ stages }: JobShown): number => stages.filter(isStageFinished).length;
export const currentStage = ({ stages }: JobShown): StageShown | undefined =>
  stages.find((stage) => !isStageFinished(stage));
