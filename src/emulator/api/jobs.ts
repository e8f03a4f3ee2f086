// Jobs: submitted, listed, read, cancelled, retried.
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
import { jsonAnswer } from "../http/answer.ts";
import { Refusal, refuseField } from "../problems.ts";
import type { JobOutcome } from "../world/files.ts";
import { type JobRecord, operationAt } from "../world/jobs.ts";
import { isTerminal, newJob } from "../world/lifecycle.ts";
import type { Recipe } from "../world/recipes.ts";
import type { World } from "../world/world.ts";
import { checkJobOrder, checkQuota } from "./job-order.ts";
import {
  act,
  type Context,
  checkWorkspace,
  enveloped,
  found,
  jobAnswer,
  location,
  type OperationHandler,
  read,
} from "./operation.ts";
import { offeredRecipe } from "./workspace.ts";

/** What befalls a job happens once: its retry succeeds. A review or a hold comes again. */
const outcomeOfRetry = (outcome: JobOutcome): JobOutcome =>
  outcome === "fails at CHURN, retryably" ? "succeeds" : outcome;

type JobStart = Pick<Parameters<typeof newJob>[1], "outcome" | "kept" | "retryOf"> & { readonly recipe: Recipe };

function startJob({ recipe, ...start }: JobStart, { world, requestId }: Context): JobRecord {
  const createdAt = world.clock.now();
  const facts = { ...start, recipe: recipe.definition, createdAt, stageMs: world.stageMs, requestId };
  return world.jobs.add({ ...newJob(world, facts), recipe, outcomeOfRetry: outcomeOfRetry(start.outcome) });
}

const createJob = act(createMicJob, ({ body }, context) => {
  checkWorkspace(body.workspaceId, context, "/workspaceId");
  const { world } = context;
  const { recipe, inputs } = checkJobOrder(body, world);
  const outcome = inputs.map((input) => input.outcome).find((fate) => fate !== "succeeds") ?? "succeeds";
  const { initial } = startJob({ recipe, outcome }, context);
  world.usage.count("JOBS_SUBMITTED", world.clock.now());
  return jobAnswer(202, initial, context, location(`/jobs/${initial.id}`));
});

const POSITION_BYTES = 8;

const listJobs = read(listMicJobs, ({ query }, context) => {
  checkWorkspace(query.workspaceId, context, "/query/workspaceId");
  const { world, requestId } = context;
  const { limit = DEFAULT_JOB_PAGE, cursor } = query;
  const list = `jobs of ${world.workspaceId}, newest first`;
  const below =
    cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(world.cursors.decode(list, cursor).readBigUInt64BE());
  // One more than asked for shows whether there is more.
  const found = world.jobs.page(below, limit + 1);
  const page = found.slice(0, limit);
  const hasMore = found.length > limit;
  const last = page.at(-1);
  let nextCursor: string | null = null;
  if (hasMore && last !== undefined) {
    const position = Buffer.alloc(POSITION_BYTES);
    position.writeBigUInt64BE(BigInt(last.sequence));
    nextCursor = world.cursors.encode(list, position);
  }
  return jsonAnswer(200, {
    data: page.map((record) => world.jobs.at(record, world.clock.now())),
    meta: { requestId },
    page: { nextCursor, hasMore },
  });
});

function findJob(id: string, { jobs, clock }: World): { record: JobRecord; job: Job } {
  const record = found(jobs.find(id), "jobId", "job");
  return { record, job: jobs.at(record, clock.now()) };
}

const getJob = read(getMicJob, ({ path }, context) => jobAnswer(200, findJob(path.jobId, context.world).job, context));

const cancelJob = act(cancelMicJob, ({ path, ifMatch }, context) => {
  const { world } = context;
  const { record, job } = findJob(path.jobId, world);
  if (isTerminal(job.state))
    throw refuseField("JOB_TERMINAL", "/path/jobId", `The job is ${job.state}: there is nothing to cancel.`);
  if (record.cancellation !== undefined) throw new Refusal("CANCELLATION_IN_PROGRESS");
  if (ifMatch !== job.resourceVersion)
    throw refuseField("VERSION_CONFLICT", "/header/If-Match", "The job has moved on: read it again.");
  const now = world.clock.now();
  const cancellation = { requestedAt: now, doneAt: now + world.stageMs };
  const operation = { ...cancellation, id: world.ids.next(ID_PREFIX.operation), jobId: path.jobId };
  world.jobs.cancel(record, cancellation);
  world.operations.add(operation);
  world.usage.count("JOBS_CANCELLED", now);
  const body = operationAt(operation, world.workspaceId, now);
  return enveloped(202, body, context, location(`/operations/${operation.id}`));
});

const getOperation = read(getMicPublicOperation, ({ path }, context) => {
  const { world } = context;
  const record = found(world.operations.find(path.operationId), "operationId", "operation");
  return enveloped(200, operationAt(record, world.workspaceId, world.clock.now()), context);
});

const retryJob = act(retryMicJob, ({ path, body }, context) => {
  const { world } = context;
  const { record, job } = findJob(path.jobId, world);
  const now = world.clock.now();
  if (job.state !== "CANCELLED" && !(job.state === "FAILED" && job.failure?.retryable === true))
    throw refuseField("JOB_NOT_RETRYABLE", "/path/jobId", `The job is ${job.state} and cannot be retried.`);
  if (world.jobs.hasLivingRetry(record, now)) throw new Refusal("ALREADY_RETRIED");
  const recipe = offeredRecipe(world, job.recipeVersionId);
  if (recipe === undefined)
    throw refuseField("RECIPE_NOT_OFFERED", "/path/jobId", "The job's recipe version is no longer offered.");
  checkQuota(world);
  const kept = body.retryMode === "SAFE_RESUME" ? job.stages : [];
  const retry = startJob({ recipe, outcome: record.outcomeOfRetry, kept, retryOf: job.id }, context);
  record.latestRetry = retry;
  world.usage.count("JOBS_RETRIED", now);
  return jobAnswer(202, retry.initial, context, location(`/jobs/${retry.initial.id}`));
});

export const jobOperations: readonly OperationHandler[] = [
  createJob,
  listJobs,
  getJob,
  cancelJob,
  getOperation,
  retryJob,
];
