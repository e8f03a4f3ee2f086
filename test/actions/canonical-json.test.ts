// Which calls mean the same: arguments typed again in another order are, anything else is not.
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalArguments, differingArguments, sha256Hex } from "../../src/actions/canonical-json.ts";

type Args = Readonly<Record<string, unknown>>;

// "__proto__" and number-like names are where objects behave oddly.
const name = fc.oneof(fc.constantFrom("__proto__", "constructor", "pairs", "0", "10", "2", "", "é"), fc.string());
const json = fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false, 0, -1.5, 1e21),
    fc.string(),
    fc.array(tie("value"), { maxLength: 4 }),
    tie("object"),
  ),
  object: fc.array(fc.tuple(name, tie("value")), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs)),
}));
const args = fc.array(fc.tuple(name, json.value), { maxLength: 5 }).map((pairs): Args => Object.fromEntries(pairs));

/** The same value, its keys in another order at every depth. */
function reverseKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverseKeys);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, part]) => [key, reverseKeys(part)]),
  );
}
const isObject = (value: unknown): value is Args => typeof value === "object" && value !== null;

/** A second opinion on "the same": each side's JSON, read back and compared member by member. */
function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) || Array.isArray(b))
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((part, at) => isSame(part, b[at]));
  if (!isObject(a) || !isObject(b)) return a === b;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length && names.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]))
  );
}

test("the order of keys, at any depth, does not matter", () => {
  fc.assert(
    fc.property(args, (given) => {
      const again = reverseKeys(given);
      expect(isObject(again) && canonicalArguments(again)).toBe(canonicalArguments(given));
    }),
  );
});

test("what JSON leaves out does not count", () => {
  expect(canonicalArguments({ a: 1, b: undefined })).toBe(canonicalArguments({ a: 1 }));
});

test("anything else does", () => {
  fc.assert(
    fc.property(args, args, (one, other) => {
      expect(canonicalArguments(one) === canonicalArguments(other)).toBe(isSame(one, other));
    }),
  );
  const differ = [
    { a: [1, 2] },
    { a: [2, 1] },
    { a: { b: 1 } },
    { a: { pairs: [["b", 1]] } },
    { a: "1" },
    { a: 1 },
    {},
  ];
  expect(new Set(differ.map((given) => sha256Hex(canonicalArguments(given)))).size).toBe(differ.length);
});

test("a key named __proto__ counts like any other", () => {
  const evil: Args = JSON.parse('{"parameterValues":{"__proto__":{"a":1}}}');
  const other: Args = JSON.parse('{"parameterValues":{"__proto__":{"a":2}}}');
  expect(canonicalArguments(evil)).not.toBe(canonicalArguments({ parameterValues: {} }));
  expect(canonicalArguments(evil)).not.toBe(canonicalArguments(other));
});

test("what differs is named, and nothing that does not", () => {
  fc.assert(
    fc.property(args, args, (one, other) => {
      const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
      const expected = names.filter(
        (key) => !Object.hasOwn(one, key) || !Object.hasOwn(other, key) || !isSame(one[key], other[key]),
      );
      expect(differingArguments(canonicalArguments(one), canonicalArguments(other))).toEqual(expected.sort());
    }),
  );
});
