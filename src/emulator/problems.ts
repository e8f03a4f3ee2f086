// Defines the errors of the job-processing API, thrown if a rule is broken and sent as a Problem (docs/contract.md, 7.2; RFC 9457).
import { type FieldError, MAX_FIELD_ERRORS, type Problem } from "../contract/problem.ts";
import { PROBLEMS, type ProblemCode, problemType } from "./assumptions.ts";

const MAX_POINTER = 512;
const MAX_MESSAGE = 1000;

/** Thrown before anything was changed. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly code: ProblemCode;
  readonly status: number;
  readonly fieldErrors: readonly FieldError[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ProblemCode, details: Partial<Pick<ProblemError, "fieldErrors" | "headers">> = {}) {
    super(PROBLEMS[code].title);
    this.code = code;
    this.status = PROBLEMS[code].status;
    this.fieldErrors = details.fieldErrors ?? [];
    this.headers = details.headers ?? {};
  }
}

export const createFieldProblem = (
  code: ProblemCode,
  pointer: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): ProblemError => new ProblemError(code, { fieldErrors: [{ pointer, code, message }], headers });

const truncate = (text: string, max: number): string => {
  const points = [...text];
  return points.length <= max ? text : `${points.slice(0, max - 1).join("")}…`;
};

/** Enforces the bounds of section 2.2: a pointer that is too long is shortened to the nearest ancestor that fits. */
function limitFieldError({ pointer, code, message }: FieldError): FieldError {
  let shortened = pointer;
  while ([...shortened].length > MAX_POINTER) shortened = shortened.slice(0, shortened.lastIndexOf("/"));
  return { pointer: shortened, code, message: truncate(message, MAX_MESSAGE) };
}

export const createProblem = (
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
  fieldErrors: fieldErrors.slice(0, MAX_FIELD_ERRORS).map(limitFieldError),
});

export const toProblem = (refusal: ProblemError, requestId: string): Problem =>
  createProblem(PROBLEMS[refusal.code], refusal.code, requestId, refusal.fieldErrors);
