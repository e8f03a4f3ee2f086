// Tests the date-time and UTC instant schemas and parseDateTime against rules, Date and naive predicates.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dateTime, parseDateTime, utcInstant } from "../../src/contract/scalars.ts";
import { words } from "../support/words.ts";
import * as rules from "./field-rules.ts";
import { isDateTime } from "./naive-grammars.ts";
import { createRuleTest } from "./object-rules.ts";

const padded = (value: number, digits: number): string => String(value).padStart(digits, "0");

const fraction = fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 0, maxLength: 9 });

/** Far enough from the years 0000 and 9999 for any offset. */
const second = fc
  .date({ min: new Date("0000-01-02T00:00:00Z"), max: new Date("9999-12-30T00:00:00Z"), noInvalidDate: true })
  .map((date) => Math.floor(date.getTime() / 1000));

const offsetMinutes = fc.integer({ min: -(23 * 60 + 59), max: 23 * 60 + 59 });

test("a date-time matches its rule [2.2/date-time]", createRuleTest(dateTime, rules.dateTime));
test(
  "a UTC instant matches its rule [2.2/processing-request-instants, 2.2/processing-request-instants-valid]",
  createRuleTest(utcInstant, rules.utcInstant),
);

describe("parseDateTime", () => {
  test("parseDateTime returns microseconds since 1970", () => {
    expect(
      words(`
        1970-01-01T00:00:00Z 1970-01-01T00:00:00.000001Z 1970-01-01T05:30:00+05:30 1969-12-31T23:59:59.999999Z
        2026-11-20T10:00:00.1234567Z 2026-11-20T10:00:00-01:00 1969-12-31T23:59:60Z 1970-01-01T05:29:60.5+05:30`).map(
        parseDateTime,
      ),
    ).toEqual([0n, 1n, 0n, -1n, 1795168800123456n, 1795172400000000n, 0n, 500000n]);
  });

  test("parseDateTime agrees with Date on every instant [2.2/date-time]", () => {
    fc.assert(
      fc.property(second, fraction, (seconds, digits) => {
        const withoutFraction = new Date(seconds * 1000).toISOString().slice(0, 19);
        const text = `${withoutFraction}${digits === "" ? "" : `.${digits}`}Z`;
        const micros = BigInt(seconds) * 1_000_000n + BigInt(digits.padEnd(6, "0").slice(0, 6));
        expect(parseDateTime(text)).toBe(micros);
        expect(dateTime.safeParse(text).success).toBe(true);
        expect(utcInstant.safeParse(text).success).toBe(digits.length <= 6);
      }),
      { numRuns: 500 },
    );
  });

  test("parseDateTime subtracts any offset [2.2/date-time]", () => {
    fc.assert(
      fc.property(second, offsetMinutes, (seconds, offset) => {
        const wall = new Date((seconds + offset * 60) * 1000).toISOString().slice(0, 19);
        const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60];
        const text = `${wall}${offset < 0 ? "-" : "+"}${padded(hours, 2)}:${padded(minutes, 2)}`;
        expect(parseDateTime(text)).toBe(BigInt(seconds) * 1_000_000n);
        expect(utcInstant.safeParse(text).success).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  test("parseDateTime rejects every date and time that does not exist [2.2/processing-request-instants-valid]", () => {
    const parts = fc.tuple(
      fc.oneof(fc.constantFrom(0, 1900, 2000, 2024, 2026, 2100), fc.nat(9999)),
      fc.nat(14),
      fc.oneof(fc.constantFrom(0, 28, 29, 30, 31, 32), fc.nat(31)),
      fc.nat(26),
      fc.nat(62),
      fc.nat(62),
    );
    fc.assert(
      fc.property(parts, ([year, month, day, hour, minute, secondOfMinute]) => {
        const date = `${padded(year, 4)}-${padded(month, 2)}-${padded(day, 2)}`;
        const text = `${date}T${padded(hour, 2)}:${padded(minute, 2)}:${padded(secondOfMinute, 2)}Z`;
        expect(parseDateTime(text) !== undefined).toBe(isDateTime(text));
        expect(utcInstant.safeParse(text).success).toBe(isDateTime(text));
        if (isDateTime(text) && secondOfMinute < 60)
          expect(new Date(text).toISOString()).toBe(text.replace("Z", ".000Z"));
      }),
      { numRuns: 600 },
    );
  });
});
