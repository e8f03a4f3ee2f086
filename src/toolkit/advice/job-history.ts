// What is known about a job beyond its own words: from the journal first, then from other jobs that this process has seen.
import { setTimeout as sleep } from "node:timers/promises";
import { type ActionAbout, actionsAbout, createdBy } from "../../actions/history.ts";
import type { Job } from "../../contract/jobs.ts";
import { ENDED } from "../jobs/ended.ts";
import type { ToolCall } from "../tool-call.ts";
import type { ToolName } from "../tool-names.ts";

/** The actions on a job: the journal has them by the names of their tools. */
const RETRY: ToolName = "retry_job";
const CANCEL: ToolName = "cancel_job";

export interface JobHistory {
  /** An action on the job of unknown outcome. */
  readonly unsettled?: ActionAbout | undefined;
  /** The job's retry; its `id` is undefined where the service's answer could not be read. */
  readonly retry?: { readonly id: string | undefined } | undefined;
  /** The job is what a RESTART of this server's made. */
  readonly restarted?: boolean;
}

function retryAmong(actions: readonly ActionAbout[], jobId: string, call: ToolCall): JobHistory["retry"] {
  const made = actions.find(({ tool, state }) => tool === RETRY && state === "succeeded");
  const id = made?.resourceId ?? call.retries.of(jobId);
  return made === undefined && id === undefined ? undefined : { id };
}

async function readActions(jobId: string, call: ToolCall): Promise<readonly ActionAbout[]> {
  const [journal, service] = [await call.journal(), await call.serviceName()];
  return await actionsAbout(journal, service, jobId, call.service.timing.now());
}

async function isMadeByRestart({ id, state, retryOfBatchId }: Job, call: ToolCall): Promise<boolean> {
  if (state !== "FAILED" || retryOfBatchId === null) return false;
  const made = await createdBy(await call.journal(), await call.serviceName(), id);
  return made?.["retryMode"] === "RESTART";
}

const HISTORY_LIMIT_MS = 1_000;

/** A journal that cannot be read, or not soon, makes advice poorer; it never makes a reading fail or late. */
const soon = async <T>(reading: Promise<T>, otherwise: T): Promise<T> =>
  await Promise.race([reading.catch(() => otherwise), sleep(HISTORY_LIMIT_MS, otherwise, { ref: false })]);

export async function historyOf(job: Job, call: ToolCall): Promise<JobHistory> {
  const [actions, restarted] = await Promise.all([
    soon(readActions(job.id, call), []),
    soon(isMadeByRestart(job, call), false),
  ]);
  const retry = retryAmong(actions, job.id, call);
  /** Of a job that has ended there is nothing left to cancel, and a retry that is known is settled by itself. */
  const isMoot = ({ tool, isRefused }: ActionAbout): boolean =>
    tool === CANCEL ? ENDED.has(job.state) : isRefused && retry?.id !== undefined;
  return { unsettled: actions.find((action) => action.state === "unknown" && !isMoot(action)), retry, restarted };
}

/** The job's retry, as far as it is known. */
export const knownRetry = async (jobId: string, call: ToolCall): Promise<JobHistory["retry"]> =>
  retryAmong(await soon(readActions(jobId, call), []), jobId, call);
