// Tests rank_divisions: questions that users ask about many districts, pages, prefixes, and unusual catalogs. Missing data and contradictions
// are reported, and no data is invented. test/snapshots has the texts of incomplete answers.
import { expect, test } from "vitest";
import { operations } from "../operations.ts";
import type { Progress } from "../support/mcp.ts";
import { type Args, type Bench, createFreshBench, expectIncreasing } from "./bench.ts";
import {
  expectFacts,
  type Fact,
  freshWith,
  freshWithDistricts,
  listOf,
  readDistricts,
  readLists,
} from "./geography.ts";
import { describeLatestRevision, FAST_GEOGRAPHY } from "./revisions.ts";

const BY_MANDALS = { level: "district", by: "mandalCount" };
const TOP: Args = { ...BY_MANDALS, limit: 3 };
const ALL: Args = { ...BY_MANDALS, order: "asc", limit: 100 };

const createdSince = (state: string, year: number): Args => ({ ...BY_MANDALS, createdSince: year, states: [state] });
const RESTORED =
  /Not new but restored: Biswanath in Assam \(AS\), Hojai in Assam \(AS\), Bajali in Assam \(AS\)(, Tamulpur in Assam \(AS\))?\./;
const since = (found: string, missing: string): string =>
  `${found} created since 2010 (public record of 2010 to 2026, not of ${missing})`;
const BY_COUNT = { level: "state", by: "districtCount" };
const NORTH_EAST = ["AS", "AR", "MN", "ML", "MZ", "NL", "TR", "SK"];

