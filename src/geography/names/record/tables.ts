// The tables of the public record, read when they are first asked for. In the bundle they lie beside the program: the URL
// is the same. README.md beside them says what they hold.
import { readFileSync } from "node:fs";

/** A district of today, by its state's name of today. */
interface OfDistrict {
  readonly district: string;
  readonly state: string;
}

export type OtherNameKind = "former" | "spelling" | "short";

export interface OtherName extends OfDistrict {
  readonly name: string;
  readonly kind: OtherNameKind;
  /** Of a former name: the year since which the district has its name of today. */
  readonly since?: number;
}

/** A town that a district is governed from, or a great city in it, whose name is not the district's. */
export interface Seat extends OfDistrict {
  readonly name: string;
  readonly isSeat: boolean;
}

export interface NewDistrict extends OfDistrict {
  readonly status: "made" | "announced" | "abolished";
  readonly year: number;
  /** The districts that it was, or is again, a part of. */
  readonly partOf: readonly string[];
}

export interface OtherStateName {
  readonly state: string;
  readonly other: string;
  readonly isCode: boolean;
}

/** A table's cells, row by row, without its header line. */
function readTable(url: URL): readonly (readonly string[])[] {
  const lines = readFileSync(url, "utf8").split("\n");
  return lines.slice(1).flatMap((line) => (line === "" ? [] : [line.split("\t")]));
}

/** Made at its first use. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** By the state of today. */
function byState<Row extends OfDistrict>(rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.state);
    if (group === undefined) groups.set(row.state, [row]);
    else group.push(row);
  }
  return groups;
}

const kindOf = (text: string): OtherNameKind => (text === "former" || text === "short" ? text : "spelling");

export const otherNames = once(() =>
  byState(
    readTable(new URL("./other-names.tsv", import.meta.url)).map(
      ([district = "", state = "", name = "", kind = "", since = ""]): OtherName => ({
        district,
        state,
        name,
        kind: kindOf(kind),
        ...(since !== "" && { since: Number(since) }),
      }),
    ),
  ),
);

export const seats = once(() =>
  byState(
    readTable(new URL("./seats.tsv", import.meta.url)).map(
      ([district = "", state = "", name = "", kind = ""]): Seat => ({ district, state, name, isSeat: kind === "seat" }),
    ),
  ),
);

/** Those that have other names of districts, or seats. */
export const recordedStates = once((): readonly string[] => [...new Set([...otherNames().keys(), ...seats().keys()])]);

export const newDistricts = once((): readonly NewDistrict[] =>
  readTable(new URL("./new-districts.tsv", import.meta.url)).map(
    ([district = "", state = "", status = "", year = "", partOf = ""]) => ({
      district,
      state,
      status: status === "announced" || status === "abolished" ? status : "made",
      year: Number(year),
      partOf: partOf.split(" + ").filter((name) => name !== ""),
    }),
  ),
);

export const otherStateNames = once((): readonly OtherStateName[] =>
  readTable(new URL("./states.tsv", import.meta.url)).map(([state = "", other = "", kind = ""]) => ({
    state,
    other,
    isCode: kind === "code",
  })),
);
