// Names: how a query is read, by which kinds of names a district is known, what is never passed off as one, and how
// states are named. names/rates.test.ts has the rates.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { State } from "../../src/contract/playground.ts";
import { Failure } from "../../src/core/failure.ts";
import { readStates } from "../../src/emulator/geography/catalogue.ts";
import type { Country } from "../../src/geography/country.ts";
import { describeFinding, findDistrict } from "../../src/geography/find-districts.ts";
import { formatNumber } from "../../src/geography/format.ts";
import { DistrictSearch } from "../../src/geography/names/district-search.ts";
import { fold } from "../../src/geography/names/name-forms.ts";
import { loadRecordedDistricts } from "../../src/geography/names/record/tables.ts";
import { resolveState } from "../../src/geography/names/resolve-state.ts";
import { emulatedDistricts, knownCountry, type ListedDistrict } from "./known-country.ts";

const india = knownCountry();

const find = (query: string, country: Country = india) =>
  findDistrict(query, new DistrictSearch(country.states.value.states, country), 5);

const answerTo = (query: string, country?: Country) => find(query, country).answer;

/** The first match of a certain answer: what it is, and the state that the query was read to name. */
function findCertain(query: string, country?: Country) {
  const { matches, ambiguous, readAs } = answerTo(query, country);
  expect(ambiguous, query).toBe(false);
  expect(matches[0]?.match, query).not.toBe("similar");
  return { ...matches[0], read: readAs?.state };
}

const coverage = { statesTotal: 36, statesRead: 36, complete: true, missing: [] };
const formatFinding = (query: string, country?: Country): string =>
  describeFinding(find(query, country), coverage, "", []);

/** The emulator's country with some districts called otherwise. */
const countryWithNames = (names: Readonly<Record<string, string>>): Country =>
  knownCountry(emulatedDistricts.map((district) => ({ ...district, name: names[district.name] ?? district.name })));
const countryWithoutDistricts = (...names: readonly string[]): Country =>
  knownCountry(emulatedDistricts.filter(({ name }) => !names.includes(name)));

test("case, accents, punctuation, blanks and the order of words make no difference", () => {
  for (const query of ["y.s.r kadapa", "YSR KADAPA", "Ysr-Kadapa district", "  Y.S.R.   Kādapa ", "Kadapa YSR"])
    expect(findCertain(query)).toMatchObject({ name: "Y.S.R. Kadapa", match: "exact" });
  expect(fold("Dr. B.R.Ambedkar (Konasīma) & more")).toBe("dr br ambedkar konasima and more");
});

describe("a query is read before it is matched", () => {
  test.each([
    ["BR", "Patna", ["Patna, Bihar", "Patna (BR)", "patna br", "Patna, Bihaar", "Bihar Patna", "पटना, बिहार"]],
    ["HP", "Bilaspur", ["Bilaspur, H.P.", "Bilaspur H. P.", "Bilaspur in Himachal"]],
    ["MH", "Nashik", ["Nashik district, Maharashtra, India"]],
    ["TG", "Nizamabad", ["TS Nizamabad"]],
    ["OD", "Puri", ["Orissa, Puri"]],
    ["GJ", "Surat", ["Surat, Guj"]],
    ["KA", "Vijayapura", ["Bijapur (KA)"]],
    ["DL", "South", ["S Delhi", "South Delhi"]],
    ["DL", "North East", ["North East Delhi, Delhi"]],
    ["UK", "Almora", ["Almora (Uttaranchal)"]],
  ])("a name with its state, %s: %s", (read, name, queries) => {
    for (const query of queries) expect(findCertain(query)).toMatchObject({ name, stateCode: read, read });
  });

  test("words for district and the country are no part of the name", () => {
    const queries = ["zila Agra", "Dist. Agra", "Agra, India", "जिला आगरा", "janpad Agra", "district of Agra"];
    for (const query of [...queries, "Agra jille", "Agra zela", "Zilla Parishad Agra", "Agra revenue district"]) {
      expect(findCertain(query)).toMatchObject({ name: "Agra", match: "exact", read: undefined });
      expect(answerTo(query).readAs?.name).toBeDefined();
    }
  });

  test("a state's word stays in a name that has it", () => {
    for (const query of [
      "New Delhi",
      "North Goa",
      "West Tripura",
      "Lakshadweep",
      "Leh Ladakh",
      "Jammu",
      "Puducherry",
    ]) {
      expect(answerTo(query).readAs).toBeUndefined();
      expect(answerTo(query).matches[0]?.match).not.toBe("similar");
    }
  });

  test("a state's name or code is a state", () => {
    const queries = { Goa: "GA", "U.P.": "UP", "State of Kerala": "KL", "Pondicherry state": "PY", ਪੰਜਾਬ: "PB" };
    for (const [query, code] of Object.entries(queries)) {
      expect(find(query).matchedState?.code).toBe(code);
      expect(answerTo(query)).toMatchObject({ matches: [], readAs: { state: code } });
    }
  });

  test("a state that has no such district is told, and where there is one", () => {
    expect(answerTo("Lucknow, Bihar")).toMatchObject({
      ambiguous: true,
      matches: [{ stateCode: "UP", match: "exact" }],
    });
    expect(formatFinding("Lucknow, Bihar")).toBe(
      'Bihar (BR) has no district like "Lucknow"; elsewhere there is Lucknow in Uttar Pradesh (UP): 5 mandals.',
    );
  });
});

