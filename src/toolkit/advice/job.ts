// Which phrase fits a job, and what its sentence is filled with.
import type { Job, Stage } from "../../contract/jobs.ts";
import type { Problem } from "../../contract/problem.ts";
import { quote, word } from "../../outside.ts";
import { ENDED } from "../jobs/ended.ts";
import { lean, leanFailure, toTheSecond } from "../lean.ts";
import type { MovingSubject, Position } from "../read-resource.ts";
import { uris } from "../resources/uri.ts";
import type { Advice } from "../results.ts";
import { type HistoryPorts, historyOf, type JobHistory } from "./job-history.ts";
import { JOB, type JobCase, type JobFacts } from "./phrases.ts";
import { problemName, problemText, strayFailure } from "./problem-text.ts";

const MOVING: ReadonlySet<Job["state"]> = new Set(["PREPARING", "QUEUED", "RUNNING"]);

/** The job changes by itself: worth waiting for. Else it is at its end, or waits for somebody. */
export const isJobMoving = (job: Job): boolean => MOVING.has(job.state);

/** A person at the service has to act before the job goes on. */
export const waitsForPerson = ({ state }: Job): boolean => state === "WAITING_REVIEW" || state === "PAUSED";

const isDone = (stage: Stage): boolean => stage.state === "SUCCEEDED" || stage.state === "NOT_REQUIRED";

/** The stage the job is at: the first one that is neither finished nor not needed. */
const currentStage = (job: Job): Stage | undefined => job.stages.find((stage) => !isDone(stage));

const stagesBehind = (job: Job): number => job.stages.filter(isDone).length;

function place(job: Job): string {
  const stage = currentStage(job);
  if (!stage) return "";
  const units =
    stage.totalUnits === null ? `${stage.completedUnits}` : `${stage.completedUnits} of ${stage.totalUnits}`;
  const position = `stage ${stage.stage} (${job.stages.indexOf(stage) + 1} of ${job.stages.length})`;
  return stage.state === "PENDING" ? `, ${position} next` : `, at ${position}, ${units} units`;
}

const finished = (job: Job): string =>
  `${job.stages.filter(({ state }) => state === "SUCCEEDED").length} of ${job.stages.length} stages finished`;

const failingStage = (job: Job): Stage | undefined =>
  job.stages.find(({ state }) => state === "FAILED") ?? currentStage(job);

/** As often as this a stage is worth trying. */
const MAX_ATTEMPTS = 3;

function failureCase(job: Job, failure: Problem | null, history: JobHistory): JobCase {
  if (!failure) return "failed, unexplained";
  if (job.reviewState === "REJECTED") return "failed, rejected in review";
  if (!failure.retryable)
    return failure.fieldErrors.length > 0 ? "failed, input or parameters wrong" : "failed for good";
  const attempts = failingStage(job)?.attemptCount ?? 0;
  if (attempts >= MAX_ATTEMPTS || history.restarted === true) return "failed again and again";
  return attempts > 1 && job.retryOfBatchId !== null ? "failed, worth restarting" : "failed, worth resuming";
}

function jobCase(job: Job, history: JobHistory, isStill: boolean): JobCase {
  if (history.unsettled) return "unresolved";
  switch (job.state) {
    case "PREPARING":
    case "QUEUED":
    case "RUNNING":
      return isStill ? "standing still" : "moving";
    case "WAITING_REVIEW":
      return "waiting for review";
    case "PAUSED":
      return "paused";
    case "SUCCEEDED":
      return "succeeded";
    case "CANCELLED":
      return history.retry ? "cancelled, retried" : "cancelled";
    case "FAILED":
      return history.retry ? "failed, retried" : failureCase(job, job.failure, history);
  }
}

const MAX_POINTERS = 3;

