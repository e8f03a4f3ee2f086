// Resources without what tells an agent nothing: nulls, empty lists, what is always or usually so, fractions of seconds.
// `view: "full"` gives the contract's whole instead (docs/interface.md, "Results").
import type { Problem } from "../contract/problem.ts";
import { formatToken, quote } from "../core/untrusted-text.ts";

type SummaryFields = Readonly<Record<string, unknown>>;

const INSTANT_FIELD = /(?:At|windowStart|windowEnd)$/;

/** To the second: an agent reads it, and no two of its steps are nearer. */
export const truncateToSeconds = (instant: string): string => instant.replace(/\.\d+(?=Z|[+-]\d\d:\d\d$)/, "");

export const isNullOrEmptyList = (value: unknown): boolean =>
  value === null || (Array.isArray(value) && value.length === 0);

/** `usual`: fields that go where they have just this value. A field has a name of the contract's. */
export function toSummaryFields(resource: object, defaults: SummaryFields = {}): SummaryFields {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(resource))
    if (!isNullOrEmptyList(value) && defaults[name] !== value)
      kept[name] = typeof value === "string" && INSTANT_FIELD.test(name) ? truncateToSeconds(value) : value;
  return kept;
}

/** Only these fields, lean. */
export const pickSummaryFields = (
  resource: object,
  names: readonly string[],
  defaults?: SummaryFields,
): SummaryFields =>
  toSummaryFields(Object.fromEntries(Object.entries(resource).filter(([name]) => names.includes(name))), defaults);

/** Rows with what all of them share said once; a single row shares nothing. */
export interface SharedRows {
  readonly inAll?: SummaryFields;
  readonly rows: readonly SummaryFields[];
}

export function extractSharedFields(rows: readonly SummaryFields[]): SharedRows {
  const [first, ...others] = rows;
  if (first === undefined || others.length === 0) return { rows };
  const same = (name: string, value: unknown) =>
    others.every((row) => JSON.stringify(row[name]) === JSON.stringify(value));
  const shared = Object.fromEntries(Object.entries(first).filter(([name, value]) => same(name, value)));
  const rest = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !(name in shared))));
  return { ...(Object.keys(shared).length > 0 && { inAll: shared }), rows: rest };
}

/** A failure: its title stands in the summary, what is wrong with which field stands here. */
export const toFailureSummary = (failure: Problem | null): SummaryFields =>
  failure === null ? {} : { failure: pickSummaryFields(failure, ["code", "retryable", "fieldErrors"]) };

/** A failure in a few words; what is wrong with which field stands beside them, in `data.failure`. */
export const problemName = ({ code, title }: Problem): string => `${formatToken(code)} ${quote(title)}`;

/** A failure in words: code, quoted title, and the first field errors. */
export function problemText(problem: Problem): string {
  const fields = problem.fieldErrors
    .slice(0, 3)
    .map(({ pointer, message }) => `${pointer === "" ? "the whole" : formatToken(pointer)}: ${quote(message)}`);
  const more = problem.fieldErrors.length - fields.length;
  const where = fields.length === 0 ? "" : ` (${fields.join("; ")}${more > 0 ? `; ${more} more` : ""})`;
  return `${problemName(problem)}${where}`;
}

/** A failure beside a state that should have none (doubt 17), as a sentence; else nothing. */
export const unexpectedFailureText = ({
  state,
  failure,
}: {
  readonly state: string;
  readonly failure: Problem | null;
}): string =>
  state === "FAILED" || failure === null ? "" : ` The service names a failure all the same: ${problemName(failure)}.`;
