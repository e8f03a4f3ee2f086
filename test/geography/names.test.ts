// Tests the parsing of queries, the kinds of names that match a district, names that must not match, and names of states.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { State } from "../../src/contract/playground.ts";
import { Failure } from "../../src/core/failure.ts";
import { readStates } from "../../src/emulator/catalogue.ts";
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

/** The first match of a certain answer, and the state that the query was parsed to contain. */
function findCertain(query: string, country?: Country) {
  const { matches, ambiguous, certainty, readAs } = answerTo(query, country);
  expect(ambiguous, query).toBeUndefined();
  expect(["exact", "known"], query).toContain(certainty);
  return { ...matches[0], read: readAs?.state };
}

const coverage = { statesTotal: 36, statesRead: 36, complete: true, missing: [] };
const formatFinding = (query: string, country?: Country): string =>
  describeFinding(find(query, country), coverage, "", []);

/** The emulator's country in which some districts have another name. */
const countryWithNames = (names: Readonly<Record<string, string>>): Country =>
  knownCountry(emulatedDistricts.map((district) => ({ ...district, name: names[district.name] ?? district.name })));
const countryWithoutDistricts = (...names: readonly string[]): Country =>
  knownCountry(emulatedDistricts.filter(({ name }) => !names.includes(name)));

test("case, accents, punctuation, blanks and word order make no difference", () => {
  for (const query of ["y.s.r kadapa", "YSR KADAPA", "Ysr-Kadapa district", "  Y.S.R.   Kādapa ", "Kadapa YSR"])
    expect(findCertain(query)).toMatchObject({ name: "Y.S.R. Kadapa", match: "exact" });
  expect(fold("Dr. B.R.Ambedkar (Konasīma) & more")).toBe("dr br ambedkar konasima and more");
});

describe("parsing of queries", () => {
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
  ])("a query with a state is parsed (%s: %s)", (read, name, queries) => {
    for (const query of queries) expect(findCertain(query)).toMatchObject({ name, stateCode: read, read });
  });

  test("words for district and country are removed from the query", () => {
    const queries = ["zila Agra", "Dist. Agra", "Agra, India", "जिला आगरा", "janpad Agra", "district of Agra"];
    for (const query of [...queries, "Agra jille", "Agra zela", "Zilla Parishad Agra", "Agra revenue district"]) {
      expect(findCertain(query)).toMatchObject({ name: "Agra", match: "exact", read: undefined });
      expect(answerTo(query).readAs?.name).toBeDefined();
    }
  });

  test("a state's word is kept if a district's name contains it", () => {
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

  test("a query with only a state's name or code is parsed as a state", () => {
    const queries = { Goa: "GA", "U.P.": "UP", "State of Kerala": "KL", "Pondicherry state": "PY", ਪੰਜਾਬ: "PB" };
    for (const [query, code] of Object.entries(queries)) {
      expect(find(query).matchedState?.code).toBe(code);
      expect(answerTo(query)).toMatchObject({ matches: [], readAs: { state: code } });
    }
  });

  test("a query with the wrong state reports that, and the district in another state", () => {
    expect(answerTo("Lucknow, Bihar")).toMatchObject({
      certainty: "guess",
      matches: [{ stateCode: "UP", match: "exact" }],
    });
    expect(formatFinding("Lucknow, Bihar")).toBe(
      'Bihar (BR) has no district like "Lucknow"; elsewhere there is Lucknow in Uttar Pradesh (UP): 5 mandals.',
    );
  });
});

describe("kinds of names", () => {
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
    // Both names in this query belong to one district.
    ["Malda (Maldah)", "Malda", "exact", undefined],
    ["Sant Ravidas Nagar Bhadohi", "Bhadohi", "alias", "former"],
    ["Allahabad / Prayagraj", "Prayagraj", "alias", "former"],
    ["Prayagraj formerly Allahabad", "Prayagraj", "exact", undefined],
    ["Dakshin Dinajpur (Balurghat)", "Dakshin Dinajpur", "exact", undefined],
  ])("the query %s matches %s (%s)", (query, name, match, kind) => {
    const { kind: foundKind, ...rest } = findCertain(query);
    expect(rest).toMatchObject({ name, match });
    expect(foundKind).toBe(kind);
  });

  test("a former name has its last year, and a headquarters town is reported as one", () => {
    expect(findCertain("Allahabad")).toMatchObject({ since: 2018 });
    expect(formatFinding("Allahabad")).toBe(
      '"Allahabad" (until 2018) is now Prayagraj in Uttar Pradesh (UP): 8 mandals.',
    );
    expect(formatFinding("Panaji")).toBe('"Panaji" is the headquarters of North Goa in Goa (GA): 5 mandals.');
  });

  test("a city of another district is known, and the sentence says that it is a city", () => {
    expect(answerTo("Noida")).toMatchObject({
      matches: [{ name: "Gautam Buddha Nagar", match: "headquarters", kind: "city" }],
      certainty: "known",
    });
    expect(answerTo("Noida")).not.toHaveProperty("ambiguous");
    expect(formatFinding("Noida")).toMatch(/^"Noida" is a city in Gautam Buddha Nagar/);
  });

  test("a typo in a former name is an uncertain match that shows the former name", () => {
    const matches = [{ name: "Prayagraj", match: "similar", via: "Allahabad" }];
    expect(answerTo("Alahabad")).toMatchObject({ certainty: "guess", matches });
  });

  test.each([
    ["Aurangabad", ["Aurangabad", "Chhatrapati Sambhajinagar"]],
    ["Balrampur", ["Balrampur", "Balrampur-Ramanujganj"]],
    ["Bangalore", ["Bengaluru Rural", "Bengaluru Urban"]],
  ])("a name of several districts is ambiguous: %s", (query, names) => {
    const { matches, ambiguous } = answerTo(query);
    expect(matches.slice(0, names.length).map(({ name }) => name)).toEqual(names);
    expect(ambiguous).toBe(true);
  });

  test("two spellings of one name in a list both match", () => {
    const duplicate: ListedDistrict = { stateCode: "UP", code: "9999", name: "Hatras", mandalCount: 1 };
    expect(answerTo("Hathras", knownCountry([...emulatedDistricts, duplicate]))).toMatchObject({
      ambiguous: true,
      matches: [{ match: "exact" }, { name: "Hatras" }],
    });
  });
});

