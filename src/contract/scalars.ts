// This module defines the scalar types: texts, ids, keys, integers, decimal strings and instants (docs/contract.md, 2 and 4).
import * as z from "zod/v4";

/** True if the text has no lone surrogate. */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

// C0, DEL and C1: the set that section 4.2 names.
const hasControlCharacter = (text: string): boolean => /\p{Cc}/u.test(text);

/** A character is one or two UTF-16 units, so a much longer text is not split into its characters. */
const hasAtMostCharacters = (text: string, max: number): boolean =>
  text.length <= max || (text.length <= 2 * max && [...text].length <= max);

/** `min`-`max` chars, counted in Unicode code points. */
export const chars = (min: number, max: number) =>
  z
    .string()
    .refine((text) => text.length >= min && hasAtMostCharacters(text, max), {
      error: `must be ${min} to ${max} characters long`,
      params: { code: "LENGTH" },
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
    .refine((text) => text.length >= min && text.length <= max, {
      error: `must be ${min} to ${max} characters long`,
      params: { code: "LENGTH" },
    })
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

/**
 * An enum or a constant of a response. The API may add a value at any time, so the client passes on an unlisted one that looks like a name
 * (open question 41), and code that decides gets any string. Requests use z.enum.
 */
export const listed = (values: readonly string[]) => z.enum(values);

/** The form of an unlisted value. It has no blanks, so it cannot be read as a sentence. */
export const UNLISTED_VALUE = /^[A-Za-z0-9][A-Za-z0-9_.:/+-]{0,79}$/;

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

export const MAX_SAFE = 9007199254740991;
export const MAX_INT64 = 9223372036854775807n;

export const integer = (min: number, max: number) => z.int().min(min).max(max);

/** An integer up to 2^63-1: a number if that is exact, else a bigint. Never coerced from another type. */
export const int64 = (min: bigint) =>
  z
    .custom<number | bigint>(
      (value) => {
        const exact = typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
        return typeof exact === "bigint" && exact >= min && exact <= MAX_INT64;
      },
      { error: `must be an integer from ${min} to ${MAX_INT64}` },
    )
    .meta({ type: "integer", format: "int64", minimum: Number(min) });

/** A version as a decimal string: digits, no leading zero, 1-19 chars. */
export const decimalVersion = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,18})$/, { error: "must be 1-19 decimal digits without a leading zero", abort: true });

/** Like decimalVersion, but at least 1. */
export const positiveDecimalVersion = z
  .string()
  .regex(/^[1-9][0-9]{0,18}$/, { error: "must be 1-19 decimal digits without a leading zero, at least 1" });

/** A non-negative decimal integer up to 9223372036854775807, as a string. */
export const decimalAmount = decimalVersion.refine((digits) => BigInt(digits) <= MAX_INT64, {
  error: `must be at most ${MAX_INT64}`,
});

const PATTERN = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/i;
const SECOND = 1_000_000n;
const MINUTE = 60n * SECOND;
const DAY = 1440n * MINUTE;

function offsetMinutes(zone: string): bigint | undefined {
  if (zone.toUpperCase() === "Z") return 0n;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (hours > 23 || minutes > 59) return undefined;
  return BigInt((zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes));
}

/** True in the last minute of a UTC day, the only one that can have a second 60 (RFC 3339, 5.7; open question 21). */
const isLastMinuteOfDay = (micros: bigint): boolean => ((micros % DAY) + DAY) % DAY >= DAY - MINUTE;

/** Returns microseconds since 1970, without finer digits. A leap second counts as the next second. Undefined if invalid, as Feb 30 is. */
export function parseDateTime(text: string): bigint | undefined {
  const match = PATTERN.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second = "", fraction = "", zone = ""] = match;
  const isLeap = second === "60";
  const wall = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${isLeap ? "59" : second}Z`);
  const offset = offsetMinutes(zone);
  // Date parses Feb 30 as a day in March and 24:00 as the next day, so the day must be unchanged.
  if (Number.isNaN(wall) || offset === undefined || new Date(wall).getUTCDate() !== Number(day)) return undefined;
  const micros = BigInt(wall) * 1000n + BigInt(fraction.slice(0, 6).padEnd(6, "0")) - offset * MINUTE;
  if (!isLeap) return micros;
  return isLastMinuteOfDay(micros) ? micros + SECOND : undefined;
}

/** Formats microseconds since 1970 as a UTC instant, with a fraction only if there is one. */
export function formatUtc(micros: bigint): string {
  const fraction = ((micros % SECOND) + SECOND) % SECOND;
  const seconds = new Date(Number((micros - fraction) / 1000n)).toISOString().slice(0, -5);
  const digits = fraction.toString().padStart(6, "0").replace(/0+$/, "");
  return `${seconds}${digits === "" ? "" : `.${digits}`}Z`;
}

/** The usual form of an instant in UTC, except on February 29. All other texts are parsed, which takes 35 times as long. */
const USUAL_INSTANT =
  /^\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?Z$/;

const isDateTime = (text: string): boolean => USUAL_INSTANT.test(text) || parseDateTime(text) !== undefined;

/** A string in date-time format, at most 40 characters. */
export const dateTime = z
  .string()
  .max(40)
  .refine(isDateTime, { error: "must be a valid date-time" })
  .meta({ format: "date-time" });

/** `YYYY-MM-DDThh:mm:ss`, optional 1-6 fractional digits, `Z`; a valid instant. */
export const utcInstant = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/, {
    error: "must be a UTC instant YYYY-MM-DDThh:mm:ss with up to six fractional digits, ending in Z",
  })
  .refine(isDateTime, { error: "must be a valid instant" })
  .meta({ format: "date-time" });
