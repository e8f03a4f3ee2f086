// Tests several servers behind one address, which share lists and cooldowns, and answer also without a usable database.

import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { createUserSharedGeography } from "../../src/cli/shared-geography.ts";
import type { Emulator } from "../../src/emulator/index.ts";
import { DISTRICTS_FRESH_MS, STATES_FRESH_MS } from "../../src/geography/catalog.ts";
import { summarizeVintage } from "../../src/geography/country.ts";
import { createGeography } from "../../src/geography/geography.ts";
import { CONCURRENCY } from "../../src/geography/limiter.ts";
import { createGeographyStore, LEASE_MS, type SharedStoreOptions } from "../../src/geography/store.ts";
import type { Database } from "../../src/store/database.ts";
import { Service } from "../emulator/service.ts";
import { createManualClock, emulatorForTest } from "../support/emulator.ts";
import { emulatorEnv } from "../support/mcp.ts";
import { type Server, startServer } from "../support/server.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { isThorough, runCount } from "../support/thorough.ts";
import { createVirtualTime } from "../support/virtual-time.ts";
import { describeWithPostgres } from "../teams/services.ts";
import {
  CALL_MS,
  createFakePlayground,
  createSlidingLimit,
  httpFailure,
  readCountry,
  testCountry,
} from "./fake-service.ts";

const BASE_URL = "https://service.example";
const FILE = "geography.sqlite";
const codes = testCountry.map(({ code }) => code);

interface ProcessOptions {
  readonly url?: string;
  readonly perMinute?: number;
}

/** Processes that share a folder, a clock and a fake API, whose rate limit a test can set. */
async function setUp(folder?: string) {
  const stateDir = folder ?? (await folderForTest());
  const time = createVirtualTime();
  const fake = createFakePlayground(testCountry, time);
  const createShared = (url = BASE_URL) =>
    createUserSharedGeography({ journalUrl: undefined, stateDir }, async () => url);
  // Creates the tables first, because processes that create them concurrently wait for each other in real time.
  const first = createGeographyStore(createShared(), time.now);
  await first.acquire();
  await first.close();

  /** Opens the connection before the test advances the clock, because opening a file takes real time. */
  async function connect(url = BASE_URL): Promise<SharedStoreOptions> {
    const shared = createShared(url);
    const opened = shared.open();
    await opened.catch(() => undefined);
    return { open: () => opened, baseUrl: shared.baseUrl };
  }

  async function start({ url, perMinute = 28 }: ProcessOptions = {}) {
    const shared = await connect(url);
    const geography = createGeography({ service: fake.service, perMinute, timing: time, shared });
    onTestFinished(() => geography.close());
    return geography;
  }

  async function readAll(options: ProcessOptions = {}) {
    const geography = await start({ perMinute: 600, ...options });
    const before = fake.requests.length;
    const { country } = await time.runUntil(readCountry(geography, { now: time.now, waitMs: 40_000 }));
    await geography.close();
    expect(country.lists.size).toBe(36);
    return { requests: fake.requests.length - before, vintage: summarizeVintage(country, codes), country };
  }

  const queryRows = async (sql: string) => await (await (await connect()).open()).query(sql);
  const context = (ms = CALL_MS) => ({ signal: new AbortController().signal, deadlineAt: time.now() + ms });
  return { stateDir, time, fake, connect, start, readAll, queryRows, context };
}

test("a later process reads nothing while the lists are fresh, and reports when the API was read", async () => {
  const { time, readAll } = await setUp();
  const first = await readAll();
  expect(first.requests).toBe(37);
  await time.advance(STATES_FRESH_MS - 60_000);
  const second = await readAll();
  expect(second).toMatchObject({ requests: 0, vintage: first.vintage });
  expect(second.country.lists.get("AA")?.value).toEqual(first.country.lists.get("AA")?.value);
  await time.advance(60_000);
  // The states list has expired; the district lists have not.
  expect((await readAll()).requests).toBe(1);
  await time.advance(DISTRICTS_FRESH_MS);
  expect((await readAll()).requests).toBe(37);
});

test("a later process does not use lists of an older vintage than the states list", async () => {
  const { time, fake, readAll } = await setUp();
  const vintagesOf = (vintage: string) => new Map(["", ...codes].map((code) => [code, vintage] as const));
  fake.vintages = vintagesOf("A");
  await readAll();
  fake.vintages = vintagesOf("B");
  await time.advance(STATES_FRESH_MS);
  expect(await readAll()).toMatchObject({ requests: 37, vintage: { sourceUpdatedAt: ["B"], mixed: false } });
  expect(await readAll()).toMatchObject({ requests: 0, vintage: { sourceUpdatedAt: ["B"], mixed: false } });
});

