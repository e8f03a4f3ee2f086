// Every state of a job: what happened, in one sentence, and the one sensible next call.
import type { Job, Stage } from "../../contract/jobs.ts";
import type { Problem } from "../../contract/problem.ts";
import type { Telling } from "../results.ts";
import { problemText } from "./quote.ts";

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

function tellFailure(job: Job, failure: Problem | null): Telling {
  if (!failure) return { summary: `Job ${job.id} FAILED${place(job)}; the service gives no reason.` };
  const summary = `Job ${job.id} FAILED${place(job)}: ${problemText(failure)}.`;
  if (failure.retryable)
    return {
      summary: `${summary} It may be retried.`,
      nextStep: {
        tool: "retry_job",
        arguments: { jobId: job.id, retryMode: "SAFE_RESUME", reason: `Retry after ${failure.code}` },
        why: `the failure is retryable; SAFE_RESUME keeps what is done (${finished(job)})`,
      },
    };
  return {
    summary: `${summary} Retrying the same job will not help: correct its input or parameters and submit a new one.`,
    nextStep: {
      tool: "get_recipe",
      arguments: { versionId: job.recipeVersionId },
      why: "shows the ports and parameters that the recipe asks for",
    },
  };
}

export function tellJob(job: Job): Telling {
  const retry = job.retryOfBatchId === null ? "" : ` (a retry of ${job.retryOfBatchId})`;
  switch (job.state) {
    case "PREPARING":
    case "QUEUED":
    case "RUNNING":
      return {
        summary: `Job ${job.id}${retry} is ${job.state}${place(job)}.`,
        nextStep: {
          tool: "get_job",
          arguments: { jobId: job.id, waitSeconds: 30 },
          why: "it is still moving; this waits for it",
        },
      };
    case "WAITING_REVIEW":
      return {
        summary: `Job ${job.id}${retry} waits for a person's review${place(job)}; nothing can be done from here but wait or cancel.`,
      };
    case "PAUSED":
      return {
        summary: `Job ${job.id}${retry} is PAUSED${place(job)}; only its operator can resume it. It can be cancelled.`,
      };
    case "SUCCEEDED": {
      const output =
        job.outputDatasetVersionId === null ? "" : ` Output dataset version: ${job.outputDatasetVersionId}.`;
      const published = job.publicationState === "NOT_REQUESTED" ? "" : ` Publication: ${job.publicationState}.`;
      return { summary: `Job ${job.id}${retry} SUCCEEDED.${output}${published}` };
    }
    case "FAILED":
      return tellFailure(job, job.failure);
    case "CANCELLED":
      return { summary: `Job ${job.id}${retry} is CANCELLED; ${finished(job)}.` };
  }
}

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
