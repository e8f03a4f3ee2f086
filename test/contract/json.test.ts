// Tests jsonBytes, the size of a value as compact JSON, and the schema of free-form JSON objects.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonObject, jsonBytes, jsonObject } from "../../src/contract/json.ts";

const utf8 = (text: string): number => Buffer.byteLength(text, "utf8");

const anyUnits = fc.array(fc.nat(0xffff)).map((units) => String.fromCharCode(...units));

/** Keys that cause errors in naive object code. */
const key = fc.oneof(anyUnits, fc.constantFrom("__proto__", "constructor", "toString", "", "0"));
const anyString = fc.oneof(anyUnits, fc.constantFrom("\ud800", "\udc00x", '"\\/\b\u2028', "😀"));

const { value: json } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false, 0, -0, 1e21, 1e-7),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    anyString,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
}));

describe("jsonBytes", () => {
  test("jsonBytes equals the length of compact JSON in UTF-8", {
    tags: ["2.2/offer-projection-size"],
  }, () => {
    const property = fc.property(json, (value) => void expect(jsonBytes(value)).toBe(utf8(JSON.stringify(value))));
    fc.assert(property, { numRuns: 1000 });
    expect(jsonBytes({ left: undefined, b: 1 })).toBe(utf8('{"b":1}'));
  });

  test("jsonBytes counts a bigint as its digits, without quotes", { tags: ["2.2/offer-projection-size"] }, () => {
    fc.assert(
      fc.property(fc.bigInt(), anyString, (big, text) => {
        expect(jsonBytes({ big, list: [text, big] })).toBe(
          utf8(`{"big":${big},"list":[${JSON.stringify(text)},${big}]}`),
        );
      }),
    );
  });
});

describe("free-form objects", () => {
  test("free-form objects are passed on unchanged, whatever their keys", {
    tags: ["2.2/recipe-parameters-definition"],
  }, () => {
    fc.assert(
      fc.property(json, (value) => {
        const result = jsonObject.safeParse(value);
        const isObject = Object.prototype.toString.call(value) === "[object Object]";
        expect(result.success).toBe(isObject);
        expect(isJsonObject(value)).toBe(isObject);
        if (result.success) expect(result.data).toBe(value);
      }),
    );
  });

  // The contract sets no such limit. This one prevents stack overflows in code that walks the object.
  test("free-form objects may have 500 levels; deeper ones are refused at any depth", () => {
    const nested = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}0${"}".repeat(depth)}`);
    const accepts = (depth: number) => jsonObject.safeParse(nested(depth)).success;
    expect([1, 499, 500].map(accepts)).toEqual([true, true, true]);
    expect([501, 5_000, 100_000].map(accepts)).toEqual([false, false, false]);
  });
});
