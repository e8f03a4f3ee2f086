// This module cancels jobs. A cancellation needs the job's current version (docs/contract.md, 4.2: If-Match). If the call has none, the
// version is read first. If the job changes in between, it is read again, since the agent asked to cancel its current state.

import type { ActionDescriptor } from "../../actions/actions.ts";
import { formatDuration } from "../../actions/deduplication-window.ts";
import { identifies, type TraitsOf } from "../../actions/fingerprint.ts";
import { deriveStepKey } from "../../actions/idempotency-keys.ts";
import { cancelMicJob, getMicPublicOperation } from "../../contract/endpoints/job-processing.ts";
import { type Job, jobETag } from "../../contract/jobs.ts";
import type { Operation } from "../../contract/operation.ts";
import { formatCount } from "../../core/counts.ts";
import { Failure, unlessFailed } from "../../core/failure.ts";
import { AGENT, call, join, render, say } from "../../core/text.ts";
import { formatToken, quote } from "../../core/untrusted-text.ts";
import type { ConfirmationPrompt } from "../define-tool.ts";
import { isJobInProgress, stagePositionText, TERMINAL_STATES } from "../describe/job.ts";
import { describeOperation, operationStatus } from "../describe/operation.ts";
import { pollResource } from "../polling.ts";
import { type ActionResult, type Describe, type ReadAnswer, resourceResult, type ToolResult } from "../results.ts";
import { type ActionArguments, runAction } from "../run-action.ts";
import { problemText } from "../summary-view.ts";
import { type ToolContext, toStepFailure } from "../tool-context.ts";
import { mapConcurrently, readJob, readOffer, readState, stateSuffix } from "./batch.ts";
import { describeJobWith, findRetry, readRecorded } from "./job-history.ts";
import { readOrigin } from "./origins.ts";

interface JobConfirmation {
  readonly jobId: string;
  readonly reason: string;
  /** For example "Cancel job x? …". */
  readonly question: string;
  /** Throws Failure if the change is certain to be rejected. */
  readonly check?: (job: Job) => void;
}

/** Describes a job to the user: state, recipe, age and client reference. `recipeName`: if known (default: the recipe version's id). */
function describeForUser(
  { value: { data: job }, respondedAt }: ReadAnswer<Job>,
  recipeName: string = job.recipeVersionId,
  clientReference?: string,
): string {
  const ageMs = (respondedAt ?? Number.NaN) - Date.parse(job.createdAt);
  const facts = [
    render(say`It is ${job.state}${stagePositionText(job)}`, AGENT),
    `recipe ${quote(recipeName)}`,
    ageMs >= 0 && `created ${formatDuration(ageMs)} ago`,
    clientReference !== undefined && `client reference ${quote(clientReference)}`,
  ];
  const failed = job.failure ? ` Its failure: ${render(problemText(job.failure), AGENT)}.` : "";
  return `${facts.filter(Boolean).join("; ")}.${failed}`;
}

/** Builds the question to the user before a job's work is discarded. Throws Failure if the job does not exist, or if `check` throws. */
export async function prepareJobConfirmation(
  { jobId, reason, question, check }: JobConfirmation,
  ctx: ToolContext,
): Promise<ConfirmationPrompt> {
  // An application may be allowed to change jobs, but not to read them.
  const answer = await unlessFailed(readJob(jobId, ctx), "forbidden", "unauthorized");
  const job = answer?.value.data;
  if (job) check?.(job);
  const recorded = await readRecorded(jobId, ctx);
  const retry = findRetry(recorded, jobId, ctx)?.id;
  const origin = await readOrigin(jobId, recorded, ctx);
  const offer = job && (await readOffer(job.recipeVersionId, ctx).catch(() => undefined));
  const sentences = [
    question,
    answer && describeForUser(answer, offer?.recipe.name, origin?.clientReference),
    retry !== undefined && `It was retried before, as job ${formatToken(retry)}.`,
    `The reason given: ${quote(reason)}`,
  ];
  return { text: sentences.filter(Boolean).join(" "), resourceVersion: job?.resourceVersion };
}

interface JobsQuestion {
  readonly reason: string;
  /** The actions of the call, by the id of their job. */
  readonly actions: ReadonlyMap<string, ActionDescriptor>;
  /** Returns the state of a job whose work would be discarded; an empty string if it cannot be read, and undefined for any other job. */
  stateOf(jobId: string, ctx: ToolContext): Promise<string | undefined>;
  /** "Cancel 3 jobs? Their finished work is discarded" */
  question(jobs: string): string;
}

