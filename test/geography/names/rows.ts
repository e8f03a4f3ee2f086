// The questions that finding districts is measured by, a table for each class, and another public spelling for many districts.
// The tables name districts twice, by code and by name: a slip in one of them is seen.
import { readdirSync, readFileSync } from "node:fs";
import * as z from "zod/v4";
import { type DistrictFacts, readDistricts } from "../../../src/emulator/geography/catalogue.ts";

/** What a right answer says: these districts, that nothing is certain, or that it is a state. */
export type Expected =
  | { readonly kind: "districts"; readonly codes: readonly string[] }
  | { readonly kind: "none" }
  | { readonly kind: "state"; readonly code: string };

export const Match = z.enum(["exact", "alias", "seat", "similar"]);
export type Match = z.infer<typeof Match>;

export interface Question {
  /** The table's name. */
  readonly kind: string;
  readonly query: string;
  readonly state?: string;
  readonly expected: Expected;
  /** The kind of match it must be found by, where its class says so. */
  readonly match?: Match;
}

/** Rows by their column's name; empty cells, and those that a line ends before, are left out. */
function readTable(path: string): readonly Readonly<Record<string, string>>[] {
  const [header = "", ...lines] = readFileSync(new URL(path, import.meta.url), "utf8")
    .trimEnd()
    .split("\n");
  const columns = header.split("\t");
  return lines.map((line) => {
    const cells = line.split("\t");
    if (cells.length > columns.length) throw new Error(`${path} has too many cells in "${line}"`);
    return Object.fromEntries(columns.flatMap((column, at) => (cells[at] ? [[column, cells[at]]] : [])));
  });
}

export function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

const districts: ReadonlyMap<string, DistrictFacts> = new Map(readDistricts().map((each) => [each.code, each]));

/** The district of this code. Throws where the directory has it under another name. */
function districtNamed(code: string, name: string | undefined): DistrictFacts {
  const district = districts.get(code);
  if (district === undefined || district.name !== name)
    throw new Error(`the directory has ${district?.name ?? "no district"} under ${code}, the table ${name}`);
  return district;
}

function expectedBy(cell: string, names: string | undefined): Expected {
  if (cell === "none") return { kind: "none" };
  const [, state] = /^state ([A-Z]{2})$/.exec(cell) ?? [];
  if (state !== undefined) return { kind: "state", code: state };
  const codes = cell.split("+");
  const named = (names ?? "").split(" + ");
  if (named.length !== codes.length) throw new Error(`${cell} is told as ${names}`);
  for (const [at, code] of codes.entries()) districtNamed(code, named[at]);
  return { kind: "districts", codes };
}

function readQuestions(file: string): readonly Question[] {
  return readTable(`questions/${file}`).map(({ query = "", state, expected = "", match, names }) => ({
    kind: file.replace(/\.tsv$/, ""),
    query,
    ...(state !== undefined && { state }),
    expected: expectedBy(expected, names),
    ...(match !== undefined && { match: Match.parse(match) }),
  }));
}

export const questions: readonly Question[] = readdirSync(new URL("questions", import.meta.url))
  .toSorted()
  .flatMap(readQuestions);

/** Every name of the directory, asked as it stands there. */
export const ownNames: readonly Question[] = [...new Set(Array.from(districts.values(), ({ name }) => name))].map(
  (name) => {
    const codes = Array.from(districts.values()).flatMap((each) => (each.name === name ? [each.code] : []));
    return { kind: "every-name", query: name, expected: { kind: "districts", codes }, match: "exact" };
  },
);

/** By code: the name as another public list spells it (the census of 2011, the election commission, ISO 3166-2, the press). */
export const respelled: ReadonlyMap<string, string> = new Map(
  readTable("respelled.tsv").map(({ code = "", respelled: other = "", name }) => {
    if (districtNamed(code, name).name === other) throw new Error(`${name} is not respelled`);
    return [code, other];
  }),
);
