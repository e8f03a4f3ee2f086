// Names in Indian scripts: as they are written in Latin letters, and which districts they lead to.
import fc from "fast-check";
import { expect, test } from "vitest";
import { findDistrict } from "../../src/geography/find.ts";
import { Places } from "../../src/geography/names/places.ts";
import { isIndianScript, isUnreadable, latinOf } from "../../src/geography/names/scripts.ts";
import { knownCountry } from "./known-country.ts";

test.each([
  ["कानपुर", "kanpur"],
  ["जबलपुर", "jabalpur"],
  ["अहमदनगर", "ahmadnagar"],
  ["चंपारण", "champaran"],
  ["गढ़वा", "garhva"],
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
])("%s is %s", (written, latin) => expect(latinOf(written)).toBe(latin));

const country = knownCountry();

test.each([
  ["वाराणसी", "Varanasi"],
  ["मुज़फ़्फ़रनगर", "Muzaffarnagar"],
  ["पूर्वी सिंहभूम", "East Singhbum"],
  ["छत्रपती संभाजीनगर", "Chhatrapati Sambhajinagar"],
  ["मुंबई उपनगर", "Mumbai Suburban"],
  ["পশ্চিম মেদিনীপুর", "Paschim Medinipur"],
  ["দক্ষিণ ২৪ পরগনা", "South 24 Parganas"],
  ["শিৱসাগৰ", "Sivasagar"],
  ["ਫ਼ਿਰੋਜ਼ਪੁਰ", "Ferozepur"],
  ["ਹੁਸ਼ਿਆਰਪੁਰ", "Hoshiarpur"],
  ["અમદાવાદ", "Ahmedabad"],
  ["બનાસકાંઠા", "Banas Kantha"],
  ["ସୁନ୍ଦରଗଡ଼", "Sundaragada"],
  ["ଯାଜପୁର", "Jajpur"],
  ["கோயம்புத்தூர்", "Coimbatore"],
  ["திருச்சிராப்பள்ளி", "Tiruchirappalli"],
  ["విశాఖపట్నం", "Visakhapatnam"],
  ["తూర్పు గోదావరి", "East Godavari"],
  ["ಬೆಂಗಳೂರು ಗ್ರಾಮಾಂತರ", "Bengaluru Rural"],
  ["ಚಾಮರಾಜನಗರ", "Chamarajanagar"],
  ["തിരുവനന്തപുരം", "Thiruvananthapuram"],
  ["കോഴിക്കോട്", "Kozhikode"],
])("%s leads to %s first", (written, name) => {
  const finding = findDistrict(written, new Places(country.states.value.states, country), 5);
  expect(finding.answer.matches[0]?.name).toBe(name);
});

test("every letter of the nine blocks becomes Latin ones, and nothing else is touched", () => {
  const letter = fc.integer({ min: 0x900, max: 0xd7f }).map((code) => String.fromCodePoint(code));
  fc.assert(
    fc.property(fc.array(letter, { maxLength: 12 }), fc.string(), (letters, latin) => {
      expect(isIndianScript(latinOf(letters.join("")))).toBe(false);
      expect(latinOf(latin)).toBe(latin);
    }),
    { numRuns: 500 },
  );
});

test("other scripts are known as such", () => {
  for (const text of ["لکھنؤ", "ᱥᱟᱱᱛᱟᱲ", "Москва"]) expect(isUnreadable(text)).toBe(true);
  for (const text of ["Patna", "पटना", "Lucknow لکھنؤ", "24"]) expect(isUnreadable(text)).toBe(false);
});
