// Tests that no class of queries is found worse than before (npm run bench:names prints all rates).
import { expect } from "vitest";
import { testThoroughly } from "../../support/unless.ts";
import { computeRates, judgeAnswers } from "./measure.ts";
import { alternativeSpellings, directoryNameQuestions, questions, shapeQuestions } from "./question-tables.ts";

/** By class: minimum of right answers, and of right and certain ones; then the same two for the alternative spellings. */
const MIN_RATES: Readonly<Record<string, readonly [number, number, number, number]>> = {
  unlisted: [54, 0, 54, 0],
  delhi: [40, 40, 40, 33],
  "new-districts": [18, 16, 18, 18],
  "not-districts": [115, 0, 115, 0],
  renamings: [212, 193, 211, 192],
  scripts: [51, 50, 50, 49],
  headquarters: [142, 136, 141, 135],
  several: [45, 0, 44, 0],
  "short-forms": [109, 92, 106, 90],
  spellings: [214, 146, 214, 153],
  "added-words": [158, 155, 158, 155],
  "state-argument": [62, 62, 62, 61],
  "state-as-district": [28, 0, 28, 0],
  typos: [127, 6, 128, 6],
  "wrong-state": [22, 0, 22, 0],
  // East, West, North and South are districts of Delhi and were districts of Sikkim: without a state, they are right but not certain.
  "every-name": [781, 768, 775, 756],
  "shape-state": [784, 784, 783, 778],
  "shape-upper": [784, 784, 783, 778],
  "shape-iso": [784, 784, 783, 778],
  "shape-footnote": [784, 784, 783, 778],
  "shape-number": [784, 784, 783, 778],
  "shape-code": [784, 784, 783, 770],
  "shape-code-only": [784, 784, 784, 784],
  "shape-brackets": [387, 387, 385, 385],
  "shape-slash": [387, 387, 385, 385],
};
/** Maximum over all questions; it must not increase. */
const MAX_CERTAIN_AND_WRONG = 1;

for (const [spelling, names, at] of [
  ["the directory's spelling", new Map(), 0],
  ["other public lists' spelling", alternativeSpellings, 2],
] as const)
  testThoroughly(`every class has at least its minimum of right and of certain answers with ${spelling}`, () => {
    expect(alternativeSpellings.size).toBeGreaterThanOrEqual(150);
    const judgments = judgeAnswers([...questions, ...directoryNameQuestions, ...shapeQuestions], names);
    const { whole: overall, ...rates } = Object.fromEntries(computeRates(judgments));
    const regressions = Object.entries(rates).filter(
      ([kind, { correct, certain }]) =>
        correct < (MIN_RATES[kind]?.[at] ?? correct + 1) || certain < (MIN_RATES[kind]?.[at === 0 ? 1 : 3] ?? 0),
    );
    expect(regressions).toEqual([]);
    expect(overall?.certainAndWrong).toBeLessThanOrEqual(MAX_CERTAIN_AND_WRONG);
  });
