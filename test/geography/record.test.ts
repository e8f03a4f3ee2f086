// Tests the public record of names: its tables are well-formed, consistent, and cite their sources.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fold } from "../../src/geography/names/name-forms.ts";
import { words } from "../support/words.ts";

type Row = Readonly<Record<string, string>>;

const OPTIONAL_COLUMNS: ReadonlySet<string> = new Set(["madeOf", "otherNames", "towns"]);

/** Reads a table whose columns, in this order, are named in `header`. Every cell is present, and empty only in an optional column. */
function readTable(file: string, header: string): readonly Row[] {
  const url = new URL(`../../src/geography/names/record/${file}`, import.meta.url);
  const columns = header.split(" ");
  const [firstLine, ...lines] = readFileSync(url, "utf8").split("\n");
  expect(firstLine).toBe(columns.join("\t"));
  expect(lines.pop(), `${file} ends with a line break`).toBe("");
  return lines.map((line) => {
    const cells = line.split("\t");
    expect(cells.length, line).toBe(columns.length);
    expect(line.normalize("NFC")).toBe(line);
    for (const [at, cell] of cells.entries()) {
      expect(cell, line).toBe(cell.replace(/\s+/gu, " ").trim());
      if (!OPTIONAL_COLUMNS.has(columns[at] ?? "")) expect(cell, line).not.toBe("");
    }
    return Object.fromEntries(columns.map((column, at) => [column, cells[at] ?? ""]));
  });
}

const districts = readTable("districts.tsv", "district state lgdCode mandalCount madeOf otherNames towns localNames");
const states = readTable("states.tsv", "state code lgdCode otherNames");
const sources = readTable("sources.tsv", "id title publisher year address");

/** Returns one row for each part of a column's cells, with the groups of `pattern`, which every part must match. */
const splitCells = (rows: readonly Row[], column: string, pattern: RegExp): readonly Row[] =>
  rows.flatMap(({ [column]: cell = "", district = "", state = "" }) =>
    (cell === "" ? [] : cell.split(" + ")).map((text) => {
      const groups = pattern.exec(text)?.groups ?? expect.fail(`${district}, ${state}: ${text}`);
      return { district, state, text, ...groups };
    }),
  );

/** "Cuddapah (former 2005, gazette-ap)". */
const NAME = /^(?<name>.+) \((?<kind>\w+)(?: (?<since>\d+))?, (?<source>[\w-]+)\)$/;
const names = splitCells(districts, "otherNames", NAME);
const towns = splitCells(districts, "towns", NAME);
const stateNames = splitCells(states, "otherNames", NAME);
const localNames = splitCells(districts, "localNames", /^(?<language>\w+) (?<name>.+)$/);
/** "Krishna + West Godavari (2022, gazette-ap)". */
const MADE_OF = /^(?<partOf>.+) \((?<year>\d{4})(?:, restored (?<restored>\d{4}))?, (?<source>[\w-]+)\)$/;
const madeDistricts = districts.flatMap(({ district = "", state = "", madeOf = "" }): readonly Row[] =>
  madeOf === ""
    ? []
    : [{ district, state, ...(MADE_OF.exec(madeOf)?.groups ?? expect.fail(`${district}: ${madeOf}`)) }],
);
const changes = readTable("new-districts.tsv", "district state status year partOf source");

const toKey = (...parts: readonly (string | undefined)[]): string => parts.join("\t");
const currentNames = new Set(districts.map(({ state, district }) => toKey(state, district)));
const foldedCurrentNames = new Set(districts.map(({ state, district = "" }) => toKey(state, fold(district))));

const COLONIAL_SOURCES = new Set(["igi-1908", "pre-hunterian"]);
const COMMON_WORDS = new Set(
  words("nagar pur city town rural urban central new old north south east west lower upper hills valley"),
);

const readPairs = (text: string): ReadonlyMap<string, string> =>
  new Map(words(text).map((pair) => [pair.slice(0, pair.indexOf(":")), pair.slice(pair.indexOf(":") + 1)]));

/** Languages of the states whose districts have names in another language than Hindi. */
const STATE_LANGUAGES = readPairs(
  "AP:te AS:as DH:gu GA:kok GJ:gu KA:kn KL:ml LD:ml MH:mr OD:or PB:pa PY:ta TG:te TN:ta TR:bn WB:bn",
);

function expectYear(year: string | undefined, first: number, { district }: Row): void {
  expect(year, district).toMatch(/^\d{4}$/);
  expect(Number(year), district).toBeGreaterThanOrEqual(first);
  expect(Number(year), district).toBeLessThanOrEqual(2026);
}

test.each([
  ["districts", districts, "state district"],
  ["other names of districts", names, "state district name"],
  ["towns", towns, "state district name"],
  ["local names", localNames, "state district name"],
  ["new districts", changes, "state district"],
  ["states", states, "state"],
  ["other names of states", stateNames, "state name"],
])("the rows of %s are sorted and unique, ignoring case and accents", (title, rows, columns) => {
  const toCells = (row: Row) => columns.split(" ").map((column) => row[column] ?? "");
  const keys = rows.map((row) => toKey(...toCells(row)));
  expect(keys).toEqual([...keys].sort());
  // Different local names may have the same transliteration.
  const unique = rows.map((row) => toKey(...toCells(row).map((cell) => (title === "local names" ? cell : fold(cell)))));
  expect(unique.filter((each, at) => unique.indexOf(each) !== at)).toEqual([]);
});

