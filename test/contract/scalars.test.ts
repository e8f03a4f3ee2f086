// Tests the string grammars: which texts are blank, the three grammars of the Idempotency-Key, and instants against Date.
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CreateInput } from "../../src/contract/endpoints/bodies.ts";
import { endpoints } from "../../src/contract/endpoints/index.ts";
import { stateCode } from "../../src/contract/endpoints/playground.ts";
import { JobETag } from "../../src/contract/jobs.ts";
import * as scalars from "../../src/contract/scalars.ts";
import { words } from "../support/words.ts";
import { createCheck } from "./check.ts";
import { named } from "./grammars.ts";

const { dateTime, inputKey, parseDateTime, plainText, processingKey, scalarText, textKey, utcInstant } = scalars;

test("the named grammars accept and refuse their values", {
  tags: [
    "2.2/date-time",
    "2.2/workspace-style-id",
    "2.2/hex",
    "2.2/processing-request-revision-no-coercion",
    "4.2/job-input-bindings-unique",
  ],
}, () => {
  for (const [schema, grammar] of named)
    if (schema !== CreateInput.shape.referenceId) expect(createCheck(schema).grammar(grammar)).toEqual([]);
});

test("each POST has a key of its grammar, and a cancellation has If-Match, in the words of the page", {
  tags: [
    "4.2/job-key-length",
    "4.2/job-key-characters",
    "4.2/input-key",
    "4.2/processing-request-key",
    "4.2/if-match-form",
  ],
}, () => {
  const page = readFileSync("docs/contract.md", "utf8").replaceAll("\n", " ");
  for (const schema of [textKey, inputKey, processingKey, JobETag]) expect(page).toMatch(named.get(schema)?.rule ?? "");
  const keys = endpoints.flatMap(({ id, idempotencyKey, ifMatch }) =>
    idempotencyKey ? [[id, idempotencyKey, ifMatch]] : [],
  );
  expect(keys).toEqual(
    expect.arrayContaining([
      ["createMicPublicInput", "input", undefined],
      ["createMicJob", "text", undefined],
      ["cancelMicJob", "text", true],
      ["retryMicJob", "text", undefined],
      ["requestMicSharedFileProcessing", "processing", undefined],
    ]),
  );
});

test("a lowercase state code becomes uppercase", { tags: ["4.1/state-uppercased"] }, () => {
  expect(["tg", "tG", "Tg", "TG"].map((state) => stateCode.parse(state))).toEqual(Array(4).fill("TG"));
});

const blanks =
  " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000";

test("a text has no control character at any place, and not only blanks", {
  tags: ["4.2/job-key-characters", "4.2/reason", "4.2/processing-request-purpose"],
}, () => {
  const controls = Array.from({ length: 0x41 }, (_, at) => String.fromCharCode(at < 0x20 ? at : 0x5f + at));
  const unreadable = [
    ...controls.flatMap((control) => [`some ${control} text`, `${control}some text`, `some text${control}`]),
    ...[...[...blanks].map((blank) => blank.repeat(8)), blanks],
  ];
  const readable = [..."\u0020\u007e\u00a0", ...blanks].map((character) => `${character.repeat(8)}x`);
  for (const schema of [textKey, plainText(160), scalarText(160)]) {
    const accepts = (text: string) => schema.safeParse(text).success;
    expect([unreadable.filter(accepts), readable.filter((one) => !accepts(one))]).toEqual([[], []]);
  }
});

const padded = (value: number, digits: number): string => String(value).padStart(digits, "0");

const fraction = fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 0, maxLength: 9 });

/** Far enough from the years 0000 and 9999 for any offset. */
const second = fc
  .date({ min: new Date("0000-01-02T00:00:00Z"), max: new Date("9999-12-30T00:00:00Z"), noInvalidDate: true })
  .map((date) => Math.floor(date.getTime() / 1000));

const offsetMinutes = fc.integer({ min: -(23 * 60 + 59), max: 23 * 60 + 59 });

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

  test("parseDateTime agrees with Date on every instant, with any offset", { tags: ["2.2/date-time"] }, () => {
    fc.assert(
      fc.property(second, fraction, fc.option(offsetMinutes), (seconds, digits, offset) => {
        const wall = new Date((seconds + (offset ?? 0) * 60) * 1000).toISOString().slice(0, 19);
        const [hours, minutes] = [Math.floor(Math.abs(offset ?? 0) / 60), Math.abs(offset ?? 0) % 60];
        const zone = offset === null ? "Z" : `${offset < 0 ? "-" : "+"}${padded(hours, 2)}:${padded(minutes, 2)}`;
        const text = `${wall}${digits === "" ? "" : `.${digits}`}${zone}`;
        const micros = BigInt(seconds) * 1_000_000n + BigInt(digits.padEnd(6, "0").slice(0, 6));
        expect(parseDateTime(text)).toBe(micros);
        expect(dateTime.safeParse(text).success).toBe(true);
        expect(utcInstant.safeParse(text).success).toBe(offset === null && digits.length <= 6);
      }),
      { numRuns: 1000 },
    );
  });

  test("a date-time is accepted if and only if parseDateTime accepts it, in any form", {
    tags: ["2.2/date-time"],
  }, () => {
    const anyForm = fc.stringMatching(
      /^\d{4}-[0-3]\d-[0-3]\d[Tt ][0-2]\d:[0-6]\d:[0-6]\d(\.\d{0,9})?([Zz]|[+-][0-2]\d:[0-6]\d)?\n?$/,
    );
    fc.assert(
      fc.property(fc.oneof(anyForm, fc.string()), (text) => {
        expect(dateTime.safeParse(text).success).toBe(parseDateTime(text) !== undefined);
      }),
      { numRuns: 3000 },
    );
  });

  test("parseDateTime rejects every date and time that does not exist", {
    tags: ["2.2/processing-request-instants-valid"],
  }, () => {
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
        const dayText = `${padded(year, 4)}-${padded(month, 2)}-${padded(day, 2)}`;
        const text = `${dayText}T${padded(hour, 2)}:${padded(minute, 2)}:${padded(secondOfMinute, 2)}Z`;
        // Date has no leap seconds, and shifts days and times that do not exist.
        const isLeap = text.endsWith("T23:59:60Z");
        const ordinary = isLeap ? text.replace(":60Z", ":59Z") : text;
        const date = new Date(ordinary);
        const exists = !Number.isNaN(date.getTime()) && date.toISOString() === ordinary.replace("Z", ".000Z");
        expect(parseDateTime(text) !== undefined).toBe(exists);
        expect(utcInstant.safeParse(text).success).toBe(exists);
      }),
      { numRuns: 600 },
    );
  });
});
