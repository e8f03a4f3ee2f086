// Defines a test that only the thorough run includes; its name gives the reason if it is skipped.
import { test } from "vitest";
import { isThorough } from "./thorough.ts";

export function thoroughTest(name: string, body: () => Promise<void>, timeout?: number): void {
  test.runIf(isThorough)(isThorough ? name : `${name} (skipped: MIC_TEST_ALL is not 1)`, body, timeout);
}
