// Formats parts of the sentences in geography answers: counts with their nouns, places, and one line on coverage and vintage.

import type { CatalogMetadata, State } from "../contract/playground.ts";
import { countPart, formatCount } from "../core/counts.ts";
import { type Interpolated, join, own, quoted, raw, say, type Text } from "../core/text.ts";
import { formatToken } from "../core/untrusted-text.ts";
import {
  type Coverage,
  countMissing,
  excerptSource,
  type MissingStateGroup,
  secondsUntilComplete,
  type Vintage,
} from "./country.ts";
import { formatName } from "./names/resolve-state.ts";

const MAX_LISTED = 3;

export const formatState = ({ name, code }: Pick<State, "name" | "code">): Text => say`${formatName(name)} (${code})`;

/** Joins the first `max` texts and adds the number of the others. `omitted`: others that are not in `texts`. */
export function joinFirst(
  texts: readonly Interpolated[],
  omitted = 0,
  max = MAX_LISTED,
  separator: ", " | " " = ", ",
): Text {
  const others = texts.length - max + omitted;
  return say`${join(texts.slice(0, max), separator)}${others > 0 && say` and ${others} more`}`;
}

/** "27 of 36 lists". */
const formatListCount = (count: number, { statesTotal }: Coverage): string =>
  `${count} of ${formatCount(statesTotal, "list")}`;

/** "9 of 36 lists are not loaded (about 20 s left)"; "no list is loaded" if all are missing. */
export function describeNotLoaded(coverage: Coverage): Text {
  const seconds = secondsUntilComplete(coverage);
  const count = countMissing(coverage);
  const lists =
    count === coverage.statesTotal
      ? say`no list is loaded`
      : say`${count} of ${countPart(coverage.statesTotal, "list")} ${own(count === 1 ? "is" : "are")} not loaded`;
  return seconds === undefined ? lists : say`${lists} (about ${seconds} s left)`;
}

/** A count of 0 does not mean that the places have no mandals. */
export const describeZeroCounts = (rows: readonly { readonly mandalCount: number }[]): Text =>
  rows.some(({ mandalCount }) => mandalCount === 0) ? say` A count of 0 means that the catalog lists none there.` : [];

export function formatMissing({ reason, retryAfterSeconds, states, more = 0 }: MissingStateGroup): Text {
  const when = retryAfterSeconds !== undefined && say`; ask again in ${retryAfterSeconds} s`;
  return say`${states.length + more} missing: ${joinFirst(states, more, states.length, " ")} (${raw(reason)}${when})`;
}

// The next functions return values of fields.

/** Formats vintage and completeness: "2026-05-25, complete". */
export function formatDates(coverage: Coverage, { sourceUpdatedAt, mixed, fallbackUsed }: Vintage): string {
  const dates = sourceUpdatedAt.map((text) => formatToken(text)).join(" and ");
  return [
    `${dates === "" ? "not stated" : dates}${mixed ? " (mixed)" : ""}`,
    ...(fallbackUsed === "some" || fallbackUsed === "all" ? [`fallbackUsed ${fallbackUsed}`] : []),
    coverage.complete
      ? "complete"
      : countMissing(coverage) === 0
        ? `complete for this answer (${formatListCount(coverage.statesRead, coverage)})`
        : `${formatListCount(coverage.statesRead, coverage)} loaded`,
  ].join(", ");
}

/** "2026-05-25, complete, https://lgdirectory.gov.in/". Tables and texts name the source, because the data's license requires it. */
export function formatVintage(coverage: Coverage, vintage: Vintage): string {
  const source = vintage.sourceRef ?? vintage.source;
  return `${formatDates(coverage, vintage)}${source === undefined ? "" : `, ${formatToken(source)}`}`;
}

export function formatListVintage({ source, sourceRef, sourceUpdatedAt, fallbackUsed }: CatalogMetadata): string {
  const name = sourceRef ?? (source === undefined ? undefined : excerptSource(source));
  return [
    sourceUpdatedAt === undefined ? "not stated" : formatToken(sourceUpdatedAt),
    ...(fallbackUsed === true ? ["fallbackUsed true"] : []),
    ...(name === undefined ? [] : [formatToken(name)]),
  ].join(", ");
}

export const describeSource = (list: CatalogMetadata): Text =>
  say`Vintage: ${raw(formatListVintage(list))}.${list.source !== undefined && say` Source: ${quoted(list.source)}.`}`;

/**
 * Returns the rows as fields of one object, named by their codes. The contract does not promise that codes are unique: a repeated code gets
 * a number, so that no row is lost.
 */
export function keyByCode<T extends { readonly code: string }>(
  rows: readonly T[],
): Readonly<Record<string, Omit<T, "code">>> {
  const keyed = new Map<string, Omit<T, "code">>();
  for (const { code, ...row } of rows) {
    let key = code;
    for (let count = 2; keyed.has(key); count++) key = `${code} (${count})`;
    keyed.set(key, row);
  }
  return Object.fromEntries(keyed);
}

export const formatCoverage = (coverage: Coverage, vintage: Vintage): Text =>
  say`${join([say`Vintage: ${raw(formatVintage(coverage, vintage))}`, ...coverage.missing.map(formatMissing)], "; ")}.`;
