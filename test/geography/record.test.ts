// Tests the public record of names: its tables are well-formed, consistent, and cite their sources.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readDistricts, readStates } from "../../src/emulator/catalogue.ts";
import { fold } from "../../src/geography/names/name-forms.ts";

type Row = Readonly<Record<string, string>>;

const textOf = (row: Row): string => Object.values(row).join(" | ");

const OPTIONAL_COLUMNS: ReadonlySet<string> = new Set(["otherNames", "towns"]);

function readTable(file: string, columns: readonly string[]): readonly Row[] {
  const url = new URL(`../../src/geography/names/record/${file}`, import.meta.url);
  const [header, ...lines] = readFileSync(url, "utf8").split("\n");
  expect(header).toBe(columns.join("\t"));
  expect(lines.pop(), `${file} ends with a line break`).toBe("");
  return lines.map((line) => {
    const cells = line.split("\t");
    expect(cells.length, line).toBe(columns.length);
    for (const [index, cell] of cells.entries()) {
      expect(cell, line).toBe(cell.normalize("NFC").replace(/\s+/gu, " ").trim());
      if (!OPTIONAL_COLUMNS.has(columns[index] ?? "")) expect(cell, line).not.toBe("");
    }
    return Object.fromEntries(columns.map((column, index) => [column, cells[index] ?? ""]));
  });
}

/** Returns one row for each name in a cell: "Cuddapah (former 2005, gazette-ap) + Kadapa (spelling, census-2011)". */
const toNameRows = (row: Row, cell = ""): readonly Row[] =>
  (cell === "" ? [] : cell.split(" + ")).map((text) => {
    const [, name = "", kind = "", since = "", source = ""] =
      /^(.+) \((\w+)(?: (\d+))?, ([\w-]+)\)$/.exec(text) ?? expect.fail(`${textOf(row)}: ${text}`);
    const { district = "", state = "" } = row;
    return { district, state, name, kind, since, source };
  });

const districts = readTable("districts.tsv", [
  ...["district", "state", "lgdCode", "mandalCount", "otherNames", "towns", "localNames"],
]);
const names = districts.flatMap((row) => toNameRows(row, row["otherNames"]));
/** One row for each name in an Indian script. */
const localNames: readonly Row[] = districts.flatMap(({ district = "", state = "", localNames: text = "" }) =>
  text.split(" + ").map((part): Row => {
    const [language = "", ...words] = part.split(" ");
    return { district, state, name: words.join(" "), language, source: `wikipedia-${language}` };
  }),
);
const headquarters = districts.flatMap((row) => toNameRows(row, row["towns"]));
const changes = readTable("new-districts.tsv", ["district", "state", "status", "year", "partOf", "source"]);
const states = readTable("states.tsv", ["state", "code", "lgdCode", "otherNames"]).flatMap((row) =>
  toNameRows(row, row["otherNames"]),
);
const sources = readTable("sources.tsv", ["id", "title", "publisher", "year", "address"]);

const toKey = (...parts: readonly (string | undefined)[]): string => parts.join("\t");
const stateNames = new Map(readStates().map(({ code, name }) => [code, name]));
const currentNames = new Set(readDistricts().map(({ stateCode, name }) => toKey(stateNames.get(stateCode), name)));
const foldedCurrentNames = new Set(
  readDistricts().map(({ stateCode, name }) => toKey(stateNames.get(stateCode), fold(name))),
);

const COLONIAL_SOURCES = new Set(["igi-1908", "pre-hunterian"]);
const COMMON_WORDS = new Set(
  "nagar pur city town rural urban central new old north south east west lower upper hills valley".split(" "),
);
const THIS_YEAR = 2026;

/** Languages of the states whose districts have names in another language than Hindi. */
const STATE_LANGUAGES: Readonly<Record<string, string>> = {
  AP: "te",
  AS: "as",
  DH: "gu",
  GA: "kok",
  GJ: "gu",
  KA: "kn",
  KL: "ml",
  LD: "ml",
  MH: "mr",
  OD: "or",
  PB: "pa",
  PY: "ta",
  TG: "te",
  TN: "ta",
  TR: "bn",
  WB: "bn",
};

function expectYear(year: string | undefined, from: number, row: Row): void {
  expect(year, textOf(row)).toMatch(/^\d{4}$/);
  expect(Number(year), textOf(row)).toBeGreaterThanOrEqual(from);
  expect(Number(year), textOf(row)).toBeLessThanOrEqual(THIS_YEAR);
}

const TABLES: readonly (readonly [string, readonly Row[], readonly string[]])[] = [
  ["names", names, ["state", "district", "name"]],
  ["headquarters", headquarters, ["state", "district", "name"]],
  ["changes", changes, ["state", "district", "year"]],
  ["states", states, ["state", "name"]],
  ["states' other names", states.toSorted((a, b) => ((a["name"] ?? "") < (b["name"] ?? "") ? -1 : 1)), ["name"]],
];

test.each(TABLES)("the rows of %s are sorted and unique, ignoring case and accents", (title, rows, columns) => {
  const keys = rows.map((row) => toKey(...columns.map((column) => row[column])));
  expect(keys).toEqual([...keys].sort());
  // A district may change twice in a year.
  const folded = rows.map((row, at) =>
    [keys[at]?.split("\t").map(fold), title === "changes" ? row["status"] : ""].join("\t"),
  );
  expect(folded.filter((each, at) => folded.indexOf(each) !== at)).toEqual([]);
});

