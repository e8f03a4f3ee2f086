// The tables of the public record (README.md beside them describes them), each read at its first use and prepared for comparing
// names. In the bundle they lie beside the program: the URL is the same.
import { readFileSync } from "node:fs";
import { grouped } from "../../grouped.ts";
import { formsOf, type NameForms } from "../fold.ts";

export type OtherNameKind = "former" | "spelling" | "short";

/** A name with the forms by which it is compared. */
export interface Named {
  readonly name: string;
  readonly forms: NameForms;
}

export interface OtherName extends Named {
  readonly kind: OtherNameKind;
  /** Of a former name: the year since which the district has its name of today. */
  readonly since?: number;
}

/** A town that a district is governed from, or a great city in it, whose name is not the district's. */
export interface Seat extends Named {
  readonly isSeat: boolean;
}

/** What the record has of a district of today. */
export interface RecordedDistrict extends Named {
  readonly names: readonly OtherName[];
  readonly seats: readonly Seat[];
}

export interface NewDistrict extends Named {
  readonly state: string;
  readonly status: "made" | "announced" | "abolished";
  readonly year: number;
  /** The districts that it was, or is again, a part of. */
  readonly partOf: readonly string[];
}

/** A state of today. */
export interface RecordedState extends Named {
  readonly others: readonly (Named & { readonly isCode: boolean })[];
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** A table's cells, row by row, without its header line. */
function readTable(file: string): readonly (readonly string[])[] {
  const lines = readFileSync(new URL(`./${file}.tsv`, import.meta.url), "utf8").split("\n");
  return lines.slice(1).flatMap((line) => (line === "" ? [] : [line.split("\t")]));
}

const named = (name: string): Named => ({ name, forms: formsOf(name) });

const kindOf = (text: string): OtherNameKind => (text === "former" || text === "short" ? text : "spelling");

/** By the state of today. */
export const recordedDistricts = once((): ReadonlyMap<string, readonly RecordedDistrict[]> => {
  const districts = new Map<string, RecordedDistrict & { names: OtherName[]; seats: Seat[]; state: string }>();
  const districtOf = (name = "", state = "") => {
    const key = `${state}\t${name}`;
    const known = districts.get(key) ?? { ...named(name), state, names: [], seats: [] };
    districts.set(key, known);
    return known;
  };
  for (const [district, state, name = "", kind = "", since = ""] of readTable("other-names"))
    districtOf(district, state).names.push({
      ...named(name),
      kind: kindOf(kind),
      ...(since !== "" && { since: Number(since) }),
    });
  for (const [district, state, name = "", kind] of readTable("seats"))
    districtOf(district, state).seats.push({ ...named(name), isSeat: kind === "seat" });
  return grouped(Array.from(districts.values(), (district) => [district.state, district]));
});

export const newDistricts = once((): readonly NewDistrict[] =>
  readTable("new-districts").map(([district = "", state = "", status = "", year = "", partOf = ""]) => ({
    ...named(district),
    state,
    status: status === "announced" || status === "abolished" ? status : "made",
    year: Number(year),
    partOf: partOf.split(" + ").filter((name) => name !== ""),
  })),
);

export const recordedStates = once((): readonly RecordedState[] =>
  [...grouped(readTable("states").map(([state = "", ...row]) => [state, row]))].map(([state, rows]) => ({
    ...named(state),
    others: rows.map(([other = "", kind]) => ({ ...named(other), isCode: kind === "code" })),
  })),
);
