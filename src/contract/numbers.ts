// This module defines integers and decimal strings (docs/contract.md, 2).
import * as z from "zod/v4";

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
