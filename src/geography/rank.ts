// Ranks states or districts exactly: selects the lists that an answer needs, computes rows and totals, and describes them in sentences.

import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { DistrictsResponse, State } from "../contract/playground.ts";
import { countPart, groupByKey, numberPart } from "../core/counts.ts";
import { join, own, quoted, say, type Text } from "../core/text.ts";
import { type Country, type CountryAnswer, type Coverage, countMissing, type RequiredLists } from "./country.ts";
import {
  areTotalsConsistent,
  type DistrictRow,
  findMissingStates,
  formatDistrict,
  requireLists,
  sumMandals,
  toDistrictRows,
} from "./districts.ts";
import { describeNotLoaded, describeZeroCounts, formatMissing, formatState, joinFirst } from "./format.ts";
import { findUnlistedChanges, hasChanges, recordedYears, withCreation } from "./names/changes.ts";
import { fold } from "./names/name-forms.ts";
import { formatName } from "./names/resolve-state.ts";

export type Figure = "mandalCount" | "districtCount" | "mandalsPerDistrict";

export interface RankingQuery {
  readonly by: Figure | "name";
  readonly order: "asc" | "desc";
  /** Maximum number of rows on the page (default: all). */
  readonly limit?: number;
  /** Number of rows before the page (default 0). */
  readonly offset?: number;
  /** Maximum number of districts of each state (default: all). */
  readonly perState?: number;
  /** Prefix of the names; case and accents are ignored. */
  readonly startsWith?: string;
  /** Inclusive bounds on the figure that determines the ranking (mandalCount if ranked by name). */
  readonly min?: number;
  readonly max?: number;
  /** Only districts that were created in this year or later, by the public record. */
  readonly createdSince?: number;
}

export interface Totals {
  readonly districts: number;
  readonly mandals: number;
  /** Statistics of the figure that determines the ranking (mandalCount if ranked by name); each is absent if it is not known. */
  readonly min?: number;
  readonly median?: number;
  readonly mean?: number;
  readonly max?: number;
}

export interface Ranking<R> extends CountryAnswer {
  readonly rows: readonly R[];
  /** Number of matching rows on all pages; with `perState`, only the first rows of each state count. */
  readonly totalRows: number;
  readonly totals: Totals;
  /** Whether no missing list could change `rows` or `totalRows`. */
  readonly exact: boolean;
  /** Rows after the page that tie with its last row; with `perState`, the states in which the cut separates tied rows. */
  readonly tied: { readonly rows: readonly R[]; readonly states: readonly string[] };
  /** Names that several districts share; present only if districts are ranked by name without `startsWith`. */
  readonly shared?: readonly { readonly name: string; readonly stateCodes: readonly string[] }[];
  /** Matching districts that were restored since `createdSince` and created before; they are not among the rows. */
  readonly restored?: readonly DistrictRow[];
  /** Recorded changes since `createdSince` of districts that are not in the lists; only on the first page, at most `limit`. */
  readonly unlisted?: readonly string[];
  /** Number of these changes, including those beyond `limit`. */
  readonly unlistedCount?: number;
}

export interface StateRow {
  readonly code: string;
  readonly name: string;
  readonly districtCount: number;
  readonly mandalCount: number;
  readonly mandalsPerDistrict: number;
}

export type DivisionRow = StateRow | DistrictRow;

interface NameKeys {
  readonly folded: string;
  readonly sortKey: string;
}

interface SortableRow<R> extends NameKeys {
  readonly row: R;
  readonly code: string;
  readonly figure: number;
}

/** The sort key separates initials, as people do: "Y.S.R. Kadapa" comes before "Yadgir". */
function toNameKeys(name: string): NameKeys {
  const folded = fold(name);
  const spaced = name.replace(/(?<=(?:^|[\s.])\p{L})\.(?=\p{L})/gu, ". ");
  return { folded, sortKey: spaced === name ? folded : fold(spaced) };
}

const nameKeysByList = new WeakMap<DistrictsResponse, readonly NameKeys[]>();

