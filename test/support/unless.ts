// Tests and blocks that are skipped if this machine misses something. Their titles then give the reason.
import { describe, test } from "vitest";
import { isThorough } from "./thorough.ts";

/** The reason to skip a test; undefined if nothing is missing. */
type Missing = string | undefined;

export const linuxMissing: Missing = process.platform === "linux" ? undefined : "needs Linux";
export const posixMissing: Missing = process.platform === "win32" ? "needs POSIX" : undefined;
export const thoroughMissing: Missing = isThorough ? undefined : "MIC_TEST_ALL is not 1";

const addReason = (title: string, missing: Missing): string =>
  missing === undefined ? title : `${title} (skipped: ${missing})`;

export function testUnless(missing: Missing, title: string, body: () => Promise<void> | void, timeout?: number): void {
  test.skipIf(missing !== undefined)(addReason(title, missing), body, timeout);
}

/** A test of the thorough run only. */
export const testThoroughly = (title: string, body: () => Promise<void> | void): void =>
  testUnless(thoroughMissing, title, body);

export function describeUnless(missing: Missing, title: string, body: () => void, timeout?: number): void {
  describe.skipIf(missing !== undefined)(addReason(title, missing), body, timeout);
}