test("each source is cited and each cited source exists, with a title, a publisher, its years and an https address", () => {
  const cited = [...names, ...towns, ...madeDistricts, ...changes, ...stateNames].map(({ source }) => source);
  const localSources = localNames.map(({ language }) => `wikipedia-${language}`);
  expect(sources.map(({ id }) => id)).toEqual([...new Set([...cited, ...localSources])].sort());
  for (const { year, address } of sources) {
    expect(year).toMatch(/^\d{4}(-\d{4})?$/);
    expect(new URL(address ?? "").protocol).toBe("https:");
  }
});

test.each([
  ["other names", names, ["former", "spelling", "short"], /^[\p{Script=Latin}\d .&'()/-]+$/u],
  ["towns", towns, ["headquarters", "city"], /^[\p{Script=Latin} .'-]+$/u],
])("none of the %s is a common word or the name of another district", (_, rows, kinds, form) => {
  for (const { state, name = "", kind } of rows) {
    expect(foldedCurrentNames).not.toContain(toKey(state, fold(name)));
    expect(kinds, name).toContain(kind);
    expect(name).toMatch(form);
    expect(COMMON_WORDS.has(fold(name)) || fold(name).length < 2, name).toBe(false);
  }
});

const SCRIPTS = readPairs(`
  as:Bengali bn:Bengali gu:Gujarati hi:Devanagari kn:Kannada kok:Devanagari ml:Malayalam mr:Devanagari or:Oriya pa:Gurmukhi
  ta:Tamil te:Telugu`);
const OTHER_CHARACTERS: Readonly<Record<string, string>> = { hi: "\\d.", te: "\\u200c." };

test("each local name is in the letters of its language", () => {
  for (const { name, language = "" } of localNames)
    expect(name).toMatch(
      new RegExp(`^[\\p{Script=${SCRIPTS.get(language)}}${OTHER_CHARACTERS[language] ?? ""} -]+$`, "u"),
    );
});

test("each district has a name in Devanagari and in the language of its state, if that is written in one of the scripts", () => {
  const languages = new Map(states.map(({ code = "", state }) => [state, STATE_LANGUAGES.get(code) ?? "hi"]));
  const districtsIn = (isName: (row: Row) => boolean): ReadonlySet<string> =>
    new Set(localNames.filter(isName).map(({ state, district }) => toKey(state, district)));
  expect(districtsIn(({ state, language }) => language === languages.get(state))).toEqual(currentNames);
  expect(districtsIn(({ name = "" }) => /\p{Script=Devanagari}/u.test(name))).toEqual(currentNames);
});

test("a name of a district has a year only if an act ended the name, and no town is also a recorded name of its district", () => {
  for (const row of names) {
    const { kind, since, source = "" } = row;
    if (since !== undefined) expectYear(since, 1947, row);
    if (kind !== "former" || COLONIAL_SOURCES.has(source)) expect(since, row["text"]).toBeUndefined();
  }
  const toNameKey = ({ state, district, name = "" }: Row): string => toKey(state, district, fold(name));
  const recordedNames = new Set(names.map(toNameKey));
  expect(towns.filter((town) => recordedNames.has(toNameKey(town)))).toEqual([]);
});

test("a district that was announced or abolished is not listed today", () => {
  expect(changes.filter(({ state, district }) => currentNames.has(toKey(state, district)))).toEqual([]);
  expect(new Set(changes.map(({ status }) => status))).toEqual(new Set(["abolished", "announced"]));
});

test("each new district has a year, and the districts that it was made from or merged back into", () => {
  const former = names.flatMap(({ kind, state, name }) => (kind === "former" ? [toKey(state, name)] : []));
  const known = new Set([...currentNames, ...former]);
  for (const row of [...changes, ...madeDistricts]) {
    const { district, state, year, restored, partOf = "" } = row;
    expectYear(year, 2010, row);
    if (restored !== undefined) expectYear(restored, Number(year) + 1, row);
    const parents = partOf.split(" + ");
    expect(parents).toEqual([...new Set(parents)].sort());
    expect(parents.filter((parent) => parent === district || !known.has(toKey(state, parent)))).toEqual([]);
  }
});

test("codes of states have two letters or digits, and no alternative name of a state is the name of another state", () => {
  const today = states.map(({ state = "" }) => fold(state));
  for (const { name = "", kind } of stateNames) {
    expect(["code", "name", "short"], name).toContain(kind);
    if (kind === "code") expect(name).toMatch(/^(?:[A-Z]{2}|\d{2})$/);
    expect(today).not.toContain(fold(name));
  }
  const folded = stateNames.map(({ name = "" }) => fold(name));
  expect(folded.filter((each, at) => folded.indexOf(each) !== at)).toEqual([]);
});
