// Ranking states or districts, exactly: which lists an answer needs, its rows, and totals over all rows that fit.
import type { State } from "../contract/playground.ts";
import { totalsHold } from "./consistency.ts";
import type { Country, Needs } from "./country.ts";
import { type DistrictRow, districtRows } from "./districts.ts";
import { fold } from "./names/fold.ts";

export type Figure = "mandalCount" | "districtCount" | "mandalsPerDistrict";

export interface RankingQuery {
  readonly by: Figure | "name";
  readonly order: "asc" | "desc";
  /** Rows of one page; all of them when absent. */
  readonly limit?: number | undefined;
  /** Rows before the page. */
  readonly offset?: number | undefined;
  /** So many districts of each state, at most. */
  readonly perState?: number | undefined;
  /** Names that begin so, whatever their case and accents. */
  readonly startsWith?: string | undefined;
  /** Bounds on the figure ranked by. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

export interface Totals {
  readonly districts: number;
  readonly mandals: number;
  /** Of the figure ranked by (mandalCount when by name); each absent where it is not known. */
  readonly min?: number;
  readonly median?: number;
  readonly mean?: number;
  readonly max?: number;
}

export interface Ranking<R> {
  readonly rows: readonly R[];
  /** Rows that fit (with perState the first of each state), on all pages. */
  readonly totalRows: number;
  readonly totals: Totals;
  /** No list that was left unread could change rows or totalRows. */
  readonly exact: boolean;
}

export interface StateRow {
  readonly code: string;
  readonly name: string;
  readonly districtCount: number;
  readonly mandalCount: number;
  readonly mandalsPerDistrict: number;
}

/** Two decimals: what is shown is what is compared. */
const round = (value: number): number => Math.round(value * 100) / 100;

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

function medianOf(sorted: readonly number[]): number {
  const middle = sorted.slice(Math.floor((sorted.length - 1) / 2), Math.floor(sorted.length / 2) + 1);
  return round(sumOf(middle) / middle.length);
}

function spreadOf(values: readonly number[]): Pick<Totals, "min" | "median" | "mean" | "max"> {
  const sorted = [...values].sort((a, b) => a - b);
  const [min] = sorted;
  const max = sorted.at(-1);
  if (min === undefined || max === undefined) return {};
  return { min, median: medianOf(sorted), mean: round(sumOf(sorted) / sorted.length), max };
}

/** Where the page ends. */
const endOf = ({ offset = 0, limit = Number.POSITIVE_INFINITY }: RankingQuery): number => offset + limit;

const pageOf = <R>(rows: readonly R[], order: RankingQuery): readonly R[] =>
  rows.slice(order.offset ?? 0, endOf(order));

/** Whether a row meets the bounds and begins as asked. */
function fitting({ min, max, startsWith = "" }: RankingQuery): (value: number, name: string) => boolean {
  const beginning = fold(startsWith);
  return (value, name) =>
    value >= (min ?? Number.NEGATIVE_INFINITY) &&
    value <= (max ?? Number.POSITIVE_INFINITY) &&
    (beginning === "" || fold(name).startsWith(beginning));
}

function sorted<R extends { readonly name: string }>(
  rows: readonly R[],
  { by, order }: RankingQuery,
  figureOf: (row: R) => number,
  codeOf: (row: R) => string,
): readonly R[] {
  const sign = order === "asc" ? 1 : -1;
  const keyed = rows.map((row) => ({ row, name: fold(row.name), figure: figureOf(row), code: codeOf(row) }));
  const byName = (a: (typeof keyed)[number], b: (typeof keyed)[number]): number =>
    a.name === b.name ? (a.code < b.code ? -1 : 1) : a.name < b.name ? -1 : 1;
  keyed.sort((a, b) => (by === "name" ? sign * byName(a, b) : sign * (a.figure - b.figure) || byName(a, b)));
  return keyed.map(({ row }) => row);
}

