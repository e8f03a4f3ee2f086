// Several servers behind one address: together they keep to the service's limit, and what one of them reads is there for all.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { openSqlite } from "../../src/actions/store/sqlite.ts";
import { sharedGeography } from "../../src/cli/shared-geography.ts";
import { needsForAll } from "../../src/geography/districts.ts";
import { createGeography, type Geography } from "../../src/geography/geography.ts";
import { Neighbours } from "../../src/geography/neighbours.ts";
import { ATTEMPT_LIMIT_MS, systemTiming } from "../../src/service/attempts.ts";
import { emulatorForTest } from "../support/emulator.ts";
import { emulatorEnv } from "../support/mcp.ts";
import { type PostgresServer, postgresMissing, startPostgres } from "../support/postgres.ts";
import { startServer } from "../support/server.ts";
import { isThorough } from "../support/thorough.ts";
import { type FakePlayground, fakePlayground, type Limit, refusal, wholeCountry } from "./fake-service.ts";

const BASE_URL = "https://service.example";
const baseUrl = async () => BASE_URL;
/** A minute, for those who cannot wait for one. */
const WINDOW_MS = 2_000;
const PER_WINDOW = 30;

async function newStateDir(): Promise<string> {
  const stateDir = await mkdtemp(join(tmpdir(), "mic-mcp-processes-"));
  onTestFinished(() => rm(stateDir, { recursive: true, force: true }));
  return stateDir;
}

/** So many in any window, and so many seconds to wait. */
function sliding(max: number, retryAfterSeconds: number): Limit {
  let log: number[] = [];
  return (now) => {
    log = log.filter((at) => at > now - WINDOW_MS);
    if (log.length >= max) return retryAfterSeconds;
    log.push(now);
    return undefined;
  };
}

interface Sharing {
  readonly journalUrl?: string;
  readonly windowMs?: number;
}

/** A process as another one sees it: what it holds in memory, and what it shares. */
function processOn(
  stateDir: string,
  fake: FakePlayground,
  { journalUrl, windowMs = WINDOW_MS }: Sharing = {},
): Geography {
  const geography = createGeography({
    service: fake.service,
    perMinute: 28,
    windowMs,
    timing: systemTiming,
    ...sharedGeography({ journalUrl, stateDir }, baseUrl, Date.now),
  });
  onTestFinished(() => geography.close());
  return geography;
}

const contextFor = (ms: number) => ({ signal: new AbortController().signal, deadlineAt: Date.now() + ms });

const readAll = (geography: Geography, waitMs = 30_000) =>
  geography.gather(
    {
      about: ({ states }) => states.value.states,
      needs: (country) => needsForAll(country.states.value.states, country),
      notNeeded: "",
      waitMs,
      onProgress: () => undefined,
    },
    contextFor(45_000),
  );

const refused = (fake: FakePlayground) => fake.requests.filter(({ status }) => status === 429);

/** The most that left within any window. */
const mostAtOnce = ({ requests }: FakePlayground): number =>
  Math.max(...requests.map(({ at }) => requests.filter((each) => each.at >= at && each.at < at + WINDOW_MS).length));

function playground(): FakePlayground {
  const fake = fakePlayground(wholeCountry, systemTiming);
  fake.limit = sliding(PER_WINDOW, 2);
  return fake;
}

describe("three processes on one state folder", () => {
  test("read the country once between them, without a refusal", async () => {
    const stateDir = await newStateDir();
    const fake = playground();
    const processes = Array.from({ length: 3 }, () => processOn(stateDir, fake));
    for (const { country } of await Promise.all(processes.map((each) => readAll(each))))
      expect(country.lists.size).toBe(36);
    expect(refused(fake)).toEqual([]);
    const lists = fake.requests.map(({ state }) => state);
    expect(lists).toHaveLength(37);
    expect(new Set(lists).size).toBe(37);
    // Read ahead without those that are kept for direct calls.
    expect(mostAtOnce(fake)).toBeLessThanOrEqual(28);
  });

  test("keep two requests for direct calls while the country is read", async () => {
    const stateDir = await newStateDir();
    const fake = fakePlayground(wholeCountry, systemTiming);
    const [one, two] = [0, 1].map(() => processOn(stateDir, fake, { windowMs: 60_000 }));
    if (one === undefined || two === undefined) throw new Error("two of them");
    await Promise.all([readAll(one, 0), readAll(two, 0)]);
    while (fake.requests.length < 28) await sleep(10);
    await Promise.all([one.openApi(contextFor(20_000)), two.openApi(contextFor(20_000))]);
    expect(fake.requests).toHaveLength(PER_WINDOW);
    await expect(two.openApi(contextFor(20_000))).rejects.toMatchObject({ facts: { kind: "rate_limited" } });
    expect(fake.requests).toHaveLength(PER_WINDOW);
  });

  test("obey a Retry-After that one of them was given", async () => {
    const stateDir = await newStateDir();
    const fake = playground();
    const [one, two] = [processOn(stateDir, fake), processOn(stateDir, fake)];
    fake.faults.set("AA", [refusal(429, 2)]);
    await expect(one.districts("AA", contextFor(1_500))).rejects.toMatchObject({ facts: { kind: "rate_limited" } });
    const [{ at = 0 } = {}] = refused(fake);
    await two.districts("AB", contextFor(20_000));
    expect(fake.requests.at(-1)).toMatchObject({ state: "AB", status: 200 });
    expect((fake.requests.at(-1)?.at ?? 0) - at).toBeGreaterThanOrEqual(2_000);
  });

  test("take up what a dead one was to read", async () => {
    const stateDir = await newStateDir();
    const fake = playground();
    let now = Date.now();
    const open = async () => ({
      ...(await openSqlite(stateDir, undefined, "geography.sqlite")),
      clock: undefined,
      isInPlace: () => true,
    });
    const limits = { ahead: 2, direct: 2 };
    const [dead, living] = [0, 1].map(
      () => new Neighbours({ open, baseUrl, limits, windowMs: WINDOW_MS, now: () => now }),
    );
    if (dead === undefined || living === undefined) throw new Error("two of them");
    onTestFinished(() => living.close());
    const takes = async (neighbours: Neighbours) => (await neighbours.take(true)).id ?? "";
    expect(await dead.takeTurn(await takes(dead), "AA")).toBe(true);
    await dead.close();
    const id = await takes(living);
    expect(id).not.toBe("");
    expect(await living.takeTurn(id, "AA")).toBe(false);
    expect(await takes(living)).toBe("");
    // A request that its process took with it ends when its time is over, and counts for a window from then on.
    now += ATTEMPT_LIMIT_MS;
    expect(await living.takeTurn(id, "AA")).toBe(true);
    expect(await takes(living)).toBe("");
    now += WINDOW_MS;
    expect(await takes(living)).not.toBe("");
    expect(fake.requests).toEqual([]);
  });

  test("share one minute for each address that they leave by", async () => {
    const stateDir = await newStateDir();
    const open = async () => ({
      ...(await openSqlite(stateDir, undefined, "geography.sqlite")),
      clock: undefined,
      isInPlace: () => true,
    });
    const limits = { ahead: 1, direct: 1 };
    const takes = async (budget: string): Promise<boolean> => {
      const neighbours = new Neighbours({ open, baseUrl, budget, limits, windowMs: WINDOW_MS, now: () => 0 });
      const { id } = await neighbours.take(false);
      await neighbours.close();
      return id !== undefined;
    };
    expect([await takes("east"), await takes("east"), await takes("west")]).toEqual([true, false, true]);
  });
});

