import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonObject, jsonBytes, jsonObject } from "../../src/contract/json.ts";
import { covers } from "../covers.ts";
import { freeFormObject } from "./field-rules.ts";
import { createRuleTest } from "./object-rules.ts";

const utf8 = (text: string): number => Buffer.byteLength(text, "utf8");

const anyUnits = fc.array(fc.nat(0xffff)).map((units) => String.fromCharCode(...units));

/** Keys that objects are known to trip over. */
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
  covers("2.2/offer-projection-size", "equals the length of compact JSON in UTF-8", () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(jsonBytes(value)).toBe(utf8(JSON.stringify(value)));
      }),
      { numRuns: 1000 },
    );
  });

  covers("2.2/offer-projection-size", "counts a bigint as its digits, without quotes", () => {
    fc.assert(
      fc.property(fc.bigInt(), anyString, (big, text) => {
        expect(jsonBytes({ big, list: [text, big] })).toBe(
          utf8(`{"big":${big},"list":[${JSON.stringify(text)},${big}]}`),
        );
      }),
    );
  });

  test("leaves out what JSON leaves out", () => {
    expect(jsonBytes({ a: undefined, b: 1 })).toBe(utf8('{"b":1}'));
  });

  test("measures what is nested deeper than the stack", () => {
    const depth = 200_000;
    expect(jsonBytes(JSON.parse("[".repeat(depth) + "]".repeat(depth)))).toBe(2 * depth);
  });
});

describe("free-form objects", () => {
  covers(
    ["2.2/recipe-parameters-definition", "2.2/recipe-parameters-references"],
    "are any JSON object",
    createRuleTest(jsonObject, freeFormObject),
  );

  covers("2.2/recipe-parameters-definition", "come out as the object that went in, whatever its keys", () => {
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

  // The contract sets no such limit: it is ours, so that nothing that walks the object overflows.
  test("may be nested 500 deep; what is deeper is refused, whatever its depth", () => {
    const nested = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}0${"}".repeat(depth)}`);
    const accepts = (depth: number) => jsonObject.safeParse(nested(depth)).success;
    expect([1, 499, 500].map(accepts)).toEqual([true, true, true]);
    expect([501, 5_000, 100_000].map(accepts)).toEqual([false, false, false]);
  });

  test("a __proto__ key is a key like any other", () => {
    const polluting: unknown = JSON.parse('{"__proto__":{"admin":true},"a":{"__proto__":[]}}');
    expect(JSON.stringify(jsonObject.parse(polluting))).toBe('{"__proto__":{"admin":true},"a":{"__proto__":[]}}');
    expect({}).not.toHaveProperty("admin");
  });
});
