// Whether a lease still moves, on this process's own time: clocks of other machines do not matter.
import { expect, test } from "vitest";
import { createLeases } from "../../src/actions/claims.ts";
import type { StoredAction } from "../../src/actions/journal.ts";

const stored: StoredAction = {
  service: "service",
  key: "key-0000",
  upstream_key: "",
  tool: "submit_job",
  arguments: "{}",
  path: "/",
  if_match: "",
  body: "{}",
  state: "in_progress",
  indeterminate: 0,
  attempts: 0,
  owner: "another",
  // Long past, or far ahead: the clock of its machine may be wrong by years.
  lease_until: 1,
  outcome: null,
  resource_id: null,
  created_at: 0,
  first_sent_at: 0,
  updated_at: 0,
  resolved_at: null,
  fingerprint: "hash",
  about: "",
  looked_at: 0,
};

function watch() {
  const time = { nowMs: 0 };
  const { isExpired } = createLeases(() => time.nowMs);
  return {
    /** Looked at so many milliseconds after the last look. */
    after(ms: number, facts: Partial<StoredAction> = {}): boolean {
      time.nowMs += ms;
      return isExpired({ ...stored, ...facts });
    },
  };
}

test("a lease stands still when it has not moved for 30 seconds, and never at the first look", () => {
  for (const lease_until of [0, Number.MAX_SAFE_INTEGER]) {
    const { after } = watch();
    expect(after(1_000_000, { lease_until })).toBe(false);
    expect(after(29_999, { lease_until })).toBe(false);
    expect(after(1, { lease_until })).toBe(true);
  }
});

test("a lease that moves does not stand still, nor does that of another owner or action", () => {
  const { after } = watch();
  after(0);
  expect(after(30_000, { lease_until: 2 })).toBe(false);
  expect(after(29_999, { lease_until: 2 })).toBe(false);
  expect(after(30_000, { lease_until: 2, owner: "a third" })).toBe(false);
  expect(after(30_000, { lease_until: 2, key: "key-0001" })).toBe(false);
  expect(after(30_000, { lease_until: 2, owner: "a third" })).toBe(true);
});

test("of any number of actions no more than a thousand are kept in mind, the latest", () => {
  const { after } = watch();
  for (let n = 0; n < 1_001; n++) after(0, { key: `key-${n}` });
  expect(after(30_000, { key: "key-1" })).toBe(true);
  expect(after(0, { key: "key-0" }), "looked at as if for the first time").toBe(false);
});
