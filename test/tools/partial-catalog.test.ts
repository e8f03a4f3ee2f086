// Tests all geography tools with an API that denies some districts lists: what an answer marks as complete equals the answer from all lists.
import fc from "fast-check";
import { expect, test } from "vitest";
import { readCatalogue } from "../../src/emulator/catalogue.ts";
import { emulatedDistricts } from "../geography/known-country.ts";
import type { CallResult } from "../support/results.ts";
import { runCount } from "../support/thorough.ts";
import { type Args, type Bench, createFreshBench } from "./bench.ts";
import { describeLatestRevision, FAST_GEOGRAPHY } from "./revisions.ts";

const codes = readCatalogue().states.states.map(({ code }) => code);
const DENIED = { status: 403 };

type Question = readonly [tool: string, args: Args];

const someStates = fc.option(fc.subarray(codes, { minLength: 1, maxLength: 8 }), { nil: undefined });
const year = fc.integer({ min: 2009, max: 2027 });
const bound = fc.option(fc.integer({ min: 0, max: 40 }), { nil: undefined });
const rankings = fc
  .record({
    by: fc.constantFrom("mandalCount", "name"),
    order: fc.constantFrom("asc", "desc"),
    limit: fc.integer({ min: 1, max: 100 }),
    states: someStates,
    createdSince: fc.option(year, { nil: undefined }),
    startsWith: fc.option(fc.constantFrom("b", "south", "zz"), { nil: undefined, freq: 1 }),
    min: bound,
    max: bound,
  })
  .map(({ min, max, ...args }): Question => {
    const bounds = args.by === "name" ? {} : { min, max };
    return ["rank_divisions", { level: "district", ...args, ...bounds, waitSeconds: 0 }];
  });

const anyDistrict = fc.constantFrom(...emulatedDistricts).map(({ name }) => name);
const anyCode = fc.constantFrom(...codes);
const places = fc.oneof(
  anyDistrict,
  fc.constantFrom("Bilaspur", "Aurangabad", "Allahabad", "Mahe", "Goa", "Nowhereville", "Nizambad"),
  fc.tuple(anyDistrict, anyCode).map(([name, code]) => `${name}, ${code}`),
);
const searches = fc
  .tuple(places, fc.option(anyCode, { nil: undefined, freq: 2 }), fc.boolean())
  .map(
    ([name, state, isOne]): Question => [
      "find_district",
      { ...(isOne ? { name } : { names: [name, "Patna"] }), state, waitSeconds: 0 },
    ],
  );
const lists = anyCode.map((state): Question => ["list_districts", { state }]);
const questions = fc.array(fc.oneof(rankings, rankings, searches, searches, lists), { minLength: 8, maxLength: 8 });

/** Splits an answer into its totals and the other figures; undefined if the answer marks nothing as complete. */
function completeFigures({ isError, structured = {} }: CallResult) {
  const { complete, coverage, vintage: _vintage, summary: _summary, nextStep: _next, totals, ...figures } = structured;
  return isError || !(complete ?? coverage === undefined) ? undefined : { totals, figures };
}

describeLatestRevision((bench, revision) => {
  const ask = (own: Bench, [tool, { ...args }]: Question) => own.call(tool, args);

  test("an answer of some lists marks nothing as complete that the other lists change", async () => {
    await bench().ok("rank_divisions", { level: "district", by: "name" });
    let completeCount = 0;
    const denials = fc.oneof(fc.constant(codes), fc.subarray(codes));
    await fc.assert(
      fc.asyncProperty(denials, questions, async (denied, asked) => {
        const own = await createFreshBench(bench(), revision);
        own.clock.advance(120_000);
        await own.service.admin("POST", "geography", {
          districts: Object.fromEntries(denied.map((code) => [code, DENIED])),
        });
        const allowed = codes.filter((code) => !denied.includes(code));
        if (allowed.length > 0) await own.ok("rank_divisions", { level: "district", by: "name", states: allowed });
        for (const question of asked) {
          own.clock.advance(120_000);
          const part = completeFigures(await ask(own, question));
          if (part === undefined) continue;
          completeCount += 1;
          const all = completeFigures(await ask(bench(), question));
          expect(all?.figures, JSON.stringify(question)).toEqual(part.figures);
          // A total is absent while it is not known.
          expect({ totals: all?.totals }, JSON.stringify(question)).toMatchObject({ totals: part.totals });
        }
        await own.connection.close();
      }),
      { numRuns: runCount(20, 200) },
    );
    expect(completeCount).toBeGreaterThan(0);
  });

  test.each([2020, 2026])(
    "abolished and announced districts since %d are counted before any list is read",
    async (createdSince) => {
      const args = { level: "district", by: "name", createdSince, waitSeconds: 0 };
      const { unlistedCount, unlisted } = (await bench().ok("rank_divisions", { ...args, waitSeconds: 45 })).structured;
      const own = await createFreshBench(bench(), revision);
      const cold = (await own.ok("rank_divisions", args)).structured;
      expect(cold).toMatchObject({ complete: false, unlistedCount, unlisted });
      expect(cold["summary"]).not.toContain("offset 0 is after the last row");
    },
  );
}, FAST_GEOGRAPHY);
