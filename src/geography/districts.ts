// Districts as rows: the same fields, in the same order, in every answer, text and file.
import type { State } from "../contract/playground.ts";
import type { Country, Needs } from "./country.ts";

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

export const unreadOf = (states: readonly State[], { lists }: Country): readonly State[] =>
  states.filter(({ code }) => !lists.has(code));

export function needsForAll(states: readonly State[], country: Country): Needs {
  const unread = unreadOf(states, country);
  return { rows: unread, all: unread };
}
