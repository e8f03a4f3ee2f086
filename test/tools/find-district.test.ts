// Tests find_district: questions that users ask about one district, several names in a call, and the size of an answer. The expected facts
// come from the Local Government Directory and from public records, not from our tables. test/geography/names has more names, and the
// shares of those that are found; test/snapshots has the texts.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { loadNewDistricts, loadRecordedDistricts } from "../../src/geography/names/record/tables.ts";
import { localNameQuestions } from "../geography/names/question-tables.ts";
import { countTokens } from "../support/count-tokens.ts";
import { isThorough } from "../support/thorough.ts";
import type { Args } from "./bench.ts";
import { expectFacts, type Fact, freshWithDistricts } from "./geography.ts";
import { describeLatestRevision, FAST_GEOGRAPHY } from "./revisions.ts";

const QUESTIONS: readonly (readonly [question: string, name: string, ...facts: readonly Fact[]])[] = [
  ["How many tehsils has Bilaspur?", "Bilaspur", '"mandalCount":12', '"mandalCount":7', '"ambiguous":true'],
  ["What is Faizabad called now?", "Faizabad", /^(?!.*similar).*Ayodhya/],
  ["Is Ramanagara a district?", "Ramanagara", "Bengaluru South", '"since":2025'],
  ["Which districts are Bangalore?", "Bangalore", '"ambiguous":true', "Bengaluru Urban", "Bengaluru Rural"],
  ["Which district is Aurangabad?", "Aurangabad", '"ambiguous":true', "Bihar", "Chhatrapati Sambhajinagar"],
  ["Which are Raigad and Raigarh?", "Raigad or Raigarh", '"ambiguous":true', /"Raigad".*"MH".*"Raigarh".*"CG"/],
  ["How many mandals has हैदराबाद?", "हैदराबाद", '"certainty":"certain"', "Telangana (TG): 16 mandals"],
  ["Where is పశ్చిమ గోదావరి?", "పశ్చిమ గోదావరి", "West Godavari in Andhra Pradesh (AP): 20 mandals"],
  ["Which district is Secunderabad in?", "Secunderabad", '"certainty":"certain"', "a city in Hyderabad"],
  ["Is Madanapalle a district?", "Madanapalle", "the headquarters of Annamayya", "announced in 2025"],
  ["Is Zanskar a district?", "Zanskar", "announced in 2024, out of Kargil", '"matches":[]'],
  ["Out of which was Bapatla made?", "Bapatla", '"createdYear":2022', '"carvedFrom":"Guntur + Prakasam"'],
  ["Which districts border Nagpur?", "neighbours of Nagpur", /Not in this catalog|Towns are not listed/],
  ["Which district is Gachibowli in?", "Gachibowli", '"certainty":"guess"', "Towns are not listed"],
  ["When was Biswanath created?", "Biswanath", /"createdYear":2015.*"restored":2023.*"carvedFrom":"Sonitpur"/],
];

/** Returns the other names, towns and changed districts in the public record. */
const recordedNames = (): readonly string[] =>
  [
    ...[...loadRecordedDistricts().values()].flat().flatMap(({ names, towns }) => [...names, ...towns]),
    ...[...loadNewDistricts().values()].flat(),
  ].map(({ name }) => name);

describeLatestRevision((bench, revision) => {
  const find = async (args: Args) => (await bench().ok("find_district", args)).structured;

  test.each(QUESTIONS.map((question) => ({ question })))("$question.0", async ({ question: [, name, ...facts] }) => {
    expectFacts(await find({ name }), facts);
  });

  test("several names are answered in one call, each with the same answer as in a separate call", async () => {
    const names = ["Nizamabad", "Allahabad", "Hamirpur", "Nizambad", "Nowhereville", "Kerala", "Patna, Bihar"];
    const { answers, vintage, summary } = Object(await find({ names }));
    expect(answers).toHaveLength(names.length);
    for (const [at, name] of names.entries()) {
      const { summary: own, nextStep: _next, vintage: read, ...answer } = Object(await find({ name }));
      const { note, query, ...inList } = answers[at];
      // A separate answer leaves out what its sentence says.
      expect({ query, ...inList }).toMatchObject({ query: name, ...answer });
      expect(vintage.startsWith(`${read}, `)).toBe(true);
      if (note !== undefined) expect(own).toContain(note);
    }
    expect(answers.at(-1)).toMatchObject({ readAs: { name: "Patna", state: "BR" }, certainty: "certain" });
    expect(summary).toMatch(
      /^Of 7 names: 3 found, 1 ambiguous \("Hamirpur"\), 1 guessed \("Nizambad"\), 1 state \("Kerala"\), 1 not found \("Nowhereville"\)\. Not in this catalog: /,
    );
  });

  test("guesses far below the best one are left out", async () => {
    const { matches } = Object(await find({ name: "Bangalor" }));
    const scores = z
      .array(z.object({ score: z.number() }))
      .parse(matches)
      .map(({ score }) => score);
    expect(scores.length).toBeGreaterThan(0);
    expect(Math.max(...scores) - Math.min(...scores)).toBeLessThanOrEqual(0.1);
  });

  test("a district in the lists of two states is reported only for a name that it concerns", async () => {
    // Nizamabad, a district of Telangana.
    const extra = { code: "516", name: "Nizamabad", mandalCount: 33 };
    const own = await freshWithDistricts(bench(), revision, "GA", (districts) => [...districts, extra]);
    const { consistency } = (await own.ok("find_district", { name: "Nizamabad" })).structured;
    expect(consistency).toEqual([
      "Goa (GA): the states list says 3 districts, its districts list has 4.",
      "Goa (GA): the states list says 12 mandals, its districts add up to 45.",
      "District code 516 is listed for Nizamabad (GA) and Nizamabad (TG): counted once.",
    ]);
    expect((await own.ok("find_district", { name: "Patna" })).structured).not.toHaveProperty("consistency");
    const ranking = (await own.ok("rank_divisions", { level: "district", by: "mandalCount", order: "asc" })).structured;
    expect(ranking).toMatchObject({ totalRows: 784, consistency: expect.arrayContaining([consistency].flat()) });
  });

  test("find_district takes at most 105 tokens for one certain match, and at most 120 plus 40 per row for any other result", async () => {
    const { text } = await bench().connection.readResource("mic://geography/catalogue.tsv");
    const listed = text.split("\n").filter((line) => !line.startsWith("#"));
    const names = [
      ...QUESTIONS.map(([, name]) => name),
      ...[...listed.slice(1).map((line) => line.split("\t")[1] ?? ""), ...recordedNames()].filter(
        (name, at) => name.length > 1 && (isThorough || at % 4 === 0),
      ),
      ...localNameQuestions.map(({ query }) => query).filter((_, at) => at % 40 === 0),
    ];
    expect(names.length).toBeGreaterThan(400);
    let certain = 0;
    for (const name of names) {
      const { structured = {} } = await bench().call("find_district", { name });
      const { length: rows } = z.array(z.unknown()).parse(structured["matches"]);
      const isCertain = rows === 1 && structured["certainty"] !== "guess";
      certain += isCertain ? 1 : 0;
      const json = JSON.stringify(structured);
      expect(countTokens(json), json).toBeLessThanOrEqual(isCertain ? 105 : 120 + 40 * rows);
    }
    expect(certain / names.length).toBeGreaterThan(0.75);
  });
}, FAST_GEOGRAPHY);
