// Tests questions that users ask about India's districts: the first call of each has the answer. The expected facts come from the
// Local Government Directory and from public records, not from our tables. test/geography/names has more names, and the shares of
// those that are found; test/snapshots has the texts.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { loadNewDistricts, loadRecordedDistricts } from "../../src/geography/names/record/tables.ts";
import { localNameQuestions } from "../geography/names/question-tables.ts";
import { countTokens } from "../support/count-tokens.ts";
import { isThorough } from "../support/thorough.ts";
import type { Args } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

type Tool = "find_district" | "rank_divisions" | "list_districts";
/** Texts that structuredContent must contain; a name in `matches` must be the first one. */
type Question = readonly [question: string, tool: Tool, args: Args, ...facts: readonly (string | RegExp)[]];

const find = (name: string, more: Args = {}) => ["find_district", { name, ...more }] as const;
const rankDistricts = (args: Args) => ["rank_divisions", { level: "district", by: "mandalCount", ...args }] as const;
const rankStates = (args: Args) => ["rank_divisions", { level: "state", by: "mandalCount", ...args }] as const;

const createdSince = (state: string, year: number) => rankDistricts({ createdSince: year, states: [state] });
const assamSince = (year: number) => createdSince("AS", year);
const RESTORED =
  /Not new but restored: Biswanath in Assam \(AS\), Hojai in Assam \(AS\), Bajali in Assam \(AS\)(, Tamulpur in Assam \(AS\))?\./;
const sinceRecord = (found: string, missing: string): string =>
  `${found} created since 2010 (public record of 2010 to 2026, not of ${missing})`;

/** Returns the other names, towns and changed districts in the public record. */
const recordedNames = (): readonly string[] =>
  [
    ...[...loadRecordedDistricts().values()].flat().flatMap(({ names, towns }) => [...names, ...towns]),
    ...[...loadNewDistricts().values()].flat(),
  ].map(({ name }) => name);

const NORTH_EAST = ["AS", "AR", "MN", "ML", "MZ", "NL", "TR", "SK"];

const questions: readonly Question[] = [
  ["How many mandals has Nizamabad?", ...find("Nizamabad"), '"certainty":"exact"', "Telangana (TG): 33 mandals."],
  ["How many tehsils has Bilaspur?", ...find("Bilaspur"), '"mandalCount":12', '"mandalCount":7', '"ambiguous":true'],
  ["What is Faizabad called now?", ...find("Faizabad"), /^(?!.*similar).*Ayodhya/],
  ["Is Ramanagara a district?", ...find("Ramanagara"), "Bengaluru South", '"since":2025'],
  ["Which districts are Bangalore?", ...find("Bangalore"), '"ambiguous":true', "Bengaluru Urban", "Bengaluru Rural"],
  ["Which district is Aurangabad?", ...find("Aurangabad"), '"ambiguous":true', "Bihar", "Chhatrapati Sambhajinagar"],
  ["How many mandals has हैदराबाद?", ...find("हैदराबाद"), '"certainty":"exact"', "Telangana (TG): 16 mandals"],
  ["Where is పశ్చిమ గోదావరి?", ...find("పశ్చిమ గోదావరి"), "West Godavari in Andhra Pradesh (AP): 20 mandals"],
  ["Which district is Secunderabad in?", ...find("Secunderabad"), '"certainty":"known"', "a city in Hyderabad"],
  ["Is Madanapalle a district?", ...find("Madanapalle"), "the headquarters of Annamayya", "announced in 2025"],
  ["Is Zanskar a district?", ...find("Zanskar"), "announced in 2024, out of Kargil", '"matches":[]'],
  [
    "Out of which districts was Bapatla made?",
    ...find("Bapatla"),
    '"createdYear":2022',
    '"carvedFrom":"Guntur + Prakasam"',
  ],
  ["Which districts border Nagpur?", ...find("neighbours of Nagpur"), /Not in this catalog|Towns are not listed/],
  ["Which district is Gachibowli in?", ...find("Gachibowli"), '"certainty":"guess"', "Towns are not listed"],
  ["Which state has the most districts?", ...rankStates({ by: "districtCount", limit: 1 }), "Uttar Pradesh (UP), 75."],
  ["How many mandals has the North-East?", ...rankStates({ states: NORTH_EAST }), "132 districts, 678 mandals."],
  ["How many have more than 20 mandals?", ...rankDistricts({ min: 21, limit: 1 }), "49 districts with mandalCount 21"],
  ["Which states have one district?", ...rankStates({ by: "districtCount", max: 1 }), /^.{12}2 states.*"CH".*"LD"/],
  ["What is the median of Kerala's districts?", ...rankDistricts({ states: ["Kerala"] }), '"median":6', "78 mandals"],
  [
    "Which were created after 2024?",
    ...rankDistricts({ createdSince: 2025 }),
    '"name":"Kushavati"',
    '"createdYear":2025',
  ],
  ["How many were created after 2014?", ...rankDistricts({ createdSince: 2015 }), "111 districts created since 2015"],
  [
    "When was Biswanath created?",
    ...find("Biswanath"),
    '"createdYear":2015',
    '"restored":2023',
    '"carvedFrom":"Sonitpur"',
  ],
  [
    "Which of Assam are new since 2015?",
    ...assamSince(2015),
    /^(?!.*Not new).*Biswanath.*"createdYear":2015,"restored":2023/,
  ],
  ["Which of Assam are new since 2022?", ...assamSince(2022), "1 district (AS)", "Tamulpur", RESTORED],
  ["Which of Assam are new since 2023?", ...assamSince(2023), "No district (AS)", /"rows":\[\]/, RESTORED],
  ["Which of Assam are new since 2024?", ...assamSince(2024), "No district (AS)", /^(?!.*Not new)/],
  [
    "Which of Tamil Nadu are new since 2004?",
    ...createdSince("TN", 2004),
    sinceRecord("6 districts (TN)", "2004-2009"),
  ],
  [
    "Which of Uttarakhand are new since 2000?",
    ...createdSince("UK", 2000),
    sinceRecord("No district (UK)", "2000-2009"),
  ],
  ["Which of Goa are new since 2009?", ...createdSince("GA", 2009), sinceRecord("1 district (GA)", "2009")],
  [
    "Which of Goa are new since 2010?",
    ...createdSince("GA", 2010),
    "1 district (GA) created since 2010 (public record of 2010 to 2026):",
  ],
];