test("a later process reads lists again if their time is in the future, and removes rows that are a day old", async () => {
  const { time, readAll, queryRows } = await setUp();
  await readAll({ url: "https://gone.example" });
  time.setBack(3_600_000);
  expect((await readAll({ url: "https://gone.example" })).requests).toBe(37);
  await time.advance(25 * 3_600_000);
  expect((await readAll()).requests, "the lists of another API are not used").toBe(37);
  expect(await queryRows("SELECT service FROM geography_lists")).toEqual([{ service: BASE_URL }]);
});

const damagedTexts: Readonly<Record<string, string>> = {
  "beyond the contract": `replace(text, '"mandalCount":', '"mandalCount":-1')`,
  "with an unknown field": `'{"more":true,' || substr(text, 2)`,
  "too large": "text || printf('%4194304s', '')",
};
test("a later process ignores and replaces an invalid row", async () => {
  const { readAll, queryRows } = await setUp();
  await readAll();
  for (const [what, sql] of Object.entries(damagedTexts)) {
    await queryRows(`UPDATE geography_lists SET text = ${sql}`);
    expect((await readAll()).requests, what).toBe(37);
    expect((await readAll()).requests, what).toBe(0);
  }
});

const damageFile: Readonly<Record<string, (path: string) => Promise<void>>> = {
  garbage: (path) => writeFile(path, "x".repeat(20_000)),
  "damaged in the middle": async (path) => {
    const bytes = await readFile(path);
    await writeFile(path, bytes.fill(0x55, 4096, 3 * 4096));
  },
  missing: (path) => rm(path),
  // SQLite needs 5 s to report an empty file.
  ...(isThorough && { empty: (path: string) => writeFile(path, "") }),
};
test.each(Object.entries(damageFile))("a later process replaces a geography file that is %s", async (_what, damage) => {
  const { stateDir, readAll } = await setUp();
  await readAll();
  await damage(join(stateDir, FILE));
  expect((await readAll()).requests).toBe(37);
  expect((await readAll()).requests).toBe(0);
});

test("a later process answers without a usable file, and shares lists again once a usable file exists", async () => {
  const { stateDir, readAll } = await setUp();
  await rm(join(stateDir, FILE));
  await mkdir(join(stateDir, FILE));
  expect((await readAll()).requests).toBe(37);
  expect((await readAll()).requests).toBe(37);
  await rm(join(stateDir, FILE), { recursive: true });
  expect((await readAll()).requests).toBe(37);
  expect((await readAll()).requests).toBe(0);
});

test.skipIf(process.platform === "win32")("the shared file is accessible only to its user", async () => {
  const { stateDir, readAll } = await setUp(join(await folderForTest(), "made", "when missing"));
  await readAll();
  expect((await stat(stateDir)).mode & 0o777).toBe(0o700);
  expect((await stat(join(stateDir, FILE))).mode & 0o777).toBe(0o600);
});

test("concurrent processes read the country once in total, without a 429, and leave two requests for direct calls", async () => {
  const { time, fake, start, context } = await setUp();
  fake.throttle = createSlidingLimit(30);
  const processes = await Promise.all(Array.from({ length: 5 }, () => start()));
  const read = () => time.runUntil(Promise.all(processes.map((each) => readCountry(each, { now: time.now }))));
  const startedAt = time.now();
  for (const { country, missing } of await read()) {
    expect(country.lists.size).toBe(27);
    expect(missing[0]).toMatchObject({ reason: "rate limit" });
  }
  expect(time.now() - startedAt).toBeLessThan(5_000);
  expect(fake.requests).toHaveLength(28);
  const readDirectly = async (index: number) =>
    processes[index]?.districts(testCountry[index]?.code ?? "", context(5_000));
  await time.runUntil(readDirectly(0));
  await time.runUntil(readDirectly(1));
  await expect(readDirectly(2)).rejects.toMatchObject({ facts: { kind: "rate_limited" } });
  expect(fake.requests).toHaveLength(30);
  await time.advance(61_000);
  for (const { country } of await read()) expect(country.lists.size).toBe(36);
  expect(fake.requests).toHaveLength(37);
  expect(fake.requests.every(({ status }) => status === 200)).toBe(true);
});

