// How anything that goes wrong is said inside the program: one error class whose facts an agent can act on.
// Names and meaning: docs/interface.md, "Failures". src/mcp/ turns it into what an agent reads.
import type { FieldError } from "../contract/problem.ts";
import { escapeText } from "./untrusted-text.ts";

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
  "internal",
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

export interface FailureFacts {
  readonly kind: FailureKind;
  /** What failed, in one or two sentences. */
  readonly message: string;
  /** HTTP status of the service's answer. */
  readonly status?: number;
  /** Problem code, or the playground's status value. */
  readonly code?: string;
  readonly requestId?: string;
  /** Repeating the very same call may succeed. */
  readonly retryable: boolean;
  /** What the failed step changed at the API. */
  readonly sideEffect: "none" | "done" | "unknown";
  /** What earlier steps of the same call did, in one or two sentences. */
  readonly earlierSteps?: string;
  readonly idempotencyKey?: string;
  readonly retryAfterSeconds?: number;
  readonly fieldErrors?: readonly FieldError[];
  /** What to do next, in one sentence. */
  readonly next?: string;
}

export class Failure extends Error {
  override readonly name = "Failure";
  readonly facts: FailureFacts;

  constructor(facts: FailureFacts, options?: ErrorOptions) {
    const message = escapeText(facts.message);
    super(message, options);
    // Sentences may quote a reason from elsewhere; the other facts are data.
    this.facts = { ...facts, message, ...(facts.next !== undefined && { next: escapeText(facts.next) }) };
  }

  /** The same failure with some facts replaced. */
  with(facts: Partial<FailureFacts>): Failure {
    return new Failure({ ...this.facts, ...facts }, { cause: this.cause });
  }
}

export const invalidArguments = (message: string, fieldErrors: readonly FieldError[] = [], next?: string): Failure =>
  new Failure({
    kind: "invalid_arguments",
    message,
    retryable: false,
    sideEffect: "none",
    ...(fieldErrors.length > 0 && { fieldErrors }),
    ...(next !== undefined && { next }),
  });

export const notConfigured = (message: string, next: string): Failure =>
  new Failure({ kind: "not_configured", message, retryable: false, sideEffect: "none", next });

/** The code that node gives an error ("EEXIST"); empty where it has none. */
export const errorCode = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

/** What was thrown, as text. */
export const errorMessage = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
