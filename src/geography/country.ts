// What is known of the country at one moment, which states' lists a question needs, and what is missing.
import type { DistrictsResponse, State, StatesResponse } from "../contract/playground.ts";
import type { DatedResponse } from "./cache.ts";
import type { MissingState } from "./prefetch.ts";

export interface Country {
  readonly states: DatedResponse<StatesResponse>;
  /** By state code as the states list has it. */
  readonly lists: ReadonlyMap<string, DatedResponse<DistrictsResponse>>;
}

/** Which states' lists an answer stands on. */
export interface RequiredLists {
  /** Without these the rows may be wrong. */
  readonly rows: readonly State[];
  /** Without these something beside the rows is unknown; holds `rows`. */
  readonly all: readonly State[];
}

/** What an answer is made of. */
export interface GatherResult {
  readonly country: Country;
  /** States that the question is about and whose lists it does without; `reason` says why. */
  readonly missing: readonly MissingState[];
}

/** States that are missing for one reason. */
export interface MissingStateGroup {
  readonly states: readonly string[];
  /** How many more there are than `states` names. */
  readonly more?: number;
  readonly reason: string;
  readonly retryAfterSeconds?: number;
}

export interface Coverage {
  readonly statesTotal: number;
  readonly statesRead: number;
  readonly complete: boolean;
  /** Those that the answer depends on. */
  readonly missing: readonly MissingStateGroup[];
}

/** At the usual rate nine are left over from the first minute: they are named. Of a country that is missing, a few will do. */
const MAX_NAMED = 9;
const FEW_NAMED = 3;

/** Unknown fields of the states list and of these states' lists, each once. */
export const collectDrift = ({ states, lists }: Country, codes: readonly string[]): readonly string[] => [
  ...new Set([states, ...codes.flatMap((code) => lists.get(code) ?? [])].flatMap(({ drift }) => drift)),
];

/** Each reason once, with its states. */
function groupByReason(missing: readonly MissingState[]): readonly MissingStateGroup[] {
  const groups = new Map<string, { readonly why: Omit<MissingState, "state">; readonly states: string[] }>();
  for (const { state, ...why } of missing) {
    const key = JSON.stringify(why);
    const group = groups.get(key) ?? { why, states: [] };
    groups.set(key, group);
    group.states.push(state);
  }
  return [...groups.values()].map(({ why, states }) => {
    const named = states.slice(0, states.length > MAX_NAMED ? FEW_NAMED : MAX_NAMED);
    const more = states.length - named.length;
    return { states: named, ...(more > 0 && { more }), ...why };
  });
}

/** Of the states that the question is about. */
export function computeCoverage(states: readonly State[], { country, missing }: GatherResult): Coverage {
  const statesRead = states.filter(({ code }) => country.lists.has(code)).length;
  const complete = statesRead === states.length;
  return { statesTotal: states.length, statesRead, complete, missing: groupByReason(missing) };
}

/** When the last of what is still to come can be there, in seconds from now; undefined where nothing is to come. */
export function secondsUntilComplete({ missing }: Coverage): number | undefined {
  const seconds = missing.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  return seconds.length === 0 ? undefined : Math.max(...seconds);
}

/** Why a list is missing that may come any moment: nothing holds it up. */
export const NOT_READ_YET = "not read yet";

/** Whether any of what is missing can be there in so many seconds. */
export const canProgressWithin = ({ missing }: Coverage, seconds: number): boolean =>
  missing.some(
    ({ reason, retryAfterSeconds }) =>
      retryAfterSeconds !== undefined && (reason === NOT_READ_YET || retryAfterSeconds <= seconds),
  );

export const countMissing = ({ statesTotal, statesRead }: Coverage): number => statesTotal - statesRead;
