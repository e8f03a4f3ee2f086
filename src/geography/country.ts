// Describes the country at one moment: the lists that were read, the lists that an answer needs, those that are missing, and how old the
// figures are. The API's own texts are compared and repeated, never interpreted.

import type { DistrictsResponse, State, StatesResponse } from "../contract/playground.ts";
import { groupByKey } from "../core/counts.ts";
import { excerpt } from "../core/untrusted-text.ts";
import type { DatedResponse } from "./catalog.ts";
import type { MissingState } from "./prefetch.ts";

export interface Country {
  readonly states: DatedResponse<StatesResponse>;
  /** Districts lists by state code, in the spelling of the states list. */
  readonly lists: ReadonlyMap<string, DatedResponse<DistrictsResponse>>;
}

export interface RequiredLists {
  /** Without these lists, the rows may be wrong. */
  readonly rows: readonly State[];
  /** Without these lists, some part of the answer is uncertain; includes `rows`. */
  readonly all: readonly State[];
}

export interface CountryAnswer {
  readonly states: readonly State[];
  readonly requiredLists: RequiredLists;
}

export interface GatherResult<A extends CountryAnswer = CountryAnswer> {
  readonly answer: A;
  readonly country: Country;
  /** States whose lists are missing, although the answer depends on them; `reason` explains why. */
  readonly missing: readonly MissingState[];
}

export interface MissingStateGroup {
  readonly states: readonly string[];
  readonly more?: number;
  readonly reason: string;
  readonly retryAfterSeconds?: number;
}

export interface Coverage {
  readonly statesTotal: number;
  readonly statesRead: number;
  readonly complete: boolean;
  /** The missing lists that the answer depends on, grouped by reason. */
  readonly missing: readonly MissingStateGroup[];
}

/** At the default rate, nine states are missing after the first minute: all are named. If more are missing, the first three are. */
const MAX_NAMED = 9;
const FEW_NAMED = 3;

export const collectDrift = ({ states, lists }: Country, codes: readonly string[]): readonly string[] => [
  ...new Set([states, ...codes.flatMap((code) => lists.get(code) ?? [])].flatMap(({ drift }) => drift)),
];

function groupByReason(missing: readonly MissingState[]): readonly MissingStateGroup[] {
  const groups = groupByKey(missing.map(({ state, ...why }) => [JSON.stringify(why), { state, why }]));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    const named = group.slice(0, group.length > MAX_NAMED ? FEW_NAMED : MAX_NAMED).map(({ state }) => state);
    const more = group.length - named.length;
    return first ? { states: named, ...(more > 0 && { more }), ...first.why } : [];
  });
}

export function computeCoverage({ answer: { states }, country, missing }: GatherResult): Coverage {
  const statesRead = states.filter(({ code }) => country.lists.has(code)).length;
  const complete = statesRead === states.length;
  return { statesTotal: states.length, statesRead, complete, missing: groupByReason(missing) };
}

/** Seconds until the last pending list can be available; undefined if no list is pending. */
export function secondsUntilComplete({ missing }: Coverage): number | undefined {
  const seconds = missing.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  return seconds.length === 0 ? undefined : Math.max(...seconds);
}

/** Reason for a missing list that may arrive at any moment, because nothing delays it. */
export const NOT_READ_YET = "not read yet";

/** Whether any missing list can be available within this number of seconds. */
export const canProgressWithin = ({ missing }: Coverage, seconds: number): boolean =>
  missing.some(
    ({ reason, retryAfterSeconds }) =>
      retryAfterSeconds !== undefined && (reason === NOT_READ_YET || retryAfterSeconds <= seconds),
  );

export const countMissing = ({ missing }: Coverage): number =>
  missing.reduce((count, { states, more = 0 }) => count + states.length + more, 0);

export type Vintage = ReturnType<typeof summarizeVintage>;

const MAX_SOURCE_LENGTH = 60;

/** The beginning of the source that an answer must name; list_states has the full text. */
export const excerptSource = (source: string): string =>
  excerpt(source.split(/[,;]\s/)[0] ?? source, MAX_SOURCE_LENGTH);

/** Formats an instant to the second: no reader needs more, and the text is part of every answer. */
const formatInstant = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

function summarizeFallback(flags: readonly (boolean | undefined)[]) {
  if (flags.every((flag) => flag === undefined)) return "not stated";
  if (flags.every((flag) => flag === true)) return "all";
  return flags.includes(true) ? "some" : "none";
}

export function summarizeVintage({ states, lists }: Country, codes: readonly string[]) {
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
