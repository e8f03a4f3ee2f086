// Finding a district by name: every one that may be meant, and how sure that is.
import type { State } from "../contract/playground.ts";
import type { Country, Needs } from "./country.ts";
import { type NameMatch, searchNames } from "./names/search.ts";

export interface DistrictRow {
  readonly districtCode: string;
  readonly name: string;
  readonly stateCode: string;
  readonly stateName: string;
  readonly mandalCount: number;
}

export interface FoundDistrict extends DistrictRow {
  readonly match: NameMatch;
  readonly score: number;
}

export interface FoundDistricts {
  readonly matches: readonly FoundDistrict[];
  readonly ambiguous: boolean;
  /** How many there are beyond `matches`. */
  readonly left: number;
}

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

const unreadOf = (states: readonly State[], { lists }: Country): readonly State[] =>
  states.filter(({ code }) => !lists.has(code));

/** Any state may hold a namesake; but one that bears the name, once found, is enough to answer with. */
export function needsForFinding(name: string, states: readonly State[], country: Country): Needs {
  const unread = unreadOf(states, country);
  const [best] = searchNames(name, districtRows(states, country), (row) => row.name).found;
  return { rows: best === undefined || best.match === "similar" ? unread : [], all: unread };
}

export function needsForAll(states: readonly State[], country: Country): Needs {
  const unread = unreadOf(states, country);
  return { rows: unread, all: unread };
}

export function findDistricts(name: string, states: readonly State[], country: Country, limit: number): FoundDistricts {
  const { found, ambiguous } = searchNames(name, districtRows(states, country), (row) => row.name);
  const matches = found.slice(0, limit).map(({ item, match, score }) => ({ ...item, match, score }));
  return { matches, ambiguous, left: found.length - matches.length };
}