describe("matches by the record of names", () => {
  test("a list with a former name matches today's name as a later one", () => {
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

  test("a district that is not listed does not match by its other names, and its headquarters is reported", () => {
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

  test("a state with another name in the list keeps its districts' names", () => {
    const country = knownCountry(emulatedDistricts, { OD: "Orissa", UK: "Uttaranchal", TG: "Telengana" });
    expect(findCertain("Cuttack", country)).toMatchObject({ name: "Kataka", match: "alias" });
    expect(findCertain("Kataka, Odisha", country)).toMatchObject({ name: "Kataka", match: "exact" });
  });

  // Transforms the whole list. A name of three letters may not match after losing one: "Nuh" as "Nu".
  test.each<readonly [string, (name: string) => string]>([
    ["in capitals", (name) => name.toUpperCase()],
    ["with a long vowel", (name) => name.replace(/a/, "aa")],
    ["without an aspirate", (name) => name.replace(/([bcdgjkpt])h/, "$1")],
    ["with v for w", (name) => name.replace(/w/, "v")],
    ["without a blank", (name) => name.replace(/ /, "")],
    ["with a word behind it", (name) => `${name} District`],
  ])("at least 98 % of the recorded former names are found in a list %s", (_, transform) => {
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
  ["Nagar", /"Nagar" is part of \d+ names: .* and \d more\. Ask which one is meant/],
  ["Springfield", /^No district like "Springfield"\.$/],
  ["Springfield, Goa", /^No district like "Springfield" in Goa \(GA\)/],
  ["لکھنؤ", /in letters that are not read.*Devanagari/],
])("an answer without a match explains the name: %s", (query, text) => {
  const country = countryWithoutDistricts("Hansi");
  expect(formatFinding(query, country)).toMatch(text);
  const { certainty = "guess" } = answerTo(query, country);
  expect(certainty).toBe("guess");
});

test("any text can be queried, and folding a folded text does not change it", () => {
  const country = knownCountry(emulatedDistricts.slice(0, 60));
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 2, maxLength: 80 }), (query) => {
      for (const { score = 1 } of answerTo(query, country).matches) expect(score).toBeLessThanOrEqual(1);
      expect(formatFinding(query, country).length).toBeGreaterThan(0);
      expect(fold(fold(query))).toBe(fold(query));
    }),
    { numRuns: 400 },
  );
});

describe("names of states", () => {
  const states: readonly State[] = readStates().map((state) => ({ ...state, districtCount: 1, mandalCount: 1 }));
  const recodeState = (from: string, to: string) =>
    states.map((state) => (state.code === from ? { ...state, code: to } : state));
  const resolveName = (text: string, list = states) => resolveState(text, list).name;

  test.each([
    ["TG", "TS", "Telangana"],
    ["OD", "OR", "Odisha"],
    ["UK", "UT", "Uttarakhand"],
    ["CG", "CT", "Chhattisgarh"],
  ])("state codes %s and %s are equivalent, whichever the list has", (code, other, name) => {
    for (const stateText of [code, other, code.toLowerCase(), other.toLowerCase(), name, name.toUpperCase()]) {
      expect(resolveName(stateText)).toBe(name);
      expect(resolveName(stateText, recodeState(code, other))).toBe(name);
    }
  });

  // More cases are in names/questions/state-argument.tsv.
  test("a state is found by spellings, prefixes and names in Indian scripts", () => {
    const names = { "u p": "Uttar Pradesh", "उत्तर प्रदेश": "Uttar Pradesh", Guj: "Gujarat", தமிழ்நாடு: "Tamil Nadu" };
    for (const [text, name] of Object.entries({ ...names, ಕರ್ನಾಟಕ: "Karnataka", "State of Bihar": "Bihar" }))
      expect(resolveName(text), text).toBe(name);
  });

  test("a text that matches no state, or several, is refused", () => {
    for (const text of ["ZZ", "Atlantis", "Pradesh", "Nagar", ""])
      expect(() => resolveName(text), text).toThrow(Failure);
  });
});

test("numbers have thousands separators", () => {
  expect([621, 1309, 9_007_199_254_740_991, 24.5].map(formatNumber)).toEqual([
    "621",
    "1,309",
    "9,007,199,254,740,991",
    "24.5",
  ]);
});
