// Tests the notes of rank_divisions and list_districts in addition to their rows: ties at the page boundary, the states used,
// duplicate names and codes.
import { expect, test } from "vitest";
import type { DistrictsResponse } from "../../src/contract/playground.ts";
import type { Bench } from "./bench.ts";
import { createFreshBench } from "./fresh-bench.ts";
import { type Catalogue, readCatalogue, replaceGeography } from "./geography-catalogue.ts";
import { describeLatestRevision } from "./revisions.ts";

const byMandals = { level: "district", by: "mandalCount" } as const;

/** The catalog with a changed list of Goa. */
function replaceGoa(catalogue: Catalogue, change: (list: DistrictsResponse) => DistrictsResponse): Catalogue {
  const list = catalogue.districts["GA"];
  if (list === undefined) throw new Error("there is a list of Goa");
  return { ...catalogue, districts: { ...catalogue.districts, GA: change(list) } };
}

describeLatestRevision(
  (bench, revision) => {
    const readSummary = async (own: Bench, args: Readonly<Record<string, unknown>>) =>
      String((await own.ok("rank_divisions", args)).structured["summary"]);

    async function createAlteredBench(change: (list: DistrictsResponse) => DistrictsResponse): Promise<Bench> {
      const own = await createFreshBench(bench(), revision);
      const catalogue = await readCatalogue(own);
      await replaceGeography(own, catalogue, replaceGoa(catalogue, change));
      return own;
    }

    test("a page that ends within a tie reports how many more districts tie", async () => {
      const own = bench();
      // Tirupati and Sri Potti Sriramulu Nellore have 36 mandals each.
      expect(await readSummary(own, { ...byMandals, limit: 3 })).toContain("1 more district ties with row 3.");
      expect(await readSummary(own, { ...byMandals, limit: 4 })).not.toContain("ties");
      expect(await readSummary(own, { ...byMandals, limit: 1, offset: 2 })).toContain(
        "1 more district ties with row 3.",
      );
      expect(await readSummary(own, { level: "state", by: "districtCount", order: "asc", limit: 1 })).toContain(
        "1 more state ties with row 1.",
      );
      const each = await readSummary(own, { ...byMandals, perState: 1, states: ["GA", "TG", "DH"] });
      expect(each).toContain("More districts tie for last place in TG DH.");
    });

    test("a ranking by name reports the names that several districts share", async () => {
      const text = await readSummary(bench(), { level: "district", by: "name", limit: 1 });
      expect(text).toContain("Names of several districts: Bilaspur (CG HP), Hamirpur (HP UP), Pratapgarh (RJ UP).");
      expect(await readSummary(bench(), { level: "district", by: "name", states: ["GA"] })).toContain(
        "No two districts share a name.",
      );
    });

    test("a district in the lists of two states is counted once and reported", async () => {
      // Nizamabad, a district of Telangana.
      const extra = { code: "516", name: "Nizamabad", mandalCount: 33 };
      const own = await createAlteredBench((list) => ({ ...list, districts: [...list.districts, extra] }));
      const { structured } = await own.ok("rank_divisions", { ...byMandals, limit: 1 });
      expect(structured).toMatchObject({
        totalRows: 784,
        totals: { districts: 784, mandals: 7086 },
        consistency: expect.arrayContaining([
          "District code 516 is listed for Nizamabad (GA) and Nizamabad (TG): counted once.",
        ]),
      });
    });

    test("find_district reports the inconsistencies that concern its matches", async () => {
      const extra = { code: "516", name: "Nizamabad", mandalCount: 33 };
      const own = await createAlteredBench((list) => ({ ...list, districts: [...list.districts, extra] }));
      const { structured, text } = await own.ok("find_district", { name: "Nizamabad" });
      expect(structured["consistency"]).toEqual([
        "Goa (GA): the states list says 3 districts, its districts list has 4.",
        "Goa (GA): the states list says 12 mandals, its districts add up to 45.",
        "District code 516 is listed for Nizamabad (GA) and Nizamabad (TG): counted once.",
      ]);
      expect(text).toContain("its districts add up to 45");
      const other = await own.ok("find_district", { name: "Patna" });
      expect(other.structured).not.toHaveProperty("consistency");
    });

    test("one code with two names is reported, and both districts are counted", async () => {
      const own = await createAlteredBench((list) => ({
        ...list,
        districts: list.districts.map((district, at) => (at === 0 ? { ...district, code: "516" } : district)),
      }));
      const reported = expect.stringMatching(/^District code 516 is listed for .* \(GA\) and Nizamabad \(TG\)\.$/);
      const { structured } = await own.ok("rank_divisions", { ...byMandals, limit: 1 });
      expect(structured).toMatchObject({ totalRows: 784, consistency: [reported] });
    });

    test("codes that are only unique within their state cause no inconsistencies", async () => {
      const own = await createFreshBench(bench(), revision);
      const catalogue = await readCatalogue(own);
      const districts = Object.entries(catalogue.districts).map(([code, list]) => [
        code,
        { ...list, districts: list.districts.map((district, at) => ({ ...district, code: String(at + 1) })) },
      ]);
      await replaceGeography(own, catalogue, { ...catalogue, districts: Object.fromEntries(districts) });
      const { structured } = await own.ok("rank_divisions", { ...byMandals, limit: 1 });
      expect(structured).toMatchObject({ totalRows: 784, consistency: [] });
    });

    test("a state with an empty list is reported", async () => {
      const own = await createAlteredBench((list) => ({ ...list, districts: [] }));
      const { structured } = await own.ok("list_districts", { state: "GA" });
      expect(structured["summary"]).toBe(
        "Goa (GA): 0 districts, 0 mandals. The state is listed, its list of districts is empty.",
      );
    });
  },
  { env: { MIC_GEOGRAPHY_RATE: "600" } },
);
