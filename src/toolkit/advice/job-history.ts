// What is known about a job beyond its own words: from the journal first, then from other jobs that this process has seen.
import type { ActionAbout } from "../../actions/of-service.ts";
import { soonOr } from "../../async.ts";
import type { Job } from "../../contract/jobs.ts";
import { ENDED } from "../jobs/ended.ts";
import type { Ports } from "../ports.ts";
import type { ToolName } from "../tool-names.ts";

/** The actions on a job: the journal has them by the names of their tools. */
const RETRY: ToolName = "retry_job";
const CANCEL: ToolName = "cancel_job";

/** Where it is known from. */
export type HistoryPorts = Pick<Ports, "actions" | "retries">;

/** Where a retry is known from. */
export interface RetryPorts extends Pick<Ports, "retries"> {
  readonly actions: Pick<Ports["actions"], "about">;
}

export interface JobHistory {
  /** An action on the job of unknown outcome. */
  readonly unsettled?: ActionAbout | undefined;
  /** The job's retry; its `id` is undefined where the service's answer could not be read. */
  readonly retry?: { readonly id: string | undefined } | undefined;
  /** The job is what a RESTART of this server's made. */
  readonly restarted?: boolean;
}

function retryAmong(
  actions: readonly ActionAbout[],
  jobId: string,
  { retries }: Pick<Ports, "retries">,
): JobHistory["retry"] {
  const made = actions.find(({ tool, state }) => tool === RETRY && state === "succeeded");
  const id = made?.resourceId ?? retries.of(jobId);
  return made === undefined && id === undefined ? undefined : { id };
}

const isMadeByRestart = async (id: string, { actions }: HistoryPorts): Promise<boolean> =>
  (await actions.argumentsOf(id))?.["retryMode"] === "RESTART";

const HISTORY_LIMIT_MS = 1_000;

/** A journal that cannot be read, or not soon, makes advice poorer; it never makes a reading fail or late. */
const soon = <T>(reading: Promise<T>, otherwise: T): Promise<T> => soonOr(reading, otherwise, HISTORY_LIMIT_MS);

export async function historyOf(job: Job, ports: HistoryPorts): Promise<JobHistory> {
  const mayBeRestarted = job.state === "FAILED" && job.retryOfBatchId !== null;
  const [actions, restarted] = await Promise.all([
    soon(ports.actions.about(job.id), []),
    mayBeRestarted && soon(isMadeByRestart(job.id, ports), false),
  ]);
  const retry = retryAmong(actions, job.id, ports);
  /** Of a job that has ended there is nothing left to cancel, and a retry that is known is settled by itself. */
  const isMoot = ({ tool, isRefused }: ActionAbout): boolean =>
    tool === CANCEL ? ENDED.has(job.state) : isRefused && retry?.id !== undefined;
  return { unsettled: actions.find((action) => action.state === "unknown" && !isMoot(action)), retry, restarted };
}

/** The job's retry, as far as it is known. */
export const knownRetry = async (jobId: string, ports: RetryPorts): Promise<JobHistory["retry"]> =>
  retryAmong(await soon(ports.actions.about(jobId), []), jobId, ports);
