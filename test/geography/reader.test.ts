// Reading the whole country within the rate limit, in virtual time: failures, deadlines, ages.
import { expect, test } from "vitest";
import { DISTRICTS_FRESH_MS, STATES_FRESH_MS } from "../../src/geography/cache.ts";
import { computeCoverage } from "../../src/geography/country.ts";
import { findDifferencesInStates } from "../../src/geography/districts.ts";
import { createGeography, type GatherResult } from "../../src/geography/geography.ts";
import { summarizeVintage } from "../../src/geography/vintage.ts";
import { CALL_MS, fakePlayground, mandalsOf, readCountry, refusal, slidingLimit, testCountry } from "./fake-service.ts";
import { virtualTime } from "./virtual.ts";

function setUp(perMinute = 28) {
  const time = virtualTime();
  const fake = fakePlayground(testCountry, time);
  const geography = createGeography({ service: fake.service, perMinute, timing: time });
  const context = (signal = new AbortController().signal) => ({ signal, deadlineAt: time.now() + CALL_MS });
  const progress: number[] = [];
  const readAll = (waitMs: number, signal?: AbortSignal): Promise<GatherResult> =>
    readCountry(geography, { now: time.now, waitMs, signal, onProgress: (read) => void progress.push(read) });
  const requestedStates = () => fake.requests.map(({ state }) => state);
  return { time, fake, geography, context, readAll, progress, asked: requestedStates };
}

const largestFirst = testCountry.toSorted((a, b) => mandalsOf(b) - mandalsOf(a)).map(({ code }) => code);
const largest = largestFirst[0] ?? "";

const coverage = (gathered: GatherResult) => computeCoverage(gathered.country.states.value.states, gathered);

test("the default rate reads all 36 states in two windows without one 429", async () => {
  const { time, fake, readAll } = setUp();
  fake.limit = slidingLimit(30);
  const startedAt = time.now();
  const first = await time.during(readAll(20_000));
  expect(coverage(first)).toMatchObject({ statesTotal: 36, statesRead: 27, complete: false });
  expect(time.now() - startedAt).toBeLessThanOrEqual(20_000);
  const [missing] = coverage(first).missing;
  expect(missing?.states).toHaveLength(9);
  // What cannot come within the wait is not waited for: each answer says when it can.
  expect(time.now() - startedAt).toBeLessThan(5_000);
  await time.pass(((missing?.retryAfterSeconds ?? 0) - 40) * 1000);
  const second = await time.during(readAll(CALL_MS));
  expect(coverage(second)).toMatchObject({ statesRead: 36, complete: true, missing: [] });
  expect(time.now() - startedAt).toBeLessThan(64_000);
  expect(fake.requests).toHaveLength(37);
  expect(fake.requests.every(({ status }) => status === 200)).toBe(true);
  expect(fake.inFlight.most).toBe(4);
});

test("a rate that is too high meets 429, obeys each in full and goes on at half the rate", async () => {
  const { time, fake, readAll } = setUp(60);
  fake.limit = slidingLimit(20);
  let gathered = await time.during(readAll(20_000));
  for (let call = 0; call < 12 && !coverage(gathered).complete; call++) {
    await time.pass(20_000);
    gathered = await time.during(readAll(CALL_MS));
  }
  expect(coverage(gathered).complete).toBe(true);
  const refused = fake.requests.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
});

test("nothing leaves while a 429's Retry-After runs, whoever asks", async () => {
  const { time, fake, geography, context, readAll } = setUp();
  fake.faults.set(largest, [refusal(429, 30)]);
  const first = await time.during(readAll(20_000));
  const refusedAt = fake.requests.find(({ status }) => status === 429)?.at ?? 0;
  const before = fake.requests.length;
  expect(coverage(first).missing[0]?.reason).toContain("429");
  await expect(time.during(geography.openApi({ ...context(), deadlineAt: time.now() + 5000 }))).rejects.toMatchObject({
    facts: { kind: "rate_limited" },
  });
  expect(fake.requests).toHaveLength(before);
  await time.during(readAll(CALL_MS));
  // Those that were under way with it had left already.
  const later = fake.requests.slice(before).map(({ at }) => at);
  expect(Math.min(...later)).toBeGreaterThanOrEqual(refusedAt + 30_000);
});

