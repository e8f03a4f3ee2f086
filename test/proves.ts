// A test that cites the contract's rules it proves. requirements.test.ts reads the ids from the source text: write them
// as literals.
import { type TestFunction, test } from "vitest";
import type { RequirementId } from "./requirements.ts";

type Proves = (
  ids: RequirementId | readonly RequirementId[],
  title: string,
  fn: TestFunction,
  timeoutMs?: number,
) => void;

const provesWith =
  (run: (title: string, fn: TestFunction, timeoutMs?: number) => void): Proves =>
  (ids, title, fn, timeoutMs) =>
    run(`${title} [${[ids].flat().join(", ")}]`, fn, timeoutMs);

export const proves = Object.assign(provesWith(test), {
  skipIf: (condition: unknown): Proves => provesWith(test.skipIf(condition)),
});
