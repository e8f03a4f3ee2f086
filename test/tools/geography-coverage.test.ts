// Tests find_district and rank_divisions with unusual catalogs: missing data is reported, and no data is invented.

import { expect, test } from "vitest";
import { listPlaygroundDistricts } from "../../src/contract/endpoints/playground.ts";
import { countTokens } from "../support/count-tokens.ts";
import type { Progress } from "../support/mcp.ts";
import type { Args, Bench } from "./bench.ts";
import { createFreshBench } from "./fresh-bench.ts";
import { readCatalogue, replaceGeography, withMetadata } from "./geography-catalogue.ts";
import { describeLatestRevision } from "./revisions.ts";

const TOP: Args = { level: "district", by: "mandalCount", limit: 3 };
const ALL: Args = { level: "district", by: "mandalCount", order: "asc", limit: 100 };

const fail = (bench: Bench, districts: Readonly<Record<string, unknown>>) =>
  bench.service.admin("POST", "geography", { districts });

describeLatestRevision((bench, revision) => {
  const createFresh = (env?: Readonly<Record<string, string>>) => createFreshBench(bench(), revision, env);

  test("with empty caches at the default rate, the top rows are exact before all lists are read, and the result says so", async () => {
    const own = await createFreshBench(bench(), revision, { MIC_GEOGRAPHY_RATE: "28" });
    const sent = await own.captureRequests(async () => {
      const { structured, text } = await own.ok("rank_divisions", TOP);
      expect(structured).toMatchObject({
        exact: true,
        totalRows: 784,
        totals: { districts: 784, mandals: 7086, max: 41 },
        consistency: [],
        // The missing lists can change the statistics, but not the rows.
        coverage: { statesTotal: 36, statesRead: 27, complete: false, missing: [{ states: { length: 9 } }] },
        vintage: "2026-05-25, 27 of 36 lists loaded, https://lgdirectory.gov.in/",
      });
      expect(structured["totals"]).not.toHaveProperty("median");
      expect(text).toContain("These rows are final: the missing lists cannot change them.");
      expect(text).toContain("7,086 mandals");
    });
    expect(sent).toHaveLength(28);
    // The lists that were read are cached, and all tools share the rate limit.
    const again = await own.captureRequests(async () => {
      await own.ok("list_states");
      await own.ok("list_districts", { state: "TG" });
      const found = await own.ok("find_district", { name: "Nowhereville", waitSeconds: 0 });
      expect(found.structured).toMatchObject({ matches: [], coverage: { complete: false } });
      const [remaining] = Object(found.structured["coverage"]).missing;
      expect(remaining).toMatchObject({ reason: "rate limit", states: "AN CH DH GA LA LD PY SK TR".split(" ") });
      expect(found.structured).toMatchObject({
        summary: expect.stringContaining(
          `No district like "Nowhereville" so far: 9 of 36 lists are not loaded; about ${remaining.retryAfterSeconds} s more.`,
        ),
      });
      // The delay is longer than any wait that a call can make.
      expect(remaining.retryAfterSeconds).toBeGreaterThan(45);
      expect(found.structured).not.toHaveProperty("nextStep");
      expect(countTokens(JSON.stringify(found.structured))).toBeLessThanOrEqual(160);
    });
    expect(again).toHaveLength(0);
    // Two requests are reserved for direct calls.
    const direct = await own.captureRequests(async () => {
      await own.ok("get_geography_openapi");
      await own.ok("list_districts", { state: "LD" });
      const failed = await own.fails("get_geography_openapi", {}, "rate_limited");
      expect(failed.message).toContain("at most 30 geography requests");
      await own.fails("list_districts", { state: "CH" }, "rate_limited");
    });
    expect(direct).toHaveLength(2);
  });

  test("progress is reported while all lists are read", async () => {
    const own = await createFresh();
    const seen: Progress[] = [];
    await own.ok("rank_divisions", ALL, { onprogress: (progress) => seen.push(progress) });
    expect(seen.length).toBeGreaterThan(3);
    expect(seen.every(({ total }) => total === 36)).toBe(true);
    const steps = seen.map(({ progress }) => progress);
    expect(steps).toEqual(steps.toSorted((a, b) => a - b));
  });

  test("vintages that differ or are missing, and fallbackUsed, are reported", async () => {
    const own = await createFresh();
    const catalogue = await readCatalogue(own);
    const mixed = withMetadata(catalogue, (code) => ({
      sourceUpdatedAt: code === "GA" ? "2026-06-01" : "2026-05-25",
      fallbackUsed: code === "LD" || code === "CH",
    }));
    await replaceGeography(own, catalogue, mixed);
    const { structured, text } = await own.ok("rank_divisions", ALL);
    const vintage = "2026-05-25 and 2026-06-01 (mixed), fallbackUsed some, complete";
    expect(structured["vintage"]).toContain(vintage);
    expect(text).toContain(vintage);

    const silent = await createFresh();
    const { contract } = catalogue.states;
    const bare = {
      states: { contract, states: catalogue.states.states },
      districts: Object.fromEntries(
        Object.entries(catalogue.districts).map(([code, { state, districts }]) => [
          code,
          { contract, state, districts },
        ]),
      ),
    };
    await replaceGeography(silent, catalogue, bare);
    const found = await silent.ok("find_district", { name: "Nizamabad" });
    expect(found.structured["vintage"]).toBe("vintage not stated, complete");
    expect(found.text).toContain("vintage not stated, complete");
  });

  test("totals that disagree are reported, and neither is corrected", async () => {
    const own = await createFresh();
    const catalogue = await readCatalogue(own);
    const states = catalogue.states.states.map((state) =>
      state.code === "TG" ? { ...state, districtCount: 31, mandalCount: 612 } : state,
    );
    await replaceGeography(own, catalogue, { ...catalogue, states: { ...catalogue.states, states } });
    const { structured } = await own.ok("rank_divisions", { ...TOP, states: ["TG"] });
    expect(structured).toMatchObject({
      totals: { districts: 33, mandals: 621 },
      consistency: [
        "Telangana (TG): the states list says 31 districts, its districts list has 33.",
        "Telangana (TG): the states list says 612 mandals, its districts add up to 621.",
      ],
    });
    const state = await own.ok("rank_divisions", { level: "state", by: "mandalCount", states: ["TG"] });
    expect(state.structured).toMatchObject({
      rows: [{ districtCount: 31, mandalCount: 612 }],
      consistency: [{}, {}].map(() => expect.any(String)),
    });
  });

  test("a state whose list fails is missing with its status, and the rest is returned; the next call tries again", async () => {
    const own = await createFresh();
    await fail(own, { MH: { status: 502 }, GA: { status: 400 } });
    const before = (await own.requests(listPlaygroundDistricts.id)).length;
    const { structured, text } = await own.ok("rank_divisions", ALL);
    expect(structured).toMatchObject({
      exact: false,
      coverage: {
        statesRead: 34,
        complete: false,
        missing: [
          { states: ["GA"], reason: "HTTP 400" },
          { states: ["MH"], reason: "HTTP 502" },
        ],
      },
    });
    expect(text).toContain("Not final: 2 of 36 lists are not loaded.");
    const requestedPaths = (await own.requests(listPlaygroundDistricts.id)).slice(before).map(({ path }) => path);
    expect(requestedPaths.filter((path) => path.endsWith("=MH"))).toHaveLength(2);
    expect(requestedPaths.filter((path) => path.endsWith("=GA"))).toHaveLength(1);
    await own.service.admin("DELETE", "geography");
    const again = await own.ok("rank_divisions", ALL);
    expect(again.structured).toMatchObject({ exact: true, vintage: expect.stringContaining("complete") });
  });

  test("after a 429 the server waits, and the result has the delay", async () => {
    const own = await createFresh();
    await fail(own, { AP: { status: 429, retryAfterSeconds: 300 } });
    const { structured } = await own.ok("rank_divisions", { ...ALL, waitSeconds: 5 });
    const { missing } = Object(structured["coverage"]);
    expect(missing).toHaveLength(1);
    const [{ states, more, reason, retryAfterSeconds }] = missing;
    expect(states.length + more).toBeGreaterThan(20);
    expect(reason).toContain("HTTP 429");
    expect(retryAfterSeconds).toBeGreaterThan(290);
    const refused = await own.fails("get_geography_openapi", {}, "rate_limited");
    expect(refused.retryAfterSeconds).toBeGreaterThan(290);
  });

  test("a district that is added during the reads is reported with the difference", async () => {
    const own = await createFresh();
    const catalogue = await readCatalogue(own);
    await own.service.injectFault(
      { kind: "delay", delayMs: 300 },
      { operationId: listPlaygroundDistricts.id, times: 36 },
    );
    const reading = own.ok("rank_divisions", ALL);
    const list = catalogue.districts["LD"];
    if (list === undefined) throw new Error("no such list");
    const grown = { ...list, districts: [...list.districts, { code: "9999", name: "Minicoy", mandalCount: 4 }] };
    await fail(own, { LD: grown });
    const { structured } = await reading;
    expect(structured["consistency"]).toEqual([
      "Lakshadweep (LD): the states list says 1 district, its districts list has 2.",
      "Lakshadweep (LD): the states list says 10 mandals, its districts add up to 14.",
    ]);
    expect((await own.ok("find_district", { name: "Minicoy" })).structured).toMatchObject({
      matches: [{ districtCode: "9999" }],
    });
  });

  test.each([["refused"], ["empty"]])("a state that the API no longer has is reported (%s)", async (unknownState) => {
    const own = await createFresh();
    const catalogue = await readCatalogue(own);
    const { GA: _removed, ...districts } = catalogue.districts;
    await replaceGeography(own, catalogue, { ...catalogue, districts }, { unknownState });
    const { structured } = await own.ok("rank_divisions", { ...ALL, states: ["GA"] });
    if (unknownState === "refused")
      expect(structured).toMatchObject({ exact: false, coverage: { missing: [{ states: ["GA"] }] } });
    else
      expect(structured).toMatchObject({
        rows: [],
        consistency: expect.arrayContaining([expect.stringContaining("has 0")]),
      });
  });

  test("256 districts and unusual names are found", async () => {
    const own = await createFresh();
    const catalogue = await readCatalogue(own);
    const odd = [
      "Dr. B.R. Ambedkar (New)",
      "Sant'Ana & Co.",
      "Mānsā",
      "ÅNGSTRÖM",
      "24-Parganas [North]",
      "西部",
      "A\tB",
    ];
    const districts = Array.from({ length: 256 }, (_, index) => ({
      code: `x/${index}`,
      name: odd[index] ?? `Ward no. ${index}`,
      mandalCount: index,
    }));
    const { states: _states, ...metadata } = catalogue.states;
    await replaceGeography(own, catalogue, {
      ...catalogue,
      districts: { ...catalogue.districts, GA: { ...metadata, state: "Goa", districts } },
    });
    for (const name of odd) {
      const { structured } = await own.call("find_district", { name, state: "GA" });
      expect(structured, name).toMatchObject({ matches: [{ name }], certainty: "exact" });
    }
    const { structured } = await own.ok("rank_divisions", {
      level: "district",
      by: "mandalCount",
      states: ["Goa"],
      min: 200,
    });
    expect(structured).toMatchObject({ totalRows: 56, exact: true });
  });

  test("drift in several lists is reported once", async () => {
    const own = await createFresh();
    await own.service.injectFault({ kind: "extra-field" }, { operationId: listPlaygroundDistricts.id, times: 2 });
    const { drift } = await own.ok("rank_divisions", ALL);
    expect(drift).toEqual(["/districts/0/emulatorExtraField"]);
  });
});
