// A country whose lists have all been read: the emulator's, optionally with other names.
import { type DistrictsResponse, PLAYGROUND_CONTRACT, type State } from "../../src/contract/playground.ts";
import { readDistricts, readStates } from "../../src/emulator/catalogue.ts";
import type { Country } from "../../src/geography/country.ts";

export interface ListedDistrict {
  readonly stateCode: string;
  readonly code: string;
  readonly name: string;
  readonly mandalCount: number;
}

export const emulatedDistricts: readonly ListedDistrict[] = readDistricts();

const withReadTime = <T>(value: T) => ({ value, drift: [], readAt: 0 });

/** `names`: names of states by code that differ from the emulator's. */
export function knownCountry(
  districts: readonly ListedDistrict[] = emulatedDistricts,
  names: Readonly<Record<string, string>> = {},
): Country {
  const listOf = (code: string) => districts.filter(({ stateCode }) => stateCode === code);
  const states = readStates().map(
    ({ code, name }): State => ({
      code,
      name: names[code] ?? name,
      districtCount: listOf(code).length,
      mandalCount: listOf(code).reduce((sum, { mandalCount }) => sum + mandalCount, 0),
    }),
  );
  const lists = states.map((state) => {
    const stateDistricts = listOf(state.code).map(({ code, name, mandalCount }) => ({ code, name, mandalCount }));
    const list: DistrictsResponse = { contract: PLAYGROUND_CONTRACT, state: state.name, districts: stateDistricts };
    return [state.code, withReadTime(list)] as const;
  });
  return { states: withReadTime({ contract: PLAYGROUND_CONTRACT, states }), lists: new Map(lists) };
}
