// Which job retries which, as far as this process has seen: only the later job says so (`retryOfBatchId`).
import { BoundedMap } from "../../bounded-map.ts";
import type { Job } from "../../contract/jobs.ts";

const MAX_REMEMBERED = 1_000;

export interface Retries {
  /** Of jobs that were listed or read. */
  remember(jobs: readonly Job[]): void;
  /** The id of the latest retry of a job that was seen. */
  of(jobId: string): string | undefined;
}

type Retry = Pick<Job, "id" | "createdAt">;

export function createRetries(): Retries {
  const known = new BoundedMap<string, Retry>(MAX_REMEMBERED);

  function remember({ id, createdAt, retryOfBatchId }: Job): void {
    if (retryOfBatchId === null) return;
    const before = known.get(retryOfBatchId);
    const isOlder = before !== undefined && Date.parse(createdAt) < Date.parse(before.createdAt);
    known.delete(retryOfBatchId);
    known.set(retryOfBatchId, isOlder ? before : { id, createdAt });
  }

  return {
    remember(jobs) {
      for (const job of jobs) remember(job);
    },
    of: (jobId) => known.get(jobId)?.id,
  };
}
