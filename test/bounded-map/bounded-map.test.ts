// A map that forgets its oldest entries.
import { expect, test } from "vitest";
import { BoundedMap } from "../../src/core/bounded-map.ts";

function filled(max: number, keys: readonly string[]): BoundedMap<string, number> {
  const map = new BoundedMap<string, number>(max);
  for (const [index, key] of keys.entries()) map.set(key, index);
  return map;
}

test("it holds no more than it may, and forgets the oldest first", () => {
  expect([...filled(2, ["a", "b"])]).toEqual([
    ["a", 0],
    ["b", 1],
  ]);
  expect([...filled(2, ["a", "b", "c", "d"]).keys()]).toEqual(["c", "d"]);
});

test("a key that is set again is changed where it stands; one that was taken out before is the newest", () => {
  const map = filled(2, ["a", "b", "a"]);
  expect([...map]).toEqual([
    ["a", 2],
    ["b", 1],
  ]);
  map.delete("a");
  map.set("a", 3).set("c", 4);
  expect([...map.keys()]).toEqual(["a", "c"]);
});

test("it forgets from the oldest on, and stops at the first that is to stay", () => {
  const map = filled(9, ["a", "b", "c", "d"]);
  map.deleteOldestWhile((value) => value !== 2);
  expect([...map.keys()]).toEqual(["c", "d"]);
});
