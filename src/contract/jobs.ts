// This module defines the Job and Stage resources (docs/contract.md, 2.2 and 3).
import * as z from "zod/v4";
import { type Contradictions, type EnvelopedResponse, type PagedResponse, pageContradictions } from "./envelope.ts";
import { Problem } from "./problem.ts";
import { chars, dateTime, integer, listed, MAX_SAFE } from "./scalars.ts";

export const Environment = listed(["SANDBOX", "PRODUCTION"]);

/** The nine stages, in the order a job passes through them (section 1, rule 3). */
export const STAGES = ["GATHER", "SIFT", "REFINE", "BLEND", "CHURN", "TASTE", "FREEZE", "SCOOP", "SERVE"] as const;
export type StageName = (typeof STAGES)[number];

export const StageState = listed([
  "PENDING",
  "RUNNING",
  "WAITING_REVIEW",
  "SUCCEEDED",
  "FAILED",
  "CANCELLED",
  "NOT_REQUIRED",
]);

export const Stage = z.strictObject({
  stage: listed(STAGES),
  state: StageState,
  attemptCount: integer(0, 1000),
  completedUnits: integer(0, MAX_SAFE),
  totalUnits: integer(0, MAX_SAFE).nullable(),
});
export type Stage = z.infer<typeof Stage>;

export const JobState = z.enum([
  "PREPARING",
  "QUEUED",
  "RUNNING",
  "WAITING_REVIEW",
  "PAUSED",
  "SUCCEEDED",
  "FAILED",
  "CANCELLED",
]);
export type JobState = z.infer<typeof JobState>;

export const PublicationState = listed(["NOT_REQUESTED", "AWAITING_RELEASE", "BUILDING", "ACTIVE", "WITHDRAWN"]);
export const ReviewState = listed(["NOT_REQUIRED", "PENDING", "APPROVED", "REJECTED"]);

/** The resourceVersion of a job or an operation. For a job, it is also the number in the ETag. */
export const resourceVersion = integer(1, MAX_SAFE);

export const Job = z.strictObject({
  id: chars(1, 128),
  workspaceId: chars(1, 128),
  environment: Environment,
  state: listed(JobState.options),
  resourceVersion,
  createdAt: dateTime,
  updatedAt: dateTime,
  recipeVersionId: chars(1, 128),
  processingState: listed(JobState.options),
  publicationState: PublicationState,
  outputDatasetVersionId: chars(1, 128).nullable(),
  reviewState: ReviewState,
  stages: z.array(Stage).max(9),
  retryOfBatchId: chars(1, 128).nullable(),
  failure: Problem.nullable(),
});
export type Job = z.infer<typeof Job>;

/** If-Match of a cancellation (section 4.2): the job's version in double quotes. */
export const JobETag = z
  .string()
  .regex(/^"[1-9][0-9]{0,15}"$/)
  .refine((tag) => Number(tag.slice(1, -1)) <= MAX_SAFE, { error: `must be at most "${MAX_SAFE}"` });

export const jobETag = (version: number): string => `"${version}"`;

/** Section 7.2: FAILED has a Problem, and every other state has none. */
export function findFailureContradictions(
  { state, failure }: { readonly state: string; readonly failure: Problem | null },
  pointer: string,
): Contradictions {
  const isRight = (state === "FAILED") === (failure !== null);
  return isRight
    ? []
    : [`${pointer}/failure: ${failure === null ? "null" : "a Problem"}, though the state is ${state}`];
}

function findJobContradictions(job: Job, pointer: string): Contradictions {
  const listedStages: readonly string[] = STAGES;
  const stages = job.stages.filter(({ stage }) => listedStages.includes(stage));
  const places = stages.map(({ stage }) => listedStages.indexOf(stage));
  // Section 1, rule 3: the stages are in their order, each at most once.
  const misplaced = stages[places.findIndex((place, at) => place <= (places[at - 1] ?? -1))];
  return [
    ...findFailureContradictions(job, pointer),
    ...(misplaced ? [`${pointer}/stages: ${misplaced.stage} is out of the contract's order, or there twice`] : []),
  ];
}

export const jobContradictions = ({ data }: EnvelopedResponse<Job>): Contradictions =>
  findJobContradictions(data, "/data");

export const jobPageContradictions = (body: PagedResponse<Job>): Contradictions => [
  ...pageContradictions(body),
  ...body.data.flatMap((job, index) => findJobContradictions(job, `/data/${index}`)),
];
