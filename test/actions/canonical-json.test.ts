// Tests which calls are identical: the order of keys does not matter, every other difference does.
import { isDeepStrictEqual } from "node:util";
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

function reverseKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverseKeys);
  if (typeof value !== "object" || value === null) return value;
  const pairs = Object.entries(value).map(([key, part]) => [key, reverseKeys(part)] as const);
  return Object.fromEntries(pairs.reverse());
}

test("the canonical form of arguments does not depend on the order of keys at any depth", () => {
  fc.assert(
    fc.property(args, (given) => {
      expect(canonicalArguments(Object(reverseKeys(given)))).toBe(canonicalArguments(given));
    }),
  );
});

test("the canonical form depends on everything except the order of keys, including the value of a key __proto__", () => {
  const differ: readonly Args[] = [
    ...[{ a: [1, 2] }, { a: [2, 1] }, { a: { b: 1 } }, { a: { pairs: [["b", 1]] } }, { a: "1" }, { a: 1 }, {}],
    JSON.parse('{"a":{"__proto__":{"a":1}}}'),
    JSON.parse('{"a":{"__proto__":{"a":2}}}'),
  ];
  expect(new Set(differ.map((given) => sha256Hex(canonicalArguments(given)))).size).toBe(differ.length);
});

test("arguments that differ in any value are not identical, and the differing arguments are named", () => {
  fc.assert(
    fc.property(args, args, (one, other) => {
      expect(canonicalArguments(one) === canonicalArguments(other)).toBe(isDeepStrictEqual(one, other));
      const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
      const expected = names.filter(
        (key) => !Object.hasOwn(one, key) || !Object.hasOwn(other, key) || !isDeepStrictEqual(one[key], other[key]),
      );
      expect(differingArguments(canonicalArguments(one), canonicalArguments(other))).toEqual(expected.sort());
    }),
  );
});
