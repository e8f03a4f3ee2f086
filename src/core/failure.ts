// Defines the error class of the program, whose facts an agent can act on (docs/interface.md, "Failures").
import type { FieldError } from "../contract/problem.ts";
import { AGENT, type Reader, raw, render, say, type Text } from "./text.ts";

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

/** A field that the API or this program refuses. A string is the API's message, a text our own. */
export interface FieldIssue extends Omit<FieldError, "message"> {
  readonly message: string | Text;
}

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
  readonly fieldErrors?: readonly FieldIssue[];
  /** The next step: an instruction, or a call and what it shows. Facts belong in `message`. */
  readonly next?: Text | undefined;
}

/**
 * An error that an agent can act on.
 *
 * Example: `throw new Failure({ kind: "not_found", message: say`No such job.`, retryable: false, sideEffect: "none" });`
 */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly facts: FailureFacts;

  constructor(facts: FailureFacts, options?: ErrorOptions) {
    super(render(facts.message, AGENT), options);
    this.facts = facts;
  }

  /** Returns the same failure with some facts replaced. */
  with(facts: Partial<FailureFacts>): Failure {
    return new Failure({ ...this.facts, ...facts }, { cause: this.cause });
  }
}

/** The facts of a failure with rendered texts. */
export interface FailureReport extends Omit<FailureFacts, "message" | "earlierSteps" | "next" | "fieldErrors"> {
  readonly message: string;
  readonly fieldErrors?: readonly FieldError[] | undefined;
  readonly earlierSteps?: string | undefined;
  readonly next?: string | undefined;
}

const toMessage = ({ message }: FieldIssue, reader: Reader): string =>
  typeof message === "string" ? message : render(message, reader);

/** Renders the texts of a failure. A text whose sentences are all omitted is absent. */
export function toReport(facts: FailureFacts, reader: Reader = AGENT): FailureReport {
  const renderOptional = (text: Text | undefined): string | undefined => (text && render(text, reader)) || undefined;
  const { message, earlierSteps, next, fieldErrors } = facts;
  return {
    ...facts,
    message: render(message, reader),
    fieldErrors: fieldErrors?.map((issue) => ({ ...issue, message: toMessage(issue, reader) })),
    earlierSteps: renderOptional(earlierSteps),
    next: renderOptional(next),
  };
}

/** A refusal by this program. The messages of `fieldErrors` are our own. */
export const invalidArguments = (message: Text, fieldErrors: readonly FieldIssue[] = [], next?: Text): Failure =>
  new Failure({
    kind: "invalid_arguments",
    message,
    retryable: false,
    sideEffect: "none",
    ...(fieldErrors.length > 0 && {
      fieldErrors: fieldErrors.map(({ message: text, ...field }) => ({
        ...field,
        message: typeof text === "string" ? say`${raw(text)}` : text,
      })),
    }),
    ...(next !== undefined && { next }),
  });

/** Returns undefined instead of a failure of one of these kinds. Throws any other error. */
export const unlessFailed = <T>(result: Promise<T>, ...kinds: readonly FailureKind[]): Promise<T | undefined> =>
  result.catch((error: unknown) => {
    if (error instanceof Failure && kinds.includes(error.facts.kind)) return undefined;
    throw error;
  });

export const notConfigured = (message: Text, next: Text): Failure =>
  new Failure({ kind: "not_configured", message, retryable: false, sideEffect: "none", next });

export const forbidden = (message: Text, next: Text): Failure =>
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
