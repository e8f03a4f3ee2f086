// Tests reading the whole country within the rate limit in virtual time (failures, deadlines and expiry), and the catalog as one text.
import { expect, test } from "vitest";
import { DISTRICTS_FRESH_MS, STATES_FRESH_MS } from "../../src/geography/catalog.ts";
import { renderCatalogTsv } from "../../src/geography/catalog-tsv.ts";
import { type Country, computeCoverage, summarizeVintage } from "../../src/geography/country.ts";
import { answerForAllStates } from "../../src/geography/districts.ts";
import { createGeography, type GatherResult } from "../../src/geography/geography.ts";
import { createVirtualTime } from "../support/virtual-time.ts";
import {
  CALL_MS,
  countMandals,
  createFakePlayground,
  createSlidingLimit,
  type FakeState,
  httpFailure,
  readCountry,
  testCountry,
} from "./fake-service.ts";

function setUp(perMinute = 28) {
  const time = createVirtualTime();
  const fake = createFakePlayground(testCountry, time);
  const geography = createGeography({ service: fake.service, perMinute, timing: time });
  const context = (signal = new AbortController().signal) => ({ signal, deadlineAt: time.now() + CALL_MS });
  const progress: number[] = [];
  const readAll = (waitMs: number, signal?: AbortSignal): Promise<GatherResult> =>
    readCountry(geography, { now: time.now, waitMs, signal, onProgress: (read) => void progress.push(read) });
  const read = (waitMs: number) => time.runUntil(readAll(waitMs));
  const readCoverage = async (waitMs: number) => computeCoverage(await read(waitMs));
  async function expectNoFurtherRequest(): Promise<void> {
    const count = fake.requests.length;
    await time.advance(600_000);
    expect(fake.requests).toHaveLength(count);
  }
  return {
    time,
    fake,
    geography,
    context,
    readAll,
    read,
    readCoverage,
    progress,
    expectNoFurtherRequest,
  };
}

const largestFirst = testCountry.toSorted((a, b) => countMandals(b) - countMandals(a)).map(({ code }) => code);
const largest = largestFirst[0] ?? "";

test("at the default rate all 36 states are read in two windows without a 429", async () => {
  const { time, fake, readCoverage } = setUp();
  fake.throttle = createSlidingLimit(30);
  const startedAt = time.now();
  const first = await readCoverage(20_000);
  expect(first).toMatchObject({
    statesTotal: 36,
    statesRead: 27,
    complete: false,
    missing: [{ states: { length: 9 } }],
  });
  // The reader does not wait for lists that cannot arrive in time. Each answer says when they are available.
  expect(time.now() - startedAt).toBeLessThan(5_000);
  await time.advance(((first.missing[0]?.retryAfterSeconds ?? 0) - 40) * 1000);
  expect(await readCoverage(CALL_MS)).toMatchObject({ statesRead: 36, complete: true, missing: [] });
  expect(time.now() - startedAt).toBeLessThan(64_000);
  expect(fake.requests).toHaveLength(37);
  expect(fake.requests.every(({ status }) => status === 200)).toBe(true);
  expect(fake.inFlight.peak).toBe(4);
});

test("an answer is computed at most once per second, not for each list that arrives", async () => {
  const { time, geography, context } = setUp(600);
  let count = 0;
  const answer = (country: Country) => {
    count += 1;
    return answerForAllStates(country);
  };
  const query = { answer, waitMs: 20_000, onProgress: () => undefined };
  const startedAt = time.now();
  const { missing } = await time.runUntil(geography.gather(query, context()));
  expect(missing).toEqual([]);
  expect(count).toBeLessThanOrEqual(2 + (time.now() - startedAt) / 1000);
});

