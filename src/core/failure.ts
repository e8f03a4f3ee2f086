// Defines the error class of the program, whose facts an agent can act on (docs/interface.md, "Failures").
import type { FieldError } from "../contract/problem.ts";
import { AGENT, type Reader, render, say, type Text, toText, type Words } from "./text.ts";

export const FAILURE_KINDS = [
  "invalid_arguments",
  "not_configured",
  "unauthorized",
  "forbidden",
  "not_found",
  "conflict",
  "precondition_failed",
  "rate_limited",
  "rejected",
  "upstream_unavailable",
  "outcome_unknown",
  "contract_violation",
  "timeout",
  "cancelled",
  "unavailable",
  "internal",
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

export interface FailureFacts {
  readonly kind: FailureKind;
  /** States the failed step and the reason, in one or two sentences. */
  readonly message: Text;
  /** HTTP status of the API's response. */
  readonly status?: number;
  /** Present if the request itself was not sent: the API's token endpoint failed, or no connection to the API was made. */
  readonly at?: "token endpoint" | "connection";
  /** Problem code, or the playground's status value. */
  readonly code?: string;
  readonly requestId?: string;
  /** True if the same call may succeed when it is repeated. */
  readonly retryable: boolean;
  /** The effect of the failed step at the API. */
  readonly sideEffect: "none" | "done" | "unknown";
  /** The effects of all steps of a call that has several, in one or two sentences. It replaces the sentence about `sideEffect`. */
  readonly earlierSteps?: Text | undefined;
  readonly idempotencyKey?: string;
  readonly retryAfterSeconds?: number;
  readonly fieldErrors?: readonly FieldError[];
  /** The next step: an instruction, or a call and what it shows. Facts belong in `message`. */
  readonly next?: Text | undefined;
}

/** The same facts, with texts that are not yet parts. */
export interface FailureInput extends Omit<FailureFacts, "message" | "earlierSteps" | "next"> {
  readonly message: Words;
  readonly earlierSteps?: Words | undefined;
  readonly next?: Words | undefined;
}

const optionalText = (words: Words | undefined): Text | undefined => (words === undefined ? undefined : toText(words));

/**
 * An error that an agent can act on.
 *
 * Example: `throw new Failure({ kind: "not_found", message: say`No such job.`, retryable: false, sideEffect: "none" });`
 */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly facts: FailureFacts;

  constructor(facts: FailureInput, options?: ErrorOptions) {
    const message = toText(facts.message);
    super(render(message, AGENT), options);
    const { earlierSteps, next } = facts;
    this.facts = { ...facts, message, earlierSteps: optionalText(earlierSteps), next: optionalText(next) };
  }

  /** Returns the same failure with some facts replaced. */
  with(facts: Partial<FailureInput>): Failure {
    return new Failure({ ...this.facts, ...facts }, { cause: this.cause });
  }
}

/** The facts of a failure with rendered texts. */
export interface FailureReport extends Omit<FailureFacts, "message" | "earlierSteps" | "next"> {
  readonly message: string;
  readonly earlierSteps?: string | undefined;
  readonly next?: string | undefined;
}

/** Renders the texts of a failure. A text whose sentences are all omitted is absent. */
export function toReport(facts: FailureFacts, reader: Reader = AGENT): FailureReport {
  const renderOptional = (text: Text | undefined): string | undefined => (text && render(text, reader)) || undefined;
  const { message, earlierSteps, next } = facts;
  return {
    ...facts,
    message: render(message, reader),
    earlierSteps: renderOptional(earlierSteps),
    next: renderOptional(next),
  };
}

export const invalidArguments = (message: Words, fieldErrors: readonly FieldError[] = [], next?: Words): Failure =>
  new Failure({
    kind: "invalid_arguments",
    message,
    retryable: false,
    sideEffect: "none",
    ...(fieldErrors.length > 0 && { fieldErrors }),
    ...(next !== undefined && { next }),
  });

export const notConfigured = (message: Words, next: Words): Failure =>
  new Failure({ kind: "not_configured", message, retryable: false, sideEffect: "none", next });

export const forbidden = (message: Words, next: Words): Failure =>
  new Failure({ kind: "forbidden", message, retryable: false, sideEffect: "none", next });

/** Failure of a call or of one step whose signal was aborted, at its time limit or by the client. It changed nothing. */
export function abortFailure({ reason }: AbortSignal): Failure {
  const isTimeout = reason instanceof Error && reason.name === "TimeoutError";
  const [kind, message] = isTimeout
    ? (["timeout", say`The time limit of the call is over.`] as const)
    : (["cancelled", say`The call was canceled.`] as const);
  return new Failure({ kind, message, retryable: true, sideEffect: "none" });
}

/** Returns the code of a Node error, such as "EEXIST"; empty if it has none. */
export const errorCode = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

export const errorMessage = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
