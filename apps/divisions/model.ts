// Reads states or districts from a result, and sorts and filters them for the view.
import type { Coverage, MissingStateGroup, Vintage } from "../../src/geography/country.ts";
import type { DivisionRow } from "../../src/geography/rank.ts";
import type { ShownDivisions } from "../../tools/show-divisions.ts";
import { type Fields, fieldsOf, isFields, listOf, numberOf, type ToolResult, textOf, textsOf } from "../values.ts";

export type Figure = "mandalCount" | "districtCount" | "mandalsPerDistrict";
export type Column = "name" | "stateName" | Figure;

export interface Row {
  /** The code of the state or the district. */
  readonly code: string;
  readonly name: string;
  /** The state of a district; empty for a state. */
  readonly stateName: string;
  readonly figures: Readonly<Record<Figure, number>>;
}

/** Shown instead of a figure of 0, because the catalog does not list the mandals of every place. */
export const NOT_LISTED = "–";

/** Returns whether the figure is 0 because the catalog lists no mandals. */
export const isMissing = ({ figures }: Row, figure: Figure): boolean =>
  figure !== "districtCount" && figures.mandalCount === 0;

export interface Divisions {
  readonly level: "state" | "district";
  readonly rows: readonly Row[];
  readonly totalRows: number;
  readonly totals: Fields;
  readonly consistency: readonly string[];
  readonly coverage: string;
  readonly isComplete: boolean;
  readonly missing: readonly string[];
  readonly sourceDays: readonly string[];
  readonly isFallback: boolean;
  readonly readAt: string;
}

function rowOf(value: unknown): Row {
  const { code, districtCode, name, stateName, mandalCount, districtCount, mandalsPerDistrict } =
    fieldsOf<DivisionRow>(value);
  return {
    code: textOf(code) || String(districtCode ?? ""),
    name: textOf(name),
    stateName: textOf(stateName),
    figures: {
      mandalCount: numberOf(mandalCount) ?? 0,
      districtCount: numberOf(districtCount) ?? 0,
      mandalsPerDistrict: numberOf(mandalsPerDistrict) ?? 0,
    },
  };
}

function describeMissing(value: unknown): string {
  const { states, more, reason } = fieldsOf<MissingStateGroup>(value);
  const named = [...textsOf(states), ...(numberOf(more) === undefined ? [] : [`${more} more`])];
  return `${named.join(", ")}: ${textOf(reason)}`;
}

/** Undefined if the result contains no rows of divisions: it is from another tool, or the host invented it. */
export function divisionsOf({ structured }: ToolResult): Divisions | undefined {
  const shown = fieldsOf<ShownDivisions>(structured);
  const { rows, totalRows, totals, consistency, level } = shown;
  if (!Array.isArray(rows) || !rows.every(isFields)) return undefined;
  const coverage = fieldsOf<Coverage>(shown.coverage);
  const vintage = fieldsOf<Vintage>(shown.vintage);
  return {
    level: rows.some((row) => "districtCode" in row) || level === "district" ? "district" : "state",
    rows: rows.map(rowOf),
    totalRows: numberOf(totalRows) ?? rows.length,
    totals: fieldsOf(totals),
    consistency: textsOf(consistency),
    coverage: `${numberOf(coverage.statesRead) ?? "?"} of ${numberOf(coverage.statesTotal) ?? "?"} states`,
    isComplete: coverage.complete === true,
    missing: listOf(coverage.missing).map(describeMissing),
    sourceDays: textsOf(vintage.sourceUpdatedAt),
    isFallback: vintage.fallbackUsed === "some" || vintage.fallbackUsed === "all",
    readAt: textOf(fieldsOf<Vintage["readAt"]>(vintage.readAt).newest),
  };
}

export interface SortOrder {
  readonly by: Column;
  readonly isDescending: boolean;
}

/** Removes case, accents and punctuation, so that texts can be compared. */
export const foldText = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(/[^\p{L}\p{N} ]/gu, "")
    .toLowerCase();

export function filterAndSortRows(
  rows: readonly Row[],
  filter: string,
  { by, isDescending }: SortOrder,
): readonly Row[] {
  const wanted = foldText(filter).trim();
  const fits = ({ name, code, stateName }: Row) =>
    [name, code, stateName].some((text) => foldText(text).includes(wanted));
  const compare = (a: Row, b: Row): number =>
    by === "name" || by === "stateName" ? a[by].localeCompare(b[by]) : a.figures[by] - b.figures[by];
  const sign = isDescending ? -1 : 1;
  return rows.filter(fits).sort((a, b) => sign * compare(a, b) || a.name.localeCompare(b.name));
}
