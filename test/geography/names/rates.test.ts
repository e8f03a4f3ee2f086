// How well districts are found by what people type: no class falls below its floor (npm run bench:names shows all of it).
import { describe, expect, test } from "vitest";
import { measure } from "./measure.ts";
import { ratesOf } from "./rates.ts";
import { ownNames, questions, respelled } from "./rows.ts";

/** Classes that are still below their floor. Whoever lifts one above it takes it out: the list only shrinks. */
const NOT_YET: ReadonlySet<string> = new Set();

describe("the tables", () => {
  test("hold 700 questions or more, each once", () => {
    const asked = questions.map(({ query, state = "" }) => `${query}|${state}`.toLowerCase());
    expect(asked.filter((each, at) => asked.indexOf(each) !== at)).toEqual([]);
    expect(asked.length).toBeGreaterThanOrEqual(700);
  });

  test("respell 150 districts or more", () => {
    expect(respelled.size).toBeGreaterThanOrEqual(150);
  });
});

test("every class is above its floor, but for those that are not yet", async () => {
  const plain = await measure([...questions, ...ownNames]);
  const rates = ratesOf(plain, await measure(questions, respelled));
  const told = rates.map(({ name, share, floor }) => `${name} ${share.toFixed(3)}, floor ${floor}`).join("\n");
  const below = rates.flatMap(({ name, isReached }) => (isReached ? [] : [name]));
  expect(new Set(below), told).toEqual(NOT_YET);
}, 300_000);
