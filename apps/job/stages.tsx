// Shows the nine stages of a job: in one row, in three columns or in one column, depending on the width (job.css).
import { formatDuration } from "../host-context.ts";
import { type StageShown, stateLabelOf, type Tone } from "./model.ts";

/** SVG paths in a view box of 12 by 12. */
const STATE_ICONS: Readonly<Record<string, string>> = {
  SUCCEEDED: "M1.5 6.5 4.5 9.5 10.5 2.5",
  RUNNING: "M3 2 9.5 6 3 10Z",
  FAILED: "M2.5 2.5 9.5 9.5M9.5 2.5 2.5 9.5",
  WAITING_REVIEW: "M6 1.5V6L9 8",
  PAUSED: "M4 2V10M8 2V10",
  CANCELLED: "M2 6H10",
  NOT_REQUIRED: "M2 6H10",
};

function StateIcon({ state }: { readonly state: string }) {
  return (
    <svg class="state-icon" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
      <path d={STATE_ICONS[state] ?? "M5 6H7"} />
    </svg>
  );
}

const isStarted = ({ done, state }: StageShown): boolean =>
  done > 0 || (state !== "PENDING" && state !== "NOT_REQUIRED");

const percentDone = ({ done, total }: StageShown): number =>
  total === undefined || total <= 0 ? 0 : Math.min(100, (100 * done) / total);

interface StageProps {
  readonly stage: StageShown;
  /** Undefined if the view did not see the whole stage. */
  readonly durationMs: number | undefined;
}

function Stage({ stage, durationMs }: StageProps) {
  const { name, state, attempts, done, total } = stage;
  const { label, tone } = stateLabelOf(state);
  return (
    <li class={`stage ${tone satisfies Tone}`}>
      <span class="name">{name}</span>
      <span class="state">
        <StateIcon state={state} /> {label}
      </span>
      <span class="units">
        {isStarted(stage) && (total === undefined ? `${done} units` : `${done}/${total} units`)}
        {durationMs !== undefined && `, ${formatDuration(durationMs)}`}
        {attempts > 1 && <b class="try wait">attempt {attempts}</b>}
      </span>
      {state === "RUNNING" && total !== undefined && (
        <span class="track" aria-hidden="true">
          <span class="fill" style={{ width: `${percentDone(stage)}%` }} />
        </span>
      )}
    </li>
  );
}

interface Props {
  readonly stages: readonly StageShown[];
  readonly durations: ReadonlyMap<string, number>;
}

export function Stages({ stages, durations }: Props) {
  if (stages.length === 0) return <p class="muted">The API does not report stages yet.</p>;
  return (
    <ol class="stages" aria-label="Stages">
      {stages.map((stage) => (
        <Stage key={stage.name} stage={stage} durationMs={durations.get(stage.name)} />
      ))}
    </ol>
  );
}
