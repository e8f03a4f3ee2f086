// Where the states list and the districts lists say different things. The differences are reported, never corrected.
import type { State } from "../contract/playground.ts";
import { quote, word } from "../outside.ts";
import type { Country } from "./country.ts";
import { plural, thousands } from "./format.ts";
import { fold } from "./names/fold.ts";

const MAX_NAME = 80;

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

export const differencesIn = (states: readonly State[], country: Country): readonly string[] =>
  states.flatMap((state) => differencesOf(state, country));

/** Bounds by a state's total hold only while no list that was read adds up to more than its own. */
export const totalsHold = (states: readonly State[], { lists }: Country): boolean =>
  states.every(({ code, mandalCount }) => {
    const list = lists.get(code)?.value.districts;
    return list === undefined || list.reduce((sum, district) => sum + district.mandalCount, 0) <= mandalCount;
  });