describeLatestRevision(
  (bench) => {
    test.each(questions.map((question) => ({ question })))(
      "$question.0",
      async ({ question: [, tool, args, ...facts] }) => {
        const { structured } = await bench().ok(tool, args);
        const json = JSON.stringify(structured);
        const names = JSON.stringify({ ...structured, summary: String(structured["summary"]).replaceAll('"', "") });
        for (const fact of facts)
          expect(
            typeof fact === "string" ? names.includes(fact) || json.includes(fact) : fact.test(json),
            `${fact} in ${json}`,
          ).toBe(true);
      },
    );

    test("rank_divisions lists as many recorded changes as rows, the latest first, and counts the others", async () => {
      const args = { level: "district", by: "mandalCount", createdSince: 2015 };
      const { structured } = await bench().ok("rank_divisions", { ...args, limit: 3 });
      const all = Object((await bench().ok("rank_divisions", { ...args, limit: 100 })).structured);
      expect(all.unlisted.length).toBeGreaterThan(20);
      expect(structured).toMatchObject({ unlisted: all.unlisted.slice(0, 3), unlistedCount: all.unlisted.length });
      expect(structured["summary"]).toContain(" districts (3 shown; a larger limit shows more).");
      const years = all.unlisted.map((text: string) => Number(text.slice(-4)));
      expect(years).toEqual(years.toSorted((one: number, other: number) => other - one));
    });

    test("find_district takes at most 105 tokens for one certain match, and at most 120 plus 40 per row for any other result", async () => {
      const { text } = await bench().connection.readResource("mic://geography/catalogue.tsv");
      const listed = text
        .split("\n")
        .filter((line) => !line.startsWith("#"))
        .map((line) => line.split("\t"));
      const asked = questions.flatMap(([, tool, { name }]) => (tool === "find_district" ? String(name) : []));
      const names = [
        ...asked,
        ...[...listed.slice(1).map(([, name = ""]) => name), ...recordedNames()].filter(
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
  },
  { env: { MIC_GEOGRAPHY_RATE_LIMIT: "600" } },
);
