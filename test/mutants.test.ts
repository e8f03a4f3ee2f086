// The list of mutants is true to the code, and the README's table to the list. That they are seen, `npm run test:mutants` shows.
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { findPath, readSources } from "./faults/mutants/mutant.ts";
import { mutants } from "./faults/mutants/mutants.ts";
import { README, readTable } from "./faults/mutants/table.ts";

const sources = readSources(".");

test.each(mutants)("$what: its code stands in one place, and its test is there", (mutant) => {
  const { code, replacement, killedBy } = mutant;
  expect(findPath(mutant, sources)).toMatch(/^src\//);
  expect(replacement).not.toBe(code);
  expect(existsSync(killedBy.file), killedBy.file).toBe(true);
});

test("the README lists exactly the mutants, with the tests that see them", () => {
  const rows = readTable(readFileSync(README, "utf8"));
  const listed = rows.map(({ what, where, fails }) => ({ what, where, file: fails.split(":")[0] }));
  expect(listed).toEqual(
    mutants.map((mutant) => ({
      what: mutant.what,
      where: `\`${findPath(mutant, sources)}\``,
      file: basename(mutant.killedBy.file),
    })),
  );
  for (const [at, { fails }] of rows.entries()) expect(fails).toContain(mutants[at]?.killedBy.name);
});

test("each mutant is one of its own", () => {
  expect(new Set(mutants.map(({ what }) => what)).size).toBe(mutants.length);
  expect(mutants.length).toBeGreaterThanOrEqual(25);
});
