// Reads quotas from a result. Amounts are decimal strings of any length: they are shown unchanged and divided exactly.
import type { UsageSummary } from "../../src/contract/usage.ts";
import { fieldsOf, listOf, type ToolResult, textOf } from "../values.ts";

export interface Bucket {
  readonly metric: string;
  /** Empty if the API names no unit, or one that this view does not support. */
  readonly unit: string;
  readonly granted: string;
  readonly used: string;
  readonly reserved: string;
  readonly remaining: string;
  readonly resetAt: string;
  readonly isConfigured: boolean;
}

export interface Usage {
  readonly window: string;
  readonly observedAt: string;
  readonly resetTimezone: string;
  readonly buckets: readonly Bucket[];
}

const UNITS: ReadonlyMap<string, string> = new Map([["BYTE", "bytes"]]);

/** Turns JOBS_SUBMITTED into "Jobs submitted". */
export const toReadableName = (metric: string): string =>
  metric.slice(0, 1) + metric.slice(1).toLowerCase().replaceAll("_", " ");

const BYTE_UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** Returns an amount of bytes in the largest unit that fits, as a decimal with at most one digit after the point, and the unit. */
export function toByteUnit(amount: string): readonly [string, string] {
  let number = Number(amount);
  let unit = 0;
  while (number >= 1024 && unit < BYTE_UNITS.length - 1) {
    number /= 1024;
    unit += 1;
  }
  return [unit === 0 ? amount : String(Math.round(number * 10) / 10), BYTE_UNITS[unit] ?? ""];
}

function bucketOf(value: unknown): Bucket {
  const { metric, unit, unitDefinitionState, granted, used, reserved, remaining, resetAt } =
    fieldsOf<UsageSummary["buckets"][number]>(value);
  return {
    metric: textOf(metric),
    unit: UNITS.get(textOf(unit)) ?? "",
    granted: textOf(granted),
    used: textOf(used),
    reserved: textOf(reserved),
    remaining: textOf(remaining),
    resetAt: textOf(resetAt),
    isConfigured: unitDefinitionState === "DEFINED",
  };
}

/** Undefined if the result contains no usage: it is from another tool, or the host invented it. */
export function usageOf({ structured }: ToolResult): Usage | undefined {
  const { window, observedAt, resetTimezone, buckets } = fieldsOf<UsageSummary>(structured["data"]);
  if (typeof window !== "string" || !Array.isArray(buckets)) return undefined;
  return {
    window,
    observedAt: textOf(observedAt),
    resetTimezone: textOf(resetTimezone),
    buckets: listOf(buckets).map(bucketOf),
  };
}

const DECIMALS = 30;

/** Returns the amount in units of 10^-DECIMALS; 0 if the text is not an amount. */
function toScaledInteger(amount: string): bigint {
  const [, integerPart = "0", decimals = ""] = /^(\d+)(?:\.(\d+))?$/.exec(amount) ?? [];
  return BigInt(integerPart + decimals.slice(0, DECIMALS).padEnd(DECIMALS, "0"));
}

/** Returns the share of `part` in percent, rounded down to 0.01 and at most 100. */
export function percentOf(part: string, total: string): number {
  const scaledTotal = toScaledInteger(total);
  if (scaledTotal === 0n) return 0;
  const share = Number((toScaledInteger(part) * 10_000n) / scaledTotal) / 100;
  return Math.min(100, share);
}

export const isZero = (amount: string): boolean => toScaledInteger(amount) === 0n;
