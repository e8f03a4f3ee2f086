// Names: how a query is read, by which kinds of names a district is known, what is never passed off as one, and how
// states are named. names/rates.test.ts has the rates.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { State } from "../../src/contract/playground.ts";
import { readStates } from "../../src/emulator/geography/catalogue.ts";
import { Failure } from "../../src/failure.ts";
import type { Country } from "../../src/geography/country.ts";
import { findDistrict } from "../../src/geography/find.ts";
import { findingText } from "../../src/geography/find-words.ts";
import { thousands } from "../../src/geography/format.ts";
import { fold } from "../../src/geography/names/fold.ts";
import { Places } from "../../src/geography/names/places.ts";
import { otherNames } from "../../src/geography/names/record/tables.ts";
import { resolveState } from "../../src/geography/names/state.ts";
import { emulated, knownCountry, type ListedDistrict } from "./known-country.ts";

const india = knownCountry();

const find = (query: string, country: Country = india, limit = 5) =>
  findDistrict(query, new Places(country.states.value.states, country), limit);

const answer = (query: string, country?: Country) => find(query, country).answer;

const coverage = { statesTotal: 36, statesRead: 36, complete: true, unread: [] };
const said = (query: string, country?: Country): string => findingText(find(query, country), coverage, "", []);

/** The emulator's country with some districts called otherwise. */
const respelled = (names: Readonly<Record<string, string>>): Country =>
  knownCountry(emulated.map((district) => ({ ...district, name: names[district.name] ?? district.name })));
const without = (...names: readonly string[]): Country =>
  knownCountry(emulated.filter(({ name }) => !names.includes(name)));

describe("a name", () => {
  test("of the list is found first, exact, and alone unless another district is or was called so", () => {
    const ambiguous = new Set<string>();
    for (const { name } of emulated) {
      const { matches, ambiguous: isAmbiguous } = answer(name);
      expect(matches[0]).toMatchObject({ name, match: "exact", score: 1 });
      if (isAmbiguous) ambiguous.add(name);
    }
    expect(ambiguous.size, [...ambiguous].join(", ")).toBeLessThanOrEqual(16);
    for (const name of ["Aurangabad", "Balrampur", "Bijapur", "Bilaspur", "Hamirpur", "Pratapgarh", "Raigarh"])
      expect(ambiguous.has(name), name).toBe(true);
  });

  test.each(["London", "New York", "Springfield", "Lahore", "Kathmandu", "Colombo", "Berlin", "Tokyo", "xyz", "لکھنؤ"])(
    "%s is no district: at most a guess",
    (query) => {
      for (const { match, score } of answer(query).matches) {
        expect(match).toBe("similar");
        expect(score).toBeLessThan(0.85);
      }
    },
  );
});

test("case, accents, punctuation, blanks and the order of words make no difference", () => {
  for (const query of ["y.s.r kadapa", "YSR KADAPA", "Ysr-Kadapa district", "  Y.S.R.   Kādapa ", "Kadapa YSR"])
    expect(answer(query).matches[0]).toMatchObject({ name: "Y.S.R. Kadapa", match: "exact" });
  expect(fold("Dr. B.R.Ambedkar (Konasīma) & more")).toBe("dr br ambedkar konasima and more");
});

