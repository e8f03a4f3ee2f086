// Compares the public record of created, abolished and announced districts with the lists.
import type { State } from "../../contract/playground.ts";
import type { Country } from "../country.ts";
import type { DistrictRow } from "../districts.ts";
import { hasSameSound, isSameName, toNameForms } from "./name-forms.ts";
import { getIndex, type NameIndex } from "./name-index.ts";
import { loadNewDistricts, loadRecordedDistricts, type NameWithForms, type NewDistrict } from "./record/tables.ts";
import { findRecordedState } from "./resolve-state.ts";

/** Entry of the public record for a name that is not in the list: a change of districts, or the district that has its headquarters there. */
export type UnlistedPlace = { readonly state: State } & (
  | { readonly change: NewDistrict; readonly headquartersOf?: undefined }
  | { readonly headquartersOf: string; readonly change?: undefined }
);

const recordedChanges = (state: State): readonly NewDistrict[] =>
  loadNewDistricts().get(findRecordedState(state)?.name ?? "") ?? [];

const matches = ({ forms }: NameWithForms, other: NameWithForms): boolean =>
  isSameName(forms, other.forms) || hasSameSound(forms, other.forms);

const isListed = (district: NameWithForms, { names }: NameIndex): boolean =>
  names.some((name) => name.match !== "headquarters" && matches(district, name));

const lastYear = ({ year, restored = year }: Pick<NewDistrict, "year" | "restored">): number => restored;

/** What happened to a district last, and in which year. */
export const lastChange = (change: Pick<NewDistrict, "status" | "year" | "restored">) => ({
  status: change.restored === undefined ? change.status : "restored",
  year: lastYear(change),
});

export function withCreation<R extends DistrictRow>(row: R, country: Country): R {
  const state = country.states.value.states.find(({ code }) => code === row.stateCode);
  const creation = state && getIndex(state, country)?.getCreations().get(row.districtCode);
  if (creation === undefined) return row;
  const { year, restored, partOf } = creation;
  return { ...row, createdYear: year, ...(restored !== undefined && { restored }), carvedFrom: partOf.join(" + ") };
}

const changesSince = (state: State, since: number): readonly NewDistrict[] =>
  recordedChanges(state).filter((change) => lastYear(change) >= since);

export const hasChanges = (state: State, since: number): boolean => changesSince(state, since).length > 0;

/** Without a state's list, its districts that were made are assumed to be in it, and those that were abolished or announced are not. */
export function findUnlistedChanges(states: readonly State[], since: number, country: Country): readonly string[] {
  const unlisted = states.flatMap((state) => {
    const changes = changesSince(state, since);
    const index = changes.length > 0 ? getIndex(state, country) : undefined;
    const isAssumedListed = (change: NewDistrict): boolean =>
      index === undefined ? change.status === "made" : isListed(change, index);
    return changes.flatMap((change) => (isAssumedListed(change) ? [] : { ...change, state }));
  });
  return unlisted
    .sort((one, other) => lastYear(other) - lastYear(one))
    .map((change) => {
      const { status, year } = lastChange(change);
      return `${change.name} (${change.state.code}) ${status} ${year}`;
    });
}

export function recordedYears(): readonly [first: number, last: number] {
  const years = [...loadNewDistricts().values()].flat().map(({ year }) => year);
  return [Math.min(...years), Math.max(...years)];
}

/** Finds an entry of the public record for one of these names, if its state's list is known and does not contain it. */
export function findUnlisted(texts: readonly string[], indexes: readonly NameIndex[]): UnlistedPlace | undefined {
  const queried = texts.map((name) => ({ name, forms: toNameForms(name) }));
  const isQueried = (name: NameWithForms): boolean => queried.some((each) => matches(each, name));
  const findStateWithout = (district: NameWithForms, recordedState: string): State | undefined => {
    const index = indexes.find((each) => each.recordedState === recordedState);
    return index && !isListed(district, index) ? index.state : undefined;
  };
  let latest: UnlistedPlace | undefined;
  for (const change of [...loadNewDistricts().values()].flat().filter(isQueried)) {
    const state = findStateWithout(change, change.state);
    if (state !== undefined && change.year >= (latest?.change?.year ?? 0)) latest = { state, change };
  }
  if (latest !== undefined) return latest;
  for (const [recordedState, districts] of loadRecordedDistricts())
    for (const district of districts.filter(({ towns }) => towns.some(isQueried))) {
      const state = findStateWithout(district, recordedState);
      if (state !== undefined) return { state, headquartersOf: district.name };
    }
  return undefined;
}
