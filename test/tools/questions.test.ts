// What analysts ask, answered through the tools in at most two calls; the right answers are counted from what the emulator
// itself says by plain HTTP, as it is and with other numbers, codes, names and vintage.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import type { State } from "../../src/contract/playground.ts";
import type { Args, Bench } from "./bench.ts";
import { type Catalogue, changed, type Row, readCatalogue, rowsOf, tellInstead } from "./country.ts";
import { inOneEra } from "./eras.ts";
import { freshBench } from "./fresh.ts";

const Found = z.object({
  matches: z.array(
    z.object({
      districtCode: z.string(),
      name: z.string(),
      stateCode: z.string(),
      stateName: z.string(),
      mandalCount: z.int(),
      match: z.enum(["exact", "alias", "similar"]),
      score: z.number(),
    }),
  ),
  ambiguous: z.boolean(),
});
const Totals = z.object({
  districts: z.int(),
  mandals: z.int(),
  min: z.number().optional(),
  median: z.number().optional(),
  mean: z.number().optional(),
  max: z.number().optional(),
});
const Ranked = <R extends z.ZodRawShape>(row: R) =>
  z.object({
    rows: z.array(z.object(row)),
    totalRows: z.int(),
    totals: Totals,
    exact: z.literal(true),
    consistency: z.tuple([]),
  });
const RankedStates = Ranked({
  code: z.string(),
  name: z.string(),
  districtCount: z.int(),
  mandalCount: z.int(),
  mandalsPerDistrict: z.number(),
});
const RankedDistricts = Ranked({
  districtCode: z.string(),
  name: z.string(),
  stateCode: z.string(),
  stateName: z.string(),
  mandalCount: z.int(),
});
const Shared = z.object({
  coverage: z.object({
    statesTotal: z.int(),
    statesRead: z.int(),
    complete: z.boolean(),
    unread: z.array(z.object({ states: z.array(z.string()), reason: z.string() })),
  }),
  vintage: z.object({
    sourceUpdatedAt: z.array(z.string()),
    mixed: z.boolean(),
    fallbackUsed: z.enum(["none", "some", "all", "not stated"]),
    readAt: z.object({ oldest: z.iso.datetime(), newest: z.iso.datetime() }),
  }),
});