/** The page in test/snapshots has those of Assam since 2022 and of Uttarakhand since 2000. */
const QUESTIONS: readonly (readonly [question: string, args: Args, ...facts: readonly Fact[]])[] = [
  ["Which state has the most districts?", { ...BY_COUNT, limit: 1 }, "Uttar Pradesh (UP), 75."],
  [
    "How many mandals has the North-East?",
    { level: "state", by: "mandalCount", states: NORTH_EAST },
    /132 districts \(16\.84 % of .*678 mandals \(/,
  ],
  ["How many have more than 20 mandals?", { ...TOP, min: 21 }, "49 districts with mandalCount 21"],
  ["Which states have one district?", { ...BY_COUNT, max: 1 }, /^.{12}2 states.*"CH".*"LD"/],
  ["What is the median of Kerala's?", { ...BY_MANDALS, states: ["Kerala"] }, '"median":6', "78 mandals"],
  ["Which are new since 2025?", { ...BY_MANDALS, createdSince: 2025 }, '"name":"Kushavati"', '"createdYear":2025'],
  ["How many are new since 2015?", { ...BY_MANDALS, createdSince: 2015 }, "111 districts created since 2015"],
  [
    "Which of Assam are new since 2015?",
    createdSince("AS", 2015),
    /^(?!.*Not new).*Biswanath.*"createdYear":2015,"restored":2023/,
  ],
  ["Which of Assam are new since 2023?", createdSince("AS", 2023), "No district (AS)", /"rows":\[\]/, RESTORED],
  ["Which of Assam are new since 2024?", createdSince("AS", 2024), "No district (AS)", /^(?!.*Not new)/],
  ["Which of Tamil Nadu are new since 2004?", createdSince("TN", 2004), since("6 districts (TN)", "2004-2009")],
  ["Which of Goa are new since 2009?", createdSince("GA", 2009), since("1 district (GA)", "2009")],
  [
    "Which of Goa are new since 2010?",
    createdSince("GA", 2010),
    "1 district (GA) created since 2010 (public record of 2010 to 2026):",
  ],
];

describeLatestRevision((bench, revision) => {
  const rank = async (args: Args, own: Bench = bench()) => (await own.ok("rank_divisions", args)).structured;
  const summaryOf = async (args: Args) => (await rank(args))["summary"];
  const codesIn = ({ rows }: Args): readonly string[] => Object(rows).map((row: object) => Object(row).code);

  test.each(QUESTIONS.map((question) => ({ question })))("$question.0", async ({ question: [, args, ...facts] }) => {
    expectFacts(await rank(args), facts);
  });

  test("rank_divisions lists as many recorded changes as rows, the latest first, and counts the others", async () => {
    const args = { ...BY_MANDALS, createdSince: 2015 };
    const some = await rank({ ...args, limit: 3 });
    const { unlisted } = Object(await rank({ ...args, limit: 100 }));
    expect(unlisted.length).toBeGreaterThan(20);
    expect(some).toMatchObject({ unlisted: unlisted.slice(0, 3), unlistedCount: unlisted.length });
    expect(some["summary"]).toContain(" districts (3 shown; a larger limit shows more).");
    const years = unlisted.map((text: string) => Number(text.slice(-4)));
    expect(years).toEqual(years.toSorted((one: number, other: number) => other - one));
  });

  test("the mean of mandals per district is the mean over the districts, not over the states", async () => {
    const { totals } = await rank({ level: "state", by: "mandalsPerDistrict", states: ["TG", "GA", "KA"] });
    const { districts, mandals, mean } = Object(totals);
    expect(mean).toBeCloseTo(mandals / districts, 2);
  });

  test("the pages that page.nextOffset leads to contain each row once and have no next step", async () => {
    const all = await readDistricts(bench());
    const seen: string[] = [];
    for (let page = 0; page < 8; page++) {
      const structured = await rank({ ...BY_MANDALS, limit: 100, offset: page * 100 });
      seen.push(...codesIn(structured));
      expect(structured["totalRows"]).toBe(784);
      expect(structured).not.toHaveProperty("nextStep");
      expect(Object(structured["page"] ?? {}).nextOffset).toBe(page === 7 ? undefined : (page + 1) * 100);
    }
    expect(seen.toSorted()).toEqual(all.map(({ code }) => code).toSorted());
  });

  test("startsWith ignores case, spaces and diacritics", async () => {
    const all = await readDistricts(bench());
    const expected = all.filter(({ name }) => /^north/i.test(name)).map(({ code }) => code);
    for (const startsWith of ["north", "NORTH", " Nörth"]) {
      const structured = await rank({ level: "district", by: "name", startsWith });
      expect(codesIn(structured).toSorted()).toEqual(expected.toSorted());
      expect(structured).toMatchObject({ complete: true, totalRows: expected.length });
    }
  });

  test("only a page that ends within a tie names the other districts that tie", async () => {
    // Tirupati and Sri Potti Sriramulu Nellore have 36 mandals each.
    expect(await summaryOf({ ...TOP, limit: 4 })).not.toContain("ties");
    expect(await summaryOf({ ...TOP, limit: 1, offset: 2 })).toContain(
      "1 more district ties with row 3: Tirupati in Andhra Pradesh (AP).",
    );
    expect(await summaryOf({ ...BY_COUNT, order: "asc", limit: 1 })).toContain("1 more state ties with row 1: ");
  });

  test("a selection of states is reported with its share of India", async () => {
    expect(await summaryOf({ level: "state", states: ["AP", "TG"] })).toMatch(
      /^2 states \(AP TG\): 61 districts \(7\.78 % of India's\), 1,309 mandals \(18\.47 % of India's\)\. /,
    );
  });

  test("a ranking by name reports the names that several districts share", async () => {
    const byName = { level: "district", by: "name", limit: 1 };
    const shared = "Names of several districts: Bilaspur (CG HP), Hamirpur (HP UP), Pratapgarh (RJ UP).";
    expect(await summaryOf(byName)).toContain(shared);
    expect(await summaryOf({ ...byName, states: ["GA"] })).toContain("No two districts share a name.");
  });

  test("with empty caches at the default rate, the top rows are exact before all lists are read", async () => {
    const own = await createFreshBench(bench(), revision, { MIC_GEOGRAPHY_RATE_LIMIT: "28" });
    const { result, sent } = await own.capture(() => rank(TOP, own));
    expect(result).toMatchObject({
      complete: true,
      totals: { districts: 784, mandals: 7086, max: 41 },
      vintage: expect.stringContaining("complete for this answer (27 of 36 lists)"),
      summary: expect.stringContaining("only the minimum and the median need the lists that are not loaded."),
    });
    expect(result["totals"]).not.toHaveProperty("median");
    expect(result).not.toHaveProperty("coverage");
    expect(sent).toHaveLength(28);
    // The lists that were read are cached, and all tools share the rate limit.
    const again = await own.captureRequests(async () => {
      await own.ok("list_states");
      await own.ok("list_districts", { state: "TG" });
      const { structured } = await own.ok("find_district", { name: "Nowhereville", waitSeconds: 0 });
      const [remaining] = Object(structured["coverage"]).missing;
      expect(remaining).toMatchObject({ reason: "rate limit", states: "AN CH DH GA LA LD PY SK TR".split(" ") });
      // The delay is longer than any wait that a call can make.
      expect(remaining.retryAfterSeconds).toBeGreaterThan(45);
      expect(structured).not.toHaveProperty("nextStep");
    });
    expect(again).toHaveLength(0);
  });

  test("progress is reported while all lists are read", async () => {
    const own = await createFreshBench(bench(), revision);
    const seen: Progress[] = [];
    await own.ok("rank_divisions", ALL, { onprogress: (progress) => seen.push(progress) });
    expect(seen.length).toBeGreaterThan(3);
    expect(seen.every(({ total }) => total === 36)).toBe(true);
    expectIncreasing(seen);
  });

  test("vintages that differ or are missing, and fallbackUsed, are reported", async () => {
    const { response, lists } = await readLists(bench());
    const goa = { ...(await listOf(bench(), "GA")), sourceUpdatedAt: "2026-06-01", fallbackUsed: true };
    const mixed = await freshWith(bench(), revision, { districts: { GA: goa } });
    const { structured, text } = await mixed.ok("rank_divisions", ALL);
    const vintage = "2026-05-25 and 2026-06-01 (mixed), fallbackUsed some, complete";
    expect(structured["vintage"]).toContain(vintage);
    expect(text).toContain(vintage);

    const { contract, states } = response;
    const without = lists.map(({ state: { code }, list: { state, districts } }) => [
      code,
      { contract, state, districts },
    ]);
    bench().clock.advance(120_000);
    const silent = { states: { contract, states }, districts: Object.fromEntries(without) };
    const own = await freshWith(bench(), revision, silent);
    expect((await rank(TOP, own))["vintage"]).toBe("not stated, complete");
  });

  test("totals that disagree are reported, and neither is corrected", async () => {
    const list = await bench().service.ok(operations.listPlaygroundStates);
    const changed = { districtCount: 31, mandalCount: 612 };
    const states = list.states.map((state) => (state.code === "TG" ? { ...state, ...changed } : state));
    const own = await freshWith(bench(), revision, { states: { ...list, states } });
    const consistency = [
      "Telangana (TG): the states list says 31 districts, its districts list has 33.",
      "Telangana (TG): the states list says 612 mandals, its districts add up to 621.",
    ];
    const totals = { districts: 33, mandals: 621 };
    expect(await rank({ ...TOP, states: ["TG"] }, own)).toMatchObject({ totals, consistency });
    const byState = await rank({ level: "state", by: "mandalCount", states: ["TG"] }, own);
    expect(byState).toMatchObject({ rows: [{ districts: 31, mandals: 612 }], consistency });
  });

  test("a state whose list fails is missing with its status, and the rest is returned; the next call tries again", async () => {
    const own = await freshWith(bench(), revision, { districts: { MH: { status: 502 }, GA: { status: 400 } } });
    const { result, sent } = await own.capture(() => rank(ALL, own));
    const missing = [
      { states: ["GA"], reason: "HTTP 400" },
      { states: ["MH"], reason: "HTTP 502" },
    ];
    expect(result).toMatchObject({ complete: false, coverage: { statesRead: 34, complete: false, missing } });
    for (const [code, requests] of Object.entries({ GA: 1, MH: 2 }))
      expect(sent.filter(({ path }) => path.endsWith(`=${code}`))).toHaveLength(requests);
    await own.service.admin("DELETE", "geography");
    expect(await rank(ALL, own)).toMatchObject({ complete: true, vintage: expect.stringContaining("complete") });
  });

  test.each([
    ["refused", { complete: false, coverage: { missing: [{ states: ["GA"] }] } }],
    ["empty", { rows: [], consistency: expect.arrayContaining([expect.stringContaining("has 0")]) }],
  ])("a state that the API no longer has is reported (%s)", async (unknownState, expected) => {
    const own = await freshWith(bench(), revision, { districts: { GA: null }, unknownState });
    expect(await rank({ ...ALL, states: ["GA"] }, own)).toMatchObject(expected);
  });

  test("drift in several lists is reported once", async () => {
    const own = await createFreshBench(bench(), revision);
    const { id: operationId } = operations.listPlaygroundDistricts;
    await own.service.injectFault({ kind: "extra-field" }, { operationId, times: 2 });
    expect((await own.ok("rank_divisions", ALL)).drift).toEqual(["/districts/0/emulatorExtraField"]);
  });

  test("one code with two names is reported, and both districts are counted", async () => {
    const own = await freshWithDistricts(bench(), revision, "GA", (districts) =>
      districts.map((district, at) => (at === 0 ? { ...district, code: "516" } : district)),
    );
    const reported = expect.stringMatching(/^District code 516 is listed for .* \(GA\) and Nizamabad \(TG\)\.$/);
    expect(await rank(TOP, own)).toMatchObject({ totalRows: 784, consistency: [reported] });
  });

  test("codes that are only unique within their state cause no inconsistencies", async () => {
    const { lists } = await readLists(bench());
    const renumbered = lists.map(({ state, list }) => {
      const districts = list.districts.map((each, at) => ({ ...each, code: String(at + 1) }));
      return [state.code, { ...list, districts }];
    });
    const own = await freshWith(bench(), revision, { districts: Object.fromEntries(renumbered) });
    expect(await rank(TOP, own)).toMatchObject({ totalRows: 784 });
  });
}, FAST_GEOGRAPHY);