test("a service that says 429 again and again is left alone until the next question", async () => {
  const { time, fake, geography, context, readAll } = setUp();
  await time.during(geography.states(context()));
  fake.limit = () => 1;
  const gathered = await time.during(readAll(20_000));
  expect(coverage(gathered).statesRead).toBe(0);
  const count = fake.requests.length;
  await time.pass(600_000);
  expect(fake.requests).toHaveLength(count);
});

test("largest states come first", async () => {
  const { time, asked: requestedStates, readAll } = setUp(10);
  await time.during(readAll(0));
  await time.pass(1000);
  expect(requestedStates().slice(1)).toEqual(largestFirst.slice(0, 9));
});

test("time up: the answer has what is there, and the rest is read in the background", async () => {
  const { time, fake, progress, readAll } = setUp();
  const first = await time.during(readAll(1_000));
  const { missing } = first;
  const { statesRead } = coverage(first);
  expect(statesRead).toBeLessThan(36);
  expect(missing).toHaveLength(36 - statesRead);
  for (const { retryAfterSeconds } of missing) expect(retryAfterSeconds).toBeGreaterThan(0);
  expect(progress).toEqual([...progress].sort((a, b) => a - b));
  expect(progress.length).toBeGreaterThan(1);
  await time.pass(120_000);
  expect(fake.requests).toHaveLength(37);
  expect(coverage(await time.during(readAll(0))).complete).toBe(true);
  expect(fake.requests).toHaveLength(37);
});

test("tries a 502 once more and a 400 never, and reads the other states", async () => {
  const { time, fake, asked: requestedStates, readAll } = setUp(600);
  fake.faults.set("AC", [refusal(502), refusal(502)]);
  fake.faults.set("AD", [refusal(502)]);
  fake.faults.set("AE", [refusal(400)]);
  const gathered = await time.during(readAll(20_000));
  expect(coverage(gathered)).toMatchObject({
    statesRead: 34,
    missing: [
      { states: ["AC"], reason: "HTTP 502" },
      { states: ["AE"], reason: "HTTP 400" },
    ],
  });
  expect(requestedStates().filter((state) => state === "AE")).toHaveLength(1);
  for (const code of ["AC", "AD"]) expect(requestedStates().filter((state) => state === code)).toHaveLength(2);
  expect(coverage(await time.during(readAll(20_000))).complete).toBe(true);
});

test("a 403 stops the reading", async () => {
  const { time, fake, readAll } = setUp(600);
  fake.faults.set(largest, [refusal(403)]);
  const gathered = await time.during(readAll(20_000));
  const { missing } = gathered;
  const { statesRead } = coverage(gathered);
  expect(statesRead).toBeLessThanOrEqual(4);
  expect(missing.find(({ state }) => state === largest)?.reason).toBe("HTTP 403");
  expect(missing.filter(({ reason }) => reason.includes("HTTP 403"))).toHaveLength(36 - statesRead);
  const count = fake.requests.length;
  await time.pass(600_000);
  expect(fake.requests).toHaveLength(count);
  expect(coverage(await time.during(readAll(20_000))).complete).toBe(true);
});

test("one flight for each URL, however many ask at once", async () => {
  const { time, fake, geography, context, readAll } = setUp(600);
  const many = [readAll(20_000), readAll(20_000), geography.districts("BJ", context()), geography.states(context())];
  await time.during(Promise.all(many));
  expect(fake.requests).toHaveLength(37);
});

