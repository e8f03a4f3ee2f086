// A job's stages as a person is shown them.
import { type Job, STAGES, type Stage } from "../../contract/jobs.ts";
import { waitsForPerson } from "../../toolkit/advice/job.ts";

export interface StageShown {
  readonly title: string;
  readonly is: "to come" | "done" | "not needed" | "failed";
  /** Below the title, while it is at work. */
  readonly note: string;
}

function titleOf({ stage, completedUnits, totalUnits, attemptCount }: Stage): string {
  const tries = attemptCount > 1 ? `, try ${attemptCount}` : "";
  return `${stage} ${completedUnits}/${totalUnits ?? "?"}${tries}`;
}

const IS: Readonly<Record<Stage["state"], StageShown["is"]>> = {
  PENDING: "to come",
  RUNNING: "to come",
  WAITING_REVIEW: "to come",
  SUCCEEDED: "done",
  NOT_REQUIRED: "not needed",
  FAILED: "failed",
  CANCELLED: "failed",
};

/** Where a person has to act before the job goes on. */
const waiting = (job: Job): string => (waitsForPerson(job) ? `${job.state}: a person has to act at the service` : "");

/** All nine, before the first reading too. */
export function stagesShown(job: Job | undefined): readonly StageShown[] {
  return STAGES.map((name) => {
    const stage = job?.stages.find((each) => each.stage === name);
    return stage && job
      ? { title: titleOf(stage), is: IS[stage.state], note: waiting(job) }
      : { title: name, is: "to come", note: "" };
  });
}

const isAtWork = ({ state }: Stage): boolean =>
  state !== "PENDING" && state !== "SUCCEEDED" && state !== "NOT_REQUIRED";

/** For where no terminal is: a line for each reading that has news. */
export function createPlainLines(): (job: Job) => string {
  let last = "";
  return (job) => {
    const stage = job.stages.find(isAtWork);
    const line = [waiting(job) || job.state, ...(stage ? [titleOf(stage)] : [])].join(" ");
    if (line === last) return "";
    last = line;
    return `${line}\n`;
  };
}
