// Tests queries: their parsing, the kinds of names that match, names that must not match, and transliteration.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { State } from "../../src/contract/playground.ts";
import { Failure } from "../../src/core/failure.ts";
import { AGENT, render } from "../../src/core/text.ts";
import { readCatalogue } from "../../src/emulator/catalogue.ts";
import type { Country } from "../../src/geography/country.ts";
import { describeFinding, findDistrict } from "../../src/geography/find-districts.ts";
import { createDistrictSearch } from "../../src/geography/names/district-search.ts";
import { fold } from "../../src/geography/names/name-forms.ts";
import { resolveState } from "../../src/geography/names/resolve-state.ts";
import { isIndianScript, toLatin } from "../../src/geography/names/transliteration.ts";
import { runCount } from "../support/thorough.ts";
import { words } from "../support/words.ts";
import { emulatedDistricts, knownCountry, type ListedDistrict } from "./known-country.ts";
import { localNameQuestions } from "./names/question-tables.ts";

const india = knownCountry();

const find = (query: string, country: Country = india) =>
  findDistrict(query, createDistrictSearch(country.states.value.states, country), 5);

const answerTo = (query: string, country?: Country) => find(query, country).answer;

/** The first match of a certain answer, and the state that the query was parsed to contain. */
function findCertain(query: string, country?: Country) {
  const { matches, ambiguous, certainty, readAs } = answerTo(query, country);
  expect(ambiguous, query).toBeUndefined();
  expect(certainty, query).toBe("certain");
  return { ...matches[0], read: readAs?.state };
}

const coverage = { statesTotal: 36, statesRead: 36, complete: true, missing: [] };
const formatFinding = (query: string, country?: Country): string =>
  render(describeFinding(find(query, country), coverage, [], []), AGENT);

/** The emulator's country in which some districts have another name. */
const countryWithNames = (names: Readonly<Record<string, string>>): Country =>
  knownCountry(emulatedDistricts.map((district) => ({ ...district, name: names[district.name] ?? district.name })));
const countryWithoutDistricts = (...names: readonly string[]): Country =>
  knownCountry(emulatedDistricts.filter(({ name }) => !names.includes(name)));

// The tables in names/questions cover the classes of queries, and test/snapshots/find_district.md the sentences of usual answers.
test("a typo in a former name is an uncertain match that shows the former name", () => {
  const matches = [{ name: "Prayagraj", match: "similar", via: "Allahabad" }];
  expect(answerTo("Alahabad")).toMatchObject({ certainty: "guess", matches });
});

test("two spellings of one name in a list both match", () => {
  const duplicate: ListedDistrict = { stateCode: "UP", code: "9999", name: "Hatras", mandalCount: 1 };
  expect(answerTo("Hathras", knownCountry([...emulatedDistricts, duplicate]))).toMatchObject({
    ambiguous: true,
    matches: [{ match: "exact" }, { name: "Hatras" }],
  });
});

