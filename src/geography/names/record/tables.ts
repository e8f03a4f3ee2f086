// Reads the tables of the public record (README.md in this folder), each at its first use, prepared for comparing names.
import { groupByKey } from "../../../core/counts.ts";
import { once } from "../../../core/once.ts";
import { readRecord, type TableRow } from "../../../core/package-files.ts";
import { type NameForms, toNameForms } from "../name-forms.ts";

export type OtherNameKind = "former" | "spelling" | "short";

export interface NameWithForms {
  readonly name: string;
  readonly forms: NameForms;
}

export interface OtherName extends NameWithForms {
  readonly kind: OtherNameKind;
  /** For a former name: the year since which the district has its current name. */
  readonly since?: number;
}

/** The headquarters of a district, or a large city in it, whose name differs from the district's. */
export interface RecordedTown extends NameWithForms {
  readonly isHeadquarters: boolean;
}

export interface RecordedDistrict extends NameWithForms {
  readonly names: readonly OtherName[];
  readonly towns: readonly RecordedTown[];
}

/** A recorded district with its names in Indian scripts: in Hindi, and in the language of its state. */
export interface LocallyNamedDistrict extends RecordedDistrict {
  readonly localNames: readonly NameWithForms[];
}

export interface NewDistrict extends NameWithForms {
  readonly state: string;
  readonly status: "made" | "announced" | "abolished";
  readonly year: number;
  /** For a district that was made, abolished and made again: the year of the latter. */
  readonly restored?: number;
  /** The districts that it was part of, or is part of again. */
  readonly partOf: readonly string[];
}

export interface RecordedState extends NameWithForms {
  readonly otherNames: readonly (NameWithForms & { readonly isCode: boolean })[];
}

const toNameWithForms = (name: string): NameWithForms => ({ name, forms: toNameForms(name) });

const NAME = /^(.+) \((\w+)(?: (\d{4}))?, [\w-]+\)$/;

/** Parses "Cuddapah (former 2005, gazette-ap) + Kadapa (spelling, census-2011)". The sources are for the readers of the table. */
const parseNames = (cell = "") =>
  cell.split(" + ").flatMap((text) => {
    const [, name, kind = "", year] = NAME.exec(text) ?? [];
    return name === undefined ? [] : [{ ...toNameWithForms(name), kind, ...(year && { since: Number(year) }) }];
  });

const toOtherName = ({ kind, ...name }: ReturnType<typeof parseNames>[number]): OtherName => ({
  ...name,
  kind: kind === "former" || kind === "short" ? kind : "spelling",
});

const readDistricts = once(() => readRecord("districts"));

/** Returns the districts that have other names or towns in the record, by the current name of their state. */
export const loadRecordedDistricts = once((): ReadonlyMap<string, readonly RecordedDistrict[]> => {
  const named = readDistricts().filter(({ otherNames, towns }) => otherNames ?? towns);
  return groupByKey(
    named.map(({ district: name = "", state = "", otherNames, towns }) => {
      const headquarters = parseNames(towns).map(({ kind, ...town }) => ({
        ...town,
        isHeadquarters: kind === "headquarters",
      }));
      return [state, { ...toNameWithForms(name), names: parseNames(otherNames).map(toOtherName), towns: headquarters }];
    }),
  );
});

/** With names in Indian scripts ("hi नाम + te పేరు"), which only queries in these scripts need. */
export function loadLocallyNamedDistricts(state: string): readonly LocallyNamedDistrict[] {
  const recorded = loadRecordedDistricts().get(state) ?? [];
  const districts = readDistricts().filter((each) => each["state"] === state);
  return districts.map(({ district: name = "", localNames = "" }) => {
    const district = recorded.find((each) => each.name === name) ?? { ...toNameWithForms(name), names: [], towns: [] };
    const names = localNames.split(" + ").map((text) => text.slice(text.indexOf(" ") + 1));
    return { ...district, localNames: names.map(toNameWithForms) };
  });
}

const MADE_OF = /^(.+) \((\d{4})(?:, restored (\d{4}))?, [\w-]+\)$/;

/** Returns the changes by which districts of today were made: "Krishna + West Godavari (2022, gazette-ap)". */
const readMadeDistricts = (): readonly TableRow[] =>
  readDistricts().flatMap(({ madeOf = "", ...district }) => {
    const [, partOf, year, restored] = MADE_OF.exec(madeOf) ?? [];
    return year && partOf ? [{ ...district, status: "made", year, partOf, ...(restored && { restored }) }] : [];
  });

/** Returns the last change of each new or abolished district by the current name of its state, sorted by name. */
export const loadNewDistricts = once((): ReadonlyMap<string, readonly NewDistrict[]> => {
  const changes = [...readRecord("new-districts"), ...readMadeDistricts()].map(
    ({ district = "", state = "", status, year, restored, partOf = "" }): NewDistrict => ({
      ...toNameWithForms(district),
      state,
      status: status === "announced" || status === "abolished" ? status : "made",
      year: Number(year),
      ...(restored && { restored: Number(restored) }),
      partOf: partOf.split(" + "),
    }),
  );
  const toKey = ({ state, name }: NewDistrict): string => `${state}\t${name}`;
  changes.sort((a, b) => (toKey(a) < toKey(b) ? -1 : Number(toKey(a) > toKey(b))));
  return groupByKey(changes.map((change) => [change.state, change]));
});

export const loadRecordedStates = once((): readonly RecordedState[] =>
  readRecord("states").map(({ state = "", otherNames }) => ({
    ...toNameWithForms(state),
    otherNames: parseNames(otherNames).map(({ kind, ...name }) => ({ ...name, isCode: kind === "code" })),
  })),
);
