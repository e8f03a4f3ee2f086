// Tests rankings from a part of the lists: they equal the ranking from all lists or report that they are not exact.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { State } from "../../src/contract/playground.ts";
import { readRecord } from "../../src/core/package-files.ts";
import { createGeography } from "../../src/geography/geography.ts";
import { type RankingQuery, rankDistricts, rankStates } from "../../src/geography/rank.ts";
import { createVirtualTime } from "../support/virtual-time.ts";
import { createFakePlayground, type FakeState, toCountry } from "./fake-service.ts";
import { emulatedDistricts, knownCountry } from "./known-country.ts";

const catalogs: fc.Arbitrary<readonly FakeState[]> = fc
  .array(fc.array(fc.nat(20), { maxLength: 6 }), { minLength: 1, maxLength: 12 })
  .map((states) =>
    states.map((counts, index) => ({
      code: `A${String.fromCharCode(65 + index)}`,
      name: `State ${index}`,
      districts: counts.map((mandalCount, place) => ({
        code: `${index}-${place}`,
        name: `D${place % 3}`,
        mandalCount,
      })),
    })),
  );

const order = fc.constantFrom("asc" as const, "desc" as const);
const limit = fc.integer({ min: 1, max: 8 });
const optionalBound = fc.option(fc.nat(22), { nil: undefined });
const queries: fc.Arbitrary<RankingQuery> = fc.oneof(
  fc.record({ by: fc.constantFrom("mandalCount" as const, "name" as const), order, limit }),
  fc.record({ by: fc.constant("mandalCount" as const), order, limit, min: optionalBound, max: optionalBound }),
);

/** Ranks at a low rate, until all rows are known or after this many calls. */
async function rankUntilExact(catalog: readonly FakeState[], query: RankingQuery, calls: number) {
  const time = createVirtualTime();
  const fake = createFakePlayground(catalog, time);
  const geography = createGeography({ service: fake.service, perMinute: 3, timing: time });
  const gather = () =>
    time.runUntil(
      geography.gather(
        {
          answer: (country) => rankDistricts(country.states.value.states, country, query),
          waitMs: 40_000,
          onProgress: () => undefined,
        },
        { signal: new AbortController().signal, deadlineAt: time.now() + 45_000 },
      ),
    );
  let { answer } = await gather();
  for (let call = 1; call < calls && !answer.exact; call++) {
    // Longer than any retryAfterSeconds of an answer.
    await time.advance(61_000);
    ({ answer } = await gather());
  }
  await geography.close();
  return answer;
}

const ALL_CALLS = 20;

test("a ranking of some lists becomes exact, and then has the rows, counts and totals of the ranking of all lists", async () => {
  const someCalls = fc.constantFrom(0, 1, 2, 3, ALL_CALLS, ALL_CALLS);
  await fc.assert(
    fc.asyncProperty(catalogs, queries, someCalls, async (catalog, query, calls) => {
      const ranking = await rankUntilExact(catalog, query, calls);
      if (calls === ALL_CALLS) expect(ranking.exact).toBe(true);
      if (!ranking.exact) return;
      const country = toCountry(catalog);
      const expected = await rankDistricts(country.states.value.states, country, query);
      expect(ranking.rows).toEqual(expected.rows);
      expect(ranking.totalRows).toBe(expected.totalRows);
      // Each reported total is correct.
      expect(expected.totals).toMatchObject(ranking.totals);
    }),
    { numRuns: 100 },
  );
});

test("a ranking does not rely on a state's total after its list contradicted another total", async () => {
  const stateOf = (code: string, mandalCount: number, stated: number): FakeState => ({
    code,
    name: code,
    districts: [{ code, name: code, mandalCount }],
    statedCounts: { districtCount: 1, mandalCount: stated },
  });
  // The total of the second state is wrong, and lower than the first row.
  const catalog = [stateOf("AA", 50, 45), stateOf("AB", 70, 5)];
  const ranking = await rankUntilExact(catalog, { by: "mandalCount", order: "desc", limit: 1 }, 5);
  expect(ranking).toMatchObject({ exact: true, rows: [{ name: "AB", mandalCount: 70 }] });
});

test("states are ranked, filtered and totaled by their own figures", () => {
  const states: readonly State[] = [
    { code: "AA", name: "Ä", districtCount: 3, mandalCount: 10 },
    { code: "AB", name: "B", districtCount: 0, mandalCount: 0 },
    { code: "AC", name: "a b", districtCount: 4, mandalCount: 10 },
  ];
  const ranked = rankStates(states, { by: "mandalsPerDistrict", order: "desc", limit: 2, min: 1 });
  expect(ranked).toMatchObject({
    totalRows: 2,
    totals: { districts: 7, mandals: 20, min: 2.5, median: 2.92, mean: 2.86, max: 3.33 },
  });
  expect(ranked.rows).toMatchObject([
    { code: "AA", mandalsPerDistrict: 3.33 },
    { code: "AC", mandalsPerDistrict: 2.5 },
  ]);
  const byName = rankStates(states, { by: "name", order: "desc", limit: 3 });
  expect(byName.rows.map(({ code }) => code).join(" ")).toBe("AB AC AA");
  expect(rankStates(states, { by: "mandalCount", order: "asc", limit: 3, min: 11 })).toMatchObject({
    rows: [],
    totals: { districts: 0, mandals: 0 },
  });
});

const createdSince2015 = { by: "name", order: "asc", createdSince: 2015 } as const;

test("the districts created since a year are those that the public record lists as created, under any spelling", async () => {
  const country = knownCountry(
    emulatedDistricts.map((each) =>
      each.name === "Medchal Malkajgiri" ? { ...each, name: "Medchal-Malkajgiri" } : each,
    ),
  );
  const { rows, unlisted = [] } = await rankDistricts(country.states.value.states, country, createdSince2015);
  const made = readRecord("districts").filter(({ madeOf = "" }) => Number(/\d{4}/.exec(madeOf)?.[0]) >= 2015);
  const expectedNames = made.map(({ district, state }) => `${district?.replace("Medchal M", "Medchal-M")}, ${state}`);
  expect(rows.map(({ name, stateName }) => `${name}, ${stateName}`).sort()).toEqual(expectedNames.sort());
  expect(rows.every(({ createdYear = 0, carvedFrom = "" }) => createdYear >= 2015 && carvedFrom.length > 2)).toBe(true);
  expect(unlisted).toContain("Anupgarh (RJ) abolished 2024");
  expect(unlisted.some((text) => text.endsWith("(LA) announced 2024"))).toBe(true);
});

test("districts created since a year need only the lists of states in which districts were created", async () => {
  const country = knownCountry();
  const lists = new Map([...country.lists].filter(([code]) => code !== "KL" && code !== "GA"));
  for (const [createdSince, required] of [
    [2015, ["GA"]],
    [2024, ["GA"]],
    [2026, []],
  ] as const) {
    const query = { ...createdSince2015, createdSince };
    const ranking = await rankDistricts(country.states.value.states, { ...country, lists }, query);
    expect(ranking.requiredLists.rows.map(({ code }) => code)).toEqual(required);
    expect(ranking.exact).toBe(required.length === 0);
  }
});
