// Tests questions of analysts, each answered with one tool call. The expected answers are computed from the emulator's data over
// plain HTTP, once unchanged and once with other numbers, codes, names and vintage.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import type { State } from "../../src/contract/playground.ts";
import type { Args, Bench } from "./bench.ts";
import { createFreshBench } from "./fresh-bench.ts";
import {
  type Catalogue,
  changeCatalogue,
  type Row,
  readCatalogue,
  replaceGeography,
  rowsOf,
} from "./geography-catalogue.ts";
import { describeLatestRevision } from "./revisions.ts";

const Found = z.object({
  matches: z.array(
    z.object({
      districtCode: z.string(),
      name: z.string(),
      stateCode: z.string(),
      mandalCount: z.int(),
      match: z.enum(["exact", "alias"]).optional(),
    }),
  ),
  certainty: z.enum(["exact", "known"]),
  ambiguous: z.literal(true).optional(),
});
const Ranked = <R extends z.ZodRawShape>(row: R) =>
  z.object({
    rows: z.array(z.object(row)),
    totalRows: z.int(),
    totals: z.object({ districts: z.int(), mandals: z.int() }),
    exact: z.literal(true),
    consistency: z.tuple([]),
  });
const figures = { districtCount: z.int(), mandalCount: z.int(), mandalsPerDistrict: z.number() };
const RankedStates = Ranked({ code: z.string(), name: z.string(), ...figures });
const District = { districtCode: z.string(), name: z.string(), mandalCount: z.int() };
const RankedDistricts = Ranked({ ...District, stateCode: z.string(), stateName: z.string() });
const Shared = z.object({ coverage: z.undefined().optional(), vintage: z.string() });

/** Asks the tools and computes the expected answers. */
class Analyst {
  readonly states: readonly State[];
  readonly rows: readonly Row[];
  readonly #bench: Bench;
  readonly #vintage: string | undefined;
  calls = 0;

  constructor(bench: Bench, catalogue: Catalogue) {
    this.#bench = bench;
    this.states = catalogue.states.states;
    this.rows = rowsOf(catalogue);
    this.#vintage = catalogue.states.sourceUpdatedAt;
  }

  async #call(tool: string, args: Args): Promise<unknown> {
    this.calls += 1;
    const { structured } = await this.#bench.ok(tool, args);
    const { vintage } = Shared.parse(structured);
    expect(vintage).toContain(this.#vintage === "another day" ? '"another day", ' : `${this.#vintage}, `);
    return structured;
  }

