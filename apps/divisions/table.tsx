// Shows the rows as a table with headings that sort it, and a bar for the figure that it was last sorted by.
import { formatNumber } from "../host-context.ts";
import { type Column, type Figure, isMissing, NOT_LISTED, type Row, type SortOrder } from "./model.ts";

export interface Heading {
  readonly column: Column;
  readonly text: string;
}

const isFigure = (column: Column): column is Figure => column !== "name" && column !== "stateName";

function Head({ column, text, sorting, onSort }: Heading & Pick<Props, "sorting" | "onSort">) {
  const isSorted = sorting.by === column;
  // The arrow stays in the line of the last word.
  const [, before = "", lastWord = text] = /^(.* )(\S+)$/.exec(text) ?? [];
  return (
    <th
      scope="col"
      class={isFigure(column) ? "figure" : ""}
      aria-sort={isSorted ? (sorting.isDescending ? "descending" : "ascending") : "none"}
    >
      <button type="button" class="sort" onClick={() => onSort(column)}>
        {before}
        <span class="unbroken">
          {lastWord}
          <span class="arrow" aria-hidden="true">
            {isSorted ? (sorting.isDescending ? "▼" : "▲") : ""}
          </span>
        </span>
      </button>
    </th>
  );
}

interface Props {
  readonly headings: readonly Heading[];
  readonly rows: readonly Row[];
  readonly sorting: SortOrder;
  readonly barBy: Figure;
  /** The largest figure of all rows, shown or not. */
  readonly largest: number;
  readonly caption: string;
  onSort(column: Column): void;
}

export function Table({ headings, rows, sorting, barBy, largest, caption, onSort }: Props) {
  return (
    <table class="divisions">
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr>
          {headings.map((heading) => (
            <Head key={heading.column} {...heading} sorting={sorting} onSort={onSort} />
          ))}
          <td class="bars" />
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.code}>
            {headings.map(({ column }) =>
              isFigure(column) ? (
                <td key={column} class="figure">
                  {isMissing(row, column)
                    ? NOT_LISTED
                    : formatNumber(row.figures[column], column === "mandalsPerDistrict" ? 2 : 0)}
                </td>
              ) : (
                <td key={column} class={headings.length === 3 && column === "name" ? "text long" : "text"}>
                  {row[column]}
                </td>
              ),
            )}
            <td class="bars">
              <span class="bar" style={{ width: `${largest > 0 ? (100 * row.figures[barBy]) / largest : 0}%` }} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
