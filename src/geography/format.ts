// Formats parts of the sentences in geography answers: counts with their nouns, places, and one line on coverage and vintage.

import type { CatalogMetadata, State } from "../contract/playground.ts";
import { formatCount } from "../core/counts.ts";
import { formatToken, quote } from "../core/untrusted-text.ts";
import {
  type Coverage,
  countMissing,
  excerptSource,
  type MissingStateGroup,
  secondsUntilComplete,
  type Vintage,
} from "./country.ts";
import { MAX_DISPLAY_LENGTH } from "./names/resolve-state.ts";

const MAX_LISTED = 3;

export const formatName = (name: string): string => formatToken(name, MAX_DISPLAY_LENGTH);

export const formatState = ({ name, code }: Pick<State, "name" | "code">): string => `${formatName(name)} (${code})`;

/** Joins the first `max` texts and adds the number of the others. `omitted`: others that are not in `texts`. */
export function joinFirst(texts: readonly string[], omitted = 0, max = MAX_LISTED, separator = ", "): string {
  const others = texts.length - max + omitted;
  return `${texts.slice(0, max).join(separator)}${others > 0 ? ` and ${others} more` : ""}`;
}

/** "27 of 36 lists". */
export const formatListCount = (count: number, { statesTotal }: Coverage): string =>
  `${count} of ${formatCount(statesTotal, "list")}`;

/** "9 of 36 lists are not loaded (about 20 s left)"; "no list is loaded" if all are missing. */
export function describeNotLoaded(coverage: Coverage): string {
  const seconds = secondsUntilComplete(coverage);
  const count = countMissing(coverage);
  const lists =
    count === coverage.statesTotal
      ? "no list is loaded"
      : `${formatListCount(count, coverage)} ${count === 1 ? "is" : "are"} not loaded`;
  return seconds === undefined ? lists : `${lists} (about ${seconds} s left)`;
}

/** A count of 0 does not mean that the places have no mandals. */
export const describeZeroCounts = (rows: readonly { readonly mandalCount: number }[]): string =>
  rows.some(({ mandalCount }) => mandalCount === 0) ? " A count of 0 means that the catalog lists none there." : "";

export function formatMissing({ reason, retryAfterSeconds, states, more = 0 }: MissingStateGroup): string {
  const when = retryAfterSeconds === undefined ? "" : `; ask again in ${retryAfterSeconds} s`;
  return `${states.length + more} missing: ${joinFirst(states, more, states.length, " ")} (${reason}${when})`;
}

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

export const describeSource = (list: CatalogMetadata): string =>
  `Vintage: ${formatListVintage(list)}.${list.source === undefined ? "" : ` Source: ${quote(list.source)}.`}`;

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

export const formatCoverage = (coverage: Coverage, vintage: Vintage): string =>
  `${[`Vintage: ${formatVintage(coverage, vintage)}`, ...coverage.missing.map(formatMissing)].join("; ")}.`;
