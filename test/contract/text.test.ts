// Tests the string grammars: how characters are counted, which texts are blank, and the three grammars of the Idempotency-Key.
import { describe, expect, test } from "vitest";
import { chars, inputKey, plainText, processingKey, scalarText, textKey } from "../../src/contract/scalars.ts";
import * as rule from "./field-rules.ts";
import { blankCharacters, text, unicodeText, writtenText } from "./field-rules.ts";
import { createRuleTest } from "./object-rules.ts";

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }) => (value: unknown) =>
  schema.safeParse(value).success;

test(
  "the Idempotency-Key of job creation, retry and cancellation has 8-160 UTF-16 units, no control characters, and is not blank [4.2/job-key-length, 4.2/job-key-characters]",
  createRuleTest(textKey, rule.textKey),
);

test(
  "the Idempotency-Key of inputs has 1-128 of the permitted characters [4.2/input-key]",
  createRuleTest(inputKey, rule.inputKey),
);

test(
  "the Idempotency-Key of processing requests has 8-128 of the permitted characters, without two consecutive dots [4.2/processing-request-key]",
  createRuleTest(processingKey, rule.processingKey),
);

describe("lengths of texts", () => {
  test("1-128 characters are counted in code points", createRuleTest(chars(1, 128), text(1, 128)));
  test("0-512 characters are counted in code points", createRuleTest(chars(0, 512), text(0, 512)));
  test(
    "a client reference is counted in UTF-16 units [4.2/job-client-reference]",
    createRuleTest(plainText(160), writtenText(1, 160)),
  );
  test(
    "a purpose is counted in code points [4.2/processing-request-purpose]",
    createRuleTest(scalarText(160), unicodeText(160)),
  );
});

test("a text with one letter among blanks is not blank, and characters next to the control characters are accepted", () => {
  const readable = [..."\u0020\u007e\u00a0", ...blankCharacters].map((character) => `${character.repeat(8)}x`);
  for (const schema of [textKey, plainText(160), scalarText(160)])
    expect(readable.filter((one) => !accepts(schema)(one))).toEqual([]);
});
