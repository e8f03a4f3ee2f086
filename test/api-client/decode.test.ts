// Tests that the platform's JSON parser, which is tried first, returns the same as the lossless parser.
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { parse as parseLossless } from "lossless-json";
import { expect, test } from "vitest";
import { ContractViolation, parseJson, parseNumber, validateBody } from "../../src/api-client/decode.ts";
import { getMicJob } from "../../src/contract/endpoints/job-processing.ts";
import { enveloped, job } from "../contract/samples.ts";
import { runCount } from "../support/thorough.ts";
import { words } from "../support/words.ts";

/** Result of the lossless parser: a value, or a rejection. */
function parseWithLossless(text: string): unknown {
  try {
    return { value: parseLossless(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue }) };
  } catch {
    return "refused";
  }
}

function parseWithOurs(text: string): unknown {
  try {
    return { value: parseJson(Buffer.from(text)) };
  } catch (error) {
    expect(error).toBeInstanceOf(ContractViolation);
    return "refused";
  }
}

// Numbers as APIs write them, and invalid ones.
const numberText = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  fc.constantFrom(...words("9007199254740991 9007199254740992 -9007199254740993 1e400 1E2 -0 0.10 01 1.")),
);
const nameText = fc.oneof(
  fc.constantFrom('"a"', '"b"', '":a"', '"__proto__"', '"constructor"', '"1"', '"2"', '"a\\u0062"', '"\\""'),
  fc.string({ unit: "binary" }).map((text) => JSON.stringify(text)),
);
const space = fc.constantFrom("", "", "", " ", "\n\t");

/** JSON texts, some of them invalid: spaces anywhere, escapes, duplicate names, integers of any length. */
const { text: jsonText } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { depthSize: "small" },
    numberText,
    nameText,
    fc.constantFrom("true", "false", "null", "nul", ""),
    fc.array(tie("text"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
    fc
      .array(fc.tuple(nameText, space, space, tie("text")), { maxLength: 5 })
      .map(
        (fields) => `{${fields.map(([name, before, after, part]) => `${name}${before}:${after}${part}`).join(",")}}`,
      ),
  ),
}));

test("parseJson returns the same as the lossless parser for any text", () => {
  fc.assert(
    fc.property(jsonText, (text) => {
      const expected = parseWithLossless(text);
      // Empty text has a separate error message.
      expect(isDeepStrictEqual(parseWithOurs(text), text.trim() === "" ? "refused" : expected), text).toBe(true);
    }),
    { numRuns: runCount(1_000, 5_000) },
  );
});

test.each([
  ['{"a":1,"a":2}', { value: { a: 2 } }],
  ['{"a":9007199254740993,"a":2}', { value: { a: 2 } }],
  ['{"a":1,"a":9007199254740993}', { value: { a: 9007199254740993n } }],
  ['{"a":9007199254740993}', { value: { a: 9007199254740993n } }],
  ["[ -12345678901234567]", { value: [-12345678901234567n] }],
  ['{"a":"1234567890123456"}', { value: { a: "1234567890123456" } }],
])("both parsers read %s alike", (text, expected) => {
  expect(parseWithOurs(text)).toEqual(expected);
  expect(parseWithLossless(text)).toEqual(expected);
});

test("a matching body is passed on unchanged, with its fields in the API's order and no drift", () => {
  const { id, ...rest } = job;
  const body = enveloped({ ...rest, id });
  const { value, drift } = validateBody(getMicJob.success.body, body);
  expect(value).toBe(body);
  expect(drift).toEqual([]);
});
