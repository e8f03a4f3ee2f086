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
const Ranked = z.object({
  rows: z.array(z.looseObject({ code: z.string().optional(), districtCode: z.string().optional() })),
  totalRows: z.int(),
  totals: z.object({ districts: z.int(), mandals: z.int() }),
  exact: z.literal(true),
  consistency: z.tuple([]),
});
const Shared = z.object({ coverage: z.undefined().optional(), vintage: z.string() });

/** Asks the tools and computes the expected answers. */
class Analyst {
  readonly states: readonly State[];
  readonly rows: readonly Row[];
  readonly #bench: Bench;
  readonly #vintage: string | undefined;

  constructor(bench: Bench, catalogue: Catalogue) {
    this.#bench = bench;
    this.states = catalogue.states.states;
    this.rows = rowsOf(catalogue);
    this.#vintage = catalogue.states.sourceUpdatedAt;
  }

  async #call(tool: string, args: Args): Promise<unknown> {
    const { structured } = await this.#bench.ok(tool, args);
    const { vintage } = Shared.parse(structured);
    expect(vintage).toContain(this.#vintage === "another day" ? '"another day", ' : `${this.#vintage}, `);
    return structured;
  }

  find = async (name: string, more: Args = {}) => Found.parse(await this.#call("find_district", { name, ...more }));
  rank = async (args: Ranking) => Ranked.parse(await this.#call("rank_divisions", { ...args }));

  listStates = async () => (await this.#bench.ok("list_states")).structured;

  /** The state with this name or code, in either form of the code. */
  state(text: string): State {
    const found = this.states.find(
      ({ name, code }) => [code, RECODED[code]].includes(text) || simplify(name) === simplify(text),
    );
    if (found === undefined) throw new Error(`the catalogue has no ${text}`);
    return found;
  }

  /** The district with this code, because names may differ. */
  row(code: string): Row {
    const found = this.rows.find((row) => row.code === code);
    if (found === undefined) throw new Error(`the catalogue has no district ${code}`);
    return found;
  }

  /** All rows of a ranking, in its order, without its limit. */
  expectedRows({ level, by, order = "desc", states, min = 0, max = Infinity }: Ranking): readonly Figures[] {
    const codes = states?.map((text) => this.state(text).code);
    const all: readonly Figures[] =
      level === "state"
        ? this.states.map((state) => ({ ...state, stateCode: state.code }))
        : this.rows.map(({ state, ...row }) => ({ ...row, stateCode: state.code, districtCount: 1 }));
    return all
      .filter(({ stateCode }) => codes?.includes(stateCode) ?? true)
      .filter((row) => figureOf(row, by) >= min && figureOf(row, by) <= max)
      .toSorted((a, b) => (figureOf(a, by) - figureOf(b, by)) * (order === "asc" ? 1 : -1));
  }
}

interface Ranking {
  readonly level: "state" | "district";
  readonly by: "districtCount" | "mandalCount" | "mandalsPerDistrict";
  readonly order?: "asc" | "desc";
  readonly states?: readonly string[];
  readonly min?: number;
  readonly max?: number;
  readonly limit?: number;
}

interface Figures {
  readonly code: string;
  readonly name: string;
  readonly stateCode: string;
  readonly districtCount: number;
  readonly mandalCount: number;
}

const figureOf = (row: Figures, by: Ranking["by"]): number =>
  by === "mandalsPerDistrict" ? Number((row.mandalCount / row.districtCount).toFixed(2)) : row[by];

const simplify = (name: string): string => name.toLowerCase().replace("&", "and").replace(/^the /, "");

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** The fields of a match without the kind of match and the score. */
const places = (rows: readonly Row[]) =>
  rows.map(({ code, name, mandalCount, state }) => ({
    ...{ districtCode: code, name, mandalCount },
    stateCode: state.code,
  }));

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

const byDistricts = { level: "state", by: "districtCount" } as const;
const byMandals = { level: "state", by: "mandalCount" } as const;
const districts = { level: "district", by: "mandalCount" } as const;

/** Questions about states and districts, and the ranking with the answer. */
const rankings: readonly (readonly [question: string, ranking: Ranking])[] = [
  ["How many districts and mandals does Telangana have?", { ...byMandals, states: ["Telangana"] }],
  ["Give me the number of districts for TS.", { ...byDistricts, states: ["TS"] }],
  ["Which three states have the most districts?", { ...byDistricts, order: "desc", limit: 3 }],
  ["Which states have only one district?", { ...byDistricts, min: 1, max: 1, limit: 100 }],
  ["List the districts of Goa with their taluka counts.", { ...districts, states: ["Goa"], limit: 100 }],
  ["Rank the top five states by number of mandals.", { ...byMandals, limit: 5 }],
  ["How many states, districts and mandals does the catalog hold in all?", { ...byMandals, limit: 1 }],
  ["Compare the mandals per district of AP and UP.", { ...byMandals, by: "mandalsPerDistrict", states: ["AP", "UP"] }],
  ["Which districts have no mandals at all in this catalog?", { ...districts, max: 0, limit: 100 }],
  ["Andhra Pradesh and Telangana together?", { ...byMandals, states: ["Andhra Pradesh", "Telangana"] }],
  ["Rank the eight north-eastern states by number of districts.", { ...byDistricts, states: NORTH_EAST }],
  ["Which district of India has the most sub-districts, and which is second?", { ...districts, limit: 2 }],
  ["How many districts have more than 30 mandals?", { ...districts, min: 31, limit: 100 }],
  ["How many sub-districts do the union territories have?", { ...byMandals, states: UNION_TERRITORIES }],
  ["Which district of Telangana has the fewest?", { ...districts, order: "asc", states: ["Telangana"], limit: 1 }],
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
  for (const [question, ranking] of rankings) {
    const { rows, totalRows, totals } = await analyst.rank(ranking);
    const all = analyst.expectedRows(ranking);
    const shown = rows.map(({ code, districtCode = code }) => all.find((each) => each.code === districtCode));
    const values = (each: readonly (Figures | undefined)[]) => each.map((row) => row && figureOf(row, ranking.by));
    expect(values(shown), question).toEqual(values(all.slice(0, ranking.limit)));
    for (const [at, row] of rows.entries()) {
      const { name, mandalCount, districtCount } = shown[at] ?? {};
      expect(row, question).toMatchObject({ name, mandalCount, ...(ranking.level === "state" && { districtCount }) });
    }
    expect({ totalRows, districts: totals.districts, mandals: totals.mandals }, question).toEqual({
      totalRows: all.length,
      districts: sum(all.map(({ districtCount }) => districtCount)),
      mandals: sum(all.map(({ mandalCount }) => mandalCount)),
    });
  }
  // "What is the LGD code of Odisha?"
  expect(JSON.stringify(await analyst.listStates())).toContain(`"lgdCode":"${analyst.state("Odisha").lgdCode}"`);
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
