// Figures as Markdown: medians over the rounds, and in brackets the median of each round's ratio to the reference.
import { type Figures, median } from "./measure.ts";

export interface Column {
  readonly name: string;
  readonly title: string;
  readonly digits: number;
}

export type Results = ReadonlyMap<string, readonly Figures[]>;

const valuesOf = (rounds: readonly Figures[], name: string): readonly (number | undefined)[] =>
  rounds.map((figures) => figures[name]);

const known = (values: readonly (number | undefined)[]): readonly number[] =>
  values.filter((value) => value !== undefined && Number.isFinite(value)).map(Number);

export function ratio(results: Results, subject: string, reference: string, name: string): number | undefined {
  const mine = valuesOf(results.get(subject) ?? [], name);
  const theirs = valuesOf(results.get(reference) ?? [], name);
  const ratios = known(
    mine.map((value, round) => {
      const other = theirs[round];
      return value === undefined || other === undefined || other === 0 ? undefined : value / other;
    }),
  );
  return ratios.length === 0 ? undefined : median(ratios);
}

function cell(results: Results, subject: string, reference: string, { name, digits }: Column): string {
  const values = known(valuesOf(results.get(subject) ?? [], name));
  if (values.length === 0) return "";
  const text = median(values).toFixed(digits);
  const against = subject === reference ? undefined : ratio(results, subject, reference, name);
  return against === undefined ? text : `${text} (${against.toFixed(2)})`;
}

export const markdown = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, index) => (index === 0 ? "---" : "---:")), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");

/** One row for each metric, one column for each subject. */
export function resultTable(results: Results, reference: string, columns: readonly Column[]): string {
  const subjects = [...results.keys()];
  const rows = columns.map((column) => [
    column.title,
    ...subjects.map((subject) => cell(results, subject, reference, column)),
  ]);
  return markdown(["", ...subjects], rows);
}
