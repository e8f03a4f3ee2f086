// What is known of the country at one moment, which states' lists a question needs, and what is missing.
import type { DistrictsResponse, State, StatesResponse } from "../contract/playground.ts";
import type { DatedAnswer } from "./cache.ts";
import type { Unread } from "./sweep.ts";

export interface Country {
  readonly states: DatedAnswer<StatesResponse>;
  /** By state code as the states list has it. */
  readonly lists: ReadonlyMap<string, DatedAnswer<DistrictsResponse>>;
}

/** Which states' lists an answer stands on. */
export interface Needs {
  /** Without these the rows may be wrong. */
  readonly rows: readonly State[];
  /** Without these something beside the rows is unknown; holds `rows`. */
  readonly all: readonly State[];
}

/** What an answer is made of. */
export interface Gathered {
  readonly country: Country;
  /** States that the question is about and whose lists it does without; `reason` says why. */
  readonly unread: readonly Unread[];
}

export interface Coverage {
  readonly statesTotal: number;
  readonly statesRead: number;
  readonly complete: boolean;
  readonly unread: readonly Unread[];
}

/** Unknown fields of the states list and of these states' lists, each once. */
export const driftIn = ({ states, lists }: Country, codes: readonly string[]): readonly string[] => [
  ...new Set([states, ...codes.flatMap((code) => lists.get(code) ?? [])].flatMap(({ drift }) => drift)),
];

/** Of the states that the question is about. */
export function coverageOf(states: readonly State[], { country, unread }: Gathered): Coverage {
  const statesRead = states.filter(({ code }) => country.lists.has(code)).length;
  return { statesTotal: states.length, statesRead, complete: statesRead === states.length, unread };
}
