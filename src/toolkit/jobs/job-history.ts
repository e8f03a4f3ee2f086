// This module describes a job with what is known beyond its own fields: its retry, and actions on it in the journal.
import type { ResourceAction, ResourceHistory } from "../../actions/history.ts";
import type { Job } from "../../contract/jobs.ts";
import { withTimeoutFallback } from "../../core/async.ts";
import type { ToolName } from "../../core/tool-names.ts";
import { describeJob, type JobHistory, TERMINAL_STATES } from "../describe/job.ts";
import type { Describe } from "../results.ts";
import type { Ports } from "../tool-context.ts";
import { type OriginPorts, readOrigin } from "./origins.ts";

/** The tools whose actions in the journal belong to a job's history. */
const RETRY: ToolName = "retry_job";
const CANCEL: ToolName = "cancel_job";

/** The sources of a job's history: the journal first, then other jobs that this process has read. */
export type HistoryPorts = Pick<Ports, "retries"> & {
  readonly actions: Pick<Ports["actions"], "readHistory">;
};

const HISTORY_LIMIT_MS = 1_000;

/** Nothing if the journal fails or takes more than 1 s: the advice is less precise, but the read succeeds in time. */
export const readRecorded = (jobId: string, { actions }: HistoryPorts): Promise<ResourceHistory> =>
  withTimeoutFallback(actions.readHistory(jobId), { actions: [] }, HISTORY_LIMIT_MS);

/** Returns the job's retry, if the journal's actions or another job show it. */
export function findRetry({ actions }: ResourceHistory, jobId: string, { retries }: HistoryPorts): JobHistory["retry"] {
  const made = actions.find(({ tool, state }) => tool === RETRY && state === "succeeded");
  const id = made?.createdId ?? retries.get(jobId);
  return made === undefined && id === undefined ? undefined : { id };
}

export const findKnownRetry = async (jobId: string, ctx: HistoryPorts): Promise<JobHistory["retry"]> =>
  findRetry(await readRecorded(jobId, ctx), jobId, ctx);

function toJobHistory(job: Job, recorded: ResourceHistory, ctx: HistoryPorts): JobHistory {
  const { actions, creationArguments } = recorded;
  const retry = findRetry(recorded, job.id, ctx);
  /** An unresolved cancellation is moot if the job has ended. An unresolved, rejected retry is moot if the job's retry is known. */
  const isMoot = ({ tool, isRefused }: ResourceAction): boolean =>
    tool === CANCEL ? TERMINAL_STATES.has(job.state) : isRefused && retry?.id !== undefined;
  const unresolved = actions.find((action) => action.state === "unknown" && !isMoot(action));
  return { unresolved, retry, restarted: creationArguments?.["retryMode"] === "RESTART" };
}

export const readJobHistory = async (job: Job, ctx: HistoryPorts): Promise<JobHistory> =>
  toJobHistory(job, await readRecorded(job.id, ctx), ctx);

/** The fields of a run's job that the agent has just named (the recipe) or reads in the summary (the publication). */
const KNOWN_OF_RUN = ["recipeVersionId", "createdAt", "publicationState"];

interface JobFields {
  /** Adds what the job was submitted with, from the same lookup in the journal. */
  readonly origin?: OriginPorts;
  /** Leaves out KNOWN_OF_RUN. */
  readonly isRun?: boolean;
}

/** Returns the function that describes a job with its history. */
export const describeJobWith =
  (ctx: HistoryPorts, { origin, isRun = false }: JobFields = {}): Describe<Job> =>
  async (job, readAt, isNew = false) => {
    ctx.retries.remember([job]);
    const recorded: ResourceHistory = isNew ? { actions: [] } : await readRecorded(job.id, ctx);
    const description = describeJob(job, isNew ? {} : toJobHistory(job, recorded, ctx), readAt);
    const submitted = origin && (await readOrigin(job.id, recorded, origin));
    if (!submitted && !isRun) return description;
    const fields = Object.entries({ ...description.fields, ...submitted });
    const shown = isRun ? fields.filter(([name]) => !KNOWN_OF_RUN.includes(name)) : fields;
    return { ...description, fields: Object.fromEntries(shown) };
  };
