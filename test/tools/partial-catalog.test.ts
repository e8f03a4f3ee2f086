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
const views = fc
  .record({ level: fc.constantFrom("state", "district"), states: someStates })
  .map((args): Question => ["show_divisions", { ...args, waitSeconds: 0 }]);
const tables = fc.oneof(rankings, lists).map(([source, args]): Question => ["save_table", { source, arguments: args }]);
const states = fc.constant<Question>(["list_states", {}]);
const questions = fc.array(fc.oneof(rankings, rankings, searches, searches, lists, views, tables, states), {
  minLength: 10,
  maxLength: 10,
});

/** Splits an answer into its totals and the other figures; undefined if the answer marks nothing as complete. Saved rows have a checksum. */
function completeFigures({ isError, structured, view }: CallResult) {
  const { complete, coverage, vintage: _vintage, path: _path, totals, ...answer } = view ?? structured ?? {};
  const { summary: _summary, nextStep: _next, ...figures } = answer;
  return isError || !(complete ?? coverage === undefined) ? undefined : { totals, figures };
}

/** Districts of other states than the asked one are a hint, from the lists that are known. */
const withoutHints = (figures: unknown): unknown =>
  JSON.parse(JSON.stringify(figures), (name, value) => (name === "note" ? value.replace(/ Elsewhere: .*/, "") : value));

describeLatestRevision((bench, revision) => {
  let files = 0;
  const ask = (own: Bench, [tool, args]: Question) =>
    own.call(tool, { ...args, ...(tool === "save_table" && { fileName: `${++files}.csv` }) });

  test("an answer of some lists marks nothing as complete that the other lists change", async () => {
    await bench().ok("rank_divisions", { level: "district", by: "name" });
    const completeCounts = new Map<string, number>();
    const denials = fc.oneof(fc.constant(codes), fc.subarray(codes));
    await fc.assert(
      fc.asyncProperty(denials, questions, async (denied, asked) => {
        const own = await createFreshBench(bench(), revision);
        own.clock.advance(120_000);
        // Otherwise the lists that an earlier run denied stay denied.
        await own.service.admin("DELETE", "geography");
        await own.service.admin("POST", "geography", {
          districts: Object.fromEntries(denied.map((code) => [code, DENIED])),
        });
        const allowed = codes.filter((code) => !denied.includes(code));
        if (allowed.length > 0) await own.ok("rank_divisions", { level: "district", by: "name", states: allowed });
        for (const question of asked) {
          own.clock.advance(120_000);
          const part = completeFigures(await ask(own, question));
          if (part === undefined) continue;
          completeCounts.set(question[0], (completeCounts.get(question[0]) ?? 0) + 1);
          const all = completeFigures(await ask(bench(), question));
          expect(withoutHints(all?.figures), JSON.stringify(question)).toEqual(withoutHints(part.figures));
          // A total is absent while it is not known.
          expect({ totals: all?.totals }, JSON.stringify(question)).toMatchObject({ totals: part.totals });
        }
        await own.connection.close();
      }),
      { numRuns: runCount(20, 200) },
    );
    expect([...completeCounts.keys()].sort()).toEqual([
      ...["find_district", "list_districts", "list_states", "rank_divisions", "save_table", "show_divisions"],
    ]);
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