test("a district listed under its former name is found by today's name, which is reported as a later name", () => {
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

test("an unlisted district is not matched by its other names, and is reported for the name of its headquarters", () => {
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
  ["Gautam Buddha Nagar", "Gautam Budh Nagar", "GB Nagar"],
  ["North Goa", "Goa North", "Panaji"],
  ["Ahilyanagar", "AHILYANAGAR DISTRICT", "Ahmednagar"],
])("%s listed as %s is found by %s", (name, listed, query) => {
  expect(findCertain(query, countryWithNames({ [name]: listed }))).toMatchObject({ name: listed });
});

test("districts are found by their names even if the list has another name for their state", () => {
  const country = knownCountry(emulatedDistricts, { OD: "Orissa", UK: "Uttaranchal", TG: "Telengana" });
  expect(findCertain("Cuttack", country)).toMatchObject({ name: "Kataka", match: "alias" });
  expect(findCertain("Kataka, Odisha", country)).toMatchObject({ name: "Kataka", match: "exact" });
});

test.each([
  ["Ranaghat", /"Ranaghat" in "?West Bengal"? \(WB\) was announced in 2022, out of Nadia, and is not in the list/],
  ["Hansi", /"Hansi" in Haryana \(HR\) was made a district in 2025, part of Hisar/],
  ["Nagar", /"Nagar" is part of \d+ names: .* and \d more\. Ask the user which one is meant/],
  ["Springfield, Goa", /^No district like "Springfield" in Goa \(GA\)/],
  ["لکھنؤ", /in letters that are not read.*Devanagari/],
])("an answer without a match explains the name: %s", (query, text) => {
  const country = countryWithoutDistricts("Hansi");
  expect(formatFinding(query, country)).toMatch(text);
  const { certainty = "guess" } = answerTo(query, country);
  expect(certainty).toBe("guess");
});

test("all 784 districts are exact matches of their names in the script of their state and in Hindi, without a guess", () => {
  expect(new Set(localNameQuestions.map(({ expected }) => expected)).size).toBe(emulatedDistricts.length);
  const answers = localNameQuestions.map(({ query, expected }) => ({ expected, ...answerTo(query) }));
  const failures = answers.filter(({ expected, matches, ambiguous = false, certainty }) => {
    const isExact = matches.some(({ districtCode, match }) => districtCode === expected && match === "exact");
    // Namesakes are ambiguous; any other name is certain.
    const isNamesake = matches.filter(({ match }) => match !== "similar").length > 1;
    return !isExact || certainty !== "certain" || ambiguous !== isNamesake;
  });
  expect(failures).toEqual([]);
  expect(answers.filter(({ ambiguous }) => ambiguous).length).toBeLessThanOrEqual(13);
});

test("the sentence about a name in an Indian script has the name as it was written", () => {
  expect(formatFinding("कर्नूल")).toMatch("Kurnool in Andhra Pradesh (AP): ");
  expect(formatFinding("गुड़गांव")).toMatch('"गुड़गांव" (until 2016) is now Gurugram in Haryana (HR): ');
});

test("a transliterated name that only resembles listed names is reported as a guess, not as missing", () => {
  expect(answerTo("ओंगोल")).toMatchObject({ certainty: "guess", matches: [{ match: "similar", via: "Ongole" }] });
  expect(formatFinding("ओंगोल")).toBe(
    '"ओंगोल" (ongol) may be Prakasam (also "Ongole") in Andhra Pradesh (AP); confirm it with the user.',
  );
  expect(formatFinding("क्षधझ")).toBe('Found no name like "क्षधझ" (kshadhajh). Try it in Latin letters.');
});

test("a query in Latin letters does not match the transliteration of a local name", () => {
  expect(answerTo("kovai").matches).toMatchObject([{ name: "Coimbatore", match: "alias" }]);
  expect(answerTo("entiar").matches).toEqual([]);
});

test("any text can be queried, and folding a folded text does not change it", () => {
  const country = knownCountry(emulatedDistricts.slice(0, 60));
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 2, maxLength: 80 }), (query) => {
      for (const { score = 1 } of answerTo(query, country).matches) expect(score).toBeLessThanOrEqual(1);
      expect(formatFinding(query, country).length).toBeGreaterThan(0);
      expect(fold(fold(query))).toBe(fold(query));
    }),
    { numRuns: runCount(100, 400) },
  );
  expect(fold("Dr. B.R.Ambedkar (Konasīma) & more")).toBe("dr br ambedkar konasima and more");
});

// More cases are in names/questions/state-argument.tsv.
const states: readonly State[] = readCatalogue().states.states;
const recodeState = (from: string, to: string) =>
  states.map((state) => (state.code === from ? { ...state, code: to } : state));
const resolveName = (text: string, list = states) => resolveState(text, list).name;

test.each(words("TG:TS:Telangana OD:OR:Odisha UK:UT:Uttarakhand CG:CT:Chhattisgarh").map((each) => each.split(":")))(
  "state codes %s and %s are equivalent, whichever the list has",
  (code = "", other = "", name = "") => {
    for (const stateText of [code, other, code.toLowerCase(), other.toLowerCase(), name, name.toUpperCase()])
      for (const list of [states, recodeState(code, other)]) expect(resolveName(stateText, list)).toBe(name);
  },
);

test("a text that matches no state, or several, is refused", () => {
  for (const text of ["ZZ", "Atlantis", "Pradesh", "Nagar", ""]) expect(() => resolveName(text), text).toThrow(Failure);
});

test.each(
  words(`
    कानपुर:kanpur चंपारण:champaran गढ़वा:garhva जळगाव:jalgaon নগাঁও:nagaon যোৰহাট:jorhat নদিয়া:nadiya ਅੰਮ੍ਰਿਤਸਰ:ammritsar જૂનાગઢ:junagadh
    କଟକ:kataka மதுரை:madurai తిరుపతి:tirupati ಮೈಸೂರು:maisuru കണ്ണൂർ:kannur २०२६:2026 Patna-पटना:Patna-patna`).map((pair) =>
    pair.split(":"),
  ),
)("%s is transliterated to %s", (written = "", latin = "") => expect(toLatin(written)).toBe(latin));

test("every letter of the nine blocks becomes Latin, and no other character changes", () => {
  const letter = fc.integer({ min: 0x900, max: 0xd7f }).map((code) => String.fromCodePoint(code));
  fc.assert(
    fc.property(fc.array(letter, { maxLength: 12 }), fc.string(), (letters, latin) => {
      expect(isIndianScript(toLatin(letters.join("")))).toBe(false);
      expect(toLatin(latin)).toBe(latin);
    }),
    { numRuns: 500 },
  );
});
