// What an agent reads about each state of each kind of resource: one plain sentence and, if there is one, the sensible next call.
// Which phrase fits is decided beside it: job.ts, operation.ts, input.ts, processing-request.ts.

import type { ActionAbout } from "../../actions/of-service.ts";
import { word } from "../../outside.ts";
import type { NextStep } from "../results.ts";

export interface Phrase<Facts> {
  readonly summary: (facts: Facts) => string;
  /** None: there is nothing to do, or nothing that can be done from here. */
  readonly nextStep?: (facts: Facts) => NextStep | undefined;
  /** A wait that finds it so again need not repeat it. */
  readonly isRoutine?: true;
}

type Phrases<Case extends string, Facts> = Readonly<Record<Case, Phrase<Facts>>>;

export interface JobFacts {
  readonly id: string;
  /** "The job", with the job it retries. */
  readonly what: string;
  readonly state: string;
  /** ", at stage …", or nothing. */
  readonly place: string;
  readonly recipeVersionId: string;
  /** " Output dataset version: …" and " Publication: …", or nothing. */
  readonly results: string;
  /** "3 of 9 stages finished". */
  readonly finished: string;
  /** The failure in words: code, quoted title, first field errors. */
  readonly failure: string;
  readonly code: string;
  /** Where the failing stage failed, how often. */
  readonly stage: string;
  readonly attempts: number;
  /** JSON pointers of what the failure finds wrong. */
  readonly pointers: string;
  readonly unsettled: ActionAbout | undefined;
  /** The job that retries it; undefined where the retry's id was never learned. */
  readonly retriedBy: string | undefined;
  readonly workspaceId: string;
  /** " Nothing has moved since …", or nothing. */
  readonly still: string;
}

export type JobCase =
  | "unresolved"
  | "moving"
  | "standing still"
  | "waiting for review"
  | "paused"
  | "succeeded"
  | "cancelled"
  | "cancelled, retried"
  | "failed, retried"
  | "failed, rejected in review"
  | "failed, unexplained"
  | "failed, worth resuming"
  | "failed, worth restarting"
  | "failed again and again"
  | "failed, input or parameters wrong"
  | "failed for good";

const recipe = ({ recipeVersionId }: JobFacts, why: string): NextStep => ({
  tool: "get_recipe",
  arguments: { versionId: recipeVersionId },
  why,
});

const retry = ({ id, code }: JobFacts, retryMode: "SAFE_RESUME" | "RESTART", why: string): NextStep => ({
  tool: "retry_job",
  arguments: { jobId: id, retryMode, reason: `Retry after ${code}` },
  why,
});

const retried = ({ retriedBy }: JobFacts): string =>
  retriedBy === undefined
    ? "It was retried, by a job whose id was not learned."
    : `It was retried as job ${word(retriedBy)}.`;

const readRetry = ({ retriedBy, workspaceId }: JobFacts): NextStep =>
  retriedBy === undefined
    ? {
        tool: "list_jobs",
        arguments: { workspaceId, view: "full" },
        why: "its retry is the job whose retryOfBatchId is this one",
      }
    : { tool: "get_job", arguments: { jobId: retriedBy }, why: "shows how the retry stands" };

