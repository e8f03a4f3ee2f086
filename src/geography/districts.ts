// Districts as rows: the same fields, in the same order, in every answer, text and file. If the states list and the districts lists
// differ, the differences are reported, never corrected.
import type { State } from "../contract/playground.ts";
import { quote } from "../core/untrusted-text.ts";
import type { Country, Needs } from "./country.ts";
import { MAX_NAME, nameText, plural, stateText, thousands } from "./format.ts";
import { grouped } from "./grouped.ts";
import { fold } from "./names/fold.ts";

export interface DistrictRow {
  readonly districtCode: string;
  readonly name: string;
  readonly stateCode: string;
  readonly stateName: string;
  readonly mandalCount: number;
}

export const DISTRICT_COLUMNS = ["districtCode", "name", "stateCode", "stateName", "mandalCount"] as const;

export const districtCells = (row: DistrictRow): readonly (string | number)[] =>
  DISTRICT_COLUMNS.map((column) => row[column]);

export const districtText = ({ name, stateName, stateCode }: DistrictRow): string =>
  `${nameText(name)} in ${stateText({ name: stateName, code: stateCode })}`;

/** The districts of these states, as far as they are known. */
export const districtRows = (states: readonly State[], { lists }: Country): readonly DistrictRow[] =>
  states.flatMap((state) =>
    (lists.get(state.code)?.value.districts ?? []).map(({ code, name, mandalCount }) => ({
      districtCode: code,
      name,
      stateCode: state.code,
      stateName: state.name,
      mandalCount,
    })),
  );

export const findMissingStates = (states: readonly State[], { lists }: Country): readonly State[] =>
  states.filter(({ code }) => !lists.has(code));

export function needsForAll(states: readonly State[], country: Country): Needs {
  const missing = findMissingStates(states, country);
  return { rows: missing, all: missing };
}

/** Codes that several lists have, reported one by one; beyond that only their number. */
const MAX_CODES = 5;

const mandalsOf = (rows: readonly { readonly mandalCount: number }[]): number =>
  rows.reduce((sum, { mandalCount }) => sum + mandalCount, 0);

function differencesOf(state: State, { lists }: Country): readonly string[] {
  const list = lists.get(state.code)?.value;
  if (list === undefined) return [];
  const mandals = mandalsOf(list.districts);
  const stateLabel = stateText(state);
  return [
    list.districts.length !== state.districtCount &&
      `${stateLabel}: the states list says ${plural(state.districtCount, "district")}, its districts list has ${thousands(list.districts.length)}.`,
    mandals !== state.mandalCount &&
      `${stateLabel}: the states list says ${plural(state.mandalCount, "mandal")}, its districts add up to ${thousands(mandals)}.`,
    fold(list.state) !== fold(state.name) &&
      `${stateLabel}: its districts list calls it ${quote(list.state, MAX_NAME)}.`,
  ].filter((sentence) => sentence !== false);
}

/**
 * District codes that several rows have, if `isAsked` of one of them. If many codes are repeated, codes are only numbers within a
 * state: that is not a difference.
 */
function repeatedCodes(country: Country, isRequested: (row: DistrictRow) => boolean): readonly string[] {
  const rows = districtRows(country.states.value.states, country);
  const byCode = grouped(rows.map((row) => [row.districtCode, row]));
  const repeated = [...byCode].filter(([, same]) => same.length > 1);
  if (repeated.length > Math.max(MAX_CODES, rows.length / 20)) return [];
  const sentences = repeated
    .filter(([, same]) => same.some(isRequested))
    .map(([code, same]) => {
      const isOne = new Set(same.map(({ name }) => fold(name))).size === 1;
      const places = same.map(({ name, stateCode }) => stateText({ name, code: stateCode })).join(" and ");
      return `District code ${nameText(code)} is listed for ${places}${isOne ? ": counted once" : ""}.`;
    });
  const others = sentences.length - MAX_CODES;
  return others > 0 ? [...sentences.slice(0, MAX_CODES), `${plural(others, "more code")} repeated.`] : sentences;
}

/** Sentences on these states, as far as their lists are known. */
export function differencesIn(states: readonly State[], country: Country): readonly string[] {
  const codes = new Set(states.map(({ code }) => code));
  const isRequested = ({ stateCode }: DistrictRow): boolean => codes.has(stateCode);
  return [...states.flatMap((state) => differencesOf(state, country)), ...repeatedCodes(country, isRequested)];
}

/** Sentences on these districts and their states, for an answer that names a few districts. */
export function differencesAt(rows: readonly DistrictRow[], country: Country): readonly string[] {
  const codes = new Set(rows.map(({ stateCode }) => stateCode));
  const districts = new Set(rows.map(({ districtCode }) => districtCode));
  const states = country.states.value.states.filter(({ code }) => codes.has(code));
  const isRequested = ({ districtCode }: DistrictRow): boolean => districts.has(districtCode);
  return [...states.flatMap((state) => differencesOf(state, country)), ...repeatedCodes(country, isRequested)];
}

/** Bounds by a state's total hold only if no list adds up to more than its state's own total. */
export const totalsHold = (states: readonly State[], { lists }: Country): boolean =>
  states.every(({ code, mandalCount }) => mandalsOf(lists.get(code)?.value.districts ?? []) <= mandalCount);
