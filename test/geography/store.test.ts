// Lists on disk: the next process answers from them for their time, and whatever is wrong with a file costs its warmth alone.
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { listPlaygroundDistricts, listPlaygroundStates } from "../../src/contract/endpoints/playground.ts";
import { DISTRICTS_FRESH_MS, STATES_FRESH_MS } from "../../src/geography/cache.ts";
import { needsForAll } from "../../src/geography/districts.ts";
import { createGeography } from "../../src/geography/geography.ts";
import { listFiles } from "../../src/geography/list-files.ts";
import { createGeographyStore } from "../../src/geography/store.ts";
import { vintageOf } from "../../src/geography/vintage.ts";
import type { Bench } from "../tools/bench.ts";
import { forEachEra } from "../tools/eras.ts";
import { freshBench } from "../tools/fresh.ts";
import { fakePlayground, wholeCountry } from "./fake-service.ts";

const BASE_URL = "https://service.example";
const codes = wholeCountry.map(({ code }) => code);

async function newStateDir(): Promise<string> {
  const stateDir = await mkdtemp(join(tmpdir(), "mic-mcp-lists-"));
  onTestFinished(() => rm(stateDir, { recursive: true, force: true }));
  return stateDir;
}

/** A clock that moves when told to; whoever sleeps on it is woken at once, since the disk knows no other time than ours. */
function handTime() {
  let nowMs = Date.parse("2026-11-20T20:00:00.000Z");
  return {
    now: () => nowMs,
    random: () => 0.5,
    async sleep(_ms: number, signal: AbortSignal): Promise<void> {
      await setImmediate();
      signal.throwIfAborted();
    },
    pass(ms: number): void {
      nowMs += ms;
    },
  };
}

/** Processes that share a folder and a clock, and a service that counts. */
function setUp(stateDir: string, baseUrl = BASE_URL) {
  const time = handTime();
  const fake = fakePlayground(wholeCountry, time);
  /** What a new process reads, and what that costs. */
  async function process(url = baseUrl) {
    const store = createGeographyStore({
      place: listFiles({ stateDir, now: time.now }),
      baseUrl: async () => url,
      now: time.now,
    });
    const geography = createGeography({ service: fake.service, perMinute: 600, timing: time, store });
    const before = fake.requests.length;
    const { country } = await geography.gather(
      {
        about: ({ states }) => states.value.states,
        needs: (known) => needsForAll(known.states.value.states, known),
        notNeeded: "",
        waitMs: 40_000,
        onProgress: () => undefined,
      },
      { signal: new AbortController().signal, deadlineAt: time.now() + 45_000 },
    );
    await geography.close();
    expect(country.lists.size).toBe(36);
    return { requests: fake.requests.length - before, vintage: vintageOf(country, codes), country };
  }
  return { time, fake, process };
}

const folderOf = (stateDir: string): string => join(stateDir, "geography");

async function filesIn(stateDir: string): Promise<readonly string[]> {
  return (await readdir(folderOf(stateDir))).map((name) => join(folderOf(stateDir), name)).sort();
}

test("the next process reads nothing while the lists are fresh, and says when the service was read", async () => {
  const stateDir = await newStateDir();
  const { time, process } = setUp(stateDir);
  const first = await process();
  expect(first.requests).toBe(37);
  time.pass(STATES_FRESH_MS - 60_000);
  const second = await process();
  expect(second.requests).toBe(0);
  expect(second.vintage).toEqual(first.vintage);
  expect(second.country.lists.get("AA")?.value).toEqual(first.country.lists.get("AA")?.value);
  time.pass(60_000);
  // The states list is old; the districts are not.
  expect((await process()).requests).toBe(1);
  time.pass(DISTRICTS_FRESH_MS);
  expect((await process()).requests).toBe(37);
});