/** A district in several lists (same code and name) counts once, with its largest mandalCount. Each list is processed in its own turn of the event loop. */
async function toSortableDistricts(
  states: readonly State[],
  country: Country,
): Promise<readonly SortableRow<DistrictRow>[]> {
  const sortableRows: SortableRow<DistrictRow>[] = [];
  for (const state of states) {
    const list = country.lists.get(state.code)?.value;
    const known = list && nameKeysByList.get(list);
    const keys = known ?? list?.districts.map(({ name }) => toNameKeys(name)) ?? [];
    for (const [index, row] of toDistrictRows([state], country).entries()) {
      const code = `${row.stateCode} ${row.districtCode}`;
      sortableRows.push({ row, ...(keys[index] ?? toNameKeys(row.name)), code, figure: row.mandalCount });
    }
    if (list === undefined || known !== undefined) continue;
    nameKeysByList.set(list, keys);
    await yieldToEventLoop();
  }
  if (new Set(sortableRows.map(({ row }) => row.districtCode)).size === sortableRows.length) return sortableRows;
  const same = groupByKey(sortableRows.map((each) => [`${each.row.districtCode} ${each.folded}`, each]));
  return [...same.values()].map((each) => each.reduce((most, other) => (other.figure > most.figure ? other : most)));
}

/** Rounds to two decimals, so that the compared figures are the displayed ones. */
const round = (value: number): number => Math.round(value * 100) / 100;

const sum = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

function computeSpread(rows: readonly SortableRow<unknown>[]): Pick<Totals, "min" | "median" | "mean" | "max"> {
  const sorted = rows.map(({ figure }) => figure).sort((a, b) => a - b);
  const [min] = sorted;
  const max = sorted.at(-1);
  if (min === undefined || max === undefined) return {};
  const middle = sorted.slice(Math.floor((sorted.length - 1) / 2), Math.floor(sorted.length / 2) + 1);
  return { min, median: round(sum(middle) / middle.length), mean: round(sum(sorted) / sorted.length), max };
}

/** Index after the last row of the page. */
const pageEnd = ({ offset = 0, limit = Number.POSITIVE_INFINITY }: RankingQuery): number => offset + limit;

function selectRows<R>(rows: readonly SortableRow<R>[], query: RankingQuery): readonly SortableRow<R>[] {
  const { by, order, min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, startsWith = "" } = query;
  const beginning = fold(startsWith);
  const sign = order === "asc" ? 1 : -1;
  const byName = (a: SortableRow<R>, b: SortableRow<R>): number =>
    a.sortKey === b.sortKey ? (a.code < b.code ? -1 : 1) : a.sortKey < b.sortKey ? -1 : 1;
  return rows
    .filter(({ figure, folded }) => figure >= min && figure <= max && folded.startsWith(beginning))
    .toSorted((a, b) => (by === "name" ? sign * byName(a, b) : sign * (a.figure - b.figure) || byName(a, b)));
}

const slicePage = <R>(rows: readonly SortableRow<R>[], query: RankingQuery): readonly R[] =>
  rows.slice(query.offset ?? 0, pageEnd(query)).map(({ row }) => row);

/** Rows after the page that tie with its last row; none for a ranking by name, because such ties are not useful. */
function findTiedAfterPage<R>(rows: readonly SortableRow<R>[], query: RankingQuery): readonly R[] {
  const last = rows[pageEnd(query) - 1];
  if (last === undefined || query.by === "name") return [];
  return rows.slice(pageEnd(query)).flatMap(({ figure, row }) => (figure === last.figure ? [row] : []));
}

const sumDistricts = (rows: readonly { readonly districtCount: number }[]): number =>
  sum(rows.map(({ districtCount }) => districtCount));

export function rankStates(states: readonly State[], query: RankingQuery): Ranking<StateRow> {
  const sortableRows = states.map(({ code, name, districtCount, mandalCount }): SortableRow<StateRow> => {
    const mandalsPerDistrict = districtCount === 0 ? 0 : round(mandalCount / districtCount);
    const row = { code, name, districtCount, mandalCount, mandalsPerDistrict };
    return { row, ...toNameKeys(name), code, figure: row[query.by === "name" ? "mandalCount" : query.by] };
  });
  const selectedRows = selectRows(sortableRows, query);
  const rows = selectedRows.map(({ row }) => row);
  const sums = { districts: sumDistricts(rows), mandals: sumMandals(rows) };
  // "On average" means the ratio of all mandals to all districts, not the mean of the states' ratios.
  const isRatio = query.by === "mandalsPerDistrict" && sums.districts > 0;
  const mean = isRatio ? { mean: round(sums.mandals / sums.districts) } : {};
  return {
    states,
    requiredLists: requireLists([]),
    rows: slicePage(selectedRows, query),
    tied: { rows: findTiedAfterPage(selectedRows, query), states: [] },
    totalRows: rows.length,
    totals: { ...sums, ...computeSpread(selectedRows), ...mean },
    exact: true,
  };
}