test("each source is cited and each cited source exists, with a title, a publisher, its years and an https address", () => {
  const citedSources = new Set(
    [...names, ...localNames, ...headquarters, ...changes, ...states].map(({ source }) => source),
  );
  expect(sources.map(({ id }) => id)).toEqual([...citedSources].sort());
  for (const { title, publisher, year, address } of sources) {
    expect(title).not.toBe("");
    expect(publisher).not.toBe("");
    expect(year).toMatch(/^\d{4}(-\d{4})?$/);
    expect(new URL(address ?? "").protocol).toBe("https:");
  }
});

test.each([
  ["other names", names, ["former", "spelling", "short"], /^[\p{Script=Latin}\d .&'()/-]+$/u],
  ["headquarters", headquarters, ["headquarters", "city"], /^[\p{Script=Latin} .'-]+$/u],
] as const)(
  "%s belong to listed districts, and none is a common word or the name of another district",
  (_, rows, kinds, form) => {
    for (const row of rows) {
      const { district, state, name = "", kind } = row;
      expect(currentNames, textOf(row)).toContain(toKey(state, district));
      expect(foldedCurrentNames, textOf(row)).not.toContain(toKey(state, fold(name)));
      expect(kinds, textOf(row)).toContain(kind);
      expect(name).toMatch(form);
      expect(COMMON_WORDS.has(fold(name)) || fold(name).length < 2, textOf(row)).toBe(false);
    }
  },
);

/** Letters of each language of the local names. */
const LANGUAGE_LETTERS: Readonly<Record<string, RegExp>> = {
  as: /^[\p{Script=Bengali} -]+$/u,
  bn: /^[\p{Script=Bengali} -]+$/u,
  gu: /^[\p{Script=Gujarati} -]+$/u,
  hi: /^[\p{Script=Devanagari}\d .-]+$/u,
  kn: /^[\p{Script=Kannada} -]+$/u,
  kok: /^[\p{Script=Devanagari} -]+$/u,
  ml: /^[\p{Script=Malayalam} -]+$/u,
  mr: /^[\p{Script=Devanagari} -]+$/u,
  or: /^[\p{Script=Oriya} -]+$/u,
  pa: /^[\p{Script=Gurmukhi} -]+$/u,
  ta: /^[\p{Script=Tamil} -]+$/u,
  te: /^[\p{Script=Telugu}\u200c .-]+$/u,
};

describe("local names", () => {
  test("the rows are sorted and unique, and each is in the letters of its language", () => {
    const keys = localNames.map(({ state, district, name }) => toKey(state, district, name));
    expect(keys).toEqual([...new Set(keys)].sort());
    for (const row of localNames) {
      expect(row["name"], textOf(row)).toMatch(LANGUAGE_LETTERS[row["language"] ?? ""] ?? /^$/);
    }
  });

  test("each district has a name in Devanagari and in the language of its state, if that is written in one of the scripts", () => {
    const languages = new Map(readStates().map(({ code, name }) => [name, STATE_LANGUAGES[code] ?? "hi"]));
    const districtsIn = (isName: (row: Row) => boolean): ReadonlySet<string> =>
      new Set(localNames.filter(isName).map(({ state, district }) => toKey(state, district)));
    expect(districtsIn(({ state = "", language }) => language === languages.get(state))).toEqual(currentNames);
    expect(districtsIn(({ name = "" }) => /\p{Script=Devanagari}/u.test(name))).toEqual(currentNames);
  });
});

test("an other name has a year only if an act ended it, and no headquarters town is also another name", () => {
  for (const row of names) {
    const { kind, since = "", source = "" } = row;
    if (since !== "") expectYear(since, 1947, row);
    if (kind !== "former" || COLONIAL_SOURCES.has(source)) expect(since, textOf(row)).toBe("");
  }
  const recordedNames = new Set(names.map(({ state, district, name }) => toKey(state, district, fold(name ?? ""))));
  expect(
    headquarters.filter(({ state, district, name }) => recordedNames.has(toKey(state, district, fold(name ?? "")))),
  ).toEqual([]);
});

describe("new districts", () => {
  test("the last recorded change of each new district agrees with today's list", () => {
    const last = new Map(changes.map(({ state, district, status }) => [toKey(state, district), status]));
    expect([...last].filter(([district, status]) => currentNames.has(district) !== (status === "made"))).toEqual([]);
  });

  test("each new district has a status, a year, and the districts that it came from or went back to", () => {
    const former = new Set(names.filter(({ kind }) => kind === "former").map(({ state, name }) => toKey(state, name)));
    for (const row of changes) {
      const { district, state, status = "", year, partOf = "" } = row;
      expect(["made", "announced", "abolished"], textOf(row)).toContain(status);
      expectYear(year, 2010, row);
      const parents = partOf.split(" + ");
      expect(parents).toEqual([...new Set(parents)].sort());
      const isKnown = (parent: string) => currentNames.has(toKey(state, parent)) || former.has(toKey(state, parent));
      const wrong = parents.filter((parent) => parent === district || !isKnown(parent));
      expect(wrong, textOf(row)).toEqual([]);
    }
  });
});

test("recorded states are those of the list, codes have two letters, and no form is another state's name", () => {
  expect(new Set(states.map(({ state }) => state))).toEqual(new Set(stateNames.values()));
  const today = new Set([...stateNames.values()].map(fold));
  for (const row of states) {
    const { name = "", kind = "" } = row;
    expect(["code", "name", "short"], textOf(row)).toContain(kind);
    if (kind === "code") expect(name).toMatch(/^[A-Z]{2}$/);
    expect(today, textOf(row)).not.toContain(fold(name));
  }
});
