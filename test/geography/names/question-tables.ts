// Reads the questions that measure find_district, one table for each class, and alternative public spellings of many districts.
// The tables give each district by code and by name, so that an error in one of them is detected.
import { readdirSync } from "node:fs";
import { readRecord, readTable } from "../../../src/core/package-files.ts";
import { emulatedDistricts } from "../known-country.ts";

export interface Question {
  readonly kind: string;
  readonly query: string;
  readonly state?: string;
  /** The right answer: codes of districts joined by "+", all of which are meant; "state XX"; or "none" if nothing is certain. */
  readonly expected: string;
  /** The required kind of match; undefined if any kind is right. */
  readonly match?: string;
}

const namesByCode: ReadonlyMap<string, string> = new Map(emulatedDistricts.map(({ code, name }) => [code, name]));

/** Throws if the directory has other names for these codes. */
function assertDirectoryNames(codes: string, names = ""): void {
  const directoryNames = codes.split("+").map((code) => namesByCode.get(code) ?? "no district");
  if (directoryNames.join(" + ") !== names)
    throw new Error(`the directory has ${directoryNames.join(" + ")} under ${codes}, the table ${names}`);
}

/** A row has the queries with the same answer, and the states that they are asked with, separated by " | ". */
export const questions: readonly Question[] = readdirSync(new URL("questions", import.meta.url))
  .toSorted()
  .flatMap((file) =>
    readTable(new URL(`questions/${file}`, import.meta.url)).flatMap(
      ({ queries = "", state, expected = "", match, names }) => {
        if (!/^(?:none|state [A-Z]{2})$/.test(expected)) assertDirectoryNames(expected, names);
        const kind = file.replace(/\.tsv$/, "");
        const states = state?.split(" | ") ?? [undefined];
        return queries
          .split(" | ")
          .flatMap((query) => states.map((each) => ({ kind, query, state: each, expected, match })));
      },
    ),
  );

/** One question for each name in the directory, with its exact spelling. */
export const directoryNameQuestions: readonly Question[] = [...new Set(namesByCode.values())].map((query) => {
  const codes = emulatedDistricts.flatMap(({ code, name }) => (name === query ? [code] : []));
  return { kind: "every-name", query, expected: codes.join("+"), match: "exact" };
});

const recordedDistricts = readRecord("districts");
const stateNames = new Map(readRecord("states").map(({ code = "", state = "" }) => [code, state]));

/** The district's former name, or another spelling. */
function otherNameOf(lgdCode: string): string | undefined {
  const { otherNames = "" } = recordedDistricts.find((each) => each["lgdCode"] === lgdCode) ?? {};
  return otherNames.split(" + ").flatMap((text) => /^(.+) \((?:former|spelling)/.exec(text)?.[1] ?? [])[0];
}

/**
 * Shapes of names in public files: tables with footnotes and row numbers, LGD exports, lists with the old name in brackets, forms of states.
 * A shape with a state, a code or a second name means one district.
 */
const SHAPES: readonly (readonly [
  kind: string,
  toQuery: (name: string, state: string, stateCode: string, lgdCode: string, other: string) => string,
])[] = [
  ["shape-state", (name, state) => `${name}, ${state}`],
  ["shape-upper", (name, state) => `${name} (${state})`.toUpperCase()],
  ["shape-iso", (name, _state, stateCode) => `${name}, IN-${stateCode}`],
  ["shape-footnote", (name, state) => `${name}[2], ${state}`],
  ["shape-number", (name, state) => `12. ${name} (${state})`],
  ["shape-code", (name, _state, _stateCode, lgdCode) => `${name} (${lgdCode})`],
  ["shape-code-only", (_name, _state, _stateCode, lgdCode) => lgdCode],
  ["shape-brackets", (name, state, _stateCode, _lgdCode, other) => `${name} (${other}), ${state}`],
  ["shape-slash", (name, _state, stateCode, _lgdCode, other) => `${other}/${name} - ${stateCode}`],
];

/** One question for each district and shape; shapes with a second name only for districts that have one. */
export const shapeQuestions: readonly Question[] = SHAPES.flatMap(([kind, toQuery]) =>
  emulatedDistricts.flatMap(({ name, stateCode, code }) => {
    const other = otherNameOf(code);
    if (other === undefined && toQuery.length > 4) return [];
    const query = toQuery(name, stateNames.get(stateCode) ?? "", stateCode, code, other ?? "");
    return [{ kind, query, expected: code }];
  }),
);

/** One question for each name in an Indian script: in the language of the state, and in Hindi. */
export const localNameQuestions: readonly Question[] = readRecord("districts").flatMap(
  ({ lgdCode: expected = "", localNames = "" }) => {
    return localNames.split(" + ").map((text) => {
      return { kind: "local-names", query: text.slice(text.indexOf(" ") + 1), expected, match: "exact" };
    });
  },
);

/** By code: the spelling in another public list (the census of 2011, the election commission, ISO 3166-2, the press). */
export const alternativeSpellings: ReadonlyMap<string, string> = new Map(
  readTable(new URL("respelled.tsv", import.meta.url)).map(({ code = "", respelled: other = "", name }) => {
    assertDirectoryNames(code, name);
    if (other === name) throw new Error(`${name} is not respelled`);
    return [code, other];
  }),
);
