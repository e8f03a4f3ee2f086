// This module defines instants as strings (docs/contract.md, 2): "date-time" and the stricter UTC instant.
import * as z from "zod/v4";

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

/**
 * Returns the microseconds since 1970 of an RFC 3339 date-time. Finer digits are cut, and a leap second counts as the next second.
 * Returns undefined if the text is not a valid date-time; Feb 30, for example, is not.
 */
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

const isDateTime = (text: string): boolean => parseDateTime(text) !== undefined;

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
