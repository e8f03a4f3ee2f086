// Formats parts of the sentences in geography answers: counts with their nouns, places, and one line on coverage and vintage.
import type { State } from "../contract/playground.ts";
import { formatToken, quote } from "../core/untrusted-text.ts";
import { type Coverage, type MissingStateGroup, secondsUntilComplete } from "./country.ts";
import type { Vintage } from "./vintage.ts";

/** Maximum length of a name in a sentence, in characters. */
export const MAX_DISPLAY_LENGTH = 80;
/** Maximum number of names in a sentence. */
const MAX_LISTED = 3;

export const formatNumber = (value: number): string => {
  const [integerPart = "", ...fraction] = String(value).split(".");
  return [integerPart.replace(/\B(?=(\d{3})+$)/g, ","), ...fraction].join(".");
};

export const pluralize = (count: number, one: string, many = `${one}s`): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`;

export const formatName = (name: string): string => formatToken(name, MAX_DISPLAY_LENGTH);

export const formatState = ({ name, code }: Pick<State, "name" | "code">): string => `${formatName(name)} (${code})`;

/** Joins the first `max` texts and adds the number of the others. `omitted`: others that are not in `texts`. */
export function joinFirst(texts: readonly string[], omitted = 0, max = MAX_LISTED, separator = ", "): string {
  const others = texts.length - max + omitted;
  return `${texts.slice(0, max).join(separator)}${others > 0 ? ` and ${others} more` : ""}`;
}

/** For example ": ask again in 42 s"; empty if no list is pending. */
export function formatRetryHint(coverage: Coverage): string {
  const seconds = secondsUntilComplete(coverage);
  return seconds === undefined ? "" : `: ask again in ${seconds} s`;
}

/** A count of 0 does not mean that the places have no mandals. */
export const describeZeroCounts = (rows: readonly { readonly mandalCount: number }[]): string =>
  rows.some(({ mandalCount }) => mandalCount === 0) ? " Where mandalCount is 0, the catalogue lists none." : "";

/** Every answer names the source, because the data's license requires it. */
function formatSource({ source, sourceRef }: Vintage): readonly string[] {
  const name = [source, sourceRef].flatMap((text) => (text === undefined ? [] : [formatToken(text)]));
  return name.length === 0 ? [] : [`source ${name.join(" ")}`];
}

function formatVintage({ sourceUpdatedAt, mixed, fallbackUsed }: Vintage): string {
  const stated =
    sourceUpdatedAt.length === 0
      ? "vintage not stated by the service"
      : `vintage ${sourceUpdatedAt.map((text) => quote(text)).join(", ")}`;
  const mixture = mixed ? (sourceUpdatedAt.length === 1 ? " (for a part of it)" : " (mixed)") : "";
  return `Catalogue ${stated}${mixture}; fallbackUsed ${fallbackUsed}`;
}

/** Describes one reason and the states that are missing for it. */
export function formatMissing({ reason, retryAfterSeconds, states, more = 0 }: MissingStateGroup): string {
  const when = retryAfterSeconds === undefined ? "" : `; ask again in ${retryAfterSeconds} s`;
  return `${states.length + more} missing: ${joinFirst(states, more, states.length, " ")} (${reason}${when})`;
}

export function formatCoverage({ statesRead, statesTotal, missing }: Coverage, vintage: Vintage): string {
  const { oldest, newest } = vintage.readAt;
  const read = `${statesRead} of ${pluralize(statesTotal, "state")} read ${oldest}${newest === oldest ? "" : ` to ${newest}`}`;
  return `${[formatVintage(vintage), read, ...formatSource(vintage), ...missing.map(formatMissing)].join("; ")}.`;
}
