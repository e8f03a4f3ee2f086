// Formats figures as Markdown: medians over the rounds, and in brackets the median of each round's ratio to the reference.
import { type Figures, median } from "./measure.ts";

export interface Column {
  readonly name: string;
  readonly title: string;
  readonly digits: number;
  /** True for a rate: a higher value is better (default false). */
  readonly isRate?: true;
}

export type Results = ReadonlyMap<string, readonly Figures[]>;

const getValues = (rounds: readonly Figures[], name: string): readonly (number | undefined)[] =>
  rounds.map((figures) => figures[name]);

const finiteValues = (values: readonly (number | undefined)[]): readonly number[] =>
  values.filter((value) => value !== undefined && Number.isFinite(value)).map(Number);

/** Returns the ratio of the subject to the reference in each round that measured both. */
function ratiosOf(results: Results, subject: string, reference: string, name: string): readonly number[] {
  const subjectValues = getValues(results.get(subject) ?? [], name);
  const referenceValues = getValues(results.get(reference) ?? [], name);
  return finiteValues(
    subjectValues.map((value, round) => {
      const other = referenceValues[round];
      return value === undefined || other === undefined || other === 0 ? undefined : value / other;
    }),
  );
}

function formatCell(results: Results, subject: string, reference: string, { name, digits }: Column): string {
  const text = formatMedian(results, subject, { name, digits });
  const ratios = subject === reference ? [] : ratiosOf(results, subject, reference, name);
  return ratios.length === 0 ? text : `${text} (${median(ratios).toFixed(2)})`;
}

function formatMedian(results: Results, subject: string, { name, digits }: Omit<Column, "title">): string {
  const values = finiteValues(getValues(results.get(subject) ?? [], name));
  return values.length === 0 ? "" : median(values).toFixed(digits);
}

/** Formats what the subject costs in relation to the best of the alternatives: the median of the rounds, and the range. */
function formatCost(
  results: Results,
  subject: string,
  alternatives: readonly string[],
  { name, isRate }: Column,
): string {
  const costs = alternatives
    .map((other) => (isRate ? ratiosOf(results, other, subject, name) : ratiosOf(results, subject, other, name)))
    .filter((ratios) => ratios.length > 0)
    .sort((one, other) => median(other) - median(one))[0];
  if (costs === undefined) return "";
  const [least, most] = [Math.min(...costs).toFixed(2), Math.max(...costs).toFixed(2)];
  return least === most ? least : `${median(costs).toFixed(2)} (${least} to ${most})`;
}

export const formatMarkdownTable = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, index) => (index === 0 ? "---" : "---:")), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");

/** Formats one row for each metric, one column for each subject, and what `ours` costs in relation to the best alternative. */
export function formatComparison(
  results: Results,
  ours: string,
  alternatives: readonly string[],
  columns: readonly Column[],
): string {
  const subjects = [...results.keys()];
  const rows = columns.map((column) => [
    column.title,
    ...subjects.map((subject) => formatMedian(results, subject, column)),
    formatCost(results, ours, alternatives, column),
  ]);
  return formatMarkdownTable(["", ...subjects, "cost to the best alternative"], rows);
}

/** Formats one row for each metric and one column for each subject. */
export function formatResults(results: Results, reference: string, columns: readonly Column[]): string {
  const subjects = [...results.keys()];
  const rows = columns.map((column) => [
    column.title,
    ...subjects.map((subject) => formatCell(results, subject, reference, column)),
  ]);
  return formatMarkdownTable(["", ...subjects], rows);
}
