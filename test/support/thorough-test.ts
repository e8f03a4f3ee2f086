// A test that the thorough run alone has: its name says so where it is skipped. A smaller one of the same stands beside it.
import { test } from "vitest";
import { isThorough } from "./thorough.ts";

export function thoroughTest(name: string, body: () => Promise<void>, timeout?: number): void {
  test.runIf(isThorough)(isThorough ? name : `${name} (skipped: MIC_TEST_ALL is not 1)`, body, timeout);
}