test("reading the country writes the shared row after each response, and reads it only a few times", async () => {
  const { time, fake, connect } = await setUp();
  const shared = await connect();
  const statements: string[] = [];
  const open = async () => {
    const database = await shared.open();
    const query: Database["query"] = (sql, values) => {
      statements.push(sql);
      return database.query(sql, values);
    };
    return { ...database, query };
  };
  const geography = createGeography({
    service: fake.service,
    perMinute: 600,
    timing: time,
    shared: { ...shared, open },
  });
  onTestFinished(() => geography.close());
  await time.runUntil(readCountry(geography, { now: time.now }));
  expect(statements.filter((sql) => sql.includes("text = excluded.text")).length).toBeLessThanOrEqual(37);
  expect(statements.length).toBeLessThanOrEqual(37 + 20);
});

test("a process takes over from a dead one", async () => {
  const { time, start, connect } = await setUp();
  const dead = createGeographyStore(await connect(), time.now);
  onTestFinished(() => dead.close());
  expect(await dead.acquire()).toBe(true);
  const startedAt = time.now();
  const { country } = await time.runUntil(readCountry(await start(), { now: time.now }));
  expect(country.lists.size).toBe(27);
  expect(time.now() - startedAt).toBeGreaterThanOrEqual(LEASE_MS);
  expect(time.now() - startedAt).toBeLessThan(LEASE_MS + 5_000);
});

test("a process obeys a Retry-After that another one received", async () => {
  const { time, fake, start, context } = await setUp();
  const [one, two] = await Promise.all([start(), start()]);
  fake.faults.set("AA", [httpFailure(429, 30)]);
  await expect(time.runUntil(one.districts("AA", context(5_000)))).rejects.toMatchObject({
    facts: { kind: "rate_limited" },
  });
  const refusedAt = fake.requests.at(-1)?.at ?? 0;
  await time.runUntil(two.districts("AB", context()));
  expect((fake.requests.at(-1)?.at ?? 0) - refusedAt).toBeGreaterThanOrEqual(30_000);
});

test("a store that is closed while it opens the database closes the new connection", async () => {
  const { time, connect } = await setUp();
  const { open, baseUrl } = await connect();
  let connections = 0;
  const openCounted = async () => {
    connections += 1;
    const database = await open();
    const close = async () => {
      connections -= 1;
      await database.close();
    };
    return { ...database, close };
  };
  const store = createGeographyStore({ open: openCounted, baseUrl }, time.now);
  const acquired = store.acquire();
  await store.close();
  expect(await acquired).toBe(true);
  expect(await store.acquire()).toBe(true);
  expect(connections).toBe(0);
});

test("a lease is not taken over by a process whose time is some seconds behind", async () => {
  const { time, connect } = await setUp();
  const [holder, other] = [
    createGeographyStore(await connect(), time.now),
    createGeographyStore(await connect(), () => time.now() - 4_000),
  ];
  onTestFinished(() => Promise.all([holder.close(), other.close()]).then(() => undefined));
  expect([await holder.acquire(), await other.acquire()]).toEqual([true, false]);
});

test.skipIf(process.platform === "win32")("a process continues with the file that has replaced its own", async () => {
  const { stateDir, time } = await setUp();
  const shared = createUserSharedGeography({ journalUrl: undefined, stateDir }, async () => BASE_URL);
  const [one, other] = [createGeographyStore(shared, time.now), createGeographyStore(shared, time.now)];
  onTestFinished(() => Promise.all([one.close(), other.close()]).then(() => undefined));
  expect(await one.acquire()).toBe(true);
  for (const suffix of ["", "-wal", "-shm"]) await rm(join(stateDir, FILE + suffix), { force: true });
  expect(await other.acquire()).toBe(true);
  expect(await one.acquire(), "the other process has the lease").toBe(false);
});

test("a process never overwrites lists while it reads them", async () => {
  const { time, connect } = await setUp();
  const [one, other] = [
    createGeographyStore(await connect(), time.now),
    createGeographyStore(await connect(), time.now),
  ];
  onTestFinished(() => Promise.all([one.close(), other.close()]).then(() => undefined));
  for (let ticks = 0; ticks < 20; ticks += 1) {
    const theirs = `their lists ${ticks}`;
    await other.read(() => undefined);
    expect(await other.write(() => theirs)).toBe(true);
    let known = "";
    const reading = one.read((text) => {
      known = text;
    });
    for (let tick = 0; tick < ticks; tick += 1) await undefined;
    let written = "";
    const isWritten = await one.write(() => {
      written = known;
      return known;
    });
    if (isWritten) expect(written).toBe(theirs);
    await reading;
  }
});

