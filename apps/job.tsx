// The view of show_job: one job, live.
import { useState } from "preact/hooks";
import { timeOf } from "./dress.ts";
import "./job.css";
import { Buttons } from "./job/buttons.tsx";
import { Failure } from "./job/failure.tsx";
import { type Following, useFollowing } from "./job/follow.ts";
import { hasEnded, type JobShown, jobOf, shortId, stagesBehind, wordOf } from "./job/model.ts";
import { Stages } from "./job/stages.tsx";
import { Tries } from "./job/tries.tsx";
import { mount, Problem, type Shown } from "./view.tsx";

const FOLLOWING: Readonly<Record<Following, string>> = {
  following: "Updates by itself",
  ended: "It has ended",
  stopped: "Does not update by itself",
};

const WAITS: ReadonlyMap<string, string> = new Map([
  ["WAITING_REVIEW", "A person has to review it at the service before it goes on."],
  ["PAUSED", "Its operator has to resume it at the service."],
]);

function Head({ job }: { readonly job: JobShown }) {
  const { word, tone } = wordOf(job.state);
  return (
    <header>
      <span class={`badge ${tone}`}>{word}</span>
      <h1>
        Job <code title={job.id}>{shortId(job.id)}</code>
      </h1>
      <span class="muted" role="status">
        {stagesBehind(job)} of {job.stages.length} stages
      </span>
    </header>
  );
}

function JobView({ result, host, ask, refresh }: Shown) {
  /** A retry goes on as another job. */
  const [madeId, setMadeId] = useState<string>();
  const [again, setAgain] = useState(0);
  const job = jobOf(result);
  const isOther = madeId !== undefined && job?.id !== madeId;
  const jobId = madeId ?? job?.id ?? "";
  const canRead = host?.can("serverTools") === true;
  const read = canRead && jobId !== "" ? () => refresh({ jobId }) : undefined;
  const isOver = job !== undefined && !isOther && hasEnded(job);
  const { following, why } = useFollowing({ jobId, read, again }, isOver);
  if (job === undefined) return <Problem text="This is no job: the host has handed over something else." />;

  function followOn(newJobId: string | undefined): void {
    if (newJobId !== undefined) setMadeId(newJobId);
    setAgain((count) => count + 1);
  }

  return (
    <>
      <Head job={job} />
      <Stages stages={job.stages} />
      {WAITS.has(job.state) && <p class="notice wait">{WAITS.get(job.state)}</p>}
      {job.failure && <Failure failure={job.failure} />}
      {job.output !== undefined && (
        <p class="notice">
          Output: dataset version <code>{job.output}</code>
        </p>
      )}
      <Tries job={job} read={canRead ? (id) => ask({ jobId: id }) : undefined} />
      <Buttons job={job} result={result} host={host} onDone={followOn} />
      {why !== undefined && <Problem text={`It could not be read: ${why}`} />}
      <footer>
        {host && <span>{FOLLOWING[following]}</span>}
        {following === "stopped" && read && (
          <button type="button" onClick={() => setAgain((count) => count + 1)}>
            Update now
          </button>
        )}
        <span>Changed {timeOf(job.updatedAt)}</span>
        <span>Version {job.version}</span>
      </footer>
    </>
  );
}

mount({ tool: "show_job", what: "the job", Body: JobView });
