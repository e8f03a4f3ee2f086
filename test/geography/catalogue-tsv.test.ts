// Tests the catalog as one text: coverage and vintage on top, then one line for each district.
import { expect, test } from "vitest";
import { renderCatalogTsv } from "../../src/geography/catalog-tsv.ts";
import { createGeography } from "../../src/geography/geography.ts";
import { createFakePlayground, type FakeState, httpFailure, testCountry } from "./fake-service.ts";
import { createVirtualTime } from "./virtual-time.ts";

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

test("the catalog text has every district with its state and count", async () => {
  const [notes = "", header, ...rows] = await catalogLines(testCountry);
  expect(notes).toMatch(/^# Vintage: 2026-05-25 \(mixed\), complete\.$/);
  expect(header).toBe("districtCode\tname\tstateCode\tstateName\tmandalCount");
  const expected = testCountry.flatMap((state) =>
    state.districts.map(({ code, name, mandalCount }) => [code, name, state.code, state.name, mandalCount].join("\t")),
  );
  expect(rows).toEqual(expected);
});

test("the catalog text has missing states and differing counts on top", async () => {
  const [first, ...others] = testCountry;
  if (first === undefined) throw new Error("no states");
  const notes = (
    await catalogLines(
      [{ ...first, name: "Odd\tname", statedCounts: { districtCount: 9, mandalCount: 1 } }, ...others],
      ["AC"],
    )
  ).filter((line) => line.startsWith("#"));
  expect(notes).toEqual([
    expect.stringContaining("35 of 36 lists loaded"),
    expect.stringMatching(/says 9 districts, its districts list has 2/),
  ]);
  expect(notes[0]).toContain("1 missing: AC (HTTP 502)");
});

test("a catalog far larger than India's is cut between two states, with the way to read the rest", async () => {
  const hugeCountry = testCountry.map((state, index) => ({
    ...state,
    districts: Array.from({ length: 256 }, (_, place) => ({
      code: `${index}-${place}`,
      name: `District ${place} of ${state.code}`,
      mandalCount: 1,
    })),
  }));
  const lines = await catalogLines(hugeCountry);
  const rows = lines.filter((line) => /^\d+-\d+\t/.test(line));
  expect(rows).toHaveLength(7 * 256);
  expect(lines.find((line) => line.includes("left out"))).toMatch(
    /^# 7,424 districts of AH AI .* left out: mic:\/\/geography\/states\/\{code\}\/districts has one state's\.$/,
  );
});