const hasBounds = ({ min, max, startsWith, createdSince }: RankingQuery): boolean =>
  [min, max, startsWith, createdSince].some((bound) => bound !== undefined);

/** Rows of districts that were created or restored since `createdSince`, with years and parents; without it, all rows. */
function selectChanged(
  rows: readonly SortableRow<DistrictRow>[],
  states: readonly State[],
  country: Country,
  { createdSince }: RankingQuery,
): readonly SortableRow<DistrictRow>[] {
  if (createdSince === undefined) return rows;
  const codes = new Set(states.filter((state) => hasChanges(state, createdSince)).map(({ code }) => code));
  return rows
    .filter(({ row }) => codes.has(row.stateCode))
    .map((each) => ({ ...each, row: withCreation(each.row, country) }))
    .filter(({ row: { createdYear = 0, restored = createdYear } }) => restored >= createdSince);
}

/** In the order of `states`. `tied`: states in which the cut separates rows with the same figure. */
function selectFirstPerState(
  states: readonly State[],
  rows: readonly SortableRow<DistrictRow>[],
  query: RankingQuery,
  perState: number,
) {
  const byState = groupByKey(rows.map((each) => [each.row.stateCode, each]));
  const firstPerState = states.map(({ code }) => ({ code, own: byState.get(code) ?? [] }));
  const statePage = { ...query, offset: 0, limit: perState };
  return {
    rows: firstPerState.flatMap(({ own }) => own.slice(0, perState)),
    tied: firstPerState.filter(({ own }) => findTiedAfterPage(own, statePage).length > 0).map(({ code }) => code),
  };
}

/** `last`: figure of the page's last row. A state with a lower total cannot contain a larger district: its list is not needed. */
function selectRequiredLists(
  states: readonly State[],
  country: Country,
  query: RankingQuery,
  last: number | undefined,
): RequiredLists {
  const { createdSince } = query;
  const missing = findMissingStates(states, country).filter(
    (state) => createdSince === undefined || hasChanges(state, createdSince),
  );
  if (query.by === "name" || !areTotalsConsistent(states, country)) return requireLists(missing);
  // Recorded changes have no mandals, so `min` excludes none of them.
  const min = createdSince === undefined ? (query.min ?? 0) : 0;
  const all = missing.filter(({ mandalCount }) => mandalCount >= min);
  // With bounds, the answer includes the number of matching rows, and any list may contain some.
  if (query.order === "asc" || hasBounds(query) || query.perState !== undefined || last === undefined)
    return requireLists(all);
  return { rows: all.filter(({ mandalCount }) => mandalCount >= last), all };
}

export async function rankDistricts(
  states: readonly State[],
  country: Country,
  query: RankingQuery,
): Promise<Ranking<DistrictRow>> {
  const sortableRows = await toSortableDistricts(states, country);
  const { perState, createdSince, offset = 0 } = query;
  const changedRows = selectRows(selectChanged(sortableRows, states, country, query), query);
  const isNew = ({ row: { createdYear = 0 } }: SortableRow<DistrictRow>): boolean => createdYear >= (createdSince ?? 0);
  const selectedRows = changedRows.filter(isNew);
  const restored = changedRows.filter((each) => !isNew(each)).map(({ row }) => row);
  const unlisted = createdSince === undefined ? [] : findUnlistedChanges(states, createdSince, country);
  const firstPerState = perState === undefined ? undefined : selectFirstPerState(states, selectedRows, query, perState);
  const rows = firstPerState?.rows ?? selectedRows;
  const requiredLists = selectRequiredLists(states, country, query, selectedRows[pageEnd(query) - 1]?.figure);
  const exact = requiredLists.rows.length === 0;
  const sameNames = [...groupByKey(selectedRows.map(({ folded, row }) => [folded, row])).values()].filter(
    ({ length }) => length > 1,
  );
  const shared = sameNames.map((same) => ({
    name: same[0]?.name ?? "",
    stateCodes: same.map(({ stateCode }) => stateCode),
  }));
  const page = {
    states,
    requiredLists,
    rows: slicePage(rows, query),
    exact,
    tied: firstPerState
      ? { rows: [], states: firstPerState.tied }
      : { rows: findTiedAfterPage(rows, query), states: [] },
    ...(query.by === "name" && query.startsWith === undefined && createdSince === undefined && { shared }),
    ...(restored.length > 0 && offset === 0 && { restored }),
    ...(unlisted.length > 0 &&
      offset === 0 && { unlisted: unlisted.slice(0, query.limit), unlistedCount: unlisted.length }),
  };
  const own = { districts: selectedRows.length, mandals: sumMandals(selectedRows.map(({ row }) => row)) };
  if (requiredLists.all.length === 0 || hasBounds(query))
    return { ...page, totalRows: rows.length, totals: { ...own, ...computeSpread(selectedRows) } };
  // Missing lists count with the figures of the states list. The statistics are then unknown, except the mean, and the maximum if
  // the first row is certain.
  const districts = own.districts + sumDistricts(requiredLists.all);
  const mandals = own.mandals + sumMandals(requiredLists.all);
  const missingRowCounts = requiredLists.all.map(({ districtCount }) =>
    Math.min(districtCount, perState ?? districtCount),
  );
  const [first] = selectedRows;
  return {
    ...page,
    totalRows: rows.length + sum(missingRowCounts),
    totals: {
      districts,
      mandals,
      ...(districts > 0 && { mean: round(mandals / districts) }),
      ...(exact && query.order === "desc" && query.by !== "name" && first && { max: first.figure }),
    },
  };
}