test("no request is sent during a 429's Retry-After, whichever call needs one", async () => {
  const { time, fake, geography, context, read, readCoverage } = setUp();
  fake.faults.set(largest, [httpFailure(429, 30)]);
  expect((await readCoverage(20_000)).missing[0]?.reason).toContain("429");
  const refusedAt = fake.requests.find(({ status }) => status === 429)?.at ?? 0;
  const before = fake.requests.length;
  const document = geography.openApi({ ...context(), deadlineAt: time.now() + 5000 });
  await expect(time.runUntil(document)).rejects.toMatchObject({ facts: { kind: "rate_limited" } });
  expect(fake.requests).toHaveLength(before);
  await read(CALL_MS);
  // Requests that were in flight with the refused one had been sent before.
  const later = fake.requests.slice(before).map(({ at }) => at);
  expect(Math.min(...later)).toBeGreaterThanOrEqual(refusedAt + 30_000);
});

test("after repeated 429s nothing is sent until the next call", async () => {
  const { time, fake, geography, context, readCoverage, expectNoFurtherRequest } = setUp();
  await time.runUntil(geography.states(context()));
  fake.throttle = () => 1;
  expect((await readCoverage(20_000)).statesRead).toBe(0);
  await expectNoFurtherRequest();
});

test("a call whose time is up returns the largest states read so far, and the rest is read in the background", async () => {
  const { time, fake, progress, read, readCoverage } = setUp();
  const first = await read(1_000);
  const { statesRead } = computeCoverage(first);
  expect(statesRead).toBeLessThan(36);
  expect(first.missing).toHaveLength(36 - statesRead);
  expect(fake.requests.slice(1).map(({ state }) => state)).toEqual(largestFirst.slice(0, fake.requests.length - 1));
  for (const { retryAfterSeconds } of first.missing) expect(retryAfterSeconds).toBeGreaterThan(0);
  expect(progress).toEqual([...progress].sort((a, b) => a - b));
  expect(progress.length).toBeGreaterThan(1);
  await time.advance(120_000);
  expect(fake.requests).toHaveLength(37);
  expect((await readCoverage(0)).complete).toBe(true);
  expect(fake.requests).toHaveLength(37);
});

test("a list that arrives while an answer is computed is not read yet, and the catalog did not change", async () => {
  const { time, geography, context } = setUp(600);
  const answer = async (country: Country) => {
    await time.sleep(500, new AbortController().signal);
    return answerForAllStates(country);
  };
  const asked = () => geography.gather({ answer, waitMs: 0, onProgress: () => undefined }, context());
  await time.runUntil(asked());
  const { missing } = await time.runUntil(asked());
  expect(missing).not.toEqual([]);
  const reasons = new Set(missing.map(({ reason }) => reason));
  expect([...reasons]).toEqual(["not read yet"]);
  expect(missing.every(({ retryAfterSeconds }) => retryAfterSeconds !== undefined)).toBe(true);
});

test("a 403 stops the reading", async () => {
  const { fake, read, readCoverage, expectNoFurtherRequest } = setUp(600);
  fake.faults.set(largest, [httpFailure(403)]);
  const gathered = await read(20_000);
  const { statesRead } = computeCoverage(gathered);
  expect(statesRead).toBeLessThanOrEqual(4);
  expect(gathered.missing.find(({ state }) => state === largest)?.reason).toBe("HTTP 403");
  expect(gathered.missing.filter(({ reason }) => reason.includes("HTTP 403"))).toHaveLength(36 - statesRead);
  await expectNoFurtherRequest();
  expect((await readCoverage(20_000)).complete).toBe(true);
});

test("a canceled call ends at once, and its requests, which other calls share, continue", async () => {
  const { time, fake, geography, context, readAll } = setUp(600);
  const controller = new AbortController();
  const calls = [readAll(20_000, controller.signal), geography.states(context(controller.signal))];
  const cancelled = calls.map((call) => expect(call).rejects.toThrow("cancelled by the client"));
  const stillWaiting = [readAll(20_000), geography.districts("BJ", context()), geography.states(context())];
  controller.abort(new Error("cancelled by the client"));
  await Promise.all(cancelled);
  await time.runUntil(Promise.all(stillWaiting));
  expect(fake.requests).toHaveLength(37);
});