describe("names have kinds", () => {
  test.each([
    ["Allahabad", "Prayagraj", "alias", "former"],
    ["Vizag", "Visakhapatnam", "alias", "short"],
    ["G.B. Nagar", "Gautam Buddha Nagar", "alias", "short"],
    ["Sarangarh", "Sarangarh-Bilaigarh", "alias", "short"],
    ["Panaji", "North Goa", "headquarters", undefined],
    ["Bengaluru (U)", "Bengaluru Urban", "alias", "short"],
    ["L&S", "Lahaul And Spiti", "alias", "short"],
    ["E Champaran", "Purbi Champaran", "exact", undefined],
    ["24 Pgs N", "North 24 Parganas", "exact", undefined],
    ["S.Goa", "South Goa", "exact", undefined],
    // Two names of one district are one.
    ["Malda (Maldah)", "Malda", "exact", undefined],
    ["Sant Ravidas Nagar Bhadohi", "Bhadohi", "alias", "former"],
    ["Allahabad / Prayagraj", "Prayagraj", "alias", "former"],
    ["Prayagraj formerly Allahabad", "Prayagraj", "exact", undefined],
    ["Dakshin Dinajpur (Balurghat)", "Dakshin Dinajpur", "exact", undefined],
  ])("%s: %s, %s", (query, name, match, kind) => {
    const { kind: foundKind, ...rest } = findCertain(query);
    expect(rest).toMatchObject({ name, match });
    expect(foundKind).toBe(kind);
  });

  test("a former name says until when, a headquarters town that it is one", () => {
    expect(findCertain("Allahabad")).toMatchObject({ since: 2018 });
    expect(formatFinding("Allahabad")).toBe(
      '"Allahabad" is a former name (until 2018) of Prayagraj in Uttar Pradesh (UP): 8 mandals.',
    );
    expect(formatFinding("Panaji")).toBe('"Panaji" is the headquarters of North Goa in Goa (GA): 5 mandals.');
  });

  test("a city names its district, but nobody said that it is meant", () => {
    expect(answerTo("Noida")).toMatchObject({
      matches: [{ name: "Gautam Buddha Nagar", match: "headquarters", kind: "city" }],
      ambiguous: true,
    });
    expect(formatFinding("Noida")).toMatch(/^"Noida" is a city in Gautam Buddha Nagar/);
  });

  test("a slip in a former name is a guess, and says which name it is like", () => {
    const matches = [{ name: "Prayagraj", match: "similar", via: "Allahabad" }];
    expect(answerTo("Alahabad")).toMatchObject({ ambiguous: true, matches });
  });

  test.each([
    ["Aurangabad", ["Aurangabad", "Chhatrapati Sambhajinagar"]],
    ["Balrampur", ["Balrampur", "Balrampur-Ramanujganj"]],
    ["Bangalore", ["Bengaluru Rural", "Bengaluru Urban"]],
  ])("a name that several districts bear, in whatever way, is ambiguous: %s", (query, names) => {
    const { matches, ambiguous } = answerTo(query);
    expect(matches.slice(0, names.length).map(({ name }) => name)).toEqual(names);
    expect(ambiguous).toBe(true);
  });

  test("two spellings of one name in one list are both told", () => {
    const duplicate: ListedDistrict = { stateCode: "UP", code: "9999", name: "Hatras", mandalCount: 1 };
    expect(answerTo("Hathras", knownCountry([...emulatedDistricts, duplicate]))).toMatchObject({
      ambiguous: true,
      matches: [{ match: "exact" }, { name: "Hatras" }],
    });
  });
});

