// Defines tests that cite the contract rules they cover. requirements.test.ts reads the rule ids from the source text, so write
// them as literals.
import { type TestFunction, test } from "vitest";
import type { RequirementId } from "./requirements.ts";

/** `run`: a test function, for example one with fixtures (support/fixtures.ts). The title gets the ids appended in brackets. */
export const coversWith =
  <Context>(run: (title: string, fn: TestFunction<Context>, timeoutMs?: number) => void) =>
  (ids: RequirementId | readonly RequirementId[], title: string, fn: TestFunction<Context>, timeoutMs?: number): void =>
    run(`${title} [${[ids].flat().join(", ")}]`, fn, timeoutMs);

export const covers = Object.assign(coversWith<object>(test), {
  skipIf: (condition: unknown) => coversWith<object>(test.skipIf(condition)),
});