test("canceling a call does not stop the read that it started", async () => {
  const { time, fake, readAll } = setUp();
  const controller = new AbortController();
  const reading = expect(readAll(20_000, controller.signal)).rejects.toThrow("cancelled by the client");
  await time.advance(1000);
  controller.abort(new Error("cancelled by the client"));
  await reading;
  await time.advance(120_000);
  expect(fake.requests).toHaveLength(37);
});

test("the states list is cached for ten minutes, and district lists for six hours", async () => {
  const { time, fake, read } = setUp(600);
  await read(20_000);
  await time.advance(STATES_FRESH_MS + 1);
  await read(20_000);
  expect(fake.requests.filter(({ state }) => state === "")).toHaveLength(2);
  expect(fake.requests).toHaveLength(38);
  await time.advance(DISTRICTS_FRESH_MS);
  await read(20_000);
  expect(fake.requests).toHaveLength(75);
});

test("when the vintage of the states list changes, older district lists are not used", async () => {
  const { time, fake, read } = setUp(600);
  const codes = testCountry.map(({ code }) => code);
  for (const vintage of ["A", "B"]) {
    fake.vintages = new Map(["", ...codes].map((code) => [code, vintage]));
    const { country } = await read(20_000);
    expect(summarizeVintage(country, codes)).toMatchObject({ sourceUpdatedAt: [vintage], mixed: false });
    await time.advance(STATES_FRESH_MS + 1);
  }
  expect(fake.requests).toHaveLength(74);
});

test("a closed reader sends no further requests", async () => {
  const { geography, read, expectNoFurtherRequest } = setUp();
  await read(0);
  geography.close();
  await expectNoFurtherRequest();
});

test("the states list is retried like any other, and its failure is the result", async () => {
  const { time, fake, geography, context } = setUp();
  fake.faults.set("", [httpFailure(502)]);
  expect((await time.runUntil(geography.states(context()))).value.states).toHaveLength(36);
  const forbidden = setUp();
  forbidden.fake.faults.set("", [httpFailure(403)]);
  await expect(forbidden.read(20_000)).rejects.toMatchObject({ facts: { status: 403 } });
});

async function catalogLines(states: readonly FakeState[], failing: readonly string[] = []): Promise<readonly string[]> {
  const time = createVirtualTime();
  const fake = createFakePlayground(states, time);
  for (const code of failing) fake.faults.set(code, [httpFailure(502), httpFailure(502)]);
  fake.vintages.set("", "2026-05-25");
  const geography = createGeography({ service: fake.service, perMinute: 600, timing: time });
  const context = { signal: new AbortController().signal, deadlineAt: time.now() + 45_000 };
  const { text, complete } = await time.runUntil(renderCatalogTsv(geography, context));
  expect(complete).toBe(failing.length === 0);
  expect(text.endsWith("\n")).toBe(true);
  return text.trimEnd().split("\n");
}

test("the catalog text starts with the missing states and the differing counts", async () => {
  const [first, ...others] = testCountry;
  if (first === undefined) throw new Error("no states");
  const odd = { ...first, name: "Odd\tname", statedCounts: { districtCount: 9, mandalCount: 1 } };
  const notes = (await catalogLines([odd, ...others], ["AC"])).filter((line) => line.startsWith("#"));
  expect(notes).toEqual([
    expect.stringMatching(/35 of 36 lists loaded.*1 missing: AC \(HTTP 502\)/),
    expect.stringMatching(/says 9 districts, its districts list has 2/),
  ]);
});

test("a catalog far larger than India's is cut between two states, and states how to read the rest", async () => {
  const hugeCountry = testCountry.map((state) => {
    const districts = Array.from({ length: 256 }, (_, place) => ({ code: `${place}`, name: "D", mandalCount: 1 }));
    return { ...state, districts };
  });
  const lines = await catalogLines(hugeCountry);
  expect(lines.filter((line) => /^\d+\t/.test(line))).toHaveLength(7 * 256);
  expect(lines.find((line) => line.includes("left out"))).toMatch(
    /^# 7,424 districts of AH AI .* left out: mic:\/\/geography\/states\/\{code\}\/districts has one state's\.$/,
  );
});