/** Describes the figure's statistics: "mandalCount: min 0, median 8, mean 9.04, max 41."; undefined if none is known. */
export function describeStatistics(totals: Totals, by: RankingQuery["by"]): Text | undefined {
  const figures = (["min", "median", "mean", "max"] as const).flatMap((name) => {
    const value = totals[name];
    const label = own(name === "mean" && by === "mandalsPerDistrict" ? "mean of all districts" : name);
    return value === undefined ? [] : [say`${label} ${numberPart(value)}`];
  });
  return figures.length === 0 ? undefined : say`${by === "name" ? "mandalCount" : by}: ${join(figures, ", ")}.`;
}

export const formatMissingReasons = ({ missing }: Coverage): Text => join(missing.map(formatMissing), "; ");

const MAX_LISTED = 12;

const formatPlace = (row: DivisionRow): Text => ("stateCode" in row ? formatDistrict(row) : formatState(row));

/** Describes the rows that the page omits although they equal its last row; empty if the rows may still change. */
function describeTies(level: "state" | "district", { tied, exact }: Ranking<DivisionRow>, lastRow: number): Text {
  if (!exact) return [];
  const { length: count } = tied.rows;
  if (count > 0) {
    const names = joinFirst(tied.rows.map(formatPlace));
    return say` ${countPart(count, `more ${level} ties`, `more ${level}s tie`)} with row ${lastRow}: ${names}.`;
  }
  return tied.states.length === 0
    ? []
    : say` More districts tie for last place in ${joinFirst(tied.states, 0, MAX_LISTED, " ")}.`;
}

function describeSharedNames({ shared, exact }: Ranking<DivisionRow>): Text {
  if (shared === undefined) return [];
  const names = shared.map(({ name, stateCodes }) => say`${formatName(name)} (${join(stateCodes)})`);
  if (names.length === 0 && !exact) return [];
  return names.length === 0
    ? say` No two districts share a name.`
    : say` Names of several districts: ${joinFirst(names, 0, MAX_LISTED)}.`;
}

function describeCertainty({ exact }: Ranking<DivisionRow>, coverage: Coverage): Text {
  if (exact && countMissing(coverage) > 0)
    return say` These rows are final; only the minimum and the median need the lists that are not loaded.`;
  if (exact) return [];
  return say` Not final: ${describeNotLoaded(coverage)}.`;
}

/** " created since 2015 (public record of 2010 to 2026)"; also names requested years before the record begins. */
function describeRecord({ createdSince }: RankingQuery): Text {
  if (createdSince === undefined) return [];
  const [first, last] = recordedYears();
  const missing = createdSince === first - 1 ? createdSince : `${createdSince}-${first - 1}`;
  const gap = createdSince < first && say`, not of ${missing}`;
  return say` created since ${Math.max(createdSince, first)} (public record of ${first} to ${last}${gap})`;
}

