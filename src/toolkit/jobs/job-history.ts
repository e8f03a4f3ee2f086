// This module reads what is known about a job beyond its own fields (its retry, and actions on it in the journal), and describes it so.
import type { ResourceAction, ResourceHistory } from "../../actions/history.ts";
import type { Job } from "../../contract/jobs.ts";
import { withTimeoutFallback } from "../../core/async.ts";
import { describeJob, type JobHistory, TERMINAL_STATES } from "../describe/job.ts";
import type { Describe } from "../results.ts";
import type { Ports } from "../tool-context.ts";
import type { ToolName } from "../tool-names.ts";

/** The tools whose actions in the journal belong to a job's history. */
const RETRY: ToolName = "retry_job";
const CANCEL: ToolName = "cancel_job";

/** The sources of a job's history: the journal first, then other jobs that this process has read. */
export type HistoryPorts = Pick<Ports, "retries"> & {
  readonly actions: Pick<Ports["actions"], "readHistory">;
};

const HISTORY_LIMIT_MS = 1_000;

/** Returns no actions if the journal fails or takes more than 1 s. Then the advice is less precise, but the read succeeds in time. */
const readActions = (jobId: string, { actions }: HistoryPorts): Promise<ResourceHistory> =>
  withTimeoutFallback(actions.readHistory(jobId), { actions: [] }, HISTORY_LIMIT_MS);

function findRetry(actions: readonly ResourceAction[], jobId: string, { retries }: HistoryPorts): JobHistory["retry"] {
  const made = actions.find(({ tool, state }) => tool === RETRY && state === "succeeded");
  const id = made?.createdId ?? retries.get(jobId);
  return made === undefined && id === undefined ? undefined : { id };
}

/** Returns the job's retry, if it is known. */
export const findKnownRetry = async (jobId: string, ctx: HistoryPorts): Promise<JobHistory["retry"]> =>
  findRetry((await readActions(jobId, ctx)).actions, jobId, ctx);

export async function readJobHistory(job: Job, ctx: HistoryPorts): Promise<JobHistory> {
  const { actions, creationArguments } = await readActions(job.id, ctx);
  const retry = findRetry(actions, job.id, ctx);
  /** An unresolved cancellation is moot if the job has ended. An unresolved, rejected retry is moot if the job's retry is known. */
  const isMoot = ({ tool, isRefused }: ResourceAction): boolean =>
    tool === CANCEL ? TERMINAL_STATES.has(job.state) : isRefused && retry?.id !== undefined;
  const unresolved = actions.find((action) => action.state === "unknown" && !isMoot(action));
  return { unresolved, retry, restarted: creationArguments?.["retryMode"] === "RESTART" };
}

/** Returns the function that describes a job with its history. */
export const describeJobWith =
  (ctx: HistoryPorts): Describe<Job> =>
  async (job, readAt, isNew = false) => {
    ctx.retries.remember([job]);
    return describeJob(job, isNew ? {} : await readJobHistory(job, ctx), readAt);
  };

/** Describes a job to the agent that has just named its recipe, and that reads its publication in the summary. */
export const describeRunWith =
  (ctx: HistoryPorts): Describe<Job> =>
  async (job, readAt, isNew) => {
    const description = await describeJobWith(ctx)(job, readAt, isNew);
    const omitted = ["recipeVersionId", "createdAt", "publicationState"];
    const fields = Object.entries(description.fields).filter(([name]) => !omitted.includes(name));
    return { ...description, fields: Object.fromEntries(fields) };
  };
