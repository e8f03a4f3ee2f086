// The tries before this one: a retry is a new job, which names the job that it retries.
import { useEffect, useState } from "preact/hooks";
import type { ToolResult } from "../values.ts";
import { currentStage, type JobShown, jobOf, shortId, wordOf } from "./model.ts";

const MAX_BACK = 5;

/** The jobs before, the oldest first; as many as can be read. */
async function triesBefore(job: JobShown, read: (jobId: string) => Promise<ToolResult>): Promise<readonly JobShown[]> {
  const tries: JobShown[] = [];
  for (let id = job.retryOf; id !== undefined && tries.length < MAX_BACK; id = tries[0]?.retryOf) {
    const before = await read(id).then(jobOf, () => undefined);
    if (before === undefined) return tries;
    tries.unshift(before);
  }
  return tries;
}

function Try({ job, isThis }: { readonly job: JobShown; readonly isThis: boolean }) {
  const { word, tone } = wordOf(job.state);
  const at = job.state === "FAILED" ? currentStage(job)?.name : undefined;
  return (
    <li>
      <span class={tone}>{word}</span>
      {at !== undefined && ` at ${at}`}
      {job.failure && (
        <>
          {" "}
          (<code>{job.failure.code}</code>)
        </>
      )}{" "}
      <code title={job.id}>{shortId(job.id)}</code>
      {isThis && ", this one"}
    </li>
  );
}

interface Props {
  readonly job: JobShown;
  readonly read: ((jobId: string) => Promise<ToolResult>) | undefined;
}

export function Tries({ job, read }: Props) {
  const [before, setBefore] = useState<readonly JobShown[]>([]);
  useEffect(() => {
    let isOld = false;
    if (read)
      void triesBefore(job, read).then((tries) => {
        if (!isOld) setBefore(tries);
      });
    return () => {
      isOld = true;
    };
  }, [job.id, read === undefined]);
  if (job.retryOf === undefined) return null;
  const [oldest] = before;
  return (
    <section aria-label="Tries">
      <h2>Tries</h2>
      <ol class="tries">
        {(oldest === undefined || oldest.retryOf !== undefined) && (
          <li>
            earlier: <code title={oldest?.retryOf ?? job.retryOf}>{shortId(oldest?.retryOf ?? job.retryOf)}</code>
          </li>
        )}
        {before.map((each) => (
          <Try key={each.id} job={each} isThis={false} />
        ))}
        <Try job={job} isThis />
      </ol>
    </section>
  );
}
