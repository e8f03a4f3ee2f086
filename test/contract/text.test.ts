// The grammars of strings by themselves: how characters are counted, what is blank, and the three of the Idempotency-Key.
import { describe, expect, test } from "vitest";
import { chars, inputKey, plainText, processingKey, scalarText, textKey } from "../../src/contract/text.ts";
import { covers } from "../covers.ts";
import * as rule from "./field-rules.ts";
import { blankCharacters, text, unicodeText, writtenText } from "./field-rules.ts";
import { createRuleTest } from "./object-rules.ts";

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }) => (value: unknown) =>
  schema.safeParse(value).success;

covers(
  ["4.2/job-key-length", "4.2/job-key-characters"],
  "the Idempotency-Key of job creation, retry and cancellation: 8-160 UTF-16 units, readable",
  createRuleTest(textKey, rule.textKey),
);

covers(
  "4.2/input-key",
  "the Idempotency-Key of inputs: 1-128 of its characters",
  createRuleTest(inputKey, rule.inputKey),
);

covers(
  "4.2/processing-request-key",
  "the Idempotency-Key of processing requests: 8-128 of its characters, no two dots",
  createRuleTest(processingKey, rule.processingKey),
);

describe("how characters are counted", () => {
  test("1-128 characters", createRuleTest(chars(1, 128), text(1, 128)));
  test("0-512 characters", createRuleTest(chars(0, 512), text(0, 512)));
  covers("4.2/job-client-reference", "text in UTF-16 units", createRuleTest(plainText(160), writtenText(1, 160)));
  covers(
    "4.2/processing-request-purpose",
    "a purpose in characters",
    createRuleTest(scalarText(160), unicodeText(160)),
  );
});

test("one letter among blank characters is not blank, and the neighbors of control characters are none", () => {
  const readable = [..."\u0020\u007e\u00a0", ...blankCharacters].map((character) => `${character.repeat(8)}x`);
  for (const schema of [textKey, plainText(160), scalarText(160)])
    expect(readable.filter((one) => !accepts(schema)(one))).toEqual([]);
});