test("a process ignores leases and cooldowns after the clock was set back", async () => {
  const { time, fake, start, context, connect } = await setUp();
  const one = await start();
  fake.faults.set("AA", [httpFailure(429, 30)]);
  await time.runUntil(one.districts("AA", context(5_000)).catch(() => undefined));
  const other = createGeographyStore(await connect(), time.now);
  onTestFinished(() => other.close());
  expect(await other.acquire()).toBe(true);
  time.setBack(3_600_000);
  const { country } = await time.runUntil(readCountry(await start(), { now: time.now }));
  expect(country.lists.size).toBe(27);
});

const RequestLog = z.array(z.looseObject({ path: z.string(), status: z.number().nullable() }));
const Coverage = z.looseObject({ statesRead: z.int(), complete: z.boolean() });
/** A complete answer has no coverage. */
const RankingAnswer = z.looseObject({ coverage: Coverage.default({ statesRead: 36, complete: true }) });
type Coverage = z.infer<typeof Coverage>;

const question = { level: "district", by: "mandalCount", order: "asc", limit: 1 };
const rank = async (server: Server, waitSeconds: number) =>
  RankingAnswer.parse((await server.call("rank_divisions", { ...question, waitSeconds })).structured).coverage;

async function apiRequests({ baseUrl }: Emulator) {
  const response = await fetch(`${baseUrl}/__emulator/requests`);
  return RequestLog.parse(await response.json()).filter(({ path }) => path.startsWith("/api/"));
}

/** Kills a server that reads the country, as soon as the emulator has received some of its requests. */
async function killAfter(requests: number, server: Server, emulator: Emulator): Promise<void> {
  server.send("rank_divisions", question, 1);
  while ((await apiRequests(emulator)).length < requests) await sleep(5);
  await server.kill();
}

const countRepeated = (requests: z.infer<typeof RequestLog>): number =>
  requests.length - new Set(requests.map(({ path }) => path)).size;

/**
 * Ranks on cold servers until each has 10 states. The thorough run kills another server first, and waits for all states.
 */
async function rankOnColdServers(count: number, shared: Readonly<Record<string, string>>): Promise<void> {
  const emulator = await emulatorForTest({ requestsPerPeer: 30 });
  const start = async () =>
    startServer({ env: { ...emulatorEnv(emulator), MIC_STATE_DIR: await folderForTest(), ...shared } });
  const servers = await Promise.all(Array.from({ length: count }, start));
  if (isThorough) await killAfter(10, await start(), emulator);
  const startedAt = performance.now();
  const hasEnough = ({ complete, statesRead }: Coverage) => (isThorough ? complete : statesRead >= 10);
  const rankInTime = (server: Server) => rank(server, isThorough ? 25 : 5);
  while (!(await Promise.all(servers.map(rankInTime))).every(hasEnough)) {
    expect(performance.now() - startedAt).toBeLessThan(150_000);
    await sleep(5_000);
  }
  const requests = await apiRequests(emulator);
  // The requests that the killed server had in flight are not recorded in the database.
  const unknownRequests = isThorough ? CONCURRENCY : 0;
  expect(requests.filter(({ status }) => status !== 200).length).toBeLessThanOrEqual(unknownRequests);
  // A server that a busy machine stalls for 5 s loses its lease, and another one reads the same lists again.
  expect(countRepeated(requests)).toBeLessThanOrEqual(CONCURRENCY + unknownRequests);
  // A server that starts later has the same data.
  expect(hasEnough(await rankInTime(await start()))).toBe(true);
  if (isThorough) expect(await apiRequests(emulator)).toHaveLength(requests.length);
}

test("a server continues with the lists that a killed server has not read", async () => {
  const emulator = await emulatorForTest();
  const service = new Service(emulator, createManualClock());
  await service.injectFault({ kind: "delay", delayMs: 50 }, { operationId: "listPlaygroundDistricts", times: 36 });
  const env = { ...emulatorEnv(emulator), MIC_STATE_DIR: await folderForTest(), MIC_GEOGRAPHY_RATE_LIMIT: "600" };
  const [killed, other] = await Promise.all([startServer({ env }), startServer({ env })]);
  await killAfter(11, killed, emulator);
  expect((await apiRequests(emulator)).length).toBeLessThan(36);
  expect(await rank(other, 25)).toMatchObject({ complete: true });
  expect(countRepeated(await apiRequests(emulator))).toBeLessThanOrEqual(CONCURRENCY);
});

test("cold servers with one state folder read the country once in total", async () => {
  await rankOnColdServers(5, { MIC_STATE_DIR: await folderForTest() });
}, 200_000);

describeWithPostgres("PostgreSQL", (postgres) => {
  test("cold servers on several machines with one database read the country once in total", async () => {
    await rankOnColdServers(runCount(2, 5), { MIC_JOURNAL_URL: await postgres().createDatabase() });
  }, 200_000);
});
