// A test that cites the contract's rules it covers. requirements.test.ts reads the ids from the source text: write them
// as literals.
import { type TestFunction, test } from "vitest";
import type { RequirementId } from "./requirements.ts";

/** `run`: a test function, such as one with fixtures (support/fixtures.ts). */
export const coversWith =
  <Context>(run: (title: string, fn: TestFunction<Context>, timeoutMs?: number) => void) =>
  (ids: RequirementId | readonly RequirementId[], title: string, fn: TestFunction<Context>, timeoutMs?: number): void =>
    run(`${title} [${[ids].flat().join(", ")}]`, fn, timeoutMs);

export const covers = Object.assign(coversWith<object>(test), {
  skipIf: (condition: unknown) => coversWith<object>(test.skipIf(condition)),
});
