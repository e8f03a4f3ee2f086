// What the two analyst tools share: their common arguments and the end of every answer.
import * as z from "zod/v4";
import type { State } from "../contract/playground.ts";
import { type Country, type Coverage, coverageOf, driftIn } from "../geography/country.ts";
import { coverageLine } from "../geography/format.ts";
import type { CountryQuery, Gathered, Needs } from "../geography/geography.ts";
import { type Vintage, vintageOf } from "../geography/vintage.ts";
import type { Ports } from "./ports.ts";
import type { ToolCall } from "./tool-call.ts";

const DEFAULT_WAIT_SECONDS = 20;
const MAX_WAIT_SECONDS = 45;

export const sweepSeconds = z
  .int()
  .min(0)
  .max(MAX_WAIT_SECONDS)
  .describe("For lists not read yet; default 20.")
  .optional();

export interface GeographyQuestion {
  /** Whether the states list alone answers it. */
  readonly level: "state" | "district";
  readonly about: (states: readonly State[]) => readonly State[];
  readonly needs: (about: readonly State[], country: Country) => Needs;
  /** Why a state that the question does without was not read. */
  readonly notNeeded: string;
  readonly waitSeconds: number | undefined;
}

/** What every answer about the country ends with. */
export interface GeographyTail {
  readonly coverage: Coverage;
  readonly vintage: Vintage;
}

export interface CountryAnswer {
  readonly country: Country;
  readonly states: readonly State[];
  readonly tail: GeographyTail;
  /** The one line on coverage and vintage. */
  readonly line: string;
  /** How to have what is still to come, as a sentence; empty when nothing is. An agent cannot wait by itself. */
  readonly forTheRest: string;
  readonly complete: boolean;
  readonly drift: readonly string[];
}

export async function askCountry(
  question: GeographyQuestion,
  call: ToolCall,
  { geography }: Pick<Ports, "geography">,
): Promise<CountryAnswer> {
  const { about, needs, notNeeded, waitSeconds = DEFAULT_WAIT_SECONDS } = question;
  const statesOf = (country: Country): readonly State[] => about(country.states.value.states);
  const wish: CountryQuery = {
    about: statesOf,
    needs: (country) => needs(statesOf(country), country),
    notNeeded,
    waitMs: waitSeconds * 1000,
    onProgress: (read, total) => call.report({ progress: read, total, message: `${read} of ${total} states read` }),
  };
  return answered(question.level, statesOf, await geography.gather(wish, call.context));
}

const allRead = (count: number): Coverage => ({ statesTotal: count, statesRead: count, complete: true, unread: [] });

const isComing = ({ unread }: Coverage): boolean =>
  unread.some(({ retryAfterSeconds }) => retryAfterSeconds !== undefined);

function answered(
  level: GeographyQuestion["level"],
  statesOf: (country: Country) => readonly State[],
  gathered: Gathered,
): CountryAnswer {
  const { country } = gathered;
  const states = statesOf(country);
  const codes = level === "state" ? [] : states.map(({ code }) => code);
  const coverage = level === "state" ? allRead(states.length) : coverageOf(states, gathered);
  const vintage = vintageOf(country, codes);
  return {
    country,
    states,
    tail: { coverage, vintage },
    line: coverageLine(coverage, vintage),
    forTheRest: isComing(coverage) ? ` Call again with waitSeconds ${MAX_WAIT_SECONDS} for the rest.` : "",
    complete: coverage.complete,
    drift: driftIn(country, codes),
  };
}
