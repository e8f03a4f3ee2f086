// The public record of names: its tables are well-formed, agree with each other and with the list of districts, and cite what they rest on.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readDistricts, readStates } from "../../src/emulator/geography/catalogue.ts";
import { fold } from "../../src/geography/names/fold.ts";

type Row = Readonly<Record<string, string>>;

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
      if (columns[index] !== "since") expect(cell, line).not.toBe("");
    }
    return Object.fromEntries(columns.map((column, index) => [column, cells[index] ?? ""]));
  });
}

const names = readTable("other-names.tsv", ["district", "state", "name", "kind", "since", "source"]);
const seats = readTable("seats.tsv", ["district", "state", "seat", "kind", "source"]);
const changes = readTable("new-districts.tsv", ["district", "state", "status", "year", "partOf", "source"]);
const states = readTable("states.tsv", ["state", "other", "kind", "source"]);
const sources = readTable("sources.tsv", ["id", "title", "publisher", "year", "address"]);

const key = (...parts: readonly (string | undefined)[]): string => parts.join("\t");
const stateNames = new Map(readStates().map(({ code, name }) => [code, name]));
const live = new Set(readDistricts().map(({ stateCode, name }) => key(stateNames.get(stateCode), name)));
const liveFolded = new Set(readDistricts().map(({ stateCode, name }) => key(stateNames.get(stateCode), fold(name))));

const COLONIAL = new Set(["igi-1908", "pre-hunterian"]);
const COMMON = new Set(
  "nagar pur city town rural urban central new old north south east west lower upper hills valley".split(" "),
);
const THIS_YEAR = 2026;

const textOf = (row: Row): string => Object.values(row).join(" | ");

/** Each once, whatever its case and accents, in the order of the code points. */
function expectSortedSet(keys: readonly string[]): void {
  expect(keys).toEqual([...keys].sort());
  const seen = new Set<string>();
  for (const each of keys) {
    const folded = each.split("\t").map(fold).join("\t");
    expect(seen.has(folded), each).toBe(false);
    seen.add(folded);
  }
}

function expectYear(year: string | undefined, from: number, row: Row): void {
  expect(year, textOf(row)).toMatch(/^\d{4}$/);
  expect(Number(year), textOf(row)).toBeGreaterThanOrEqual(from);
  expect(Number(year), textOf(row)).toBeLessThanOrEqual(THIS_YEAR);
}

describe("sources", () => {
  test("each is cited, each cited one is there", () => {
    const cited = new Set([...names, ...seats, ...changes, ...states].map(({ source }) => source));
    expect(sources.map(({ id }) => id)).toEqual([...cited].sort());
  });

  test("each has a title, a publisher, its years and an address", () => {
    for (const { title, publisher, year, address } of sources) {
      expect(title).not.toBe("");
      expect(publisher).not.toBe("");
      expect(year).toMatch(/^\d{4}(-\d{4})?$/);
      expect(new URL(address ?? "").protocol).toBe("https:");
    }
  });
});

describe("other names", () => {
  test("are sorted, each once for a district", () => {
    expectSortedSet(names.map(({ state, district, name }) => key(state, district, name)));
  });

  test("belong to listed districts, and none is the name of another district of the state", () => {
    for (const row of names) {
      const { district, state, name = "", kind = "" } = row;
      expect(live, textOf(row)).toContain(key(state, district));
      expect(liveFolded, textOf(row)).not.toContain(key(state, fold(name)));
      expect(["former", "spelling", "short"], textOf(row)).toContain(kind);
      expect(name).toMatch(/^[\p{Script=Latin}\d .&'()/-]+$/u);
    }
  });

  test("have a year only where an act, not mere usage, ended them", () => {
    for (const row of names) {
      const { kind, since = "", source = "" } = row;
      if (since !== "") expectYear(since, 1947, row);
      if (kind !== "former" || COLONIAL.has(source)) expect(since, textOf(row)).toBe("");
    }
  });

  test("are no common words, and neither are seats", () => {
    const words = [...names.map(({ name }) => name), ...seats.map(({ seat }) => seat)].map((name) => fold(name ?? ""));
    expect(words.filter((word) => COMMON.has(word) || word.length < 2)).toEqual([]);
  });
});

describe("seats", () => {
  test("are sorted, each once for a district, and not told as another name too", () => {
    expectSortedSet(seats.map(({ state, district, seat }) => key(state, district, seat)));
    const told = new Set(names.map(({ state, district, name }) => key(state, district, fold(name ?? ""))));
    const twice = seats.filter(({ state, district, seat }) => told.has(key(state, district, fold(seat ?? ""))));
    expect(twice).toEqual([]);
  });

  test("lie in listed districts, and none bears a district's name of the state", () => {
    for (const row of seats) {
      const { district, state, seat = "", kind = "" } = row;
      expect(live, textOf(row)).toContain(key(state, district));
      expect(liveFolded, textOf(row)).not.toContain(key(state, fold(seat)));
      expect(["seat", "city"], textOf(row)).toContain(kind);
      expect(seat).toMatch(/^[\p{Script=Latin} .'-]+$/u);
    }
  });
});

describe("new districts", () => {
  test("are sorted by year, each change once", () => {
    const keys = changes.map(({ state, district, year }) => key(state, district, year));
    expect(keys).toEqual([...keys].sort());
    expectSortedSet(changes.map(({ state, district, year, status }) => key(state, district, year, status)).sort());
  });

  test("the last change of each agrees with the list of today", () => {
    const last = new Map(changes.map(({ state, district, status }) => [key(state, district), status]));
    const wrong = [...last].filter(([district, status]) => live.has(district) !== (status === "made"));
    expect(wrong).toEqual([]);
  });

  test("have a status, a year, and the districts that they were made of or went back to", () => {
    const former = new Set(names.filter(({ kind }) => kind === "former").map(({ state, name }) => key(state, name)));
    for (const row of changes) {
      const { district, state, status = "", year, partOf = "" } = row;
      expect(["made", "announced", "abolished"], textOf(row)).toContain(status);
      expectYear(year, 2010, row);
      const parents = partOf.split(" + ");
      expect(parents).toEqual([...new Set(parents)].sort());
      const known = (parent: string) => live.has(key(state, parent)) || former.has(key(state, parent));
      expect(
        parents.filter((parent) => parent === district || !known(parent)),
        textOf(row),
      ).toEqual([]);
    }
  });
});

describe("states", () => {
  test("are those of the list, sorted, each form once and of one state", () => {
    expectSortedSet(states.map(({ state, other }) => key(state, other)));
    expectSortedSet(states.map(({ other }) => other ?? "").sort());
    expect(new Set(states.map(({ state }) => state))).toEqual(new Set(stateNames.values()));
  });

  test("have codes of two letters, and no form is another state's name", () => {
    const today = new Set([...stateNames.values()].map(fold));
    for (const row of states) {
      const { other = "", kind = "" } = row;
      expect(["code", "name", "short"], textOf(row)).toContain(kind);
      if (kind === "code") expect(other).toMatch(/^[A-Z]{2}$/);
      expect(today, textOf(row)).not.toContain(fold(other));
    }
  });
});