describe("a query is read before it is matched", () => {
  test.each([
    ["Patna, Bihar", "Patna", "BR"],
    ["Patna Bihar", "Patna", "BR"],
    ["Bihar Patna", "Patna", "BR"],
    ["Patna (BR)", "Patna", "BR"],
    ["patna br", "Patna", "BR"],
    ["Bilaspur, H.P.", "Bilaspur", "HP"],
    ["Bilaspur H. P.", "Bilaspur", "HP"],
    ["Bilaspur in Himachal", "Bilaspur", "HP"],
    ["Patna, Bihaar", "Patna", "BR"],
    ["Nashik district, Maharashtra, India", "Nashik", "MH"],
    ["TS Nizamabad", "Nizamabad", "TG"],
    ["Orissa, Puri", "Puri", "OD"],
    ["Surat, Guj", "Surat", "GJ"],
    ["Bijapur (KA)", "Vijayapura", "KA"],
    ["S Delhi", "South", "DL"],
    ["Purvi Dilli", "East", "DL"],
    ["Almora (Uttaranchal)", "Almora", "UK"],
    ["South Delhi", "South", "DL"],
    ["Delhi South West", "South West", "DL"],
    ["North East Delhi, Delhi", "North East", "DL"],
    ["पटना, बिहार", "Patna", "BR"],
  ])("%s is %s in %s", (query, name, state) => {
    const { matches, readAs, ambiguous } = answer(query);
    expect(matches[0]).toMatchObject({ name, stateCode: state });
    expect(matches[0]?.match).not.toBe("similar");
    expect(readAs?.state).toBe(state);
    expect(ambiguous).toBe(false);
  });

  test.each([
    ["zila Patna", "Patna"],
    ["Jilha Pune", "Pune"],
    ["Madurai mavattam", "Madurai"],
    ["Kolar jille", "Kolar"],
    ["Bankura zela", "Bankura"],
    ["janpad Agra", "Agra"],
    ["district of Nashik", "Nashik"],
    ["Dist. Kolhapur", "Kolhapur"],
    ["Zilla Parishad Latur", "Latur"],
    ["Latur revenue district", "Latur"],
    ["जिला आगरा", "Agra"],
    ["மதுரை மாவட்டம்", "Madurai"],
    ["Surat, India", "Surat"],
  ])("%s: words for district and the country are no part of the name", (query, name) => {
    expect(answer(query).matches[0]).toMatchObject({ name, match: "exact" });
    expect(answer(query).readAs?.name).toBeDefined();
  });

  test.each(["New Delhi", "North Goa", "West Tripura", "Lakshadweep", "Leh Ladakh", "Jammu", "Puducherry"])(
    "a state's word stays where the name itself has it: %s",
    (query) => {
      expect(answer(query).readAs).toBeUndefined();
      expect(answer(query).matches[0]?.match).not.toBe("similar");
    },
  );

  test.each([
    ["Goa", "GA"],
    ["Uttar Pradesh", "UP"],
    ["U.P.", "UP"],
    ["State of Kerala", "KL"],
    ["Pondicherry state", "PY"],
    ["Delhi", "DL"],
    ["ਪੰਜਾਬ", "PB"],
  ])("%s is a state", (query, code) => {
    expect(find(query).asState?.code).toBe(code);
    expect(answer(query)).toMatchObject({ matches: [], readAs: { state: code } });
  });

  test("a state that has no such district is told, and where there is one", () => {
    expect(answer("Lucknow, Bihar")).toMatchObject({ ambiguous: true, matches: [{ stateCode: "UP", match: "exact" }] });
    expect(said("Lucknow, Bihar")).toBe(
      'Bihar (BR) has no district like "Lucknow"; elsewhere there is Lucknow in Uttar Pradesh (UP): 5 mandals.',
    );
  });
});

