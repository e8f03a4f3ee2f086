// Tests that each district is found by its name in the script of its state and in Hindi.
import { expect, test } from "vitest";
import { describeFinding, findDistrict } from "../../src/geography/find-districts.ts";
import { DistrictSearch } from "../../src/geography/names/district-search.ts";
import { emulatedDistricts, knownCountry } from "./known-country.ts";
import { localNameQuestions } from "./names/question-tables.ts";

const COVERAGE = { statesTotal: 36, statesRead: 36, complete: true, missing: [] };

function find(query: string, renamed: Readonly<Record<string, string>> = {}) {
  const country = knownCountry(
    emulatedDistricts.map((district) => ({ ...district, name: renamed[district.name] ?? district.name })),
  );
  const finding = findDistrict(query, new DistrictSearch(country.states.value.states, country), 5);
  return { ...finding.answer, text: describeFinding(finding, COVERAGE, "", []) };
}

test("all 784 districts are exact matches of their names in the script of their state and in Hindi, without a guess", () => {
  expect(new Set(localNameQuestions.map(({ expected }) => expected)).size).toBe(emulatedDistricts.length);
  const country = knownCountry();
  const districts = new DistrictSearch(country.states.value.states, country);
  const failures = localNameQuestions.filter(({ query, expected }) => {
    const finding = findDistrict(query, districts, 5);
    const { matches, ambiguous = false, certainty } = finding.answer;
    const isExact = matches.some(({ districtCode, match }) => districtCode === expected && match === "exact");
    // Namesakes are ambiguous; any other name is certain.
    const isNamesake = matches.filter(({ match }) => match !== "similar").length > 1;
    const isGuess = certainty !== "exact" || /confirm|^No |^Found no /.test(describeFinding(finding, COVERAGE, "", []));
    return !isExact || isGuess || ambiguous !== isNamesake;
  });
  expect(failures).toEqual([]);
});

test("at most 13 names in Indian scripts mean several districts", () => {
  const country = knownCountry();
  const districts = new DistrictSearch(country.states.value.states, country);
  const ambiguous = localNameQuestions.filter(({ query }) => districts.search(query).ambiguous);
  expect(ambiguous.length).toBeLessThanOrEqual(13);
});

test.each([
  ["बक्सर", "Buxar in Bihar (BR)"],
  ["కర్నూలు", "Kurnool in Andhra Pradesh (AP)"],
  ["పశ్చిమ గోదావరి", "West Godavari in Andhra Pradesh (AP)"],
])("%s is %s", (query, district) => expect(find(query).text.split(": ")[0]).toBe(district));

test("गुड़गांव is a former name of Gurugram", () => {
  expect(find("गुड़गांव").text).toMatch('"गुड़गांव" (until 2016) is now Gurugram in Haryana (HR): ');
});

test("a transliterated name that only resembles districts is a guess and is not denied", () => {
  expect(find("ओंगोल")).toMatchObject({ certainty: "guess", matches: [{ match: "similar", via: "Ongole" }] });
  expect(find("ओंगोल").text).toBe('"ओंगोल" (ongol) may be Prakasam (also "Ongole") in Andhra Pradesh (AP); confirm it.');
  expect(find("क्षधझ").text).toBe('Found no name like "क्षधझ" (kshadhajh). Try it in Latin letters.');
});

test("a name in an Indian script is the later name of a district that the list calls by its former name", () => {
  const [best] = find("प्रयागराज", { Prayagraj: "Allahabad" }).matches;
  expect(best).toMatchObject({ name: "Allahabad", match: "alias", kind: "later", since: 2018 });
});

test("a query in Latin letters does not match the transliteration of a local name", () => {
  expect(find("kovai").matches).toMatchObject([{ name: "Coimbatore", match: "alias" }]);
  expect(find("entiar").matches).toEqual([]);
});