/** An action in the journal was confirmed before, or needed no confirmation. There is no question if no other job is left. */
export const confirmJobs = ({ reason, actions, stateOf, question }: JobsQuestion) => ({
  actions: [...actions.values()],
  async prepare(ctx: ToolContext): Promise<ConfirmationPrompt | undefined> {
    const named = await mapConcurrently([...actions], async ([jobId, action]) => {
      if (await ctx.actions.findExisting(action)) return undefined;
      const state = await stateOf(jobId, ctx);
      return state === undefined ? undefined : `${formatToken(jobId)}${stateSuffix(state)}`;
    });
    if (named.length === 0) return undefined;
    const text = `${question(formatCount(named.length, "job"))}: ${named.join(", ")}. The reason given: ${quote(reason)}`;
    return { text, resourceVersion: undefined };
  },
});

interface CancelArguments extends ActionArguments {
  readonly jobId: string;
  readonly reason: string;
  readonly resourceVersion?: number;
}

export const cancelTraits: TraitsOf<typeof cancelMicJob> = {
  targetArgument: "jobId",
  arguments: { jobId: identifies(), reason: "note" },
};

const MAX_ROUNDS = 4;
const NOTHING_LEFT = say`Do nothing: the job has ended.`;

/** Only the three final states are certain to prevent a cancellation (open question 37); in others the API decides. */
export function rejectEndedJob({ id, state }: Job): void {
  if (!TERMINAL_STATES.has(state)) return;
  throw new Failure({
    kind: "conflict",
    code: `ALREADY_${state}`,
    message: say`Job ${id} was not canceled: it is already ${state}.`,
    retryable: false,
    sideEffect: "none",
    next: NOTHING_LEFT,
  });
}

function explainStaleVersion(conflict: Failure, tried: number | undefined, job: Job): Failure {
  const { id, state, resourceVersion } = job;
  return conflict.with({
    message: say`Job ${id} was not canceled: the API refused version${tried !== undefined && say` ${tried}`} as stale. The job is ${state} now, at version ${resourceVersion}.`,
    retryable: false,
    next: TERMINAL_STATES.has(state)
      ? NOTHING_LEFT
      : say`If it should still be canceled, call cancel_job again with resourceVersion ${resourceVersion}, or without one, and without idempotencyKey.`,
  });
}

/** The API would most likely reject the same request again, so only the job shows the effect of the first attempt. */
function explainUnknownOutcome(conflict: Failure, jobId: string, job: Job | undefined): Failure {
  return conflict.with({
    ...(job && { message: say`${conflict.facts.message} Job ${job.id} is ${job.state} now.` }),
    retryable: false,
    next:
      job && TERMINAL_STATES.has(job.state)
        ? NOTHING_LEFT
        : say`${call("get_job", { jobId, waitSeconds: 30 })} shows whether it ends as CANCELLED, which repeating this call does not. If the job continues, call cancel_job with a new idempotencyKey.`,
  });
}

