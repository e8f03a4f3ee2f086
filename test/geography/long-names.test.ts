// Tests that the server stays responsive with names far longer than any district's, because the contract sets no maximum.
import { expect, test } from "vitest";
import { MAX_DISTRICTS, PLAYGROUND_CONTRACT } from "../../src/contract/playground.ts";
import { longestBlockedMs, MAX_BLOCKED_MS, peakMissing } from "../mcp/stdio/measurements.ts";
import { createSeededRandom } from "../support/random.ts";
import { startServer } from "../support/server.ts";
import { answer, type Stub, stubForTest } from "../support/stub.ts";
import { runCount } from "../support/thorough.ts";

const STATES = 36;

const contract = PLAYGROUND_CONTRACT;
const codes = Array.from(
  { length: STATES },
  (_, index) => `${"ABCD".charAt(index / 10)}${"KLMNOPQRST".charAt(index % 10)}`,
);

/** Generates names from words of three to seven letters, each name from another part of one long text. */
function createNameGenerator(): (length: number) => string {
  const { nextInteger } = createSeededRandom(26);
  const randomLetter = (): string => "aeioubdgkmnprst".charAt(nextInteger(15));
  const randomWord = (): string => Array.from({ length: 3 + nextInteger(5) }, randomLetter).join("");
  const text = Array.from({ length: 10_000 }, randomWord).join(" ");
  return (length) => {
    const start = nextInteger(text.length - length);
    return text.slice(start, start + length).trim();
  };
}

const toDevanagari = (name: string): string =>
  name.replace(/[a-z]/g, (randomLetter) => String.fromCharCode(0x915 + randomLetter.charCodeAt(0) - 97));

/** Makes the stub list names of these lengths, each in some of the states. Returns the beginnings of 49 of them. */
function serveLongNames(
  stub: Stub,
  lengths: readonly number[],
  { count = 60, write: transform = (name: string) => name } = {},
): readonly string[] {
  const generateName = createNameGenerator();
  const lists = new Map(
    codes.map((code, state) => {
      const districts = Array.from({ length: count }, (_, index) => ({
        code: `${code}${index}`,
        name: index === 0 ? `Ordinary${code}` : transform(generateName(lengths[state % lengths.length] ?? 0)),
        mandalCount: 1,
      }));
      return [code, { contract, state: `State ${code}`, districts }] as const;
    }),
  );
  const counts = { districtCount: count, mandalCount: count };
  const states = codes.map((code) => ({ code, name: `State ${code}`, ...counts }));
  stub.respond(({ target }) => {
    const code = new URL(target, stub.baseUrl).searchParams.get("state");
    return answer(200, code === null ? { contract, states } : lists.get(code));
  });
  const names = [...lists.values()].flatMap(({ districts }) => districts.map(({ name }) => name));
  return Array.from({ length: 49 }, (_, index) => (names[41 * (index + 1)] ?? "").slice(0, 78));
}

const ranking = { level: "district", by: "name" };

const CALLS = [
  {
    title: "find_district compares 50 names",
    lengths: [200, 2_000, 20_000],
    call: (names: readonly string[]) => ["find_district", { names: ["OrdinaryAK", ...names] }] as const,
    expected: { answers: { length: 50, 0: { matches: { 0: { districtCode: "AK0" } } } } },
  },
  {
    title: "rank_divisions sorts names in an Indian script",
    lengths: [120],
    options: { count: MAX_DISTRICTS, write: toDevanagari },
    call: () => ["rank_divisions", ranking] as const,
    expected: { complete: true, totalRows: STATES * MAX_DISTRICTS },
  },
];

test.skipIf(peakMissing).each(CALLS.slice(0, runCount(1, CALLS.length)))(
  "the server answers pings while $title, because the event loop is blocked for at most 250 ms",
  async (row) => {
    const { lengths, options, call, expected } = row;
    const stub = await stubForTest();
    const [tool, args] = call(serveLongNames(stub, lengths, options));
    const server = await startServer({ env: { MIC_BASE_URL: stub.baseUrl, MIC_GEOGRAPHY_RATE_LIMIT: "600" } });
    const answered = server.call(tool, { ...args, waitSeconds: 40 });
    expect(await longestBlockedMs(server, answered)).toBeLessThanOrEqual(MAX_BLOCKED_MS);
    const { structured } = await answered;
    expect(structured).toMatchObject({ vintage: expect.stringContaining("complete"), ...expected });
  },
);

test("a list with a long name stays usable: the name is cut at the end of a word, and codes and counts are complete", async () => {
  const stub = await stubForTest();
  serveLongNames(stub, [20_000]);
  const server = await startServer({ env: { MIC_BASE_URL: stub.baseUrl } });
  const { structured } = await server.call("list_districts", { state: "AK" });
  expect(Object.keys(Object(structured?.["districts"]))).toHaveLength(60);
  const text = JSON.stringify(structured);
  const lengths = Array.from(text.matchAll(/"name":"([^"]*)"/g), ([, name = ""]) => name.length);
  expect(lengths).toHaveLength(60);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(121);
  expect(text).toContain('…","mandals":1');
});

test("a query for a name that repeats its state many times is answered", async () => {
  const stub = await stubForTest();
  serveLongNames(stub, [20]);
  const server = await startServer({ env: { MIC_BASE_URL: stub.baseUrl, MIC_GEOGRAPHY_RATE_LIMIT: "600" } });
  const { isError } = await server.call("find_district", { name: Array(26).fill("ak").join(" ") });
  expect(isError).toBeFalsy();
});
