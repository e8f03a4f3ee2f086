// Implements the operations that submit, list, read, cancel and retry jobs.
import {
  cancelMicJob,
  createMicJob,
  getMicJob,
  getMicPublicOperation,
  listMicJobs,
  retryMicJob,
} from "../../contract/endpoints/job-processing.ts";
import { DEFAULT_JOB_PAGE } from "../../contract/envelope.ts";
import type { Job } from "../../contract/jobs.ts";
import { ID_PREFIX } from "../assumptions.ts";
import { jsonResponse } from "../http/response.ts";
import { createFieldProblem, ProblemError } from "../problems.ts";
import type { JobOutcome } from "../world/files.ts";
import { type JobRecord, operationAt } from "../world/jobs.ts";
import { isTerminal, planJob } from "../world/lifecycle.ts";
import type { Recipe } from "../world/recipes.ts";
import type { World } from "../world/world.ts";
import { validateJobSubmission } from "./job-validation.ts";
import {
  checkWorkspace,
  cutPage,
  defineAction,
  defineRead,
  envelopeResponse,
  jobResponse,
  locationHeader,
  type OperationContext,
  requireResource,
} from "./operation.ts";
import { findOfferedRecipe } from "./workspace.ts";

/** A retryable failure happens only once: the retry succeeds. Other outcomes, such as a review or a pause, repeat. */
const outcomeAfterRetry = (outcome: JobOutcome): JobOutcome =>
  outcome === "fails at CHURN, retryably" ? "succeeds" : outcome;

type StartJobOptions = Pick<Parameters<typeof planJob>[1], "outcome" | "kept" | "retryOfBatchId"> & {
  readonly recipe: Recipe;
};

function startJob({ recipe, ...options }: StartJobOptions, { world, requestId }: OperationContext): JobRecord {
  const createdAt = world.clock.now();
  const facts = { ...options, recipe: recipe.definition, createdAt, stageMs: world.stageMs, requestId };
  return world.jobs.add({ ...planJob(world, facts), recipe, retryOutcome: outcomeAfterRetry(options.outcome) });
}

const createJob = defineAction(createMicJob, ({ body }, context) => {
  checkWorkspace(body.workspaceId, context, "/workspaceId");
  const { world } = context;
  const { recipe, inputs } = validateJobSubmission(body, world);
  const outcome =
    inputs.map((input) => input.outcome).find((inputOutcome) => inputOutcome !== "succeeds") ?? "succeeds";
  const { initial } = startJob({ recipe, outcome }, context);
  world.usage.count("JOBS_SUBMITTED", world.clock.now());
  return jobResponse(202, initial, context, locationHeader(`/jobs/${initial.id}`));
});

const listJobs = defineRead(listMicJobs, ({ query }, context) => {
  checkWorkspace(query.workspaceId, context, "/query/workspaceId");
  const { world, requestId } = context;
  const { limit = DEFAULT_JOB_PAGE, cursor } = query;
  const list = `jobs of ${world.workspaceId}, newest first`;
  const beforeSequence =
    cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(world.cursors.decode(list, cursor).toString());
  const { data, page } = cutPage(world.jobs.page(beforeSequence, limit + 1), limit, ({ sequence }) =>
    world.cursors.encode(list, Buffer.from(String(sequence))),
  );
  const jobs = data.map((record) => world.jobs.jobAt(record, world.clock.now()));
  return jsonResponse(200, { data: jobs, meta: { requestId }, page });
});

function findJob(id: string, { jobs, clock }: World): { record: JobRecord; job: Job } {
  const record = requireResource(jobs.find(id), "jobId", "job");
  return { record, job: jobs.jobAt(record, clock.now()) };
}

const getJob = defineRead(getMicJob, ({ path }, context) =>
  jobResponse(200, findJob(path.jobId, context.world).job, context),
);

const cancelJob = defineAction(cancelMicJob, ({ path, ifMatch }, context) => {
  const { world } = context;
  const { record, job } = findJob(path.jobId, world);
  if (isTerminal(job.state))
    throw createFieldProblem("JOB_TERMINAL", "/path/jobId", `The job is ${job.state}: there is nothing to cancel.`);
  if (record.cancellation !== undefined) throw new ProblemError("CANCELLATION_IN_PROGRESS");
  if (ifMatch !== job.resourceVersion)
    throw createFieldProblem("VERSION_CONFLICT", "/header/If-Match", "The job has moved on: read it again.");
  const now = world.clock.now();
  const cancellation = { requestedAt: now, doneAt: now + world.stageMs };
  const operation = { ...cancellation, id: world.ids.next(ID_PREFIX.operation), jobId: path.jobId };
  record.cancellation = cancellation;
  world.operations.add(operation);
  world.usage.count("JOBS_CANCELLED", now);
  const body = operationAt(operation, world.workspaceId, now);
  return envelopeResponse(202, body, context, locationHeader(`/operations/${operation.id}`));
});

const getOperation = defineRead(getMicPublicOperation, ({ path }, context) => {
  const { world } = context;
  const record = requireResource(world.operations.find(path.operationId), "operationId", "operation");
  return envelopeResponse(200, operationAt(record, world.workspaceId, world.clock.now()), context);
});

const retryJob = defineAction(retryMicJob, ({ path, body }, context) => {
  const { world } = context;
  const { record, job } = findJob(path.jobId, world);
  const now = world.clock.now();
  if (job.state !== "CANCELLED" && !(job.state === "FAILED" && job.failure?.retryable === true))
    throw createFieldProblem("JOB_NOT_RETRYABLE", "/path/jobId", `The job is ${job.state} and cannot be retried.`);
  if (world.jobs.hasActiveRetry(record, now)) throw new ProblemError("ALREADY_RETRIED");
  const recipe = findOfferedRecipe(world, job.recipeVersionId);
  if (recipe === undefined)
    throw createFieldProblem("RECIPE_NOT_OFFERED", "/path/jobId", "The job's recipe version is no longer offered.");
  const kept = body.retryMode === "SAFE_RESUME" ? job.stages : [];
  const retry = startJob({ recipe, outcome: record.retryOutcome, kept, retryOfBatchId: job.id }, context);
  record.latestRetry = retry;
  world.usage.count("JOBS_RETRIED", now);
  return jobResponse(202, retry.initial, context, locationHeader(`/jobs/${retry.initial.id}`));
});

export const jobOperations = [createJob, listJobs, getJob, cancelJob, getOperation, retryJob];