/** An analyst: asks the tools, and knows what is right. */
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

  async #ask(tool: string, args: Args): Promise<unknown> {
    this.calls += 1;
    const { structured } = await this.#bench.ok(tool, args);
    const { vintage } = Shared.parse(structured);
    expect(vintage.sourceUpdatedAt).toEqual([this.#vintage]);
    return structured;
  }

  find = async (name: string, more: Args = {}) => Found.parse(await this.#ask("find_district", { name, ...more }));
  rankStates = async (args: Args) => RankedStates.parse(await this.#ask("rank_divisions", { level: "state", ...args }));
  rankDistricts = async (args: Args) =>
    RankedDistricts.parse(await this.#ask("rank_divisions", { level: "district", ...args }));

  async listStates() {
    this.calls += 1;
    return (await this.#bench.ok("list_states")).structured;
  }

  state(name: string): State {
    const found = this.states.find((state) => state.name === name);
    if (found === undefined) throw new Error(`the catalogue has no ${name}`);
    return found;
  }

  /** By the district's own code, whatever it is called today. */
  row(code: string): Row {
    const found = this.rows.find((row) => row.code === code);
    if (found === undefined) throw new Error(`the catalogue has no district ${code}`);
    return found;
  }

  top(rows: readonly Row[], count: number) {
    return rows
      .toSorted((a, b) => b.mandalCount - a.mandalCount)
      .slice(0, count)
      .map(({ mandalCount }) => mandalCount);
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const expectOne = (found: z.infer<typeof Found>, { code, name, mandalCount, state }: Row): void => {
  expect(found.ambiguous).toBe(false);
  expect(found.matches[0]).toMatchObject({
    districtCode: code,
    name,
    mandalCount,
    stateCode: state.code,
    stateName: state.name,
  });
};

const expectBoth = (found: z.infer<typeof Found>, ...rows: readonly Row[]): void => {
  expect(found.ambiguous).toBe(true);
  const first = found.matches.slice(0, rows.length).map(({ districtCode, mandalCount }) => [districtCode, mandalCount]);
  expect(first.sort()).toEqual(rows.map(({ code, mandalCount }) => [code, mandalCount]).sort());
};

const byCode = <T extends { readonly code: string }>(rows: readonly T[]) =>
  rows.toSorted((a, b) => (a.code < b.code ? -1 : 1));

const expectStates = (
  rows: readonly { code: string; districtCount: number; mandalCount: number }[],
  states: readonly State[],
) =>
  expect(byCode(rows).map(({ code, districtCount, mandalCount }) => [code, districtCount, mandalCount])).toEqual(
    byCode(states).map(({ code, districtCount, mandalCount }) => [code, districtCount, mandalCount]),
  );

const NORTH_EAST = ["Assam", "Arunachal Pradesh", "Manipur", "Meghalaya", "Mizoram", "Nagaland", "Tripura", "Sikkim"];
const UNION_TERRITORIES = [
  "Andaman and Nicobar Islands",
  "Chandigarh",
  "Dadra and Nagar Haveli and Daman and Diu",
  "Delhi",
  "Jammu & Kashmir",
  "Ladakh",
  "Lakshadweep",
  "Puducherry",
];

const questions: readonly (readonly [question: string, answer: (analyst: Analyst) => Promise<void>])[] = [
  [
    "How many districts and how many mandals does Telangana have?",
    async (a) => {
      const { rows } = await a.rankStates({ by: "mandalCount", states: ["Telangana"] });
      expectStates(rows, [a.state("Telangana")]);
    },
  ],
  [
    "How many mandals are there in Nizamabad district?",
    async (a) => expectOne(await a.find("Nizamabad district"), a.row("516")),
  ],
  [
    "List the districts of Goa with their taluka counts.",
    async (a) => {
      const { rows, totals } = await a.rankDistricts({ by: "name", states: ["Goa"], limit: 100 });
      const own = a.rows.filter(({ state }) => state.name === "Goa");
      expect(new Map(rows.map(({ name, mandalCount }) => [name, mandalCount]))).toEqual(
        new Map(own.map(({ name, mandalCount }) => [name, mandalCount])),
      );
      expect(totals.mandals).toBe(a.state("Goa").mandalCount);
    },
  ],
  [
    "Which three states have the most districts?",
    async (a) => {
      const { rows } = await a.rankStates({ by: "districtCount", order: "desc", limit: 3 });
      expectStates(rows, a.states.toSorted((x, y) => y.districtCount - x.districtCount).slice(0, 3));
    },
  ],
  [
    "Rank the top five states by number of mandals (sub-districts).",
    async (a) => {
      const { rows } = await a.rankStates({ by: "mandalCount", limit: 5 });
      const expected = a.states.toSorted((x, y) => y.mandalCount - x.mandalCount).slice(0, 5);
      expect(rows.map(({ mandalCount }) => mandalCount)).toEqual(expected.map(({ mandalCount }) => mandalCount));
    },
  ],
  ["Which state is Hamirpur in?", async (a) => expectBoth(await a.find("Hamirpur"), a.row("17"), a.row("149"))],
  [
    "How many tehsils does Bilaspur have?",
    async (a) => expectBoth(await a.find("Bilaspur"), a.row("375"), a.row("15")),
  ],
  ["How many taluks are in Bangalore Urban?", async (a) => expectOne(await a.find("Bangalore Urban"), a.row("525"))],
  [
    "What is Allahabad district called in this catalogue and how many tehsils has it?",
    async (a) => expectOne(await a.find("Allahabad"), a.row("120")),
  ],
  [
    "How many states/UTs, districts and mandals does the catalogue hold in all?",
    async (a) => {
      const { totalRows, totals } = await a.rankStates({ by: "mandalCount", limit: 1 });
      expect([totalRows, totals.districts, totals.mandals]).toEqual([
        a.states.length,
        a.rows.length,
        sum(a.rows.map(({ mandalCount }) => mandalCount)),
      ]);
    },
  ],
  [
    "Compare the average number of mandals per district in Andhra Pradesh and Uttar Pradesh.",
    async (a) => {
      const { rows } = await a.rankStates({ by: "mandalsPerDistrict", states: ["AP", "UP"] });
      for (const { name, mandalsPerDistrict } of rows)
        expect(mandalsPerDistrict).toBeCloseTo(a.state(name).mandalCount / a.state(name).districtCount, 2);
      expect(rows).toHaveLength(2);
    },
  ],
  [
    "Which districts have no mandals at all in this catalogue?",
    async (a) => {
      const { rows, totalRows } = await a.rankDistricts({ by: "mandalCount", max: 0, limit: 100 });
      const none = a.rows.filter(({ mandalCount }) => mandalCount === 0);
      expect(totalRows).toBe(none.length);
      expect(rows.map(({ districtCode }) => districtCode).sort()).toEqual(none.map(({ code }) => code).sort());
    },
  ],
  [
    "Which states or union territories have only one district?",
    async (a) => {
      const { rows } = await a.rankStates({ by: "districtCount", min: 1, max: 1, limit: 100 });
      expectStates(
        rows,
        a.states.filter(({ districtCount }) => districtCount === 1),
      );
    },
  ],
  [
    "Andhra Pradesh and Telangana together: how many districts and mandals?",
    async (a) => {
      const { totals } = await a.rankStates({ by: "mandalCount", states: ["Andhra Pradesh", "Telangana"] });
      const both = [a.state("Andhra Pradesh"), a.state("Telangana")];
      expect(totals).toMatchObject({
        districts: sum(both.map(({ districtCount }) => districtCount)),
        mandals: sum(both.map(({ mandalCount }) => mandalCount)),
      });
    },
  ],
  [
    "What are the LGD codes of Odisha and of its Cuttack district?",
    async (a) => {
      expect(JSON.stringify(await a.listStates())).toContain(`"lgdCode":"${a.state("Odisha").lgdCode}"`);
      expectOne(await a.find("Cuttack", { state: "OR" }), a.row("350"));
    },
  ],
  [
    "Give me the number of districts for TS.",
    async (a) => {
      const { rows } = await a.rankStates({ by: "districtCount", states: ["TS"] });
      expectStates(rows, [a.state("Telangana")]);
    },
  ],
  [
    "Is Ramanagara a district of Karnataka?",
    async (a) => expectOne(await a.find("Ramanagara", { state: "Karnataka" }), a.row("631")),
  ],
  [
    "Rank the eight north-eastern states by number of districts.",
    async (a) => {
      const { rows } = await a.rankStates({ by: "districtCount", states: NORTH_EAST });
      expect(rows.map(({ districtCount }) => districtCount)).toEqual(
        NORTH_EAST.map((name) => a.state(name).districtCount).sort((x, y) => y - x),
      );
    },
  ],
  [
    "Which district of India has the most sub-districts, and which is second?",
    async (a) => {
      const { rows } = await a.rankDistricts({ by: "mandalCount", limit: 2 });
      expect(rows.map(({ mandalCount }) => mandalCount)).toEqual(a.top(a.rows, 2));
      for (const { districtCode, mandalCount } of rows) expect(a.row(districtCode).mandalCount).toBe(mandalCount);
    },
  ],
  [
    "How many districts have more than 30 mandals?",
    async (a) => {
      const { rows, totalRows } = await a.rankDistricts({ by: "mandalCount", min: 31, limit: 100 });
      const many = a.rows.filter(({ mandalCount }) => mandalCount > 30);
      expect(totalRows).toBe(many.length);
      expect(rows.map(({ mandalCount }) => mandalCount)).toEqual(a.top(many, 100));
    },
  ],
  [
    "Which districts have 24 Parganas in their name and how many blocks/sub-districts each?",
    async (a) => expectBoth(await a.find("24 Parganas"), a.row("303"), a.row("304")),
  ],
  ["How many mandals are in Cuddapah?", async (a) => expectOne(await a.find("Cuddapah"), a.row("504"))],
  [
    "How many sub-districts do the eight union territories have together?",
    async (a) => {
      const { totals, rows } = await a.rankStates({ by: "mandalCount", states: UNION_TERRITORIES });
      expect(totals.mandals).toBe(
        sum(rows.map(({ code }) => a.states.find((state) => state.code === code)?.mandalCount ?? Number.NaN)),
      );
      expect(rows).toHaveLength(8);
    },
  ],
  [
    "Name the mandals of Medchal Malkajgiri.",
    async (a) => {
      // The service gives only the count.
      const found = await a.find("Medchal Malkajgiri");
      expectOne(found, a.rows.find(({ name }) => name === "Medchal Malkajgiri") ?? a.row("?"));
    },
  ],
  [
    "Which Telangana district has the fewest mandals?",
    async (a) => {
      const { rows } = await a.rankDistricts({ by: "mandalCount", order: "asc", states: ["Telangana"], limit: 1 });
      const own = a.rows.filter(({ state }) => state.name === "Telangana").map(({ mandalCount }) => mandalCount);
      expect(rows.map(({ mandalCount }) => mandalCount)).toEqual([Math.min(...own)]);
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
  changed(own, {
    code: (code) => RECODED[code] ?? code,
    district: (district, index) => ({
      ...district,
      name: RENAMED[district.name] ?? district.name,
      mandalCount: index === 29 ? 0 : ((district.mandalCount * 13 + index * 5) % 60) + 1,
    }),
    metadata: () => ({ sourceUpdatedAt: "another day" }),
  });

inOneEra((bench, era) => {
  test("25 questions, as the catalogue is", async () => {
    const own = await freshBench(bench(), era);
    const analyst = new Analyst(own, await readCatalogue(own));
    expect(questions).toHaveLength(25);
    await answerAll(analyst);
  });

  test("25 questions, with other numbers, codes, names and vintage", async () => {
    const own = await freshBench(bench(), era);
    const before = await readCatalogue(own);
    const catalogue = altered(before);
    await tellInstead(own, before, catalogue);
    expect(rowsOf(catalogue).filter(({ mandalCount }) => mandalCount > 30).length).toBeGreaterThan(100);
    await answerAll(new Analyst(own, catalogue));
  });
});

async function answerAll(analyst: Analyst): Promise<void> {
  for (const [question, answer] of questions) {
    analyst.calls = 0;
    await answer(analyst).catch((error: unknown) => {
      throw new Error(question, { cause: error });
    });
    expect(analyst.calls, question).toBeLessThanOrEqual(2);
  }
}
