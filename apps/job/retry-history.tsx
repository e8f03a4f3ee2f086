// Shows the attempts before this job: a retry is a new job that names the job that it retries.
import { useEffect, useState } from "preact/hooks";
import { CopyableId } from "../copyable-id.tsx";
import type { ToolResult } from "../values.ts";
import { currentStage, type JobShown, jobOf, stateLabelOf } from "./model.ts";

const MAX_EARLIER_JOBS = 5;

/** Reads the earlier jobs, the oldest first: at most MAX_EARLIER_JOBS, and none before a job that cannot be read. */
async function readEarlierJobs(
  job: JobShown,
  read: (jobId: string) => Promise<ToolResult>,
): Promise<readonly JobShown[]> {
  const earlierJobs: JobShown[] = [];
  for (
    let id = job.retryOfBatchId;
    id !== undefined && earlierJobs.length < MAX_EARLIER_JOBS;
    id = earlierJobs[0]?.retryOfBatchId
  ) {
    const before = await read(id).then(jobOf, () => undefined);
    if (before === undefined) return earlierJobs;
    earlierJobs.unshift(before);
  }
  return earlierJobs;
}

function RetryEntry({ job, isCurrent }: { readonly job: JobShown; readonly isCurrent: boolean }) {
  const { label, tone } = stateLabelOf(job.state);
  const at = job.state === "FAILED" ? currentStage(job)?.name : undefined;
  return (
    <li>
      <span class={tone}>{label}</span>
      {at !== undefined && ` at ${at}`}
      {job.failure && (
        <>
          {" "}
          (<code>{job.failure.code}</code>)
        </>
      )}{" "}
      <CopyableId id={job.id} />
      {isCurrent && ", this job"}
    </li>
  );
}

interface Props {
  readonly job: JobShown;
  readonly read: ((jobId: string) => Promise<ToolResult>) | undefined;
}

export function RetryHistory({ job, read }: Props) {
  const [earlierJobs, setEarlierJobs] = useState<readonly JobShown[]>([]);
  useEffect(() => {
    let isStale = false;
    if (read)
      void readEarlierJobs(job, read).then((tries) => {
        if (!isStale) setEarlierJobs(tries);
      });
    return () => {
      isStale = true;
    };
  }, [job.id, read === undefined]);
  if (job.retryOfBatchId === undefined) return null;
  const [oldest] = earlierJobs;
  return (
    <section aria-label="Attempts">
      <h2>Attempts</h2>
      <ol class="retry-history">
        {(oldest === undefined || oldest.retryOfBatchId !== undefined) && (
          <li>
            earlier job: <CopyableId id={oldest?.retryOfBatchId ?? job.retryOfBatchId} />
          </li>
        )}
        {earlierJobs.map((each) => (
          <RetryEntry key={each.id} job={each} isCurrent={false} />
        ))}
        <RetryEntry job={job} isCurrent />
      </ol>
    </section>
  );
}