describe("the record is followed to names of the list alone", () => {
  test("a list that has the name before has today's as a later one", () => {
    const countryWithFormerName = countryWithNames({ Prayagraj: "Allahabad" });
    expect(findCertain("Allahabad", countryWithFormerName)).toMatchObject({ match: "exact" });
    expect(findCertain("Prayagraj", countryWithFormerName)).toMatchObject({
      name: "Allahabad",
      match: "alias",
      kind: "later",
    });
    expect(formatFinding("Prayagraj", countryWithFormerName)).toContain(
      '"Prayagraj" is a later name (since 2018) of Allahabad',
    );
  });

  test("where the district is not listed, its other names say nothing, and its headquarters is reported", () => {
    for (const query of ["Allahabad", "Prayagraj"])
      expect(
        answerTo(query, countryWithoutDistricts("Prayagraj")).matches.every(({ match }) => match === "similar"),
      ).toBe(true);
    expect(formatFinding("Panaji", countryWithoutDistricts("North Goa"))).toBe(
      '"Panaji" is the headquarters of North Goa in Goa (GA), which is not in the list.',
    );
  });

  test.each([
    ["Prayagraj", "Prayag Raj", "Allahabad"],
    ["Sri Potti Sriramulu Nellore", "S P S R Nellore", "Nellore"],
    ["Visakhapatnam", "Vishakapatnam", "Vizag"],
    ["Kalaburagi", "Kalburgi", "Gulbarga"],
    ["Thoothukkudi", "Thoothukudi", "Tuticorin"],
    ["Gautam Buddha Nagar", "Gautam Budh Nagar", "GB Nagar"],
    ["North Goa", "Goa North", "Panaji"],
    ["Kataka", "Cuttack", "Cuttack"],
    ["Ahilyanagar", "Ahilya Nagar", "Ahmednagar"],
  ])("%s listed as %s is found by %s", (name, listed, query) => {
    expect(findCertain(query, countryWithNames({ [name]: listed }))).toMatchObject({ name: listed });
  });

  test("a state that the list calls otherwise keeps its districts' names", () => {
    const country = knownCountry(emulatedDistricts, { OD: "Orissa", UK: "Uttaranchal", TG: "Telengana" });
    expect(findCertain("Cuttack", country)).toMatchObject({ name: "Kataka", match: "alias" });
    expect(findCertain("Kataka, Odisha", country)).toMatchObject({ name: "Kataka", match: "exact" });
  });

  // Of the whole list at once. A name of three letters that loses one may be lost: "Nuh" as "Nu".
  test.each<readonly [string, (name: string) => string]>([
    ["in capitals", (name) => name.toUpperCase()],
    ["with a long vowel", (name) => name.replace(/a/, "aa")],
    ["without an aspirate", (name) => name.replace(/([bcdgjkpt])h/, "$1")],
    ["with v for w", (name) => name.replace(/w/, "v")],
    ["without a blank", (name) => name.replace(/ /, "")],
    ["with a word behind it", (name) => `${name} District`],
  ])("the record's former names find 98 in a hundred of a list %s", (_, transform) => {
    const country = knownCountry(
      emulatedDistricts.map((district) => ({ ...district, name: transform(district.name) })),
    );
    const formerNames = [...loadRecordedDistricts().values()]
      .flat()
      .flatMap(({ name: district, names }) =>
        emulatedDistricts
          .filter(({ name }) => name === district)
          .flatMap(({ stateCode }) =>
            names.flatMap(({ kind, name }) => (kind === "former" ? [{ name, district, stateCode }] : [])),
          ),
      );
    const missed = formerNames.filter(({ name, district, stateCode }) => {
      const { matches } = answerTo(`${name}, ${stateCode}`, country);
      return matches[0]?.match === "similar" || !matches.some((match) => match.name === transform(district));
    });
    expect(formerNames.length).toBeGreaterThan(300);
    expect(missed.length / formerNames.length, JSON.stringify(missed)).toBeLessThanOrEqual(0.02);
  });
});