describe("names have kinds", () => {
  test.each([
    ["Allahabad", "Prayagraj", "alias", "former"],
    ["Vizag", "Visakhapatnam", "alias", "short"],
    ["GB Nagar", "Gautam Buddha Nagar", "alias", "short"],
    ["G.B. Nagar", "Gautam Buddha Nagar", "alias", "short"],
    ["Sarangarh", "Sarangarh-Bilaigarh", "alias", "short"],
    ["Panaji", "North Goa", "seat", undefined],
    ["U Dinajpur", "Uttar Dinajpur", "alias", "short"],
    ["Bengaluru (U)", "Bengaluru Urban", "alias", "short"],
    ["L&S", "Lahaul And Spiti", "alias", "short"],
    ["E Champaran", "Purbi Champaran", "exact", undefined],
    ["24 Pgs N", "North 24 Parganas", "exact", undefined],
    ["S.Goa", "South Goa", "exact", undefined],
  ])("%s: %s, %s", (query, name, match, kind) => {
    const { matches, ambiguous } = answer(query);
    expect(matches[0]).toMatchObject({ name, match });
    expect(matches[0]?.kind).toBe(kind);
    expect(ambiguous).toBe(false);
  });

  test("a former name says until when, a seat that it is one", () => {
    expect(answer("Allahabad").matches[0]).toMatchObject({ since: 2018 });
    expect(said("Allahabad")).toBe(
      '"Allahabad" is a former name (until 2018) of Prayagraj in Uttar Pradesh (UP): 8 mandals.',
    );
    expect(said("Panaji")).toBe('"Panaji" is the seat of North Goa in Goa (GA): 5 mandals.');
  });

  test("a city names its district, but nobody said that it is meant", () => {
    expect(answer("Noida")).toMatchObject({
      matches: [{ name: "Gautam Buddha Nagar", match: "seat", kind: "city" }],
      ambiguous: true,
    });
    expect(said("Noida")).toMatch(/^"Noida" is a city in Gautam Buddha Nagar/);
  });

  test.each([
    ["Malda (Maldah)", "Malda"],
    ["Sant Ravidas Nagar Bhadohi", "Bhadohi"],
    ["Allahabad / Prayagraj", "Prayagraj"],
    ["Prayagraj formerly Allahabad", "Prayagraj"],
    ["Dakshin Dinajpur (Balurghat)", "Dakshin Dinajpur"],
  ])("two names of one district are one: %s", (query, name) => {
    const { matches, ambiguous } = answer(query);
    expect(matches[0]).toMatchObject({ name });
    expect(ambiguous).toBe(false);
  });

  test("a slip in a former name is a guess, and says which name it is like", () => {
    expect(answer("Alahabad")).toMatchObject({
      ambiguous: true,
      matches: [{ name: "Prayagraj", match: "similar", via: "Allahabad" }],
    });
    expect(answer("Tuticorrin").matches[0]).toMatchObject({ name: "Thoothukkudi", match: "similar" });
  });

  test("a name that several districts bear, in whatever way, is ambiguous", () => {
    for (const [query, ...names] of [
      ["Aurangabad", "Aurangabad", "Chhatrapati Sambhajinagar"],
      ["Balrampur", "Balrampur", "Balrampur-Ramanujganj"],
      ["Bangalore", "Bengaluru Rural", "Bengaluru Urban"],
      ["Kanpur", "Kanpur Dehat", "Kanpur Nagar"],
    ] as const) {
      const { matches, ambiguous } = answer(query);
      expect(matches.slice(0, names.length).map(({ name }) => name)).toEqual(names);
      expect(ambiguous).toBe(true);
    }
    expect(answer("Chhatrapati Sambhajinagar").ambiguous).toBe(false);
  });

  test("two spellings of one name in one list are both told", () => {
    const twins: ListedDistrict = { stateCode: "UP", code: "9999", name: "Hatras", mandalCount: 1 };
    expect(answer("Hathras", knownCountry([...emulated, twins]))).toMatchObject({
      ambiguous: true,
      matches: [{ match: "exact" }, { name: "Hatras" }],
    });
  });
});

