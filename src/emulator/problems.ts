// Refusals of the job-processing API: thrown where a rule is broken, sent as a Problem (docs/contract.md, 7.2, RFC 9457).
import type { FieldError, Problem } from "../contract/problem.ts";
import { PROBLEMS, type ProblemCode, problemType } from "./assumptions.ts";

const MAX_FIELD_ERRORS = 100;
const MAX_POINTER = 512;
const MAX_MESSAGE = 1000;

export interface RefusalDetails {
  readonly fieldErrors?: readonly FieldError[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Nothing was done. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: ProblemCode;
  readonly status: number;
  readonly fieldErrors: readonly FieldError[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ProblemCode, details: RefusalDetails = {}) {
    super(PROBLEMS[code].title);
    this.code = code;
    this.status = PROBLEMS[code].status;
    this.fieldErrors = details.fieldErrors ?? [];
    this.headers = details.headers ?? {};
  }
}

/** A refusal that concerns one field. */
export const refuseField = (
  code: ProblemCode,
  pointer: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Refusal => new Refusal(code, { fieldErrors: [{ pointer, code, message }], headers });

const cut = (text: string, max: number): string => {
  const points = [...text];
  return points.length <= max ? text : `${points.slice(0, max - 1).join("")}…`;
};

/** Held to the bounds of section 2.2: a pointer too long to give is cut back to its parent. */
function withinBounds({ pointer, code, message }: FieldError): FieldError {
  let kept = pointer;
  while ([...kept].length > MAX_POINTER) kept = kept.slice(0, kept.lastIndexOf("/"));
  return { pointer: kept, code, message: cut(message, MAX_MESSAGE) };
}

export const makeProblem = (
  { status, title, retryable }: { status: number; title: string; retryable: boolean },
  code: string,
  requestId: string,
  fieldErrors: readonly FieldError[] = [],
): Problem => ({
  type: problemType(code),
  title,
  status,
  code,
  requestId,
  retryable,
  fieldErrors: fieldErrors.slice(0, MAX_FIELD_ERRORS).map(withinBounds),
});

export const problemOf = (refusal: Refusal, requestId: string): Problem =>
  makeProblem(PROBLEMS[refusal.code], refusal.code, requestId, refusal.fieldErrors);
