// Tests the transliteration of Indian scripts to Latin letters.
import fc from "fast-check";
import { expect, test } from "vitest";
import { isIndianScript, isUnsupportedScript, toLatin } from "../../src/geography/names/transliteration.ts";

test.each([
  ["कानपुर", "kanpur"],
  ["जबलपुर", "jabalpur"],
  ["अहमदनगर", "ahmadnagar"],
  ["चंपारण", "champaran"],
  ["गढ़वा", "garhva"],
  ["जलगांव", "jalgaon"],
  ["जळगाव", "jalgaon"],
  ["নগাঁও", "nagaon"],
  ["যোৰহাট", "jorhat"],
  ["নদিয়া", "nadiya"],
  ["ਅੰਮ੍ਰਿਤਸਰ", "ammritsar"],
  ["જૂનાગઢ", "junagadh"],
  ["କଟକ", "kataka"],
  ["மதுரை", "madurai"],
  ["తిరుపతి", "tirupati"],
  ["ಮೈಸೂರು", "maisuru"],
  ["കണ്ണൂർ", "kannur"],
  ["२०२६", "2026"],
  ["Patna पटना", "Patna patna"],
])("%s is transliterated to %s", (written, latin) => expect(toLatin(written)).toBe(latin));

test("every letter of the nine blocks becomes Latin, and no other character changes", () => {
  const letter = fc.integer({ min: 0x900, max: 0xd7f }).map((code) => String.fromCodePoint(code));
  fc.assert(
    fc.property(fc.array(letter, { maxLength: 12 }), fc.string(), (letters, latin) => {
      expect(isIndianScript(toLatin(letters.join("")))).toBe(false);
      expect(toLatin(latin)).toBe(latin);
    }),
    { numRuns: 500 },
  );
});

test("unsupported scripts are detected", () => {
  for (const text of ["لکھنؤ", "ᱥᱟᱱᱛᱟᱲ", "Москва"]) expect(isUnsupportedScript(text)).toBe(true);
  for (const text of ["Patna", "पटना", "Lucknow لکھنؤ", "24"]) expect(isUnsupportedScript(text)).toBe(false);
});