/** Requests the cancellation of the job at the given version (default: its current version). Throws Failure. */
export async function requestCancellation(args: CancelArguments, ctx: ToolContext): Promise<ActionResult<Operation>> {
  const { jobId, resourceVersion, idempotencyKey } = args;
  // The version in the user's question is used without another read. If the agent passes a key, the version is read again: the key is
  // bound to one version, and the job may have changed while the user decided.
  let version = resourceVersion ?? (idempotencyKey === undefined ? ctx.shownVersion : undefined);
  for (let round = 1; ; round++) {
    try {
      // The proposed key belongs to the first version; a request with another version is a different one.
      const proposedKey = round === 1 ? ctx.proposedKey : undefined;
      return await runAction(
        { ...args },
        { ...ctx, proposedKey },
        {
          endpoint: cancelMicJob,
          traits: cancelTraits,
          describe: describeOperation,
          status: operationStatus,
          readNow: (operationId) => ctx.api.call(getMicPublicOperation, { path: { operationId } }, ctx),
          readsItself: true,
          findOut: say`get_job shows whether the job is CANCELLED.`,
          async ifMatch() {
            if (version === undefined) {
              const job = (await readJob(jobId, ctx)).value.data;
              rejectEndedJob(job);
              version = job.resourceVersion;
            }
            return jobETag(version);
          },
        },
      );
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const { kind, sideEffect } = error.facts;
      const isStale = kind === "precondition_failed" && sideEffect === "none";
      /** Rejected, although an earlier attempt may have taken effect. */
      const isUnknown = (kind === "precondition_failed" || kind === "conflict") && sideEffect === "unknown";
      if (!isStale && !isUnknown) throw error;
      const job = await readJob(jobId, ctx).then(
        ({ value }) => value.data,
        () => undefined,
      );
      if (isUnknown) throw explainUnknownOutcome(error, jobId, job);
      // If the job cannot be read, the rejection is still valid.
      if (!job) throw error;
      // A key belongs to one exact request. Only a generated key can be replaced for the next version.
      const isFixed = resourceVersion !== undefined || idempotencyKey !== undefined;
      if (isFixed || TERMINAL_STATES.has(job.state) || round === MAX_ROUNDS)
        throw explainStaleVersion(error, version, job);
      version = job.resourceVersion;
    }
  }
}

/** Waits for the operation of a cancellation, and returns it and the job. Throws Failure. */
export async function followCancellation(
  jobId: string,
  operationId: string,
  waitSeconds: number,
  ctx: ToolContext,
): Promise<{ readonly operation: Operation; readonly answer: ReadAnswer<Job> }> {
  const reading = { endpoint: getMicPublicOperation, path: { operationId }, waitSeconds, status: operationStatus };
  const onRead = ({ state }: Operation) => ctx.report({ progress: 0, message: `cancellation ${state}` });
  const { value } = await pollResource(reading, ctx, onRead);
  return { operation: value.data, answer: await readJob(jobId, ctx) };
}

/** Returns the one question for all jobs that have not ended. The key of each cancellation is derived from that of the call. */
export const confirmCancellations = ({
  jobIds,
  reason,
  idempotencyKey: key,
}: Pick<CancelArguments, "reason" | "idempotencyKey"> & { readonly jobIds: readonly string[] }) =>
  confirmJobs({
    reason,
    actions: new Map(
      jobIds.map((jobId) => {
        const explicitKey = key === undefined ? undefined : deriveStepKey(key, jobId);
        const action = { tool: "cancel_job", arguments: { jobId, reason }, traits: cancelTraits, explicitKey };
        return [jobId, { ...action, isDerivedKey: true }];
      }),
    ),
    async stateOf(jobId, ctx) {
      const state = await readState(jobId, ctx);
      return state !== undefined && TERMINAL_STATES.has(state) ? undefined : state;
    },
    question: (jobs) => `Cancel ${jobs}? Their finished work is discarded`,
  });

/** Returns the job; without a wait, or if the job cannot be read, returns the operation. Throws Failure. */
export async function cancelJob(
  args: CancelArguments,
  waitSeconds: number,
  ctx: ToolContext,
): Promise<ToolResult<Job | Operation>> {
  const requested = await requestCancellation(args, ctx);
  const { action, isStored, replay, createdId, requestId } = requested;
  if (waitSeconds === 0 && !isStored) return requested;
  try {
    const { operation, answer } = await followCancellation(args.jobId, requested.data.id, waitSeconds, ctx);
    const describe: Describe<Job> = async (job, readAt) => {
      const { isRoutine, ...description } = await describeJobWith(ctx)(job, readAt);
      if (operation.state === "SUCCEEDED") return { ...description, isRoutine };
      const { summary, nextStep } = describeOperation(operation);
      const isInProgress = operationStatus(operation).isInProgress && !isJobInProgress(job);
      return {
        ...description,
        summary: join([summary, description.summary]),
        nextStep: isInProgress ? nextStep : description.nextStep,
      };
    };
    const mayRunAgain = operation.state === "FAILED" && !TERMINAL_STATES.has(answer.value.data.state);
    const notice = requested.noticeFor(say`cancellation ${operation.state}`, mayRunAgain);
    const result = await resourceResult(answer, describe, { action, requestId, notice, replay });
    return { ...result, createdId };
  } catch (error) {
    toStepFailure(error, ctx);
    // The job was canceled; a read that fails does not change that.
    return requested;
  }
}
