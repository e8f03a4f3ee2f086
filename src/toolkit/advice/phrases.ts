// This module has the text about each state of each kind of resource: a sentence and, if there is one, the recommended next call.
// job.ts and presenters.ts select the phrase.

import { deriveRepeatKey } from "../../actions/idempotency-keys.ts";
import { matchesInputKind } from "../../contract/endpoints/bodies.ts";
import type { Input } from "../../contract/inputs.ts";
import type { Operation } from "../../contract/operation.ts";
import type { ProcessingRequest } from "../../contract/processing-requests.ts";
import { formatToken, quote } from "../../core/untrusted-text.ts";
import type { Advice, NextStep } from "../results.ts";
import { problemName, truncateToSeconds } from "../summary-view.ts";
import type { JobFacts } from "./job-facts.ts";

export interface Phrase<Facts> {
  readonly summary: (facts: Facts) => string;
  /** Absent if nothing is left to do, or if no tool can do it. */
  readonly nextStep?: (facts: Facts) => NextStep | undefined;
  /** Set if a wait that ends in the same state does not have to repeat the sentence. */
  readonly isRoutine?: true;
}

type Phrases<Facts> = Readonly<Record<string, Phrase<Facts>>>;

export const toAdvice = <Facts>({ summary, nextStep, isRoutine }: Phrase<Facts>, facts: Facts): Advice => ({
  summary: summary(facts),
  nextStep: nextStep?.(facts),
  isRoutine,
});

const getRecipeStep = ({ recipeVersionId }: JobFacts, why: string): NextStep => ({
  tool: "get_recipe",
  arguments: { versionId: recipeVersionId },
  why,
});

const retryJobStep = ({ id, code }: JobFacts, retryMode: "SAFE_RESUME" | "RESTART", why: string): NextStep => ({
  tool: "retry_job",
  arguments: { jobId: id, retryMode, reason: `Retry after ${code}` },
  why,
});

const retriedText = ({ retriedBy }: JobFacts): string =>
  retriedBy === undefined
    ? "It was retried, but the id of that job is not known."
    : `It was retried as job ${formatToken(retriedBy)}.`;

const readRetryStep = ({ retriedBy, workspaceId }: JobFacts): NextStep =>
  retriedBy === undefined
    ? {
        tool: "list_jobs",
        arguments: { workspaceId, view: "full" },
        why: "its retry is the job whose retryOfBatchId is this one",
      }
    : { tool: "get_job", arguments: { jobId: retriedBy }, why: "shows the retry" };