export const JOB: Phrases<JobCase, JobFacts> = {
  // Before anything new is done about a job, the outcome of what was done must be known.
  unresolved: {
    summary: ({ what, state, place, unsettled }) =>
      `${what} is ${state}${place}; a ${unsettled?.tool} call about it, sent at ${unsettled?.sentAt}, has an unknown outcome.`,
    nextStep: ({ unsettled }) =>
      unsettled && {
        tool: "resolve_actions",
        arguments: { idempotencyKey: unsettled.idempotencyKey },
        why: "finds out what became of it; the action never runs twice",
      },
  },
  moving: {
    isRoutine: true,
    summary: ({ what, state, place }) => `${what} is ${state}${place}.`,
    nextStep: ({ id }) => ({
      tool: "get_job",
      arguments: { jobId: id, waitSeconds: 45 },
      why: "waits for it",
    }),
  },
  "standing still": {
    summary: ({ what, state, place, still }) =>
      `${what} is ${state}${place}.${still} Ask the user whether to contact its operator or to cancel it; waiting longer may not help.`,
  },
  "waiting for review": {
    isRoutine: true,
    summary: ({ what, place, still }) =>
      `${what} waits for a person's review${place}; nothing can be done from here but wait (get_job with waitSeconds) or cancel.${still}`,
  },
  paused: {
    isRoutine: true,
    summary: ({ what, place, still }) =>
      `${what} is PAUSED${place}; only its operator can resume it (get_job with waitSeconds waits for that). It can be cancelled.${still}`,
  },
  succeeded: { summary: ({ what, results }) => `${what} SUCCEEDED.${results}` },
  cancelled: { summary: ({ what, finished }) => `${what} is CANCELLED; ${finished}. retry_job can run it again.` },
  "cancelled, retried": {
    summary: (facts) => `${facts.what} is CANCELLED; ${facts.finished}. ${retried(facts)}`,
    nextStep: readRetry,
  },
  // Whatever it failed of: the retry is what counts now.
  "failed, retried": {
    summary: (facts) =>
      `${facts.what} FAILED${facts.place}${facts.failure === "" ? "" : `: ${facts.failure}`}. ${retried(facts)}`,
    nextStep: readRetry,
  },
  "failed, rejected in review": {
    summary: ({ what, place, failure }) =>
      `${what} FAILED${place}: ${failure}. A person REJECTED it in review: ask them before another job.`,
  },
  "failed, unexplained": {
    summary: ({ what, place }) =>
      `${what} FAILED${place}; the service gives no reason. Ask the user to contact its operator before another try.`,
  },
  "failed, worth resuming": {
    summary: ({ what, place, failure }) => `${what} FAILED${place}: ${failure}. It may be retried.`,
    nextStep: (facts) => retry(facts, "SAFE_RESUME", `keeps the ${facts.finished}`),
  },
  "failed, worth restarting": {
    summary: ({ what, place, failure, stage }) =>
      `${what} FAILED${place}: ${failure}. Resuming ended at ${stage} again; it may be run anew from the start.`,
    nextStep: (facts) =>
      retry(
        facts,
        "RESTART",
        `a resumed run failed at ${facts.stage} again, so what the earlier stages left may be the cause; RESTART does them anew`,
      ),
  },
  "failed again and again": {
    summary: ({ what, place, failure, stage, attempts }) =>
      `${what} FAILED${place}: ${failure}. ${stage} has failed ${attempts > 2 ? `${attempts} times` : "after a RESTART too"}: stop retrying and ask the user to contact the service's operator.`,
  },
  "failed, input or parameters wrong": {
    summary: ({ what, place, failure, pointers }) =>
      `${what} FAILED${place}: ${failure}. Retrying the same job will not help: correct ${pointers} and submit a new one.`,
    nextStep: (facts) => recipe(facts, "shows what the recipe asks for there; correct that first, then submit_job"),
  },
  "failed for good": {
    summary: ({ what, place, failure }) =>
      `${what} FAILED${place}: ${failure}. Retrying will not help, and the service names nothing to correct: give up.`,
  },
};

export interface OperationFacts {
  readonly id: string;
  readonly what: string;
  readonly state: string;
  /** The resource to look at: its result, or what it was about. */
  readonly about: string;
  readonly failure: string;
}

export type OperationCase =
  | "moving"
  | "succeeded"
  | "failed, retryable"
  | "failed"
  | "failed, unexplained"
  | "cancelled";

// The contract does not say what kind of resource it is about; only jobs have operations today.
const look = ({ about }: OperationFacts, why: string): NextStep => ({
  tool: "get_job",
  arguments: { jobId: about },
  why,
});
const stands = (facts: OperationFacts) => look(facts, "shows how the job stands now");

export const OPERATION: Phrases<OperationCase, OperationFacts> = {
  moving: {
    isRoutine: true,
    summary: ({ what, state }) => `${what} is ${state}.`,
    nextStep: ({ id }) => ({
      tool: "get_operation",
      arguments: { operationId: id, waitSeconds: 45 },
      why: "waits for it",
    }),
  },
  succeeded: {
    summary: ({ what }) => `${what} SUCCEEDED.`,
    nextStep: (facts) => look(facts, "shows the job after it"),
  },
  "failed, retryable": {
    summary: ({ what, failure }) => `${what} FAILED: ${failure}. It may be asked for again, if it is still wanted.`,
    nextStep: stands,
  },
  failed: { summary: ({ what, failure }) => `${what} FAILED: ${failure}.`, nextStep: stands },
  "failed, unexplained": { summary: ({ what }) => `${what} FAILED; the service gives no reason.`, nextStep: stands },
  cancelled: { summary: ({ what }) => `${what} was itself CANCELLED.`, nextStep: stands },
};