describe("the record is followed to names of the list alone", () => {
  test("a list that has the name before has today's as a later one", () => {
    const older = respelled({ Prayagraj: "Allahabad" });
    expect(answer("Allahabad", older)).toMatchObject({ matches: [{ match: "exact" }], ambiguous: false });
    expect(answer("Prayagraj", older).matches[0]).toMatchObject({ name: "Allahabad", match: "alias", kind: "later" });
    expect(said("Prayagraj", older)).toContain('"Prayagraj" is a later name (since 2018) of Allahabad');
  });

  test("where the district is not listed, its other names say nothing", () => {
    const none = without("Prayagraj");
    expect(answer("Allahabad", none).matches.filter(({ match }) => match !== "similar")).toEqual([]);
    expect(answer("Prayagraj", none).matches.filter(({ match }) => match !== "similar")).toEqual([]);
  });

  test("its seat says so", () => {
    expect(said("Panaji", without("North Goa"))).toBe(
      '"Panaji" is the seat of North Goa in Goa (GA), which is not in the list.',
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
    const { matches, ambiguous } = answer(query, respelled({ [name]: listed }));
    expect(matches[0]?.name).toBe(listed);
    expect(matches[0]?.match).not.toBe("similar");
    expect(ambiguous).toBe(false);
  });

  test("a state that the list calls otherwise keeps its districts' names", () => {
    const country = knownCountry(emulated, { OD: "Orissa", UK: "Uttaranchal", TG: "Telengana" });
    expect(answer("Cuttack", country).matches[0]).toMatchObject({ name: "Kataka", match: "alias" });
    expect(answer("Kataka, Odisha", country).matches[0]).toMatchObject({ name: "Kataka", match: "exact" });
  });

  // Of the whole list at once. A name of three letters that loses one may be lost: "Nuh" as "Nu".
  test.each<readonly [string, (name: string) => string]>([
    ["in capitals", (name) => name.toUpperCase()],
    ["with a long vowel", (name) => name.replace(/a/, "aa")],
    ["without an aspirate", (name) => name.replace(/([bcdgjkpt])h/, "$1")],
    ["with v for w", (name) => name.replace(/w/, "v")],
    ["without a blank", (name) => name.replace(/ /, "")],
    ["with a word behind it", (name) => `${name} District`],
  ])("the record's former names find 98 in a hundred of a list %s", (_, write) => {
    const country = knownCountry(emulated.map((district) => ({ ...district, name: write(district.name) })));
    const former = [...otherNames().values()].flat().filter(({ kind }) => kind === "former");
    const asked = former.flatMap(({ name, district }) =>
      emulated.filter((each) => each.name === district).map(({ stateCode }) => ({ name, district, stateCode })),
    );
    const missed = asked.filter(({ name, district, stateCode }) => {
      const { matches } = answer(`${name}, ${stateCode}`, country);
      return matches[0]?.match === "similar" || !matches.some((match) => match.name === write(district));
    });
    expect(asked.length).toBeGreaterThan(300);
    expect(missed.length / asked.length, JSON.stringify(missed)).toBeLessThanOrEqual(0.02);
  });
});

describe("a miss says what the name is", () => {
  test.each([
    ["Anupgarh", /"Anupgarh" in Rajasthan \(RJ\) was abolished in 2024 and is part of .*Ganganagar.* again/],
    ["Ranaghat", /"Ranaghat" in "?West Bengal"? \(WB\) was announced in 2022, out of Nadia, and is not in the list/],
    ["Nagar", /"Nagar" is part of \d+ names: .* and \d more: a guess/],
    ["Springfield", /^No district like "Springfield" in any of 36 lists\.$/],
    ["Springfield, Goa", /^No district like "Springfield" in Goa \(GA\)/],
    ["لکھنؤ", /in letters that are not read.*Devanagari/],
  ])("%s", (query, text) => {
    expect(said(query)).toMatch(text);
    const { matches, ambiguous } = answer(query);
    expect(matches.some(({ match }) => match !== "similar") && !ambiguous).toBe(false);
  });

  test("a district that an older list does not have yet", () => {
    expect(said("Hansi", without("Hansi"))).toMatch(
      /"Hansi" in Haryana \(HR\) was made a district in 2025, part of Hisar/,
    );
  });
});

test("any text at all can be asked for, and a name of the list is found in it", () => {
  const country = knownCountry(emulated.slice(0, 60));
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 2, maxLength: 80 }), (query) => {
      const { answer: found } = find(query, country);
      for (const { score } of found.matches) expect(score).toBeLessThanOrEqual(1);
      expect(said(query, country).length).toBeGreaterThan(0);
    }),
    { numRuns: 300 },
  );
});

test("folding what is folded changes nothing", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      expect(fold(fold(text))).toBe(fold(text));
    }),
    { numRuns: 500 },
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
    ["U.P.", "Uttar Pradesh"],
    ["u p", "Uttar Pradesh"],
    ["State of Bihar", "Bihar"],
    ["Uttar Pradesh, India", "Uttar Pradesh"],
    ["Guj", "Gujarat"],
    ["Himachal", "Himachal Pradesh"],
    ["Bengal", "West Bengal"],
    ["उत्तर प्रदेश", "Uttar Pradesh"],
    ["தமிழ்நாடு", "Tamil Nadu"],
    ["ಕರ್ನಾಟಕ", "Karnataka"],
  ])("%s is %s", (asked, name) => expect(nameOf(asked)).toBe(name));

  test.each(["ZZ", "Atlantis", "Pradesh", "Nagar", ""])("%j is none, or not one", (asked) => {
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
