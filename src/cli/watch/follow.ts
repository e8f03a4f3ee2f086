// Reads a job until it has ended, often while it changes and seldom while it does not.
import { getMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import { Failure } from "../../failure.ts";
import { ATTEMPT_LIMIT_MS } from "../../service/attempts.ts";
import type { Service } from "../../service/call.ts";
import { ENDED } from "../../toolkit/advice/job-facts.ts";
import { poll } from "../../toolkit/polling.ts";

/** What is told on the way. */
export interface Listener {
  /** Each reading, the last one included. */
  onJob(job: Job): void;
  /** A reading that failed and is tried again. */
  onTrouble(failure: Failure): void;
}

const PAUSE_SECONDS = 5;

/** Rejects with a Failure where the job cannot be read, with the signal's reason once it is aborted. */
export async function followJob(
  jobId: string,
  { service, signal }: { readonly service: Service; readonly signal: AbortSignal },
  { onJob, onTrouble }: Listener,
): Promise<Job> {
  const { timing } = service;
  const limits = { signal, timing, deadlineAt: Number.POSITIVE_INFINITY };

  /** A service that is out of order for a while ends no watching. */
  async function read(): Promise<Job> {
    for (;;) {
      try {
        const context = { signal, deadlineAt: timing.now() + ATTEMPT_LIMIT_MS };
        const { value } = await service.call(getMicJob, { path: { jobId } }, context);
        onJob(value.data);
        return value.data;
      } catch (error) {
        if (!(error instanceof Failure) || signal.aborted || !error.facts.retryable) throw error;
        onTrouble(error);
        await timing.sleep((error.facts.retryAfterSeconds ?? PAUSE_SECONDS) * 1_000, signal);
      }
    }
  }

  const watched = {
    read,
    version: ({ resourceVersion }: Job) => resourceVersion,
    isMoving: ({ state }: Job) => !ENDED.has(state),
    onRead: () => undefined,
  };
  return await poll(watched, Number.POSITIVE_INFINITY, limits);
}