export interface InputFacts {
  readonly id: string;
  readonly workspaceId: string;
  readonly scanState: string;
  /** What registers the same once more; undefined when it could not be called so. */
  readonly again: Readonly<Record<string, unknown>> | undefined;
}

export type InputCase = "in scan" | "scan stuck" | "ready" | "infected" | "quarantined" | "expired" | "withdrawn";

const waitForScan = ({ id }: InputFacts, why: string): NextStep => ({
  tool: "get_input",
  arguments: { inputId: id, waitSeconds: 45 },
  why,
});

export const INPUT: Phrases<InputCase, InputFacts> = {
  "in scan": {
    isRoutine: true,
    summary: ({ scanState }) => `The input waits for its scan (scan ${scanState}); a job needs it READY.`,
    nextStep: (facts) => waitForScan(facts, "waits for the scan"),
  },
  "scan stuck": {
    summary: ({ scanState }) =>
      `The input waits for a scan that is ${scanState}; a job needs it READY. If it stays so, ask the user to contact its operator.`,
    nextStep: (facts) => waitForScan(facts, "waits for the scan; if it stays so, ask again in some minutes"),
  },
  ready: {
    summary: () => "The input is READY: bind it to a port of a recipe (list_recipes) with submit_job.",
  },
  infected: {
    summary: () => "The input is QUARANTINED (scan INFECTED); it cannot be used: take another file.",
  },
  quarantined: { summary: ({ scanState }) => `The input is QUARANTINED (scan ${scanState}); it cannot be used.` },
  expired: {
    summary: () => "The input has EXPIRED; register the file again to use it.",
    nextStep: ({ again }) =>
      again && {
        tool: "register_input",
        arguments: again,
        why: "makes a new input of the same, if it is still wanted",
      },
  },
  withdrawn: { summary: () => "The input was WITHDRAWN; it cannot be used." },
};

export interface RequestFacts {
  readonly id: string;
  readonly state: string;
  /** " (REASON_CODE)", or nothing. */
  readonly reason: string;
  readonly inputId: string;
  readonly recipeVersionId: string;
  readonly expiresAt: string;
}

export type RequestCase =
  | "in review"
  | "approved"
  | "rejected"
  | "rejected, purpose"
  | "rejected, source"
  | "revoked"
  | "revoked, security";

export const PROCESSING_REQUEST: Phrases<RequestCase, RequestFacts> = {
  "in review": {
    isRoutine: true,
    summary: ({ state }) => `The request is ${state}: a person reviews it before a job may use the file.`,
    nextStep: ({ id }) => ({
      tool: "get_file_processing_request",
      arguments: { requestId: id, waitSeconds: 45 },
      why: "waits for the review; people take their time, so ask again later",
    }),
  },
  approved: {
    summary: ({ reason, expiresAt, inputId, recipeVersionId }) =>
      `The request is APPROVED${reason} until ${expiresAt}: input ${inputId} may be processed with ${recipeVersionId}.`,
    nextStep: ({ recipeVersionId }) => ({
      tool: "get_recipe",
      arguments: { versionId: recipeVersionId },
      why: "shows the ports and parameters for submit_job",
    }),
  },
  rejected: {
    summary: ({ reason }) => `The request was REJECTED${reason}; a new request needs another purpose, file or recipe.`,
  },
  "rejected, purpose": {
    summary: ({ reason }) => `The request was REJECTED${reason}; a new request needs another purpose.`,
  },
  "rejected, source": {
    summary: ({ reason }) => `The request was REJECTED${reason}; a new request needs another file.`,
  },
  revoked: { summary: ({ reason }) => `The request was REVOKED${reason}; the file may no longer be processed.` },
  "revoked, security": {
    summary: ({ reason }) =>
      `The request was REVOKED${reason}; the file may no longer be processed: do not ask again without a person's word.`,
  },
};
