// Describes how old an answer is and where its figures come from. The API's own texts are compared and repeated, never
// interpreted.
import type { StatesResponse } from "../contract/playground.ts";
import { excerpt, quote } from "../core/untrusted-text.ts";
import type { Country } from "./country.ts";

export interface Vintage {
  readonly sourceUpdatedAt: readonly string[];
  readonly mixed: boolean;
  readonly fallbackUsed: "none" | "some" | "all" | "not stated";
  readonly readAt: { readonly oldest: string; readonly newest: string };
  /** The source that an answer must name: the beginning of the text in the states list. list_states has the full text. */
  readonly source?: string;
  readonly sourceRef?: string;
}

const MAX_SOURCE_LENGTH = 60;

const excerptSource = (source: string): string => excerpt(source.split(/[,;]\s/)[0] ?? source, MAX_SOURCE_LENGTH);

/** Formats an instant to the second: no reader needs more, and the text is part of every answer. */
const formatInstant = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

function summarizeFallback(flags: readonly (boolean | undefined)[]): Vintage["fallbackUsed"] {
  if (flags.every((flag) => flag === undefined)) return "not stated";
  if (flags.every((flag) => flag === true)) return "all";
  return flags.includes(true) ? "some" : "none";
}

/** Summarizes the vintage of the states list and of these states' districts lists. */
export function summarizeVintage({ states, lists }: Country, codes: readonly string[]): Vintage {
  const responses = [states, ...codes.flatMap((code) => lists.get(code) ?? [])];
  const statedVintages = new Set(responses.map(({ value }) => value.sourceUpdatedAt));
  const { source, sourceRef } = states.value;
  // If none of the requested lists is known, the answer has no figures whose source must be named.
  const hasFigures = codes.length === 0 || responses.length > 1;
  const readAts = responses.map(({ readAt }) => readAt);
  return {
    sourceUpdatedAt: [...statedVintages].filter((text) => text !== undefined).sort(),
    // A list with a stated vintage and one without are also a mixture.
    mixed: statedVintages.size > 1,
    fallbackUsed: summarizeFallback(responses.map(({ value }) => value.fallbackUsed)),
    readAt: { oldest: formatInstant(Math.min(...readAts)), newest: formatInstant(Math.max(...readAts)) },
    ...(hasFigures && source !== undefined && { source: excerptSource(source) }),
    ...(hasFigures && sourceRef !== undefined && { sourceRef }),
  };
}

/** Describes the vintage and source of one list in a sentence. */
export function describeCatalog({
  source,
  sourceRef,
  sourceUpdatedAt,
  fallbackUsed,
}: Omit<StatesResponse, "states">): string {
  const when = sourceUpdatedAt === undefined ? "vintage not stated by the API" : `vintage ${quote(sourceUpdatedAt)}`;
  const from = source === undefined ? "" : `, source ${quote(source)}`;
  const at = sourceRef === undefined ? "" : ` at ${quote(sourceRef)}`;
  const fallback = fallbackUsed === undefined ? "" : `, fallbackUsed ${fallbackUsed}`;
  return `Catalogue ${when}${from}${at}${fallback}.`;
}
