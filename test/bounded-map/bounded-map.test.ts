// Tests the map with a maximum size.
import { expect, test } from "vitest";
import { BoundedMap } from "../../src/core/bounded-map.ts";

function filled(max: number, keys: readonly string[]): BoundedMap<string, number> {
  const map = new BoundedMap<string, number>(max);
  for (const [index, key] of keys.entries()) map.set(key, index);
  return map;
}

test("a bounded map holds at most its maximum and deletes the oldest entries first", () => {
  expect([...filled(2, ["a", "b", "c", "d"]).keys()]).toEqual(["c", "d"]);
});

test("setting an existing key keeps its position; a key that was deleted before becomes the newest", () => {
  const map = filled(2, ["a", "b", "a"]);
  expect([...map].flat()).toEqual(["a", 2, "b", 1]);
  map.delete("a");
  map.set("a", 3).set("c", 4);
  expect([...map.keys()]).toEqual(["a", "c"]);
});

test("deleteOldestWhile deletes from the oldest entry on and stops at the first entry that must stay", () => {
  const map = filled(9, ["a", "b", "c", "d"]);
  map.deleteOldestWhile((value) => value !== 2);
  expect([...map.keys()]).toEqual(["c", "d"]);
});
