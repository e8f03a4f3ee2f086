// Converts districts to rows that have the same fields, in the same order, in every answer, text and file. Differences between
// the states list and the districts lists are reported, never corrected.

import type { State } from "../contract/playground.ts";
import { countPart, groupByKey, numberPart } from "../core/counts.ts";
import { join, own, quoted, say, type Text } from "../core/text.ts";
import type { Country, CountryAnswer, RequiredLists } from "./country.ts";
import { formatState } from "./format.ts";
import { fold } from "./names/name-forms.ts";
import { formatName, MAX_DISPLAY_LENGTH } from "./names/resolve-state.ts";

export interface DistrictRow {
  readonly districtCode: string;
  readonly name: string;
  readonly stateCode: string;
  readonly stateName: string;
  readonly mandalCount: number;
  /** Year in which the district was created, if the public record contains it. */
  readonly createdYear?: number;
  /** Year in which it was created again after it had been abolished. */
  readonly restored?: number;
  /** Districts that it was part of until then: "Medak + Nizamabad". */
  readonly carvedFrom?: string;
}

export const DISTRICT_COLUMNS = ["districtCode", "name", "stateCode", "stateName", "mandalCount"] as const;

export const toDistrictCells = (row: DistrictRow): readonly (string | number)[] =>
  DISTRICT_COLUMNS.map((column) => row[column]);

export const formatDistrict = ({ name, stateName, stateCode }: DistrictRow): Text =>
  say`${formatName(name)} in ${formatState({ name: stateName, code: stateCode })}`;

export const toDistrictRows = (states: readonly State[], { lists }: Country): readonly DistrictRow[] =>
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

export const requireLists = (rows: readonly State[]): RequiredLists => ({ rows, all: rows });

export function answerForAllStates(country: Country): CountryAnswer {
  const { states } = country.states.value;
  return { states, requiredLists: requireLists(findMissingStates(states, country)) };
}

const MAX_CODES = 5;

export const sumMandals = (rows: readonly { readonly mandalCount: number }[]): number =>
  rows.reduce((sum, { mandalCount }) => sum + mandalCount, 0);

function compareWithStatesList(state: State, { lists }: Country): readonly Text[] {
  const list = lists.get(state.code)?.value;
  if (list === undefined) return [];
  const mandals = sumMandals(list.districts);
  const stateLabel = formatState(state);
  return [
    list.districts.length !== state.districtCount &&
      say`${stateLabel}: the states list says ${countPart(state.districtCount, "district")}, its districts list has ${numberPart(list.districts.length)}.`,
    mandals !== state.mandalCount &&
      say`${stateLabel}: the states list says ${countPart(state.mandalCount, "mandal")}, its districts add up to ${numberPart(mandals)}.`,
    fold(list.state) !== fold(state.name) &&
      say`${stateLabel}: its districts list calls it ${quoted(list.state, MAX_DISPLAY_LENGTH)}.`,
  ].filter((sentence) => sentence !== false);
}

/** Reports only codes of which `isRequested` accepts a row; none if many repeat, because codes are then unique only within a state. */
function findRepeatedCodes(country: Country, isRequested: (row: DistrictRow) => boolean): readonly Text[] {
  const rows = toDistrictRows(country.states.value.states, country);
  const byCode = groupByKey(rows.map((row) => [row.districtCode, row]));
  const repeated = [...byCode].filter(([, same]) => same.length > 1);
  if (repeated.length > Math.max(MAX_CODES, rows.length / 20)) return [];
  const sentences = repeated
    .filter(([, same]) => same.some(isRequested))
    .map(([code, same]) => {
      const isSameDistrict = new Set(same.map(({ name }) => fold(name))).size === 1;
      const places = join(
        same.map(({ name, stateCode }) => formatState({ name, code: stateCode })),
        " and ",
      );
      return say`District code ${formatName(code)} is listed for ${places}${isSameDistrict && own(": counted once")}.`;
    });
  const others = sentences.length - MAX_CODES;
  return others > 0 ? [...sentences.slice(0, MAX_CODES), say`${countPart(others, "more code")} repeated.`] : sentences;
}

export function findDifferencesInStates(states: readonly State[], country: Country): readonly Text[] {
  const codes = new Set(states.map(({ code }) => code));
  const isRequested = ({ stateCode }: DistrictRow): boolean => codes.has(stateCode);
  return [
    ...states.flatMap((state) => compareWithStatesList(state, country)),
    ...findRepeatedCodes(country, isRequested),
  ];
}

export function findDifferencesInDistricts(rows: readonly DistrictRow[], country: Country): readonly Text[] {
  const codes = new Set(rows.map(({ stateCode }) => stateCode));
  const districts = new Set(rows.map(({ districtCode }) => districtCode));
  const states = country.states.value.states.filter(({ code }) => codes.has(code));
  const isRequested = ({ districtCode }: DistrictRow): boolean => districts.has(districtCode);
  return [
    ...states.flatMap((state) => compareWithStatesList(state, country)),
    ...findRepeatedCodes(country, isRequested),
  ];
}

/** A state's own total is an upper bound for each of its districts only if no list adds up to more mandals than its state's total. */
export const areTotalsConsistent = (states: readonly State[], { lists }: Country): boolean =>
  states.every(({ code, mandalCount }) => sumMandals(lists.get(code)?.value.districts ?? []) <= mandalCount);