test("lists of another service are not there", async () => {
  const stateDir = await newStateDir();
  const { process } = setUp(stateDir);
  await process();
  expect((await process("https://other.example")).requests).toBe(37);
  expect((await process()).requests).toBe(0);
  expect((await process("https://other.example")).requests).toBe(0);
});

test("when the states list states another vintage, what was read beside the old one is not there", async () => {
  const stateDir = await newStateDir();
  const { time, fake, process } = setUp(stateDir);
  const all = (vintage: string) => new Map(["", ...codes].map((code) => [code, vintage] as const));
  fake.vintages = all("A");
  await process();
  fake.vintages = all("B");
  time.pass(STATES_FRESH_MS);
  expect(await process()).toMatchObject({ requests: 37, vintage: { sourceUpdatedAt: ["B"], mixed: false } });
  expect(await process()).toMatchObject({ requests: 0, vintage: { sourceUpdatedAt: ["B"], mixed: false } });
});

describe("a file that is", () => {
  const wrong: Readonly<Record<string, (text: string) => string>> = {
    "cut short": (text) => text.slice(0, text.length / 2),
    empty: () => "",
    "no JSON": () => "\u0000\u0001",
    "another JSON": () => '{"states":[]}',
    "of another format": (text) => text.replace('"format":1', '"format":2'),
    "of another service": (text) => text.replace(BASE_URL, "https://other.example"),
    "of another list": (text) => text.replace(/"list":"\w+"/, '"list":"QQ"'),
    "beyond the contract": (text) => text.replace(/"mandalCount":\d+/, '"mandalCount":-1'),
    "with a field that nobody knows": (text) => text.replace('"format":1', '"format":1,"more":true'),
    "of the future": (text) => text.replace(/"readAt":\d+/, `"readAt":${Date.parse("2099-01-01T00:00:00Z")}`),
    "too large": (text) => text + " ".repeat(1024 * 1024),
  };
  test.each(Object.entries(wrong))("%s is not there, and is replaced", async (_what, spoil) => {
    const stateDir = await newStateDir();
    const { process } = setUp(stateDir);
    await process();
    for (const file of await filesIn(stateDir)) {
      const text = await readFile(file, "utf8");
      expect(spoil(text)).not.toBe(text);
      await writeFile(file, spoil(text));
    }
    expect((await process()).requests).toBe(37);
    expect((await process()).requests).toBe(0);
  });

  test("no file is passed by", async () => {
    const stateDir = await newStateDir();
    const { process } = setUp(stateDir);
    await process();
    const [first = "", ...others] = await filesIn(stateDir);
    await rm(first);
    await mkdir(first);
    expect((await process()).requests).toBe(1);
    expect(others).toHaveLength(36);
  });
});

test("a folder that cannot be written to costs no answer", async () => {
  const stateDir = await newStateDir();
  await writeFile(folderOf(stateDir), "a file in the folder's place");
  const { process } = setUp(stateDir);
  expect((await process()).requests).toBe(37);
  expect((await process()).requests).toBe(37);
  await rm(folderOf(stateDir));
  expect((await process()).requests).toBe(37);
  expect((await process()).requests).toBe(0);
});

test("a folder that is gone meanwhile is made anew", async () => {
  const stateDir = await newStateDir();
  const { time, process } = setUp(stateDir);
  await process();
  await rm(stateDir, { recursive: true });
  time.pass(DISTRICTS_FRESH_MS);
  await process();
  expect((await process()).requests).toBe(0);
});

test.skipIf(process.platform === "win32")("files are the user's own, and hold lists and nothing else", async () => {
  const stateDir = join(await newStateDir(), "made", "when missing");
  const { process } = setUp(stateDir);
  await process();
  for (const folder of [stateDir, folderOf(stateDir)]) expect((await stat(folder)).mode & 0o777).toBe(0o700);
  const files = await filesIn(stateDir);
  expect(files).toHaveLength(37);
  for (const file of files) {
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(Object.keys(JSON.parse(await readFile(file, "utf8"))).sort()).toEqual([
      "baseUrl",
      "drift",
      "format",
      "list",
      "readAt",
      "value",
      "vintage",
    ]);
  }
});

