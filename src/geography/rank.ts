// Ranking states or districts, exactly: which lists an answer needs, its rows, and totals over all rows that fit.
import type { State } from "../contract/playground.ts";
import { totalsHold } from "./consistency.ts";
import type { Country, Needs } from "./country.ts";
import { type DistrictRow, distinctRows, districtRows, grouped } from "./districts.ts";
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
  /** Rows that the page ends in the midst of: they have the figure of its last row. */
  readonly tied: Tied;
  /** Names that several districts bear; there where districts are ranked by name, whatever it begins with. */
  readonly shared?: readonly SharedName[];
}

/** How many rows behind the page have its last row's figure; with `perState` the states in which the cut parts such rows. */
export interface Tied {
  readonly rows: number;
  readonly states: readonly string[];
}

export interface SharedName {
  readonly name: string;
  readonly stateCodes: readonly string[];
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

/** As people write initials, apart: "Y.S.R. Kadapa" comes before "Yadgir". */
const sortKey = (name: string): string => fold(name.replace(/(?<=(?:^|[\s.])\p{L})\.(?=\p{L})/gu, ". "));

function sorted<R extends { readonly name: string }>(
  rows: readonly R[],
  { by, order }: RankingQuery,
  figureOf: (row: R) => number,
  codeOf: (row: R) => string,
): readonly R[] {
  const sign = order === "asc" ? 1 : -1;
  const keyed = rows.map((row) => ({ row, name: sortKey(row.name), figure: figureOf(row), code: codeOf(row) }));
  const byName = (a: (typeof keyed)[number], b: (typeof keyed)[number]): number =>
    a.name === b.name ? (a.code < b.code ? -1 : 1) : a.name < b.name ? -1 : 1;
  keyed.sort((a, b) => (by === "name" ? sign * byName(a, b) : sign * (a.figure - b.figure) || byName(a, b)));
  return keyed.map(({ row }) => row);
}

/** By name there are no ties worth telling. */
function tiedBehind<R>(rows: readonly R[], order: RankingQuery, figureOf: (row: R) => number): number {
  const last = rows[endOf(order) - 1];
  if (last === undefined || order.by === "name") return 0;
  return rows.slice(endOf(order)).filter((row) => figureOf(row) === figureOf(last)).length;
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
  const inOrder = sorted(rows, order, figureOf, ({ code }) => code);
  return {
    rows: pageOf(inOrder, order),
    tied: { rows: tiedBehind(inOrder, order, figureOf), states: [] },
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
  const rows = distinctRows(districtRows(states, country)).filter((row) => fits(row.mandalCount, row.name));
  return sorted(rows, order, byMandals, ({ stateCode, districtCode }) => `${stateCode} ${districtCode}`);
}

/** The first of each state, states in their own order; and where the last of them is one of several with its figure. */
function firstOfEach(states: readonly State[], rows: readonly DistrictRow[], order: RankingQuery, count: number) {
  const byState = grouped(rows, ({ stateCode }) => stateCode);
  const firsts = states.map(({ code }) => ({ code, own: byState.get(code) ?? [] }));
  const cut = { ...order, offset: 0, limit: count };
  return {
    rows: firsts.flatMap(({ own }) => own.slice(0, count)),
    tied: firsts.filter(({ own }) => tiedBehind(own, cut, byMandals) > 0).map(({ code }) => code),
  };
}

function sharedNames(rows: readonly DistrictRow[]): readonly SharedName[] {
  const groups = [...grouped(rows, ({ name }) => fold(name)).values()].filter(({ length }) => length > 1);
  return groups.map((same) => ({ name: same[0]?.name ?? "", stateCodes: same.map(({ stateCode }) => stateCode) }));
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
  const firsts = perState === undefined ? undefined : firstOfEach(states, fitted, order, perState);
  const rows = firsts?.rows ?? fitted;
  const needs = needsForRanking(states, country, order);
  const exact = needs.rows.length === 0;
  const own = { districts: fitted.length, mandals: sumOf(fitted.map(byMandals)) };
  const page = {
    rows: pageOf(rows, order),
    exact,
    tied: firsts ? { rows: 0, states: firsts.tied } : { rows: tiedBehind(rows, order, byMandals), states: [] },
    ...(order.by === "name" && order.startsWith === undefined && { shared: sharedNames(fitted) }),
  };
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