describe.skipIf(postgresMissing !== undefined)(
  `two machines with one journal${postgresMissing === undefined ? "" : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    }, 60_000);
    afterAll(() => server.stop());

    test("read the country once between them, without a refusal", async () => {
      const url = await server.database();
      const fake = playground();
      const sharing = { journalUrl: url };
      const machines = [processOn(await newStateDir(), fake, sharing), processOn(await newStateDir(), fake, sharing)];
      for (const { country } of await Promise.all(machines.map((each) => readAll(each))))
        expect(country.lists.size).toBe(36);
      expect(refused(fake)).toEqual([]);
      expect(fake.requests).toHaveLength(37);
      expect(mostAtOnce(fake)).toBeLessThanOrEqual(28);
    });

    test("answer as before when the database has gone", async () => {
      const url = (await server.database()).replace(/[^/]+$/, "none");
      const fake = playground();
      const { country } = await readAll(processOn(await newStateDir(), fake, { journalUrl: url }));
      expect(country.lists.size).toBe(36);
      expect(fake.requests).toHaveLength(37);
      expect(refused(fake)).toEqual([]);
    });
  },
);

test("without a folder that it may write to, a process keeps to its own limit", async () => {
  const stateDir = join(await newStateDir(), "file");
  await writeFile(stateDir, "a file in the folder's place");
  const fake = playground();
  const { country } = await readAll(processOn(stateDir, fake));
  expect(country.lists.size).toBe(36);
  expect(fake.requests).toHaveLength(37);
  expect(refused(fake)).toEqual([]);
});

const Logged = z.array(z.looseObject({ path: z.string(), status: z.number() }));
const Answered = z.looseObject({ coverage: z.looseObject({ statesRead: z.int(), complete: z.boolean() }) });

describe("three cold servers and the emulator's 30 a minute", () => {
  // What the first minute allows is there after a moment; the thorough run stays for the second one.
  const waitSeconds = isThorough ? 45 : 5;
  const question = { level: "district", by: "mandalCount", order: "asc", limit: 1, waitSeconds };
  const isEnough = ({ coverage }: z.infer<typeof Answered>) =>
    isThorough ? coverage.complete : coverage.statesRead >= 10;

  test(isThorough ? "know the country within 75 s" : "share the first minute", async () => {
    const emulator = await emulatorForTest({ requestsPerPeer: PER_WINDOW });
    const stateDir = await newStateDir();
    const env = { ...emulatorEnv(emulator), MIC_STATE_DIR: stateDir };
    const servers = await Promise.all(Array.from({ length: 3 }, () => startServer({ env })));
    const startedAt = performance.now();
    const ask = async () =>
      await Promise.all(
        servers.map(async (each) => Answered.parse((await each.call("rank_divisions", question)).structured)),
      );
    let answers = await ask();
    while (!answers.every(isEnough)) {
      expect(performance.now() - startedAt).toBeLessThan(75_000);
      await sleep(5_000);
      answers = await ask();
    }
    const response = await fetch(`${emulator.baseUrl}/__emulator/requests`);
    const asked = Logged.parse(await response.json()).filter(({ path }) => path.startsWith("/api/"));
    expect(asked.filter(({ status }) => status !== 200)).toEqual([]);
    expect(new Set(asked.map(({ path }) => path)).size).toBe(asked.length);
    // Of the first minute's thirty, two are kept for direct calls.
    if (isThorough) expect(asked).toHaveLength(37);
    else expect(asked.length).toBeLessThanOrEqual(28);
  }, 120_000);
});
