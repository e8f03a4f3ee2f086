// This module defines the grammars of strings (docs/contract.md, 2 and 4).
import * as z from "zod/v4";

/** True if the text has no lone surrogate. */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

// C0, DEL and C1: the set that section 4.2 names.
const hasControlCharacter = (text: string): boolean => /\p{Cc}/u.test(text);

const hasAtMostCharacters = (text: string, max: number): boolean => text.length <= max || [...text].length <= max;

/** `min`-`max` chars, counted in Unicode code points. */
export const chars = (min: number, max: number) =>
  z
    .string()
    .refine((text) => text.length >= min && hasAtMostCharacters(text, max), {
      error: `must be ${min}-${max} characters long`,
    })
    .meta({ minLength: min, maxLength: max });

const withoutControlCharacters = (schema: z.ZodString) =>
  schema
    .refine((text) => !hasControlCharacter(text), {
      error: "must hold no control characters (U+0000-U+001F, U+007F-U+009F)",
    })
    .refine((text) => text.trim() !== "", { error: "must not be blank" });

// zod's own min and max count code points, as JSON Schema does. A code point is one or two UTF-16 units.
const utf16Units = (min: number, max: number) =>
  z
    .string()
    .refine((text) => text.length >= min && text.length <= max, { error: `must be ${min}-${max} UTF-16 units long` })
    .meta({ minLength: Math.ceil(min / 2), maxLength: max });

/** Text that a user wrote: 1-`max` UTF-16 units, no control characters, not blank (section 4.2). */
export const plainText = (max: number) => withoutControlCharacters(utf16Units(1, max));

/** 1-`max` chars, no control characters, not blank, of valid Unicode scalar values only (section 4.2, purpose). */
export const scalarText = (max: number) =>
  withoutControlCharacters(chars(1, max)).refine(isWellFormed, {
    error: "must be valid Unicode (it has a lone surrogate)",
  });

/** The pattern of a workspace-style id, without the rule against two consecutive dots. */
export const WORKSPACE_STYLE_ID = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/;

const hasNoConsecutiveDots = (text: string): boolean => !text.includes("..");

/** 1-128 chars: a letter or digit, then letters, digits, `_ . : -`; no two consecutive dots. */
export const workspaceStyleId = z
  .string()
  .regex(WORKSPACE_STYLE_ID, {
    error: "must be 1-128 characters: a letter or digit, then letters, digits, _ . : or -",
  })
  .refine(hasNoConsecutiveDots, { error: "must not contain two consecutive dots" });

export const hex64 = z.string().regex(/^[0-9a-f]{64}$/, { error: "must be 64 lowercase hexadecimal characters" });

/** An id with a fixed prefix and 32 lowercase hexadecimal characters. */
export const prefixedId = <const P extends string>(prefix: P) =>
  z.string().regex(new RegExp(`^${prefix}[0-9a-f]{32}$`), {
    error: `must be ${prefix} followed by 32 lowercase hexadecimal characters`,
  });

// Section 4.2, "Request headers on POST endpoints": three grammars of one header.

/** Idempotency-Key of job creation, retry and cancellation: 8-160 UTF-16 units, no control characters, not blank. */
export const textKey = withoutControlCharacters(utf16Units(8, 160));

/** Idempotency-Key of input registration. */
export const inputKey = z.string().regex(/^[A-Za-z0-9._:/-]{1,128}$/, {
  error: "must be 1-128 characters from letters, digits, . _ : / -",
});

/** Idempotency-Key of processing requests. */
export const processingKey = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.:-]{7,127}$/, {
    error: "must be 8-128 characters: a letter or digit, then letters, digits, _ . : or -",
  })
  .refine(hasNoConsecutiveDots, { error: "must not contain two consecutive dots" });
