// Which row of the table a job is told by, and what its sentence is filled with.
import { setTimeout as sleep } from "node:timers/promises";
import { createdBy, unsettledAbout } from "../../actions/about.ts";
import { getMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Job, Stage } from "../../contract/jobs.ts";
import type { Problem } from "../../contract/problem.ts";
import { word } from "../../outside.ts";
import { encodeRequest } from "../../service/encode.ts";
import { uris } from "../resources/uri.ts";
import type { Subject, Telling } from "../results.ts";
import type { ToolCall } from "../tool.ts";
import { problemText } from "./quote.ts";
import { JOB, type JobCase, type JobFacts, type Unsettled } from "./table.ts";

const MOVING: ReadonlySet<Job["state"]> = new Set(["PREPARING", "QUEUED", "RUNNING"]);

/** The job changes by itself: worth waiting for. Else it is at its end, or waits for somebody. */
export const isJobMoving = (job: Job): boolean => MOVING.has(job.state);

const isDone = (stage: Stage): boolean => stage.state === "SUCCEEDED" || stage.state === "NOT_REQUIRED";

/** The stage the job is at: the first one that is neither finished nor not needed. */
const currentStage = (job: Job): Stage | undefined => job.stages.find((stage) => !isDone(stage));

const stagesBehind = (job: Job): number => job.stages.filter(isDone).length;

function place(job: Job): string {
  const stage = currentStage(job);
  if (!stage) return "";
  const units =
    stage.totalUnits === null ? `${stage.completedUnits}` : `${stage.completedUnits} of ${stage.totalUnits}`;
  const position = `stage ${stage.stage} (${job.stages.indexOf(stage) + 1} of ${job.stages.length})`;
  return stage.state === "PENDING" ? `, ${position} next` : `, at ${position}, ${units} units`;
}

const finished = (job: Job): string =>
  `${job.stages.filter(({ state }) => state === "SUCCEEDED").length} of ${job.stages.length} stages finished`;

const failingStage = (job: Job): Stage | undefined =>
  job.stages.find(({ state }) => state === "FAILED") ?? currentStage(job);

/** What the journal knows about a job; nothing, where there is none. */
export interface JobHistory {
  readonly unsettled: Unsettled | undefined;
  /** The job is what a RESTART of this server's made. */
  readonly restarted: boolean;
}

export const noHistory: JobHistory = { unsettled: undefined, restarted: false };

/** As often as this a stage is worth trying. */
const MAX_ATTEMPTS = 3;

function failureCase(job: Job, failure: Problem | null, history: JobHistory): JobCase {
  if (!failure) return "failed, unexplained";
  if (job.reviewState === "REJECTED") return "failed, rejected in review";
  if (!failure.retryable)
    return failure.fieldErrors.length > 0 ? "failed, input or parameters wrong" : "failed for good";
  const attempts = failingStage(job)?.attemptCount ?? 0;
  if (attempts >= MAX_ATTEMPTS || history.restarted) return "failed again and again";
  return attempts > 1 && job.retryOfBatchId !== null ? "failed, worth restarting" : "failed, worth resuming";
}

function jobCase(job: Job, history: JobHistory): JobCase {
  if (history.unsettled) return "unsettled";
  switch (job.state) {
    case "PREPARING":
    case "QUEUED":
    case "RUNNING":
      return "moving";
    case "WAITING_REVIEW":
      return "waiting for review";
    case "PAUSED":
      return "paused";
    case "SUCCEEDED":
      return "succeeded";
    case "CANCELLED":
      return "cancelled";
    case "FAILED":
      return failureCase(job, job.failure, history);
  }
}

const MAX_POINTERS = 3;

function pointersOf(failure: Problem | null): string {
  const pointers = [
    ...new Set((failure?.fieldErrors ?? []).map(({ pointer }) => (pointer === "" ? "the whole" : word(pointer)))),
  ];
  const more = pointers.length - MAX_POINTERS;
  return pointers.slice(0, MAX_POINTERS).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function factsOf(job: Job, { unsettled }: JobHistory): JobFacts {
  const { failure, outputDatasetVersionId: output, publicationState } = job;
  const stage = failingStage(job);
  return {
    id: job.id,
    what: `Job ${word(job.id)}${job.retryOfBatchId === null ? "" : ` (a retry of ${word(job.retryOfBatchId)})`}`,
    state: job.state,
    place: place(job),
    recipeVersionId: job.recipeVersionId,
    results:
      (output === null ? "" : ` Output dataset version: ${word(output)}.`) +
      (publicationState === "NOT_REQUESTED" ? "" : ` Publication: ${publicationState}.`),
    finished: finished(job),
    failure: failure ? problemText(failure) : "",
    code: failure ? word(failure.code) : "",
    stage: stage?.stage ?? "the job",
    attempts: stage?.attemptCount ?? 0,
    pointers: pointersOf(failure),
    unsettled,
  };
}

export function tellJob(job: Job, history: JobHistory = noHistory): Telling {
  const { says, step } = JOB[jobCase(job, history)];
  const facts = factsOf(job, history);
  const nextStep = step?.(facts);
  return { summary: says(facts), ...(nextStep && { nextStep }) };
}

async function readHistory(job: Job, call: ToolCall): Promise<JobHistory> {
  const [journal, service] = [await call.journal(), await call.serviceName()];
  const path = `${encodeRequest(getMicJob, { path: { jobId: job.id } }).path}/`;
  const unsettled = await unsettledAbout(journal, service, path, call.service.timing.now());
  const asks = job.state === "FAILED" && job.retryOfBatchId !== null;
  const made = asks ? await createdBy(journal, service, job.id) : undefined;
  return { unsettled, restarted: made?.["retryMode"] === "RESTART" };
}

const HISTORY_LIMIT_MS = 1_000;

/** A journal that cannot be read, or not soon, makes advice poorer; it never makes a reading fail or late. */
const historyOf = (job: Job, call: ToolCall): Promise<JobHistory> =>
  Promise.race([readHistory(job, call).catch(() => noHistory), sleep(HISTORY_LIMIT_MS, noHistory, { ref: false })]);

export const jobSubject: Subject<Job> = {
  uri: ({ id }) => uris.job(id),
  tell: async (job, call) => tellJob(job, await historyOf(job, call)),
};

/** How far a job is, for a client that asked for progress: stages done of all, units inside the current one. */
export function jobProgress(job: Job) {
  const stage = currentStage(job);
  const units = stage ? ` ${stage.stage} ${stage.completedUnits}/${stage.totalUnits ?? "?"} units` : "";
  return { progress: stagesBehind(job), total: job.stages.length, message: `${job.state}${units}` };
}

/** What an agent decides by, in a list; what is usual is left out. */
export function summarizeJob(job: Job) {
  const stage = currentStage(job);
  return {
    id: job.id,
    state: job.state,
    ...(stage && job.state !== "CANCELLED" && { stage: stage.stage }),
    ...(job.failure && { failure: job.failure.code, retryable: job.failure.retryable }),
    ...(job.reviewState === "PENDING" && { review: job.reviewState }),
    updatedAt: job.updatedAt,
  };
}
