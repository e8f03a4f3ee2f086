// How old an answer is and where its figures come from, in the API's own words: compared, repeated, never interpreted.
import type { StatesResponse } from "../contract/playground.ts";
import { excerpt, quote } from "../core/untrusted-text.ts";
import type { Country } from "./country.ts";

export interface Vintage {
  readonly sourceUpdatedAt: readonly string[];
  readonly mixed: boolean;
  readonly fallbackUsed: "none" | "some" | "all" | "not stated";
  readonly readAt: { readonly oldest: string; readonly newest: string };
  /** Who is to be named as the source, as the states list has it: its first words. list_states has it whole. */
  readonly source?: string;
  readonly sourceRef?: string;
}

const MAX_SOURCE_LENGTH = 60;

const excerptSource = (source: string): string => excerpt(source.split(/[,;]\s/)[0] ?? source, MAX_SOURCE_LENGTH);

/** To the second: nobody asks for more, and it is read again and again. */
const formatInstant = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

function summarizeFallback(flags: readonly (boolean | undefined)[]): Vintage["fallbackUsed"] {
  if (flags.every((flag) => flag === undefined)) return "not stated";
  if (flags.every((flag) => flag === true)) return "all";
  return flags.includes(true) ? "some" : "none";
}

/** Of the states list and of these states' districts lists. */
export function summarizeVintage({ states, lists }: Country, codes: readonly string[]): Vintage {
  const responses = [states, ...codes.flatMap((code) => lists.get(code) ?? [])];
  const statedVintages = new Set(responses.map(({ value }) => value.sourceUpdatedAt));
  const { source, sourceRef } = states.value;
  // Where no list is known that was asked for, there is nothing to name a source of.
  const hasFigures = codes.length === 0 || responses.length > 1;
  const readAts = responses.map(({ readAt }) => readAt);
  return {
    sourceUpdatedAt: [...statedVintages].filter((text) => text !== undefined).sort(),
    // One that states a vintage beside one that states none is a mixture too.
    mixed: statedVintages.size > 1,
    fallbackUsed: summarizeFallback(responses.map(({ value }) => value.fallbackUsed)),
    readAt: { oldest: formatInstant(Math.min(...readAts)), newest: formatInstant(Math.max(...readAts)) },
    ...(hasFigures && source !== undefined && { source: excerptSource(source) }),
    ...(hasFigures && sourceRef !== undefined && { sourceRef }),
  };
}

/** The same of one list, as a sentence. */
export function describeCatalog({
  source,
  sourceRef,
  sourceUpdatedAt,
  fallbackUsed,
}: Omit<StatesResponse, "states">): string {
  const when =
    sourceUpdatedAt === undefined ? "vintage not stated by the service" : `vintage ${quote(sourceUpdatedAt)}`;
  const from = source === undefined ? "" : `, source ${quote(source)}`;
  const at = sourceRef === undefined ? "" : ` at ${quote(sourceRef)}`;
  const fallback = fallbackUsed === undefined ? "" : `, fallbackUsed ${fallbackUsed}`;
  return `Catalogue ${when}${from}${at}${fallback}.`;
}
