// Shows the result of show_divisions: states or districts as a table, bars and tiles. Coverage and vintage are always visible.
import { useState } from "preact/hooks";
import { toCsv } from "./divisions/csv.ts";
import { ExportButton } from "./divisions/export-button.tsx";
import {
  type Column,
  type Divisions,
  divisionsOf,
  type Figure,
  filterAndSortRows,
  isMissing,
  NOT_LISTED,
  type SortOrder,
} from "./divisions/model.ts";
import { type Heading, Table } from "./divisions/table.tsx";
import { TileGrid } from "./divisions/tile-grid.tsx";
import "./divisions.css";
import { formatDay, formatNumber, formatTime } from "./host-context.ts";
import { type Fields, numberOf, reasonOf } from "./values.ts";
import { mount, Problem, type ViewProps } from "./view.tsx";

const HEADINGS: Readonly<Record<Divisions["level"], readonly Heading[]>> = {
  state: [
    { column: "name", text: "State" },
    { column: "districtCount", text: "Districts" },
    { column: "mandalsPerDistrict", text: "Per district" },
    { column: "mandalCount", text: "Mandals" },
  ],
  district: [
    { column: "name", text: "District" },
    { column: "stateName", text: "State" },
    { column: "mandalCount", text: "Mandals" },
  ],
};

const FIGURE_LABELS: Readonly<Record<Figure, string>> = {
  mandalCount: "mandals",
  districtCount: "districts",
  mandalsPerDistrict: "mandals per district",
};

const figureOf = (column: Column, before: Figure): Figure =>
  column === "name" || column === "stateName" ? before : column;

const TOTALS = [
  ["mandals", "Mandals"],
  ["districts", "Districts"],
  ["max", "Most"],
  ["median", "Median"],
  ["mean", "Mean"],
  ["min", "Fewest"],
] as const;

function Totals({ totals }: Pick<Divisions, "totals">) {
  const known = TOTALS.flatMap(([name, text]) => {
    const value = numberOf(totals[name]);
    // A smallest count of 0 is missing data.
    return value === undefined || (name === "min" && value === 0) ? [] : [{ name, text, value }];
  });
  return (
    <dl class="totals">
      {known.map(({ name, text, value }) => (
        <div key={name}>
          <dt>{text}</dt>
          <dd>{formatNumber(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Vintage({ divisions }: { readonly divisions: Divisions }) {
  const { coverage, isComplete, sourceDays, isFallback, readAt } = divisions;
  return (
    <ul class="vintage">
      <li class={isComplete ? "" : "wait"}>
        Coverage: {coverage}, {isComplete ? "complete" : "not complete"}
      </li>
      <li>Source updated {sourceDays.length === 0 ? "at a time not stated" : sourceDays.map(formatDay).join(", ")}</li>
      {isFallback && <li class="wait">In part from a fallback source</li>}
      <li>Read {formatTime(readAt)}</li>
    </ul>
  );
}

/** Reads the missing data with the arguments that the result advises, which include the longest wait. */
function ReadMissing({ args, refresh }: { readonly args: Fields; readonly refresh: ViewProps["refresh"] }) {
  const [state, setState] = useState<"idle" | "reading" | { readonly why: string }>("idle");
  async function read(): Promise<void> {
    setState("reading");
    const result = await refresh(args).catch((error: unknown) => ({ isError: true, text: reasonOf(error) }));
    setState(result.isError ? { why: result.text } : "idle");
  }
  return (
    <>
      <button type="button" aria-disabled={state === "reading"} onClick={() => state !== "reading" && void read()}>
        {state === "reading" ? "Reading …" : "Read the missing lists"}
      </button>
      {typeof state === "object" && <Problem text={state.why} onTryAgain={() => void read()} />}
    </>
  );
}

/** More rows are shown after a click on "Show all". */
const FIRST_ROWS = 20;

function DivisionsView({ result, host, refresh }: ViewProps) {
  const [filter, setFilter] = useState("");
  const [sorting, setSorting] = useState<SortOrder>({ by: "mandalCount", isDescending: true });
  const [showsAll, setShowsAll] = useState(false);
  const [barBy, setBarBy] = useState<Figure>("mandalCount");
  const divisions = divisionsOf(result);
  if (divisions === undefined)
    return <Problem text="This result does not contain divisions: the host sent something else." />;
  const { level, rows, totalRows, totals, consistency, isComplete, missing } = divisions;
  const shown = filterAndSortRows(rows, filter, sorting);
  const visible = showsAll || filter !== "" ? shown : shown.slice(0, FIRST_ROWS);
  const headings = HEADINGS[level];
  const title = `${level === "state" ? "States" : "Districts"} by ${FIGURE_LABELS[barBy]}`;
  const counted = `${formatNumber(shown.length)} of ${formatNumber(totalRows)}`;
  const { nextStep } = result;

  function sortBy(column: Column): void {
    setBarBy(figureOf(column, barBy));
    const isText = column === "name" || column === "stateName";
    setSorting({ by: column, isDescending: sorting.by === column ? !sorting.isDescending : !isText });
  }

  return (
    <>
      <header>
        <h1>{title}</h1>
        <span class="muted" role="status">
          {counted}
        </span>
      </header>
      {missing.length > 0 && (
        <div class="missing wait">
          <p>Missing: {missing.join("; ")}</p>
          {host?.can("serverTools") && nextStep?.tool === "show_divisions" && (
            <ReadMissing args={nextStep.arguments} refresh={refresh} />
          )}
        </div>
      )}
      <div class="top">
        <div class="facts">
          <Totals totals={totals} />
          {(totals["min"] === 0 || rows.some((row) => isMissing(row, "mandalCount"))) && (
            <p class="muted">The catalog lists no mandals for some of them ({NOT_LISTED}).</p>
          )}
          <Vintage divisions={divisions} />
          {consistency.length > 0 && (
            <ul class="wait">
              {consistency.map((sentence) => (
                <li key={sentence}>{sentence}</li>
              ))}
            </ul>
          )}
        </div>
        {level === "state" && <TileGrid rows={shown} all={rows} by={barBy} figureLabel={FIGURE_LABELS[barBy]} />}
      </div>
      <div class="tools">
        <label>
          Filter{" "}
          <input
            type="search"
            value={filter}
            onInput={({ currentTarget }) => setFilter(currentTarget.value)}
            autocomplete="off"
          />
        </label>
        <ExportButton
          csv={() =>
            toCsv(
              divisions,
              shown,
              headings.map(({ column }) => column),
            )
          }
          file={`${level}s.csv`}
          host={host}
        />
      </div>
      {shown.length === 0 ? (
        <p class="muted">{rows.length === 0 ? "There are no rows." : "No name matches the filter."}</p>
      ) : (
        <Table
          headings={headings}
          rows={visible}
          sorting={sorting}
          barBy={barBy}
          largest={Math.max(...rows.map(({ figures }) => figures[barBy]))}
          caption={`${title}, ${counted}${isComplete ? "" : ", not complete"}`}
          onSort={sortBy}
        />
      )}
      {visible.length < shown.length && (
        <button type="button" class="show-all" onClick={() => setShowsAll(true)}>
          Show all {formatNumber(shown.length)}
        </button>
      )}
    </>
  );
}

mount({ tool: "show_divisions", label: "the divisions", Body: DivisionsView });
