// Tests the token counter with counts of js-tiktoken 1.0.21, OpenAI's algorithm and encoding o200k_base.
import { expect, test } from "vitest";
import { countTokens } from "./count-tokens.ts";

test.each([
  ["", 0],
  ["tiktoken is great!", 6],
  ["antidisestablishmentarianism", 6],
  ["2 + 2 = 4", 7],
  ["हैदराबाद జిల్లా", 6],
  ["<|endoftext|>", 7],
  ['{"jobId":"micjob_01","state":"SUCCEEDED"}\n\n    next', 16],
])("counts %j as the official tokenizer does", (text, tokens) => {
  expect(countTokens(text)).toBe(tokens);
});
