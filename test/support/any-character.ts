// Generates any character except surrogates. For its unit "binary", fast-check first builds a table of all of them, in 2 s.
import fc from "fast-check";

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;

export const anyCharacter = fc
  .oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0, max: 0x10ffff - SURROGATES }))
  .map((number) => String.fromCodePoint(number < FIRST_SURROGATE ? number : number + SURROGATES));