function pointersOf(failure: Problem | null): string {
  const pointers = [
    ...new Set((failure?.fieldErrors ?? []).map(({ pointer }) => (pointer === "" ? "the whole" : word(pointer)))),
  ];
  const more = pointers.length - MAX_POINTERS;
  return pointers.slice(0, MAX_POINTERS).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * A job that has not changed for an hour is not worth polling: that hour is 80 waits of 45 s, each with the same answer. It
 * is no verdict, since the contract does not say how long a stage may take: the agent learns of it and decides.
 */
const STILL_MS = HOUR_MS;

/** How long nothing has moved in words, where that is long; `readAt` is the service's clock, as `updatedAt` is. */
function stillness({ updatedAt }: Job, readAt: number | undefined): string {
  const stillMs = readAt === undefined ? 0 : readAt - Date.parse(updatedAt);
  if (!(stillMs >= STILL_MS)) return "";
  const long = stillMs < 2 * DAY_MS ? `${Math.floor(stillMs / HOUR_MS)} h` : `${Math.floor(stillMs / DAY_MS)} days`;
  return ` Nothing has moved since ${updatedAt} (${long}).`;
}

/** No operation of the contract reads a job's output. */
const outputText = (output: string): string =>
  ` Output: dataset version ${word(output)}. Its rows cannot be read through this API: bind it to another job (register_input, DATASET_VERSION) or open it at the service.`;

/** No operation of the contract changes it: the API advances a publication, at a time that the contract does not state. */
const PUBLICATION: Readonly<Record<Job["publicationState"], string>> = {
  NOT_REQUESTED: "",
  AWAITING_RELEASE: " Publication: AWAITING_RELEASE (the API advances it; get_job shows it).",
  BUILDING: " Publication: BUILDING.",
  ACTIVE: " Publication: ACTIVE.",
  WITHDRAWN: " Publication: WITHDRAWN.",
};

function factsOf(job: Job, history: JobHistory, still: string): JobFacts {
  const { failure, outputDatasetVersionId: output, publicationState } = job;
  const stage = failingStage(job);
  return {
    id: job.id,
    what: `The job${job.retryOfBatchId === null ? "" : `, a retry of ${word(job.retryOfBatchId)},`}`,
    state: job.state,
    place: place(job),
    recipeVersionId: job.recipeVersionId,
    results: [output === null ? "" : outputText(output), PUBLICATION[publicationState]].join(""),
    finished: finished(job),
    failure: failure ? problemName(failure) : "",
    code: failure ? word(failure.code) : "",
    stage: stage?.stage ?? "the job",
    attempts: stage?.attemptCount ?? 0,
    pointers: pointersOf(failure),
    unsettled: history.unsettled,
    retriedBy: history.retry?.id,
    workspaceId: job.workspaceId,
    still,
  };
}

/** `readAt`: when the job was so; undefined of an answer that was kept, of which nobody knows how long it has been so. */
export function jobAdvice(job: Job, history: JobHistory = {}, readAt?: number): Advice {
  const still = stillness(job, readAt);
  const phrase = JOB[jobCase(job, history, still !== "")];
  const facts = factsOf(job, history, still);
  const nextStep = phrase.nextStep?.(facts);
  return {
    summary: phrase.summary(facts) + strayFailure(job),
    ...(nextStep && { nextStep }),
    isRoutine: phrase.isRoutine ?? false,
  };
}

const unitsOf = ({ completedUnits, totalUnits }: Stage): string => `${completedUnits}/${totalUnits ?? "?"}`;

const STAGE_WORD: Readonly<Record<Stage["state"], string>> = {
  SUCCEEDED: "done",
  PENDING: "pending",
  NOT_REQUIRED: "not needed",
  RUNNING: "RUNNING",
  WAITING_REVIEW: "WAITING_REVIEW",
  FAILED: "FAILED",
  CANCELLED: "CANCELLED",
};

/** All stages on one line: neighbours in the same state together, units and tries of those at work. */
export function stagesLine(stages: readonly Stage[]): string {
  const parts: { word: string; names: string[] }[] = [];
  for (const stage of stages) {
    const { state, attemptCount } = stage;
    const isQuiet = state === "SUCCEEDED" || state === "PENDING" || state === "NOT_REQUIRED";
    const tries = attemptCount > 1 ? `, try ${attemptCount}` : "";
    const said = isQuiet ? `${STAGE_WORD[state]}${tries}` : `${STAGE_WORD[state]} ${unitsOf(stage)}${tries}`;
    const last = parts.at(-1);
    if (isQuiet && last?.word === said) last.names.push(stage.stage);
    else parts.push({ word: said, names: [stage.stage] });
  }
  return parts.map(({ word: said, names }) => `${names.join(" ")} ${said}`).join("; ");
}

/** What a job mostly has. */
const USUAL = { publicationState: "NOT_REQUESTED", reviewState: "NOT_REQUIRED" };

function leanJob(job: Job): object {
  const { workspaceId, environment, resourceVersion, updatedAt, processingState, stages, failure, ...rest } = job;
  return {
    ...lean(rest, USUAL),
    ...(processingState !== job.state && { processingState }),
    ...(stages.length > 0 && { stages: stagesLine(stages) }),
    ...leanFailure(failure),
  };
}

/** "FAILED at CHURN". */
export function stateInWords(job: Job): string {
  const stage = job.state === "FAILED" ? failingStage(job) : currentStage(job);
  return stage === undefined || stage.state === "PENDING" || job.state === "CANCELLED"
    ? job.state
    : `${job.state} at ${stage.stage}`;
}

function standing(job: Job): Position {
  const stage = currentStage(job);
  if (!stage) return { is: job.state };
  const { stage: name, state, completedUnits, totalUnits } = stage;
  const at = state === "PENDING" ? `${name} next` : `${name} ${completedUnits} of ${totalUnits ?? "?"}`;
  const units = job.stages.reduce((sum, each) => sum + each.completedUnits, 0);
  return { is: job.state, at, units };
}

export const jobSubject = (ports: HistoryPorts): MovingSubject<Job> => ({
  version: ({ resourceVersion }) => resourceVersion,
  isMoving: isJobMoving,
  waitsForPerson,
  standing,
  state: stateInWords,
  mayRunAgain: ({ state, failure }) => !(state === "FAILED" && failure?.retryable === true),
  progress: jobProgress,
  uri: ({ id }) => uris.job(id),
  lean: leanJob,
  hasEnded: ({ state }) => ENDED.has(state),
  async advise(job, readAt) {
    ports.retries.remember([job]);
    return jobAdvice(job, await historyOf(job, ports), readAt);
  },
});

/** A job as it stands, for a person. `recipeName`: where it is known. */
export function describeJob(job: Job, recipeName: string | undefined): string {
  const recipe = recipeName === undefined ? quote(job.recipeVersionId) : quote(recipeName);
  const failed = job.failure ? ` Its failure: ${problemText(job.failure)}.` : "";
  return `It is ${job.state}${place(job)}; its recipe is ${recipe}.${failed}`;
}

/** How far a job is, for a client that asked for progress: stages done of all, units inside the current one. */
export function jobProgress(job: Job) {
  const stage = currentStage(job);
  const units = stage ? ` ${stage.stage} ${stage.completedUnits}/${stage.totalUnits ?? "?"} units` : "";
  return { progress: stagesBehind(job), total: job.stages.length, message: `${job.state}${units}` };
}

/** What an agent decides by, in a list; what is usual is left out. When it last moved tells whether a moving job stands still. */
export function summarizeJob(job: Job, retriedBy: string | undefined) {
  const stage = currentStage(job);
  return {
    id: job.id,
    state: job.state,
    ...(stage && job.state !== "CANCELLED" && { stage: stage.stage }),
    ...(job.failure && { failure: job.failure.code, retryable: job.failure.retryable }),
    ...(job.retryOfBatchId !== null && { retryOf: job.retryOfBatchId }),
    ...(retriedBy !== undefined && { retriedBy }),
    ...(job.reviewState === "PENDING" && { review: job.reviewState }),
    createdAt: toTheSecond(job.createdAt),
    ...(isJobMoving(job) && { updatedAt: toTheSecond(job.updatedAt) }),
  };
}
