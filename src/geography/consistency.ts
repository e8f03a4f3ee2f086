// Where the states list and the districts lists say different things. The differences are reported, never corrected.
import type { State } from "../contract/playground.ts";
import { quote, word } from "../outside.ts";
import type { Country } from "./country.ts";
import { type DistrictRow, distinctRows, districtRows, grouped } from "./districts.ts";
import { plural, thousands } from "./format.ts";
import { fold } from "./names/fold.ts";

const MAX_NAME = 80;
/** Codes that several lists have, told one by one; of the others how many there are. */
const MAX_CODES = 5;

function differencesOf(state: State, { lists }: Country): readonly string[] {
  const list = lists.get(state.code)?.value;
  if (list === undefined) return [];
  const mandals = list.districts.reduce((sum, { mandalCount }) => sum + mandalCount, 0);
  const who = `${word(state.name, MAX_NAME)} (${state.code})`;
  return [
    list.districts.length !== state.districtCount &&
      `${who}: the states list says ${plural(state.districtCount, "district")}, its districts list has ${thousands(list.districts.length)}.`,
    mandals !== state.mandalCount &&
      `${who}: the states list says ${plural(state.mandalCount, "mandal")}, its districts add up to ${thousands(mandals)}.`,
    fold(list.state) !== fold(state.name) && `${who}: its districts list calls it ${quote(list.state, MAX_NAME)}.`,
  ].filter((sentence) => sentence !== false);
}

const placeOf = ({ name, stateCode }: DistrictRow): string => `${word(name, MAX_NAME)} (${stateCode})`;

/**
 * District codes that several rows have; `isAsked`: of a row that the answer is about. Where many have one, codes are no more
 * than numbers within a state: that is no difference.
 */
function repeatedCodes(country: Country, isAsked: (row: DistrictRow) => boolean): readonly string[] {
  const rows = districtRows(country.states.value.states, country);
  const repeated = [...grouped(rows, ({ districtCode }) => districtCode)].filter(([, same]) => same.length > 1);
  if (repeated.length > Math.max(MAX_CODES, rows.length / 20)) return [];
  const told = repeated
    .filter(([, same]) => same.some(isAsked))
    .map(([code, same]) => {
      const count = distinctRows(same).length === 1 ? ": counted once" : "";
      return `District code ${word(code, MAX_NAME)} is listed for ${same.map(placeOf).join(" and ")}${count}.`;
    });
  const others = told.length - MAX_CODES;
  return others > 0 ? [...told.slice(0, MAX_CODES), `${plural(others, "more code")} repeated.`] : told;
}

/** Sentences on these states, as far as their lists are known. */
export const differencesIn = (states: readonly State[], country: Country): readonly string[] => {
  const codes = new Set(states.map(({ code }) => code));
  return [
    ...states.flatMap((state) => differencesOf(state, country)),
    ...repeatedCodes(country, ({ stateCode }) => codes.has(stateCode)),
  ];
};

/** Sentences on these districts and the states that they are in: what an answer that names a few has to tell. */
export function differencesAt(rows: readonly DistrictRow[], country: Country): readonly string[] {
  const codes = new Set(rows.map(({ stateCode }) => stateCode));
  const districts = new Set(rows.map(({ districtCode }) => districtCode));
  return [
    ...country.states.value.states
      .filter(({ code }) => codes.has(code))
      .flatMap((state) => differencesOf(state, country)),
    ...repeatedCodes(country, ({ districtCode }) => districts.has(districtCode)),
  ];
}

/** Bounds by a state's total hold only while no list that was read adds up to more than its own. */
export const totalsHold = (states: readonly State[], { lists }: Country): boolean =>
  states.every(({ code, mandalCount }) => {
    const list = lists.get(code)?.value.districts;
    return list === undefined || list.reduce((sum, district) => sum + district.mandalCount, 0) <= mandalCount;
  });