test.each([
  ["Anupgarh", /"Anupgarh" in Rajasthan \(RJ\) was abolished in 2024 and is part of .*Ganganagar.* again/],
  ["Ranaghat", /"Ranaghat" in "?West Bengal"? \(WB\) was announced in 2022, out of Nadia, and is not in the list/],
  ["Hansi", /"Hansi" in Haryana \(HR\) was made a district in 2025, part of Hisar/],
  ["Nagar", /"Nagar" is part of \d+ names: .* and \d more: a guess/],
  ["Springfield", /^No district like "Springfield" in any of 36 lists\.$/],
  ["Springfield, Goa", /^No district like "Springfield" in Goa \(GA\)/],
  ["لکھنؤ", /in letters that are not read.*Devanagari/],
])("a miss says what the name is: %s", (query, text) => {
  const country = countryWithoutDistricts("Hansi");
  expect(formatFinding(query, country)).toMatch(text);
  const { matches, ambiguous } = answerTo(query, country);
  expect(matches.some(({ match }) => match !== "similar") && !ambiguous).toBe(false);
});

test("any text at all can be asked for, and folding what is folded changes nothing", () => {
  const country = knownCountry(emulatedDistricts.slice(0, 60));
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 2, maxLength: 80 }), (query) => {
      for (const { score } of answerTo(query, country).matches) expect(score).toBeLessThanOrEqual(1);
      expect(formatFinding(query, country).length).toBeGreaterThan(0);
      expect(fold(fold(query))).toBe(fold(query));
    }),
    { numRuns: 400 },
  );
});

describe("a state", () => {
  const states: readonly State[] = readStates().map((state) => ({ ...state, districtCount: 1, mandalCount: 1 }));
  const recodeState = (from: string, to: string) =>
    states.map((state) => (state.code === from ? { ...state, code: to } : state));
  const resolveName = (text: string, list = states) => resolveState(text, list).name;

  test.each([
    ["TG", "TS", "Telangana"],
    ["OD", "OR", "Odisha"],
    ["UK", "UT", "Uttarakhand"],
    ["CG", "CT", "Chhattisgarh"],
  ])("%s and %s are one, whichever the list has", (code, other, name) => {
    for (const stateText of [code, other, code.toLowerCase(), other.toLowerCase(), name, name.toUpperCase()]) {
      expect(resolveName(stateText)).toBe(name);
      expect(resolveName(stateText, recodeState(code, other))).toBe(name);
    }
  });

  // names/questions/state-argument.tsv has more.
  test("is known by spellings, beginnings and names in Indian scripts", () => {
    const names = { "u p": "Uttar Pradesh", "उत्तर प्रदेश": "Uttar Pradesh", Guj: "Gujarat", தமிழ்நாடு: "Tamil Nadu" };
    for (const [text, name] of Object.entries({ ...names, ಕರ್ನಾಟಕ: "Karnataka", "State of Bihar": "Bihar" }))
      expect(resolveName(text), text).toBe(name);
  });

  test("a text that means none, or not one, is refused", () => {
    for (const text of ["ZZ", "Atlantis", "Pradesh", "Nagar", ""])
      expect(() => resolveName(text), text).toThrow(Failure);
  });
});

test("thousands are separated", () => {
  expect([621, 1309, 9_007_199_254_740_991, 24.5].map(formatNumber)).toEqual([
    "621",
    "1,309",
    "9,007,199,254,740,991",
    "24.5",
  ]);
});
