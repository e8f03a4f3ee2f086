// Shows the result of show_job: one job, with live updates.
import { useState } from "preact/hooks";
import { CopyableId } from "./copyable-id.tsx";
import { formatTime } from "./host-context.ts";
import "./job.css";
import { Buttons } from "./job/buttons.tsx";
import { Facts } from "./job/facts.tsx";
import { Failure } from "./job/failure.tsx";
import { countFinishedStages, hasEnded, type JobShown, jobOf, stateLabelOf } from "./job/model.ts";
import { RetryHistory } from "./job/retry-history.tsx";
import { Stages } from "./job/stages.tsx";
import { type PollingState, useJobPolling } from "./job/use-job-polling.ts";
import { useStageDurations } from "./job/use-stage-durations.ts";
import { mount, Problem, type ViewProps } from "./view.tsx";

const POLLING_TEXTS: Readonly<Record<PollingState, string>> = {
  following: "Updates automatically",
  ended: "The job has ended",
  stopped: "Does not update automatically",
};

const WAIT_REASONS: ReadonlyMap<string, string> = new Map([
  ["WAITING_REVIEW", "A reviewer has to approve it at the service before it continues."],
  ["PAUSED", "Its operator has to resume it at the service."],
]);

function Head({ job }: { readonly job: JobShown }) {
  const { label, tone } = stateLabelOf(job.state);
  return (
    <header>
      <span class={`badge ${tone}`}>{label}</span>
      <h1>
        Job <CopyableId id={job.id} />
      </h1>
      <span class="muted" role="status">
        {countFinishedStages(job)} of {job.stages.length} stages
      </span>
    </header>
  );
}

function JobView({ result, host, callTool, refresh }: ViewProps) {
  /** The job that a retry created; undefined: the job of the result. */
  const [followedJobId, setFollowedJobId] = useState<string>();
  const [refreshCount, setRefreshCount] = useState(0);
  const job = jobOf(result);
  const isOther = followedJobId !== undefined && job?.id !== followedJobId;
  const jobId = followedJobId ?? job?.id ?? "";
  const canRead = host?.can("serverTools") === true;
  const read = canRead && jobId !== "" ? () => refresh({ jobId }) : undefined;
  const isFinished = job !== undefined && !isOther && hasEnded(job);
  const { pollingState, why } = useJobPolling({ jobId, read, refreshCount }, isFinished);
  const durations = useStageDurations(job);
  if (job === undefined) return <Problem text="This result does not contain a job: the host sent something else." />;

  function handleDone(newJobId: string | undefined): void {
    if (newJobId !== undefined) setFollowedJobId(newJobId);
    setRefreshCount((count) => count + 1);
  }

  return (
    <>
      <Head job={job} />
      <Facts job={job} host={host} />
      <Stages stages={job.stages} durations={durations} />
      {WAIT_REASONS.has(job.state) && <p class="notice wait">{WAIT_REASONS.get(job.state)}</p>}
      {job.failure && <Failure failure={job.failure} />}
      {job.output !== undefined && (
        <p class="notice">
          Output: dataset version <CopyableId id={job.output} />
        </p>
      )}
      <RetryHistory job={job} read={canRead ? (id) => callTool({ jobId: id }) : undefined} />
      <Buttons job={job} result={result} host={host} onDone={handleDone} />
      {why !== undefined && (
        <Problem
          text={`The job could not be read: ${why}`}
          onTryAgain={read && (() => setRefreshCount((count) => count + 1))}
        />
      )}
      <footer>
        {host && <span>{POLLING_TEXTS[pollingState]}</span>}
        {pollingState === "stopped" && why === undefined && read && (
          <button type="button" onClick={() => setRefreshCount((count) => count + 1)}>
            Update now
          </button>
        )}
        <span>Changed {formatTime(job.updatedAt)}</span>
        <span>Version {job.version}</span>
      </footer>
    </>
  );
}

mount({ tool: "show_job", label: "the job", Body: JobView });