export const JOB = {
  // The outcome of an earlier action on a job must be resolved before a new action.
  unresolved: {
    summary: ({ what, state, place, unresolved }) =>
      `${what} is ${state}${place}; a ${unresolved?.tool} call about it, sent at ${unresolved?.createdAt}, has an unknown outcome.`,
    nextStep: ({ unresolved }) =>
      unresolved && {
        tool: "resolve_actions",
        arguments: { idempotencyKey: unresolved.idempotencyKey },
        why: "returns its outcome; the action never runs twice",
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
  stalled: {
    summary: ({ what, state, place, still }) =>
      `${what} is ${state}${place}.${still} Ask the user whether to contact the API's operator or to cancel it; waiting longer may not help.`,
  },
  "waiting for review": {
    summary: ({ what, where, still }) => `${what} waits for its review (${where}). Tell the user.${still}`,
  },
  paused: {
    summary: ({ what, where, still }) => `${what} waits for its operator (${where}). Tell the user.${still}`,
  },
  succeeded: { summary: ({ what, results }) => `${what} SUCCEEDED.${results}` },
  cancelled: { summary: ({ what, finished }) => `${what} is CANCELLED; ${finished}. retry_job can run it again.` },
  "cancelled, retried": {
    summary: (facts) => `${facts.what} is CANCELLED; ${facts.finished}. ${retriedText(facts)}`,
    nextStep: readRetryStep,
  },
  // Whatever the cause of the failure, the retry is more relevant now.
  "failed, retried": {
    summary: (facts) =>
      `${facts.what} FAILED${facts.place}${facts.failure === "" ? "" : `: ${facts.failure}`}. ${retriedText(facts)}`,
    nextStep: readRetryStep,
  },
  "failed, rejected in review": {
    summary: ({ what, place, failure }) =>
      `${what} FAILED${place}: ${failure}. A reviewer REJECTED it: ask the user before you submit another job.`,
  },
  "failed, unexplained": {
    summary: ({ what, place }) =>
      `${what} FAILED${place}; the API gives no reason. Ask the user to contact the API's operator before another try.`,
  },
  "failed, worth resuming": {
    summary: ({ what, place, failure }) => `${what} FAILED${place}: ${failure}. It may be retried.`,
    nextStep: (facts) => retryJobStep(facts, "SAFE_RESUME", `keeps the ${facts.finished}`),
  },
  "failed, worth restarting": {
    summary: ({ what, place, failure, stage }) =>
      `${what} FAILED${place}: ${failure}. A resumed run failed at ${stage} again; RESTART runs it from the start.`,
    nextStep: (facts) =>
      retryJobStep(
        facts,
        "RESTART",
        `${facts.stage} failed again, so the results of earlier stages may be the cause; RESTART discards them: ask the user first`,
      ),
  },
  "failed again and again": {
    summary: ({ what, place, failure, stage, attempts }) =>
      `${what} FAILED${place}: ${failure}. ${stage} has failed ${attempts > 2 ? `${attempts} times` : "after a RESTART too"}: stop retrying and ask the user to contact the operator of the API.`,
  },
  "failed, input or parameters wrong": {
    summary: ({ what, place, failure, pointers }) =>
      `${what} FAILED${place}: ${failure}. Retrying the same job will not help: correct ${pointers} and submit a new one.`,
    nextStep: (facts) => getRecipeStep(facts, "shows the schema; correct the named fields, then submit a new job"),
  },
  "failed for good": {
    summary: ({ what, place, failure }) =>
      `${what} FAILED${place}: ${failure}. Retrying will not help, and the API names nothing to correct. Tell the user.`,
  },
} satisfies Phrases<JobFacts>;

// The contract does not state the kind of resource that an operation belongs to; today only jobs have operations.
const getJobStep = ({ resultResourceId, originatingResourceId }: Operation, why: string): NextStep => ({
  tool: "get_job",
  arguments: { jobId: resultResourceId ?? originatingResourceId },
  why,
});
const getJobStateStep = (operation: Operation) => getJobStep(operation, "shows the job now");
const operationText = ({ operationType }: Operation): string => `The operation (${quote(operationType)})`;
const failureOf = ({ failure }: Operation): string => (failure ? problemName(failure) : "");

export const OPERATION = {
  moving: {
    isRoutine: true,
    summary: (operation) => `${operationText(operation)} is ${operation.state}.`,
    nextStep: ({ id }) => ({
      tool: "get_operation",
      arguments: { operationId: id, waitSeconds: 45 },
      why: "waits for it",
    }),
  },
  succeeded: {
    summary: (operation) => `${operationText(operation)} SUCCEEDED.`,
    nextStep: (operation) => getJobStep(operation, "shows the job after it"),
  },
  "failed, retryable": {
    summary: (operation) => `${operationText(operation)} FAILED: ${failureOf(operation)}. It can be requested again.`,
    nextStep: getJobStateStep,
  },
  failed: {
    summary: (operation) => `${operationText(operation)} FAILED: ${failureOf(operation)}.`,
    nextStep: getJobStateStep,
  },
  "failed, unexplained": {
    summary: (operation) => `${operationText(operation)} FAILED; the API gives no reason.`,
    nextStep: getJobStateStep,
  },
  cancelled: { summary: (operation) => `${operationText(operation)} was CANCELLED.`, nextStep: getJobStateStep },
} satisfies Phrases<Operation>;

const waitForScanStep = ({ id }: Input, why: string): NextStep => ({
  tool: "get_input",
  arguments: { inputId: id, waitSeconds: 45 },
  why,
});

export const INPUT = {
  "in scan": {
    isRoutine: true,
    summary: ({ scanState }) => `The input is being scanned (${scanState}); a job needs it READY.`,
    nextStep: (input) => waitForScanStep(input, "waits for the scan"),
  },
  "scan stuck": {
    summary: ({ scanState }) =>
      `The input waits for a scan that is ${scanState}; a job needs it READY. If that does not change, ask the user to contact the API's operator.`,
    nextStep: (input) => waitForScanStep(input, "waits for the scan; if it does not change, try again in some minutes"),
  },
  ready: {
    summary: ({ expiresAt }) =>
      `The input is READY${expiresAt === null ? "" : ` until ${truncateToSeconds(expiresAt)}`}: bind it to a port of a recipe (list_recipes) with submit_job.`,
  },
  quarantined: {
    summary: ({ scanState }) =>
      `The input is QUARANTINED (scan ${scanState}) and cannot be used. Ask the user for another file.`,
  },
  expired: {
    summary: () => "The input has EXPIRED; register the file again to use it.",
    nextStep({ id, workspaceId, inputKind, referenceId }) {
      // The key is derived from the input, so a repeated call registers the file only one more time.
      const again = { workspaceId, inputKind, referenceId, idempotencyKey: deriveRepeatKey(id) };
      if (!matchesInputKind(again)) return undefined;
      return { tool: "register_input", arguments: again, why: "makes a new input of it" };
    },
  },
  withdrawn: { summary: () => "The input was WITHDRAWN and cannot be used. Ask the user for another file." },
} satisfies Phrases<Input>;

/** `port`: the recipe's only port, if the recipe is known. */
type RequestFacts = ProcessingRequest & { readonly port?: string | undefined };

const reasonOf = ({ reasonCode }: ProcessingRequest): string => (reasonCode === null ? "" : ` (${reasonCode})`);

export const PROCESSING_REQUEST = {
  "in review": {
    isRoutine: true,
    summary: ({ state }) => `The request is ${state}: it is reviewed before a job may use the file.`,
    nextStep: ({ id }) => ({
      tool: "get_file_processing_request",
      arguments: { requestId: id, waitSeconds: 45 },
      why: "waits for the review, which can take days: tell the user",
    }),
  },
  approved: {
    summary: (request) =>
      `The request is APPROVED${reasonOf(request)} until ${request.expiresAt}: the recipe may process the input.`,
    nextStep: ({ workspaceId, recipeVersionId, inputId, port }) =>
      port === undefined
        ? { tool: "get_recipe", arguments: { versionId: recipeVersionId }, why: "shows its ports and parameters" }
        : {
            tool: "run_job",
            arguments: { workspaceId, recipeVersionId, inputs: [{ port, inputId }], parameterValues: {} },
            why: "runs it; first fill in parameterValues, as get_recipe shows them",
          },
  },
  rejected: {
    summary: (request) =>
      `The request was REJECTED${reasonOf(request)}; a new request needs another purpose, file or recipe.`,
  },
  "rejected, purpose": {
    summary: (request) => `The request was REJECTED${reasonOf(request)}; a new request needs another purpose.`,
  },
  "rejected, source": {
    summary: (request) => `The request was REJECTED${reasonOf(request)}; a new request needs another file.`,
  },
  revoked: {
    summary: (request) => `The request was REVOKED${reasonOf(request)}; the file may no longer be processed.`,
  },
  "revoked, security": {
    summary: (request) =>
      `The request was REVOKED${reasonOf(request)}; the file may no longer be processed. Do not request permission again unless the user wants it.`,
  },
} satisfies Phrases<RequestFacts>;
