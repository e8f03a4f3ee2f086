// Tests the geography tools with unusual catalogs and answers: data is returned as it is, missing data and contradictions are reported, and
// no data is invented. test/snapshots has the texts of incomplete answers.
import { expect, test } from "vitest";
import { type DistrictsResponse, PLAYGROUND_CONTRACT } from "../../src/contract/playground.ts";
import { operations } from "../operations.ts";
import type { Progress } from "../support/mcp.ts";
import type { Args, Bench } from "./bench.ts";
import { createFreshBench } from "./fresh-bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const TOP: Args = { level: "district", by: "mandalCount", limit: 3 };
const ALL: Args = { level: "district", by: "mandalCount", order: "asc", limit: 100 };
const STATES = operations.listPlaygroundStates;
const DISTRICTS = operations.listPlaygroundDistricts;

type Districts = DistrictsResponse["districts"];
const RATE = { env: { MIC_GEOGRAPHY_RATE_LIMIT: "600" } };

describeLatestRevision((bench, revision) => {
  const fresh = (env: Readonly<Record<string, string>> = {}) => createFreshBench(bench(), revision, env);

  /** A server with empty caches, and an API with these answers instead of its own. */
  async function freshWith(answers: object): Promise<Bench> {
    const own = await fresh();
    expect(await own.service.admin("POST", "geography", answers)).toEqual({});
    return own;
  }

  const listOf = (state: string) => bench().service.ok(DISTRICTS, { query: { state } });
  /** The same with changed districts of one state. */
  async function freshWithDistricts(state: string, change: (own: Districts) => Districts): Promise<Bench> {
    const list = await listOf(state);
    return freshWith({ districts: { [state]: { ...list, districts: change(list.districts) } } });
  }
  const rank = async (own: Bench, args: Args) => (await own.ok("rank_divisions", args)).structured;
  const summaryOf = async (args: Args) => (await rank(bench(), args))["summary"];

  test("a changed catalog is returned as it is, without built-in states", {
    tags: ["1/catalogue-may-change"],
  }, async () => {
    const contract = PLAYGROUND_CONTRACT;
    const state = "A state of tomorrow";
    const states = [{ code: "QX", name: state, districtCount: 0, mandalCount: 9_007_199_254_740_991 }];
    const district = { code: "D-1", name: "Its only district", mandalCount: 0 };
    // The contract does not promise that codes are unique.
    const districts = [district, district];
    const own = await freshWith({ states: { contract, states }, districts: { QX: { contract, state, districts } } });
    const shown = { QX: { name: state, districts: 0, mandals: 9_007_199_254_740_991 } };
    expect((await own.ok("list_states")).structured["states"]).toEqual(shown);
    const only = { name: "Its only district", mandals: 0 };
    const { structured } = await own.ok("list_districts", { state: "QX" });
    expect(structured["districts"]).toEqual({ "D-1": only, "D-1 (2)": only });
  });

  test("with empty caches at the default rate, the top rows are exact before all lists are read", async () => {
    const own = await fresh({ MIC_GEOGRAPHY_RATE_LIMIT: "28" });
    const { result, sent } = await own.capture(() => rank(own, TOP));
    expect(result).toMatchObject({
      complete: true,
      totals: { districts: 784, mandals: 7086, max: 41 },
      // The missing lists can change the statistics, but not the rows.
      coverage: { statesTotal: 36, statesRead: 27, complete: false, missing: [{ states: { length: 9 } }] },
    });
    expect(result["totals"]).not.toHaveProperty("median");
    expect(sent).toHaveLength(28);
    // The lists that were read are cached, and all tools share the rate limit.
    const again = await own.captureRequests(async () => {
      await own.ok("list_states");
      await own.ok("list_districts", { state: "TG" });
      const found = await own.ok("find_district", { name: "Nowhereville", waitSeconds: 0 });
      const [remaining] = Object(found.structured["coverage"]).missing;
      expect(remaining).toMatchObject({ reason: "rate limit", states: "AN CH DH GA LA LD PY SK TR".split(" ") });
      // The delay is longer than any wait that a call can make.
      expect(remaining.retryAfterSeconds).toBeGreaterThan(45);
      expect(found.structured).not.toHaveProperty("nextStep");
    });
    expect(again).toHaveLength(0);
  });

  test("progress is reported while all lists are read", async () => {
    const seen: Progress[] = [];
    await (await fresh()).ok("rank_divisions", ALL, { onprogress: (progress) => seen.push(progress) });
    expect(seen.length).toBeGreaterThan(3);
    expect(seen.every(({ total }) => total === 36)).toBe(true);
    const steps = seen.map(({ progress }) => progress);
    expect(steps).toEqual(steps.toSorted((a, b) => a - b));
  });

  test("vintages that differ or are missing, and fallbackUsed, are reported", async () => {
    const goa = await listOf("GA");
    const own = await freshWith({ districts: { GA: { ...goa, sourceUpdatedAt: "2026-06-01", fallbackUsed: true } } });
    const { structured, text } = await own.ok("rank_divisions", ALL);
    const vintage = "2026-05-25 and 2026-06-01 (mixed), fallbackUsed some, complete";
    expect(structured["vintage"]).toContain(vintage);
    expect(text).toContain(vintage);

    const { contract, states } = await bench().service.ok(STATES);
    const lists = states.map(async ({ code }) => {
      const { state, districts } = await listOf(code);
      return [code, { contract, state, districts }];
    });
    bench().clock.advance(120_000);
    const silent = { states: { contract, states }, districts: Object.fromEntries(await Promise.all(lists)) };
    const found = await (await freshWith(silent)).ok("find_district", { name: "Nizamabad" });
    expect(found.structured["vintage"]).toBe("not stated, complete");
  });

  test("totals that disagree are reported, and neither is corrected", async () => {
    const list = await bench().service.ok(STATES);
    const changed = { districtCount: 31, mandalCount: 612 };
    const states = list.states.map((state) => (state.code === "TG" ? { ...state, ...changed } : state));
    const own = await freshWith({ states: { ...list, states } });
    const consistency = [
      "Telangana (TG): the states list says 31 districts, its districts list has 33.",
      "Telangana (TG): the states list says 612 mandals, its districts add up to 621.",
    ];
    const totals = { districts: 33, mandals: 621 };
    expect(await rank(own, { ...TOP, states: ["TG"] })).toMatchObject({ totals, consistency });
    const byState = await rank(own, { level: "state", by: "mandalCount", states: ["TG"] });
    expect(byState).toMatchObject({ rows: [{ districts: 31, mandals: 612 }], consistency });
  });

  test("a state whose list fails is missing with its status, and the rest is returned; the next call tries again", async () => {
    const own = await freshWith({ districts: { MH: { status: 502 }, GA: { status: 400 } } });
    const { result, sent } = await own.capture(() => rank(own, ALL));
    const missing = [
      { states: ["GA"], reason: "HTTP 400" },
      { states: ["MH"], reason: "HTTP 502" },
    ];
    expect(result).toMatchObject({ complete: false, coverage: { statesRead: 34, complete: false, missing } });
    expect(sent.filter(({ path }) => path.endsWith("=MH"))).toHaveLength(2);
    expect(sent.filter(({ path }) => path.endsWith("=GA"))).toHaveLength(1);
    await own.service.admin("DELETE", "geography");
    expect(await rank(own, ALL)).toMatchObject({ complete: true, vintage: expect.stringContaining("complete") });
  });

  test.each([
    ["refused", { complete: false, coverage: { missing: [{ states: ["GA"] }] } }],
    ["empty", { rows: [], consistency: expect.arrayContaining([expect.stringContaining("has 0")]) }],
  ])("a state that the API no longer has is reported (%s)", async (unknownState, expected) => {
    const own = await freshWith({ districts: { GA: null }, unknownState });
    expect(await rank(own, { ...ALL, states: ["GA"] })).toMatchObject(expected);
  });

  test("drift in several lists is reported once", async () => {
    const own = await fresh();
    await own.service.injectFault({ kind: "extra-field" }, { operationId: DISTRICTS.id, times: 2 });
    expect((await own.ok("rank_divisions", ALL)).drift).toEqual(["/districts/0/emulatorExtraField"]);
  });

  test("only a page that ends within a tie reports how many more districts tie", async () => {
    // Tirupati and Sri Potti Sriramulu Nellore have 36 mandals each.
    expect(await summaryOf({ ...TOP, limit: 4 })).not.toContain("ties");
    expect(await summaryOf({ ...TOP, limit: 1, offset: 2 })).toContain("1 more district ties with row 3.");
    const byState = { level: "state", by: "districtCount", order: "asc", limit: 1 };
    expect(await summaryOf(byState)).toContain("1 more state ties with row 1.");
  });

  test("a ranking by name reports the names that several districts share", async () => {
    const byName = { level: "district", by: "name", limit: 1 };
    const shared = "Names of several districts: Bilaspur (CG HP), Hamirpur (HP UP), Pratapgarh (RJ UP).";
    expect(await summaryOf(byName)).toContain(shared);
    expect(await summaryOf({ ...byName, states: ["GA"] })).toContain("No two districts share a name.");
  });

  test("a district in the lists of two states is counted once, and is reported only for a name that it concerns", async () => {
    // Nizamabad, a district of Telangana.
    const extra = { code: "516", name: "Nizamabad", mandalCount: 33 };
    const own = await freshWithDistricts("GA", (districts) => [...districts, extra]);
    const consistency = [
      "Goa (GA): the states list says 3 districts, its districts list has 4.",
      "Goa (GA): the states list says 12 mandals, its districts add up to 45.",
      "District code 516 is listed for Nizamabad (GA) and Nizamabad (TG): counted once.",
    ];
    const { structured } = await own.ok("find_district", { name: "Nizamabad" });
    expect(structured["consistency"]).toEqual(consistency);
    expect((await own.ok("find_district", { name: "Patna" })).structured).not.toHaveProperty("consistency");
    expect(await rank(own, ALL)).toMatchObject({ totalRows: 784, consistency: expect.arrayContaining(consistency) });
  });

  test("one code with two names is reported, and both districts are counted", async () => {
    const own = await freshWithDistricts("GA", (districts) =>
      districts.map((district, at) => (at === 0 ? { ...district, code: "516" } : district)),
    );
    const reported = expect.stringMatching(/^District code 516 is listed for .* \(GA\) and Nizamabad \(TG\)\.$/);
    expect(await rank(own, TOP)).toMatchObject({ totalRows: 784, consistency: [reported] });
  });

  test("codes that are only unique within their state cause no inconsistencies", async () => {
    const { states } = await bench().service.ok(STATES);
    const lists = states.map(async ({ code }) => {
      const list = await listOf(code);
      return [code, { ...list, districts: list.districts.map((each, at) => ({ ...each, code: String(at + 1) })) }];
    });
    const own = await freshWith({ districts: Object.fromEntries(await Promise.all(lists)) });
    expect(await rank(own, TOP)).toMatchObject({ totalRows: 784 });
  });
}, RATE);
