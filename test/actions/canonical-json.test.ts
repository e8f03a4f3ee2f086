// Tests which calls are identical: the order of keys does not matter, every other difference does.
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalArguments, differingArguments, sha256Hex } from "../../src/actions/fingerprint.ts";

type Args = Readonly<Record<string, unknown>>;

// JavaScript objects treat "__proto__" and number-like names specially.
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

/** The same value with its keys in reverse order at every depth. */
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

/** An independent definition of equality: parses the JSON of both sides and compares the members. */
function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) || Array.isArray(b))
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((part, at) => isSame(part, b[at]));
  if (!isObject(a) || !isObject(b)) return a === b;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length && names.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]))
  );
}

test("the order of keys does not matter at any depth", () => {
  fc.assert(
    fc.property(args, (given) => {
      const again = reverseKeys(given);
      expect(isObject(again) && canonicalArguments(again)).toBe(canonicalArguments(given));
    }),
  );
});

test("members that JSON leaves out do not matter", () => {
  expect(canonicalArguments({ a: 1, b: undefined })).toBe(canonicalArguments({ a: 1 }));
});

test("any difference except the order of keys matters", () => {
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

test("a key named __proto__ matters like any other key", () => {
  const evil: Args = JSON.parse('{"parameterValues":{"__proto__":{"a":1}}}');
  const other: Args = JSON.parse('{"parameterValues":{"__proto__":{"a":2}}}');
  expect(canonicalArguments(evil)).not.toBe(canonicalArguments({ parameterValues: {} }));
  expect(canonicalArguments(evil)).not.toBe(canonicalArguments(other));
});

test("the differing arguments are named, and no others", () => {
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