export function rankStates(states: readonly State[], order: RankingQuery): Ranking<StateRow> {
  const figureOf = (row: StateRow): number => row[order.by === "name" ? "mandalCount" : order.by];
  const fits = fitting(order);
  const rows = states
    .map(({ code, name, districtCount, mandalCount }) => {
      const mandalsPerDistrict = districtCount === 0 ? 0 : round(mandalCount / districtCount);
      return { code, name, districtCount, mandalCount, mandalsPerDistrict };
    })
    .filter((row) => fits(figureOf(row), row.name));
  return {
    rows: pageOf(
      sorted(rows, order, figureOf, ({ code }) => code),
      order,
    ),
    totalRows: rows.length,
    totals: {
      districts: sumOf(rows.map(({ districtCount }) => districtCount)),
      mandals: sumOf(rows.map(({ mandalCount }) => mandalCount)),
      ...spreadOf(rows.map(figureOf)),
    },
    exact: true,
  };
}

const byMandals = ({ mandalCount }: { readonly mandalCount: number }): number => mandalCount;

const isBounded = ({ min, max, startsWith }: RankingQuery): boolean =>
  min !== undefined || max !== undefined || startsWith !== undefined;

function rowsThatFit(states: readonly State[], country: Country, order: RankingQuery): readonly DistrictRow[] {
  const fits = fitting(order);
  const rows = districtRows(states, country).filter((row) => fits(row.mandalCount, row.name));
  return sorted(rows, order, byMandals, ({ stateCode, districtCode }) => `${stateCode} ${districtCode}`);
}

/** The first of each state, states in their own order. */
function firstOfEach(states: readonly State[], rows: readonly DistrictRow[], count: number): readonly DistrictRow[] {
  return states.flatMap(({ code }) => rows.filter(({ stateCode }) => stateCode === code).slice(0, count));
}

/** A state whose total is below a bound holds no district above it, so that its list need not be read. */
export function needsForRanking(states: readonly State[], country: Country, order: RankingQuery): Needs {
  const unread = states.filter(({ code }) => !country.lists.has(code));
  if (order.by === "name" || !totalsHold(states, country)) return { rows: unread, all: unread };
  const { min = 0 } = order;
  const all = unread.filter(({ mandalCount }) => mandalCount >= min);
  const last = rowsThatFit(states, country, order)[endOf(order) - 1];
  // With bounds asked for, how many rows fit is a part of the answer, and any list may hold some.
  if (order.order === "asc" || isBounded(order) || order.perState !== undefined || last === undefined)
    return { rows: all, all };
  return { rows: all.filter(({ mandalCount }) => mandalCount >= last.mandalCount), all };
}

export function rankDistricts(states: readonly State[], country: Country, order: RankingQuery): Ranking<DistrictRow> {
  const fitted = rowsThatFit(states, country, order);
  const { perState } = order;
  const rows = perState === undefined ? fitted : firstOfEach(states, fitted, perState);
  const needs = needsForRanking(states, country, order);
  const exact = needs.rows.length === 0;
  const own = { districts: fitted.length, mandals: sumOf(fitted.map(byMandals)) };
  const page = { rows: pageOf(rows, order), exact };
  if (needs.all.length === 0 || isBounded(order))
    return { ...page, totalRows: rows.length, totals: { ...own, ...spreadOf(fitted.map(byMandals)) } };
  // What was not read is counted as the states list has it; of its spread nothing is known but what the order shows.
  const districts = own.districts + sumOf(needs.all.map(({ districtCount }) => districtCount));
  const mandals = own.mandals + sumOf(needs.all.map(byMandals));
  const unreadRows = needs.all.map(({ districtCount }) => Math.min(districtCount, perState ?? districtCount));
  const [first] = fitted;
  return {
    ...page,
    totalRows: rows.length + sumOf(unreadRows),
    totals: {
      districts,
      mandals,
      ...(districts > 0 && { mean: round(mandals / districts) }),
      ...(exact && order.order === "desc" && order.by !== "name" && first && { max: first.mandalCount }),
    },
  };
}
