// Reads the questions that measure find_district, one table for each class, and alternative public spellings of many districts.
// The tables give each district by code and by name, so that an error in one of them is detected.
import { readdirSync, readFileSync } from "node:fs";
import { readStates } from "../../../src/emulator/geography/catalogue.ts";
import { emulatedDistricts } from "../known-country.ts";

export interface Question {
  /** Name of the table. */
  readonly kind: string;
  readonly query: string;
  readonly state?: string | undefined;
  /** The right answer: codes of districts joined by "+", all of which are meant; "state XX"; or "none" if nothing is certain. */
  readonly expected: string;
  /** The required kind of match; undefined if any kind is right. */
  readonly match?: string | undefined;
}

/** Rows by column name, without empty or missing cells. */
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

const namesByCode: ReadonlyMap<string, string> = new Map(emulatedDistricts.map(({ code, name }) => [code, name]));

/** Throws if the directory has other names for these codes. */
function assertDirectoryNames(codes: string, names = ""): void {
  const directoryNames = codes.split("+").map((code) => namesByCode.get(code) ?? "no district");
  if (directoryNames.join(" + ") !== names)
    throw new Error(`the directory has ${directoryNames.join(" + ")} under ${codes}, the table ${names}`);
}

export const questions: readonly Question[] = readdirSync(new URL("questions", import.meta.url))
  .toSorted()
  .flatMap((file) =>
    readTable(`questions/${file}`).map(({ query = "", state, expected = "", match, names }) => {
      if (!/^(?:none|state [A-Z]{2})$/.test(expected)) assertDirectoryNames(expected, names);
      return { kind: file.replace(/\.tsv$/, ""), query, state, expected, match };
    }),
  );

/** One question for each name in the directory, with its exact spelling. */
export const directoryNameQuestions: readonly Question[] = [...new Set(namesByCode.values())].map((query) => {
  const codes = emulatedDistricts.flatMap(({ code, name }) => (name === query ? [code] : []));
  return { kind: "every-name", query, expected: codes.join("+"), match: "exact" };
});

/** One question for each name in an Indian script: in the language of the state, and in Hindi. */
export const localNameQuestions: readonly Question[] = readTable(
  "../../../src/geography/names/record/districts.tsv",
).flatMap(({ district, state, localNames = "" }) => {
  const stateCode = readStates().find(({ name }) => name === state)?.code;
  const expected = emulatedDistricts.find((each) => each.stateCode === stateCode && each.name === district)?.code ?? "";
  return localNames.split(" + ").map((text) => {
    return { kind: "local-names", query: text.slice(text.indexOf(" ") + 1), expected, match: "exact" };
  });
});

/** By code: the spelling in another public list (the census of 2011, the election commission, ISO 3166-2, the press). */
export const alternativeSpellings: ReadonlyMap<string, string> = new Map(
  readTable("respelled.tsv").map(({ code = "", respelled: other = "", name }) => {
    assertDirectoryNames(code, name);
    if (other === name) throw new Error(`${name} is not respelled`);
    return [code, other];
  }),
);
