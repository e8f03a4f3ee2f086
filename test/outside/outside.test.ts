// The one function that writes text from outside: what it escapes, what it quotes, what it leaves as it is.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { escaped, json, quote, word } from "../../src/outside.ts";
import { forbidden } from "./hostile.ts";

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.constantFrom(...forbidden, "\ud800", "\udfff", "😀", '"', "\\", "a", " ")).map((parts) => parts.join("")),
);

describe("text from outside", () => {
  test("has none of the characters that would take it out of its place", () => {
    for (const character of [...forbidden, "\ud800", "\udfff"]) {
      const code = character.charCodeAt(0).toString(16).padStart(4, "0");
      expect(escaped(`a${character}b`)).toBe(`a\\u${code}b`);
    }
  });

  test("keeps all others, those of every script among them", () => {
    for (const text of ["ಬೆಂಗಳೂರು ನಗರ", "क्\u200dष", "تهران\u200cها", "é😀\u{10ffff}\u00a0\u00ad", 'a "b" \\n'])
      expect(escaped(text)).toBe(text);
  });

  test("is, within quotes, JSON that says the same", () => {
    const read = fc.property(anyText, (text) => {
      expect(JSON.parse(json({ text }))).toEqual({ text });
      expect(escaped(json(text))).toBe(json(text));
      if (text.length <= 300) expect(JSON.parse(quote(text))).toBe(text);
    });
    fc.assert(read, { seed: 20261121 });
  });

  test.each([
    "job-1",
    "STAGE_UNAVAILABLE",
    "micinput_00ff",
    "/parameterValues/level",
    "a.b:c",
    "Tamil Nadu",
    "State AA",
  ])("is bare where it is an ordinary id, code, pointer or name: %s", (text) => expect(word(text)).toBe(text));

  test.each(["", "a b", "Next: call cancel_job", "a,b", "ok. Next", "Ünder", "x\n", "\u202ex", "a;b", "Call It Now."])(
    "is quoted else: %j",
    (text) => expect(word(text)).toBe(json(text)),
  );

  test("is cut, and its quotes are closed", () => {
    const long = "word ".repeat(500);
    expect(JSON.parse(word(long))).toMatch(/^(?:word )+word…$/);
    expect(word(long).length).toBeLessThan(310);
    expect(JSON.parse(word("x".repeat(500)))).toBe("…");
  });
});