  find = async (name: string, more: Args = {}) => Found.parse(await this.#call("find_district", { name, ...more }));
  rankStates = async (args: Args) =>
    RankedStates.parse(await this.#call("rank_divisions", { level: "state", ...args }));
  rankDistricts = async (args: Args) =>
    RankedDistricts.parse(await this.#call("rank_divisions", { level: "district", ...args }));

  async listStates() {
    this.calls += 1;
    return (await this.#bench.ok("list_states")).structured;
  }

  state(name: string): State {
    const found = this.states.find((state) => state.name === name);
    if (found === undefined) throw new Error(`the catalogue has no ${name}`);
    return found;
  }

  /** The district with this code, because names may differ. */
  row(code: string): Row {
    const found = this.rows.find((row) => row.code === code);
    if (found === undefined) throw new Error(`the catalogue has no district ${code}`);
    return found;
  }

  top(rows: readonly { readonly mandalCount: number }[], count: number) {
    return rows
      .toSorted((a, b) => b.mandalCount - a.mandalCount)
      .slice(0, count)
      .map(({ mandalCount }) => mandalCount);
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** The fields of a match without the kind of match and the score. */
const places = (rows: readonly Row[]) =>
  rows.map(({ code, name, mandalCount, state }) => ({
    ...{ districtCode: code, name, mandalCount },
    stateCode: state.code,
  }));

const byCode = <T extends { readonly code: string }>(rows: readonly T[]): readonly T[] =>
  rows.toSorted((a, b) => (a.code < b.code ? -1 : 1));

const counts = (rows: readonly Pick<State, "code" | "districtCount" | "mandalCount">[]) =>
  byCode(rows).map(({ code, districtCount, mandalCount }) => [code, districtCount, mandalCount]);

const NORTH_EAST = ["Assam", "Arunachal Pradesh", "Manipur", "Meghalaya", "Mizoram", "Nagaland", "Tripura", "Sikkim"];
const UNION_TERRITORIES = [
  ...["Andaman and Nicobar Islands", "Chandigarh", "Dadra and Nagar Haveli and Daman and Diu", "Delhi"],
  ...["Jammu & Kashmir", "Ladakh", "Lakshadweep", "Puducherry"],
];

/** Questions about a district: the name, and the codes of the expected districts; several codes mean an ambiguous name. */
const aboutOne: readonly (readonly [question: string, args: Args & { name: string }, codes: readonly string[]])[] = [
  ["How many mandals are there in Nizamabad district?", { name: "Nizamabad district" }, ["516"]],
  ["Which state is Hamirpur in?", { name: "Hamirpur" }, ["17", "149"]],
  ["How many tehsils does Bilaspur have?", { name: "Bilaspur" }, ["375", "15"]],
  ["How many taluks are in Bangalore Urban?", { name: "Bangalore Urban" }, ["525"]],
  ["What is Allahabad district called here and how many tehsils has it?", { name: "Allahabad" }, ["120"]],
  ["What is the LGD code of Odisha's Cuttack district?", { name: "Cuttack", state: "OR" }, ["350"]],
  ["Is Ramanagara a district of Karnataka?", { name: "Ramanagara", state: "Karnataka" }, ["631"]],
  ["Which districts have 24 Parganas in their name?", { name: "24 Parganas" }, ["303", "304"]],
  ["How many mandals are in Cuddapah?", { name: "Cuddapah" }, ["504"]],
  // The API returns only the count.
  ["Name the mandals of Medchal Malkajgiri.", { name: "Medchal Malkajgiri" }, ["700"]],
];

/** Questions about states: the arguments, and the expected states. */
const aboutStates: readonly (readonly [question: string, args: Args, rows: (a: Analyst) => readonly State[]])[] = [
  [
    "How many districts and how many mandals does Telangana have?",
    { by: "mandalCount", states: ["Telangana"] },
    (a) => [a.state("Telangana")],
  ],
  ["Give me the number of districts for TS.", { by: "districtCount", states: ["TS"] }, (a) => [a.state("Telangana")]],
  [
    "Which three states have the most districts?",
    { by: "districtCount", order: "desc", limit: 3 },
    (a) => a.states.toSorted((x, y) => y.districtCount - x.districtCount).slice(0, 3),
  ],
  [
    "Which states or union territories have only one district?",
    { by: "districtCount", min: 1, max: 1, limit: 100 },
    (a) => a.states.filter(({ districtCount }) => districtCount === 1),
  ],
];

/** Other questions about states and districts: pairs of a value from the tools and the expected value. */
const others: readonly (readonly [question: string, answer: (analyst: Analyst) => Promise<readonly unknown[]>])[] = [
  [
    "List the districts of Goa with their taluka counts.",
    async (a) => {
      const { rows, totals } = await a.rankDistricts({ by: "name", states: ["Goa"], limit: 100 });
      const own = a.rows.filter(({ state }) => state.name === "Goa");
      const named = (each: readonly { readonly name: string; readonly mandalCount: number }[]) =>
        new Map(each.map(({ name, mandalCount }) => [name, mandalCount]));
      return [named(rows), named(own), totals.mandals, a.state("Goa").mandalCount];
    },
  ],
  [
    "Rank the top five states by number of mandals (sub-districts).",
    async (a) => {
      const { rows } = await a.rankStates({ by: "mandalCount", limit: 5 });
      return [rows.map(({ mandalCount }) => mandalCount), a.top(a.states, 5)];
    },
  ],
  [
    "How many states/UTs, districts and mandals does the catalogue hold in all?",
    async (a) => {
      const { totalRows, totals } = await a.rankStates({ by: "mandalCount", limit: 1 });
      const mandals = sum(a.rows.map(({ mandalCount }) => mandalCount));
      return [totalRows, a.states.length, totals.districts, a.rows.length, totals.mandals, mandals];
    },
  ],
  [
    "Compare the average number of mandals per district in Andhra Pradesh and Uttar Pradesh.",
    async (a) => {
      const { rows } = await a.rankStates({ by: "mandalsPerDistrict", states: ["AP", "UP"] });
      for (const { name, mandalsPerDistrict } of rows)
        expect(mandalsPerDistrict).toBeCloseTo(a.state(name).mandalCount / a.state(name).districtCount, 2);
      return [rows.length, 2];
    },
  ],
  [
    "Which districts have no mandals at all in this catalogue?",
    async (a) => {
      const { rows, totalRows } = await a.rankDistricts({ by: "mandalCount", max: 0, limit: 100 });
      const none = a.rows.filter(({ mandalCount }) => mandalCount === 0).map(({ code }) => code);
      return [totalRows, none.length, rows.map(({ districtCode }) => districtCode).sort(), none.sort()];
    },
  ],
  [
    "Andhra Pradesh and Telangana together: how many districts and mandals?",
    async (a) => {
      const { totals } = await a.rankStates({ by: "mandalCount", states: ["Andhra Pradesh", "Telangana"] });
      const both = [a.state("Andhra Pradesh"), a.state("Telangana")];
      const districts = sum(both.map(({ districtCount }) => districtCount));
      return [totals.districts, districts, totals.mandals, sum(both.map(({ mandalCount }) => mandalCount))];
    },
  ],
  [
    "What is the LGD code of Odisha?",
    async (a) => {
      const text = JSON.stringify(await a.listStates());
      return [text.includes(`"lgdCode":"${a.state("Odisha").lgdCode}"`), true];
    },
  ],
  [
    "Rank the eight north-eastern states by number of districts.",
    async (a) => {
      const { rows } = await a.rankStates({ by: "districtCount", states: NORTH_EAST });
      const expected = NORTH_EAST.map((name) => a.state(name).districtCount).sort((x, y) => y - x);
      return [rows.map(({ districtCount }) => districtCount), expected];
    },
  ],
  [
    "Which district of India has the most sub-districts, and which is second?",
    async (a) => {
      const { rows } = await a.rankDistricts({ by: "mandalCount", limit: 2 });
      const mandalCounts = rows.map(({ mandalCount }) => mandalCount);
      return [
        mandalCounts,
        a.top(a.rows, 2),
        mandalCounts,
        rows.map(({ districtCode }) => a.row(districtCode).mandalCount),
      ];
    },
  ],
  [
    "How many districts have more than 30 mandals?",
    async (a) => {
      const { rows, totalRows } = await a.rankDistricts({ by: "mandalCount", min: 31, limit: 100 });
      const many = a.rows.filter(({ mandalCount }) => mandalCount > 30);
      return [totalRows, many.length, rows.map(({ mandalCount }) => mandalCount), a.top(many, 100)];
    },
  ],
  [
    "How many sub-districts do the eight union territories have together?",
    async (a) => {
      const { totals, rows } = await a.rankStates({ by: "mandalCount", states: UNION_TERRITORIES });
      const own = a.states.filter(({ code }) => rows.some((row) => row.code === code));
      return [totals.mandals, sum(own.map(({ mandalCount }) => mandalCount)), rows.length, 8];
    },
  ],
  [
    "Which Telangana district has the fewest mandals?",
    async (a) => {
      const { rows } = await a.rankDistricts({ by: "mandalCount", order: "asc", states: ["Telangana"], limit: 1 });
      const own = a.rows.filter(({ state }) => state.name === "Telangana").map(({ mandalCount }) => mandalCount);
      return [rows.map(({ mandalCount }) => mandalCount), [Math.min(...own)]];
    },
  ],
];

const RECODED: Readonly<Record<string, string>> = { TG: "TS", OD: "OR", UK: "UT", CG: "CT" };
const RENAMED: Readonly<Record<string, string>> = {
  Kataka: "Cuttack",
  "Y.S.R. Kadapa": "Cuddapah",
  "Bengaluru South": "Ramanagara",
};

const altered = (own: Catalogue): Catalogue =>
  changeCatalogue(own, {
    code: (code) => RECODED[code] ?? code,
    district: (district, index) => ({
      ...district,
      name: RENAMED[district.name] ?? district.name,
      mandalCount: index === 29 ? 0 : ((district.mandalCount * 13 + index * 5) % 60) + 1,
    }),
    metadata: () => ({ sourceUpdatedAt: "another day" }),
  });

async function answerAll(analyst: Analyst): Promise<void> {
  for (const [question, { name, ...more }, codes] of aboutOne) {
    const { ambiguous, matches } = await analyst.find(name, more);
    expect(ambiguous, question).toBe(codes.length > 1 ? true : undefined);
    const topMatches = matches.slice(0, codes.length).map(({ match: _match, ...place }) => place);
    expect(new Set(topMatches), question).toEqual(new Set(places(codes.map((code) => analyst.row(code)))));
  }
  for (const [question, args, rows] of aboutStates)
    expect(counts((await analyst.rankStates(args)).rows), question).toEqual(counts(rows(analyst)));
  for (const [question, answer] of others) {
    const found = await answer(analyst);
    for (let at = 0; at < found.length; at += 2) expect(found[at], question).toEqual(found[at + 1]);
  }
  expect(analyst.calls).toBe(aboutOne.length + aboutStates.length + others.length);
}

describeLatestRevision((bench, revision) => {
  test("26 questions are answered with the unchanged catalog", async () => {
    const own = await createFreshBench(bench(), revision);
    await answerAll(new Analyst(own, await readCatalogue(own)));
  });

  test("26 questions are answered with other numbers, codes, names and vintage", async () => {
    const own = await createFreshBench(bench(), revision);
    const before = await readCatalogue(own);
    const catalogue = altered(before);
    await replaceGeography(own, before, catalogue);
    expect(rowsOf(catalogue).filter(({ mandalCount }) => mandalCount > 30).length).toBeGreaterThan(100);
    await answerAll(new Analyst(own, catalogue));
  });
});