/** "mandalCount 10 to 25"; empty if the query has no bounds. */
function describeBounds({ by, min, max }: RankingQuery): Text {
  if (min === undefined && max === undefined) return [];
  if (min === undefined) return say` with ${by} ${numberPart(max ?? 0)} or less`;
  return say` with ${by} ${numberPart(min)} ${max === undefined ? own("or more") : say`to ${numberPart(max)}`}`;
}

/** Describes the rows that are selected: " (TG GA) starting with "bij" with mandalCount 10 to 25". */
function describeSelection(query: RankingQuery, states: readonly string[] | undefined): Text {
  const { startsWith } = query;
  const within = states !== undefined && say` (${joinFirst(states, 0, MAX_LISTED, " ")})`;
  const prefix = startsWith !== undefined && say` starting with ${quoted(startsWith)}`;
  return say`${within}${prefix}${describeRecord(query)}${describeBounds(query)}`;
}

const FIGURE_TEXTS = {
  mandalCount: own("mandals"),
  districtCount: own("districts"),
  mandalsPerDistrict: own("mandals per district"),
};

/** "Most mandals: Nizamabad in Telangana (TG), 33." */
function describeFirst(row: DivisionRow, { by, order, offset = 0, perState }: RankingQuery): Text {
  const place = formatPlace(row);
  if (by === "name" || offset > 0 || perState !== undefined) return say`First row: ${place}.`;
  const figure = "stateCode" in row ? row.mandalCount : row[by];
  const value = figure === 0 && by === "mandalCount" ? own("0 (none listed)") : numberPart(figure);
  return say`${own(order === "desc" ? "Most" : "Fewest")} ${FIGURE_TEXTS[by]}: ${place}, ${value}.`;
}

/** " (18.47 % of India's)"; undefined for all of India. */
const describeShare = (part: number, all: number): Text | undefined =>
  part >= all ? undefined : say` (${numberPart(round((100 * part) / all))} % of India's)`;

/** `states`: codes of the requested states; undefined if all states are meant. */
export function describeRanking(
  level: "state" | "district",
  ranking: Ranking<DivisionRow>,
  query: RankingQuery,
  coverage: Coverage,
  allStates: readonly State[],
  states: readonly string[] | undefined,
): Text {
  const { rows, totalRows, totals, restored = [], unlisted = [], unlistedCount = 0 } = ranking;
  const { by, offset = 0, perState } = query;
  const [first] = rows;
  const isState = level === "state";
  const { districts, mandals } = totals;
  const counts = isState
    ? say`${countPart(districts, "district")}${describeShare(districts, sumDistricts(allStates))}, ${countPart(mandals, "mandal")}${describeShare(mandals, sumMandals(allStates))}`
    : countPart(mandals, "mandal");
  const count = isState ? totalRows : districts;
  const which = say`${count === 0 ? say`No ${level}` : countPart(count, level)}${describeSelection(query, states)}`;
  const sums = say`${which}${count > 0 && say`: ${counts}`}.`;
  const lastRow = offset + rows.length;
  const page =
    first === undefined
      ? count === 0 || !ranking.exact
        ? []
        : say` No rows: offset ${offset} is after the last row.`
      : say` ${describeFirst(first, query)}`;
  const range = rows.length === 1 ? say`Row ${lastRow}` : say`Rows ${offset + 1} to ${lastRow}`;
  const limits = perState !== undefined && say`, at most ${perState} per state`;
  const shownRows =
    first !== undefined && rows.length !== totalRows && say` ${range} of ${numberPart(totalRows)}${limits}.`;
  // If the first row has a count of 0, its sentence already mentions that.
  const zeroCountsText = first?.mandalCount === 0 && by === "mandalCount" ? [] : describeZeroCounts(rows);
  const shownChanges = unlisted.length < unlistedCount && say` (${unlisted.length} shown; a larger limit shows more)`;
  const changes =
    unlistedCount > 0 &&
    say` Not in the lists: ${countPart(unlistedCount, "abolished or announced district")}${shownChanges}.`;
  const restoredText =
    restored.length > 0 && say` Not new but restored: ${joinFirst(restored.map(formatDistrict), 0, MAX_LISTED)}.`;
  return say`${sums}${page}${shownRows}${restoredText}${changes}${describeTies(level, ranking, lastRow)}${describeSharedNames(ranking)}${describeCertainty(ranking, coverage)}${zeroCountsText}`;
}