test("what nobody asks for any more is removed; what is not ours stays", async () => {
  const stateDir = await newStateDir();
  const { time, process } = setUp(stateDir);
  await process("https://gone.example");
  await writeFile(join(folderOf(stateDir), "notes.txt"), "mine");
  for (const file of await filesIn(stateDir)) await utimes(file, new Date(0), new Date(time.now() - 25 * 3_600_000));
  await process();
  expect(await filesIn(stateDir)).toHaveLength(38);
  expect(await readFile(join(folderOf(stateDir), "notes.txt"), "utf8")).toBe("mine");
});

test("processes that read and write at once each have whole lists", async () => {
  const stateDir = await newStateDir();
  const { process } = setUp(stateDir);
  await process();
  const stores = Array.from({ length: 4 }, () =>
    createGeographyStore({
      place: listFiles({ stateDir, now: Date.now }),
      baseUrl: async () => BASE_URL,
      now: Date.now,
    }),
  );
  const list = (await stores[0]?.readDistricts("AA")) ?? { value: undefined };
  if (list.value === undefined) throw new Error("it is there");
  const reads = stores.flatMap((store) =>
    Array.from({ length: 25 }, async () => {
      store.keepDistricts("AA", list);
      return await store.readDistricts("AA");
    }),
  );
  for (const read of await Promise.all(reads)) expect(read).toEqual(list);
  await Promise.all(stores.map((store) => store.close()));
  expect(await filesIn(stateDir)).toHaveLength(37);
});

forEachEra((bench, era) => {
  const server = (stateDir: string, env: Readonly<Record<string, string>> = {}) =>
    freshBench(bench(), era, { MIC_STATE_DIR: stateDir, ...env });
  const asked = async (own: Bench): Promise<number> => {
    const states = await own.requests(listPlaygroundStates.id);
    return states.length + (await own.requests(listPlaygroundDistricts.id)).length;
  };
  const during = async (work: (own: Bench) => Promise<unknown>, own: Bench): Promise<number> => {
    const before = await asked(own);
    await work(own);
    return (await asked(own)) - before;
  };
  const askAll = (own: Bench) => own.ok("find_district", { name: "Nowhereville" });

  test("a server that starts with the next chat asks the service for nothing, and answers the same", async () => {
    const stateDir = await newStateDir();
    const first = await server(stateDir);
    const answer = await askAll(first);
    await first.connection.close();
    const second = await server(stateDir);
    expect(await during(async (own) => expect((await askAll(own)).structured).toEqual(answer.structured), second)).toBe(
      0,
    );
    expect(await during((own) => own.ok("list_districts", { state: "TG" }), second)).toBe(0);
    // Even at a rate at which it could ask for nothing.
    const slow = await server(stateDir, { MIC_GEOGRAPHY_RATE: "1" });
    expect((await askAll(slow)).structured).toMatchObject({ coverage: { complete: true } });
  });

  test("a list that was read alone is kept as well", async () => {
    const stateDir = await newStateDir();
    const first = await server(stateDir);
    const told = await first.ok("list_districts", { state: "KL" });
    await first.connection.close();
    const second = await server(stateDir);
    expect(
      await during(async (own) => expect(await own.ok("list_districts", { state: "KL" })).toEqual(told), second),
    ).toBe(0);
  });

  test.skipIf(process.getuid?.() === 0 || process.platform === "win32")(
    "a state folder without the right to write costs no answer (needs a user who is not root)",
    async () => {
      const stateDir = await newStateDir();
      await chmod(stateDir, 0o500);
      const own = await server(stateDir);
      expect((await askAll(own)).structured).toMatchObject({ coverage: { complete: true } });
      expect(await readdir(stateDir)).toEqual([]);
    },
  );
});
