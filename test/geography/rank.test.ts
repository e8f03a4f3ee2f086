// Ranking: a pruned reading tells the same top as everything, for any catalogue; and says so when it cannot know.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { State } from "../../src/contract/playground.ts";
import { needsForAll } from "../../src/geography/districts.ts";
import { type Country, createGeography, type Needs } from "../../src/geography/geography.ts";
import { needsForRanking, type RankingQuery, rankDistricts, rankStates } from "../../src/geography/rank.ts";
import { type FakeState, fakePlayground, statedOf } from "./fake-service.ts";
import { virtualTime } from "./virtual.ts";

const catalogues: fc.Arbitrary<readonly FakeState[]> = fc
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

const orders: fc.Arbitrary<RankingQuery> = fc.record({
  by: fc.constantFrom("mandalCount" as const, "name" as const),
  order: fc.constantFrom("asc" as const, "desc" as const),
  limit: fc.integer({ min: 1, max: 8 }),
});

const bounded: fc.Arbitrary<RankingQuery> = fc.record({
  by: fc.constant("mandalCount" as const),
  order: fc.constantFrom("asc" as const, "desc" as const),
  limit: fc.integer({ min: 1, max: 8 }),
  min: fc.option(fc.nat(22), { nil: undefined }),
  max: fc.option(fc.nat(22), { nil: undefined }),
});

type NeedsOf = (states: readonly State[], country: Country) => Needs;

/** Reads at so low a rate that a wish is answered as soon as its rows are sure, or after many calls. */
async function read(catalogue: readonly FakeState[], needs: NeedsOf, calls: number) {
  const time = virtualTime();
  const fake = fakePlayground(catalogue, time);
  const geography = createGeography({ service: fake.service, perMinute: 3, timing: time });
  const ask = () =>
    time.during(
      geography.gather(
        {
          about: ({ states }) => states.value.states,
          needs: (country) => needs(country.states.value.states, country),
          notNeeded: "not needed",
          waitMs: 40_000,
          onProgress: () => undefined,
        },
        { signal: new AbortController().signal, deadlineAt: time.now() + 45_000 },
      ),
    );
  let gathered = await ask();
  for (
    let call = 1;
    call < calls && needs(gathered.country.states.value.states, gathered.country).rows.length > 0;
    call++
  ) {
    // As long as an answer says at most.
    await time.pass(61_000);
    gathered = await ask();
  }
  geography.close();
  return { ...gathered, requests: fake.requests.length, states: gathered.country.states.value.states };
}

const everything = async (catalogue: readonly FakeState[]) => read(catalogue, needsForAll, 20);

describe("a pruned reading", () => {
  test("tells the same rows and the same number of rows as everything", async () => {
    await fc.assert(
      fc.asyncProperty(catalogues, fc.oneof(orders, bounded), async (catalogue, order) => {
        const pruned = await read(catalogue, (states, country) => needsForRanking(states, country, order), 20);
        const ranking = await rankDistricts(pruned.states, pruned.country, order);
        const all = await everything(catalogue);
        const expected = await rankDistricts(all.states, all.country, order);
        expect(ranking.exact).toBe(true);
        expect(ranking.rows).toEqual(expected.rows);
        expect(ranking.totalRows).toBe(expected.totalRows);
        // Whatever of the totals is told is true.
        expect(expected.totals).toMatchObject(ranking.totals);
      }),
      { numRuns: 60 },
    );
  });

  test("says exact only where it is, at whatever moment it is looked at", async () => {
    await fc.assert(
      fc.asyncProperty(catalogues, fc.oneof(orders, bounded), fc.nat(3), async (catalogue, order, calls) => {
        const partly = await read(catalogue, (states, country) => needsForRanking(states, country, order), calls);
        const ranking = await rankDistricts(partly.states, partly.country, order);
        const all = await everything(catalogue);
        if (!ranking.exact) return;
        expect(ranking.rows).toEqual((await rankDistricts(all.states, all.country, order)).rows);
      }),
      { numRuns: 40 },
    );
  });

  test("trusts no bound once a list contradicts its state's total", async () => {
    const big: FakeState = {
      code: "AA",
      name: "Big",
      districts: [{ code: "1", name: "A", mandalCount: 50 }],
      stated: { districtCount: 1, mandalCount: 45 },
    };
    // Its total is below the first row, and wrong.
    const liar: FakeState = {
      code: "AB",
      name: "Liar",
      districts: [{ code: "2", name: "B", mandalCount: 70 }],
      stated: { districtCount: 1, mandalCount: 5 },
    };
    const order: RankingQuery = { by: "mandalCount", order: "desc", limit: 1 };
    const { states, country } = await read([big, liar], (all, known) => needsForRanking(all, known, order), 5);
    expect(await rankDistricts(states, country, order)).toMatchObject({
      exact: true,
      rows: [{ name: "B", mandalCount: 70 }],
    });
  });

  test("spares requests", async () => {
    const states: readonly FakeState[] = Array.from({ length: 12 }, (_, index) => ({
      code: `A${String.fromCharCode(65 + index)}`,
      name: `State ${index}`,
      districts: [{ code: `${index}`, name: "D", mandalCount: 100 - index }],
    }));
    const order: RankingQuery = { by: "mandalCount", order: "desc", limit: 2 };
    const pruned = await read(states, (all, country) => needsForRanking(all, country, order), 20);
    expect(await rankDistricts(pruned.states, pruned.country, order)).toMatchObject({ exact: true, totalRows: 12 });
    expect(pruned.requests).toBeLessThanOrEqual(3);
  });
});

test("states are ranked, bounded and totalled by their own figures", () => {
  const states: readonly State[] = [
    { code: "AA", name: "Ä", districtCount: 3, mandalCount: 10 },
    { code: "AB", name: "B", districtCount: 0, mandalCount: 0 },
    { code: "AC", name: "a b", districtCount: 4, mandalCount: 10 },
  ];
  const ranked = rankStates(states, { by: "mandalsPerDistrict", order: "desc", limit: 2, min: 1 });
  expect(ranked).toMatchObject({
    totalRows: 2,
    totals: { districts: 7, mandals: 20, min: 2.5, median: 2.92, mean: 2.92, max: 3.33 },
  });
  expect(ranked.rows.map(({ code, mandalsPerDistrict }) => [code, mandalsPerDistrict])).toEqual([
    ["AA", 3.33],
    ["AC", 2.5],
  ]);
  expect(rankStates(states, { by: "name", order: "desc", limit: 3 }).rows.map(({ code }) => code)).toEqual([
    "AB",
    "AC",
    "AA",
  ]);
  expect(rankStates(states, { by: "mandalCount", order: "asc", limit: 3, min: 11 })).toMatchObject({
    rows: [],
    totals: { districts: 0, mandals: 0 },
  });
  expect(statedOf({ code: "AA", name: "A", districts: [] })).toEqual({ districtCount: 0, mandalCount: 0 });
});
