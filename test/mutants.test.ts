// Checks that each mutant matches the code. `npm run test:mutants` shows that tests detect them.
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { findPath, mutants, readSources } from "./faults/mutants/mutants.ts";

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

test("each mutant has its own description, and there are at least 98", () => {
  expect(new Set(mutants.map(({ what }) => what)).size).toBe(mutants.length);
  expect(mutants.length).toBeGreaterThanOrEqual(98);
});
