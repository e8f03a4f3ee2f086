// What the record knows of a name that the list does not have: a district made, announced or abolished, or a district's seat.
import type { State } from "../../contract/playground.ts";
import { formsOf, isSameName, soundsSame } from "./likeness.ts";
import { type NewDistrict, newDistricts, type Seat, seats } from "./record/tables.ts";
import { isStateOfRecord } from "./state.ts";

export interface Unlisted {
  readonly state: State;
  readonly change?: NewDistrict;
  readonly seat?: Seat;
}

/** `names`: the name in each way that it may be meant. `isListed`: whether the state's list has a district, under whatever name; undefined while it is unread. */
export function unlistedAs(
  names: readonly string[],
  states: readonly State[],
  isListed: (district: string, state: State) => boolean | undefined,
): Unlisted | undefined {
  const asked = names.map(formsOf);
  const isAsked = (text: string): boolean =>
    asked.some((forms) => isSameName(forms, formsOf(text)) || soundsSame(forms, formsOf(text)));
  const missing = <Row extends { readonly district: string; readonly state: string }>(rows: readonly Row[]) =>
    rows.flatMap((row) => {
      const state = states.find((each) => isStateOfRecord(row.state, each));
      return state !== undefined && isListed(row.district, state) === false ? [{ row, state }] : [];
    });
  const changes = missing(newDistricts().filter(({ district }) => isAsked(district)));
  const change = changes.toSorted((a, b) => a.row.year - b.row.year).at(-1);
  if (change !== undefined) return { state: change.state, change: change.row };
  const [seat] = missing([...seats().values()].flat().filter((row) => isAsked(row.name)));
  return seat === undefined ? undefined : { state: seat.state, seat: seat.row };
}
