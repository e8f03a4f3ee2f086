// Formats figures as Markdown: medians over the rounds, and in brackets the median of each round's ratio to the reference.
import { type Figures, median } from "./measure.ts";

export interface Column {
  readonly name: string;
  readonly title: string;
  readonly digits: number;
}

export type Results = ReadonlyMap<string, readonly Figures[]>;

const getValues = (rounds: readonly Figures[], name: string): readonly (number | undefined)[] =>
  rounds.map((figures) => figures[name]);

const finiteValues = (values: readonly (number | undefined)[]): readonly number[] =>
  values.filter((value) => value !== undefined && Number.isFinite(value)).map(Number);

export function medianRatio(results: Results, subject: string, reference: string, name: string): number | undefined {
  const subjectValues = getValues(results.get(subject) ?? [], name);
  const referenceValues = getValues(results.get(reference) ?? [], name);
  const ratios = finiteValues(
    subjectValues.map((value, round) => {
      const other = referenceValues[round];
      return value === undefined || other === undefined || other === 0 ? undefined : value / other;
    }),
  );
  return ratios.length === 0 ? undefined : median(ratios);
}

function formatCell(results: Results, subject: string, reference: string, { name, digits }: Column): string {
  const values = finiteValues(getValues(results.get(subject) ?? [], name));
  if (values.length === 0) return "";
  const text = median(values).toFixed(digits);
  const ratioToReference = subject === reference ? undefined : medianRatio(results, subject, reference, name);
  return ratioToReference === undefined ? text : `${text} (${ratioToReference.toFixed(2)})`;
}

export const formatMarkdownTable = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, index) => (index === 0 ? "---" : "---:")), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");

/** Formats one row for each metric and one column for each subject. */
export function formatResults(results: Results, reference: string, columns: readonly Column[]): string {
  const subjects = [...results.keys()];
  const rows = columns.map((column) => [
    column.title,
    ...subjects.map((subject) => formatCell(results, subject, reference, column)),
  ]);
  return formatMarkdownTable(["", ...subjects], rows);
}
