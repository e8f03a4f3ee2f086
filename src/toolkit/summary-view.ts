// This module builds the summary view of resources, which omits nulls, empty lists, usual values and fractions of seconds.
// `view: "full"` returns all fields of the contract instead (docs/interface.md, "Results").
import type { Problem } from "../contract/problem.ts";
import type { FieldIssue } from "../core/failure.ts";
import { ask, type Interpolated, join, own, type Part, quoted, say, type Text } from "../core/text.ts";

type SummaryFields = Readonly<Record<string, unknown>>;

const INSTANT_FIELD = /(?:At|windowStart|windowEnd)$/;

/** Removes fractions of seconds: the steps of an agent are at least a second apart. */
export const truncateToSeconds = (instant: string): string => instant.replace(/\.\d+(?=Z|[+-]\d\d:\d\d$)/, "");

/** Formats "3 of 9". */
export const outOf = (part: Interpolated, whole: Interpolated): Text => say`${part} of ${whole}`;

export const isNullOrEmptyList = (value: unknown): boolean =>
  value === null || (Array.isArray(value) && value.length === 0);

/** `usualValues`: those of the contract's fields; a field that has its usual value is omitted. */
export function toSummaryFields<T extends object>(resource: T, usualValues: Partial<T> = {}): SummaryFields {
  const kept: Record<string, unknown> = {};
  const defaults: SummaryFields = { ...usualValues };
  for (const [name, value] of Object.entries(resource))
    if (!isNullOrEmptyList(value) && defaults[name] !== value)
      kept[name] = typeof value === "string" && INSTANT_FIELD.test(name) ? truncateToSeconds(value) : value;
  return kept;
}

/** Returns the summary of only these fields. */
export const pickSummaryFields = <T extends object>(
  resource: T,
  names: readonly (keyof T)[],
  defaults?: Partial<T>,
): SummaryFields =>
  Object.fromEntries(
    Object.entries(toSummaryFields(resource, defaults)).filter(([name]) => names.some((each) => each === name)),
  );

/** Rows, and separately the fields that are equal in all of them. A single row has no shared fields. */
export interface SharedRows {
  readonly common?: SummaryFields;
  readonly rows: readonly SummaryFields[];
}

export function extractSharedFields(rows: readonly SummaryFields[]): SharedRows {
  const [first, ...others] = rows;
  if (first === undefined || others.length === 0) return { rows };
  const same = (name: string, value: unknown) =>
    others.every((row) => JSON.stringify(row[name]) === JSON.stringify(value));
  const shared = Object.fromEntries(Object.entries(first).filter(([name, value]) => same(name, value)));
  const rest = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !(name in shared))));
  return { ...(Object.keys(shared).length > 0 && { common: shared }), rows: rest };
}

/** Returns the code, `retryable` and the field errors of a failure. Its title is in the summary sentence. */
export const toFailureSummary = (failure: Problem | null): SummaryFields =>
  failure === null ? {} : { failure: pickSummaryFields(failure, ["code", "retryable", "fieldErrors"]) };

/** Returns the code and the quoted title of a problem. Its field errors are in `data.failure`. */
export const problemName = ({ code, title }: Problem): Text => say`${code} ${quoted(title)}`;

/** Names the place of a field error. */
export const pointerText = (pointer: string): Text => say`${pointer === "" ? own("the whole") : pointer}`;

/** The API's messages are quoted. */
const messagePart = (message: FieldIssue["message"]): Part | Text =>
  typeof message === "string" ? quoted(message) : message;

const MAX_FIELDS = 3;

/** Returns the first three field errors, without the pointer to the only input of a job; an empty text if there are none. */
export function fieldErrorsText(fieldErrors: readonly FieldIssue[], omitsInput = false): Text {
  const shown = fieldErrors
    .slice(0, MAX_FIELDS)
    .map(({ pointer, message }) =>
      omitsInput && pointer.startsWith("/inputBindings/")
        ? messagePart(message)
        : say`${pointerText(pointer)}: ${messagePart(message)}`,
    );
  const more = fieldErrors.length - shown.length;
  return join([...shown, more > 0 && say`${more} more`], "; ");
}

/** Returns the code, the quoted title and the first three field errors of a problem. */
export const problemText = (problem: Problem): Text =>
  say`${problemName(problem)}${problem.fieldErrors.length > 0 && say` (${fieldErrorsText(problem.fieldErrors)})`}`;

/** Names the failure of a resource whose state should have none (open question 17); otherwise returns undefined. */
export const unexpectedFailureText = ({
  state,
  failure,
}: {
  readonly state: string;
  readonly failure: Problem | null;
}): Text | undefined =>
  state === "FAILED" || failure === null ? undefined : say`The service also names a failure: ${problemName(failure)}.`;

/** States that code cannot decide by the state. `state` is a name without blanks (`UNLISTED_VALUE`). */
export const unlistedText = (state: string): Text =>
  say`The state ${state} is not in the contract, so it is not known what follows. ${ask("Look")} it up with the API's operator.`;
