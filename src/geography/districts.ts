// Districts as rows: the same fields, in the same order, in every answer, text and file.
import type { State } from "../contract/playground.ts";
import type { Country, Needs } from "./country.ts";
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

/** Rows of one key together, in the order in which the keys come. */
export function grouped<R>(rows: readonly R[], keyOf: (row: R) => string): ReadonlyMap<string, readonly R[]> {
  const groups = new Map<string, R[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group === undefined) groups.set(keyOf(row), [row]);
    else group.push(row);
  }
  return groups;
}

/** Each district once: of one that stands in several lists, code and name, the row with the most mandals. */
export function distinctRows(rows: readonly DistrictRow[]): readonly DistrictRow[] {
  if (new Set(rows.map(({ districtCode }) => districtCode)).size === rows.length) return rows;
  const same = grouped(rows, ({ districtCode, name }) => `${districtCode} ${fold(name)}`);
  return [...same.values()].map((each) =>
    each.reduce((most, row) => (row.mandalCount > most.mandalCount ? row : most)),
  );
}

export const unreadOf = (states: readonly State[], { lists }: Country): readonly State[] =>
  states.filter(({ code }) => !lists.has(code));

export function needsForAll(states: readonly State[], country: Country): Needs {
  const unread = unreadOf(states, country);
  return { rows: unread, all: unread };
}
