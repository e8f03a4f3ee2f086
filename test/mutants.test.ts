// Checks that each mutant matches the code and that the README table matches the mutants. `npm run test:mutants` shows that tests
// detect them.
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { findPath, readSources } from "./faults/mutants/mutant.ts";
import { mutants } from "./faults/mutants/mutants.ts";
import { README, readTable } from "./faults/mutants/table.ts";

const sources = readSources(".");

test.each(mutants.map((mutant) => [mutant.what, mutant] as const))(
  "%s: this mutant's code occurs once in src/, and its test file exists",
  (_what, mutant) => {
    const { code, replacement, killedBy } = mutant;
    expect(findPath(mutant, sources)).toMatch(/^src\//);
    expect(replacement).not.toBe(code);
    expect(existsSync(killedBy.file), killedBy.file).toBe(true);
  },
);

test("the README lists exactly the mutants, with the test files that detect them", () => {
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

test("each mutant has its own description, and there are at least 25", () => {
  expect(new Set(mutants.map(({ what }) => what)).size).toBe(mutants.length);
  expect(mutants.length).toBeGreaterThanOrEqual(25);
});