test("who gives up waiting does not take the answer from the others; the last one ends the request", async () => {
  const { time, fake, geography, context } = setUp(600);
  const controller = new AbortController();
  const given = geography.states(context(controller.signal)).catch(() => "given up");
  const kept = geography.states(context());
  controller.abort();
  expect(await given).toBe("given up");
  expect((await time.during(kept)).value.states).toHaveLength(36);
  const alone = new AbortController();
  const last = geography.openApi(context(alone.signal)).catch(() => "given up");
  await time.pass(10);
  alone.abort();
  expect(await last).toBe("given up");
  await time.pass(10);
  expect(fake.inFlight.now).toBe(0);
});

test("states are kept ten minutes, districts six hours", async () => {
  const { time, fake, asked: requestedStates, readAll } = setUp(600);
  await time.during(readAll(20_000));
  await time.pass(STATES_FRESH_MS + 1);
  await time.during(readAll(20_000));
  expect(requestedStates().filter((state) => state === "")).toHaveLength(2);
  expect(fake.requests).toHaveLength(38);
  await time.pass(DISTRICTS_FRESH_MS);
  await time.during(readAll(20_000));
  expect(fake.requests).toHaveLength(75);
});

test("when the vintage that the states list states moves, no older districts are told", async () => {
  const { time, fake, readAll } = setUp(600);
  fake.vintages = new Map([["", "A"], ...testCountry.map(({ code }) => [code, "A"] as const)]);
  const first = await time.during(readAll(20_000));
  const codes = testCountry.map(({ code }) => code);
  expect(summarizeVintage(first.country, codes)).toMatchObject({ sourceUpdatedAt: ["A"], mixed: false });
  fake.vintages = new Map([["", "B"], ...testCountry.map(({ code }) => [code, "B"] as const)]);
  await time.pass(STATES_FRESH_MS + 1);
  const second = await time.during(readAll(20_000));
  expect(summarizeVintage(second.country, codes)).toMatchObject({ sourceUpdatedAt: ["B"], mixed: false });
  expect(fake.requests).toHaveLength(74);
});

test("a district added while the country is read shows as a difference, and nothing is mended", async () => {
  const { time, fake, readAll } = setUp(600);
  const reading = readAll(20_000);
  await time.pass(500);
  fake.states = fake.states.map((state) =>
    state.code === "AA"
      ? {
          ...state,
          stated: { districtCount: 2, mandalCount: 1 },
          districts: [...state.districts, { code: "new", name: "New", mandalCount: 7 }],
        }
      : state,
  );
  const { country } = await time.during(reading);
  expect(country.lists.get("AA")?.value.districts).toHaveLength(3);
  expect(findDifferencesInStates(country.states.value.states, country)).toEqual([
    "State AA (AA): the states list says 2 districts, its districts list has 3.",
    "State AA (AA): the states list says 1 mandal, its districts add up to 8.",
  ]);
});

test("a closed reader sends nothing more", async () => {
  const { time, fake, geography, readAll } = setUp();
  await time.during(readAll(0));
  geography.close();
  const count = fake.requests.length;
  await time.pass(600_000);
  expect(fake.requests).toHaveLength(count);
});

test("a cancelled question ends at once; what it began goes on", async () => {
  const { time, fake, readAll } = setUp();
  const controller = new AbortController();
  const reading = readAll(20_000, controller.signal).catch((error: unknown) => String(error));
  await time.pass(1000);
  controller.abort(new Error("cancelled by the client"));
  expect(await reading).toContain("cancelled by the client");
  await time.pass(120_000);
  expect(fake.requests).toHaveLength(37);
});

test("the states list itself is retried as any read is; its failure is the answer's", async () => {
  const { time, fake, geography, context } = setUp();
  fake.faults.set("", [refusal(502)]);
  expect((await time.during(geography.states(context()))).value.states).toHaveLength(36);
  const denied = setUp();
  denied.fake.faults.set("", [refusal(403)]);
  await expect(denied.time.during(denied.readAll(20_000))).rejects.toMatchObject({ facts: { status: 403 } });
});
