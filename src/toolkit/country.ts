// What the geography tools share: their common arguments, the end of every answer, the call that goes on where it had to end.
import * as z from "zod/v4";
import type { State } from "../contract/playground.ts";
import { type Country, type Coverage, canComeWithin, coverageOf, driftIn, unreadCount } from "../geography/country.ts";
import { coverageLine } from "../geography/format.ts";
import { ANSWER_MS, type CountryQuery, type Gathered, type Needs } from "../geography/geography.ts";
import { type Vintage, vintageOf } from "../geography/vintage.ts";
import type { NextStep } from "./results.ts";
import type { Ports, ToolCall } from "./tool-call.ts";

const DEFAULT_WAIT_SECONDS = 20;
const MAX_WAIT_SECONDS = 45;
/** Of a call's 45 seconds some are kept for its answer. */
const LONGEST_WAIT_SECONDS = MAX_WAIT_SECONDS - ANSWER_MS / 1000;

export const sweepSeconds = z.int().min(0).max(MAX_WAIT_SECONDS).describe("For unread lists; default 20.").optional();

/** What every model writes first, in every tool that has it. */
export const stateArgument = z.string().max(80).describe("Code or name.");

export interface GeographyQuestion {
  /** Whether the states list alone answers it. */
  readonly level: "state" | "district";
  readonly about: (states: readonly State[]) => readonly State[];
  readonly needs: (about: readonly State[], country: Country) => Needs | Promise<Needs>;
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
  /** `unread` of its coverage is empty where the answer depends on none that is. */
  readonly tail: GeographyTail;
  /** The one line on coverage and vintage. */
  readonly line: string;
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
  return await answered(question, statesOf, await geography.gather(wish, call.context));
}

const allRead = (count: number): Coverage => ({ statesTotal: count, statesRead: count, complete: true, unread: [] });

async function answered(
  { level, needs }: GeographyQuestion,
  statesOf: (country: Country) => readonly State[],
  gathered: Gathered,
): Promise<CountryAnswer> {
  const { country } = gathered;
  const states = statesOf(country);
  const codes = level === "state" ? [] : states.map(({ code }) => code);
  const { rows, all } = await needs(states, country);
  // What the rows do not depend on and is still to come is not told: it would read as a doubt.
  const unread = gathered.unread.filter(({ state, retryAfterSeconds }) =>
    (retryAfterSeconds === undefined ? all : rows).some(({ code }) => code === state),
  );
  const coverage = level === "state" ? allRead(states.length) : coverageOf(states, { country, unread });
  const vintage = vintageOf(country, codes);
  return {
    country,
    states,
    tail: { coverage, vintage },
    line: coverageLine(coverage, vintage),
    drift: driftIn(country, codes),
  };
}

/**
 * The same call with the longest wait, where what it lacks can come meanwhile: an agent cannot wait by itself. Where it cannot, the
 * call would end at once, again and again: then the answer only says when to ask again.
 */
export function askAgain(call: ToolCall, args: NextStep["arguments"], coverage: Coverage): NextStep | undefined {
  if (!canComeWithin(coverage, LONGEST_WAIT_SECONDS)) return undefined;
  const why = `${unreadCount(coverage)} unread`;
  return { tool: call.tool, arguments: { ...args, waitSeconds: MAX_WAIT_SECONDS }, why };
}
