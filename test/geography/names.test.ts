// Names: what is found by them and what never is, and codes and names of states. names/rates.test.ts has the rates.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { State } from "../../src/contract/playground.ts";
import { readDistricts, readStates } from "../../src/emulator/geography/load.ts";
import { Failure } from "../../src/failure.ts";
import { thousands } from "../../src/geography/format.ts";
import { fold } from "../../src/geography/names/fold.ts";
import { searchNames } from "../../src/geography/names/search.ts";
import { resolveState } from "../../src/geography/names/state.ts";

const districts = readDistricts();
const names = districts.map(({ name }) => name);
const search = (query: string, list: readonly string[] = names) => searchNames(query, list, (name) => name);

describe("a name", () => {
  test("of the directory is found first, exact, and alone unless it has a namesake or is another's former name", () => {
    const ambiguous = new Set<string>();
    for (const name of names) {
      const { found, ambiguous: isAmbiguous } = search(name);
      expect(found[0]).toMatchObject({ item: name, match: "exact", score: 1 });
      if (isAmbiguous) ambiguous.add(name);
    }
    expect([...ambiguous].sort()).toEqual(["Aurangabad", "Bijapur", "Bilaspur", "Hamirpur", "Pratapgarh", "Raigarh"]);
  });

  test("of a place elsewhere is taken for no district", () => {
    for (const query of [
      "London",
      "New York",
      "Springfield",
      "Lahore",
      "Kathmandu",
      "Colombo",
      "Berlin",
      "Tokyo",
      "xyz",
    ])
      for (const { score } of search(query).found) expect(score, query).toBeLessThan(0.8);
  });
});

test("case, accents, punctuation and the word district make no difference", () => {
  for (const query of ["y.s.r kadapa", "YSR KADAPA", "Ysr-Kadapa district", "  Y.S.R.   Kādapa "])
    expect(search(query).found[0]).toMatchObject({ item: "Y.S.R. Kadapa", match: "exact" });
  expect(fold("Dr. B.R.Ambedkar (Konasīma) & more")).toBe("dr br ambedkar konasima and more");
});

test("an alias leads only to a name that is there", () => {
  const list = ["Allahabad", "Agra"];
  expect(search("Allahabad", list)).toMatchObject({ found: [{ item: "Allahabad", match: "exact" }], ambiguous: false });
  expect(search("Prayagraj", list).found[0]).toMatchObject({ item: "Allahabad", match: "alias" });
  expect(search("Prayagraj", ["Agra"]).found).toEqual([]);
});

test("an exact name and a former name of another district are both told", () => {
  expect(search("Aurangabad")).toMatchObject({
    found: [
      { item: "Aurangabad", match: "exact" },
      { item: "Chhatrapati Sambhajinagar", match: "alias" },
    ],
    ambiguous: true,
  });
  expect(search("Chhatrapati Sambhajinagar").ambiguous).toBe(false);
});

test("two spellings of one name in one list are both told", () => {
  expect(search("Hathras", ["Hathras", "Hatras", "Agra"])).toMatchObject({
    ambiguous: true,
    found: [{ match: "exact" }, { item: "Hatras" }],
  });
});

test("any text at all can be asked for", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 2, maxLength: 80 }), (query) => {
      const { found } = search(query, [...names.slice(0, 50), query]);
      for (const { score } of found) expect(score).toBeLessThanOrEqual(1);
      expect(found.some(({ item }) => item === query)).toBe(true);
    }),
    { numRuns: 100 },
  );
});

describe("a state", () => {
  const states: readonly State[] = readStates().map((state) => ({ ...state, districtCount: 1, mandalCount: 1 }));
  const recoded = (from: string, to: string) =>
    states.map((state) => (state.code === from ? { ...state, code: to } : state));
  const nameOf = (text: string, list = states) => resolveState(text, list).name;

  test.each([
    ["TG", "TS", "Telangana"],
    ["OD", "OR", "Odisha"],
    ["UK", "UT", "Uttarakhand"],
    ["CG", "CT", "Chhattisgarh"],
  ])("%s and %s are one, whichever the list has", (code, other, name) => {
    for (const asked of [code, other, code.toLowerCase(), other.toLowerCase(), name, name.toUpperCase()]) {
      expect(nameOf(asked)).toBe(name);
      expect(nameOf(asked, recoded(code, other))).toBe(name);
    }
  });

  test.each([
    ["Orissa", "Odisha"],
    ["Uttaranchal", "Uttarakhand"],
    ["Pondicherry", "Puducherry"],
    ["J&K", "Jammu And Kashmir"],
    ["Daman and Diu", "The Dadra And Nagar Haveli And Daman And Diu"],
    ["tamilnadu", "Tamil Nadu"],
    ["Maharastra", "Maharashtra"],
    ["NCT of Delhi", "Delhi"],
  ])("%s is %s", (asked, name) => expect(nameOf(asked)).toBe(name));

  test.each(["ZZ", "Atlantis", "Pradesh", ""])("%j is none, or not one", (asked) => {
    expect(() => nameOf(asked)).toThrow(Failure);
  });
});

test("thousands are separated", () => {
  expect([thousands(621), thousands(1309), thousands(9_007_199_254_740_991), thousands(24.5)]).toEqual([
    "621",
    "1,309",
    "9,007,199,254,740,991",
    "24.5",
  ]);
});
