// The shared parts of the geography tools: arguments, coverage and vintage, and the call that continues an incomplete answer.

import * as z from "zod/v4";
import type { State } from "../contract/playground.ts";
import { countPart } from "../core/counts.ts";
import { say, type Text } from "../core/text.ts";
import { CALL_LIMIT_SECONDS } from "../core/time-limits.ts";
import {
  type Coverage,
  canProgressWithin,
  collectDrift,
  computeCoverage,
  countMissing,
  summarizeVintage,
  type Vintage,
} from "../geography/country.ts";
import { formatCoverage, formatVintage } from "../geography/format.ts";
import { type Country, type CountryAnswer, type CountryQuery, RESPONSE_RESERVE_MS } from "../geography/geography.ts";
import { describeReading, resolveState, resolveStates, separateStates } from "../geography/names/resolve-state.ts";
import type { NextStep } from "./results.ts";
import type { ToolContext } from "./tool-context.ts";

const DEFAULT_WAIT_SECONDS = 20;
/** Part of a call's time is reserved for building its response. */
const LONGEST_WAIT_SECONDS = CALL_LIMIT_SECONDS - RESPONSE_RESERVE_MS / 1000;

export const geographyWaitSeconds = z
  .int()
  .min(0)
  .max(CALL_LIMIT_SECONDS)
  .describe(`Wait for lists (default ${DEFAULT_WAIT_SECONDS}).`)
  .optional();

export const stateArgument = z.string().max(80).describe("Code or name.");

export const statesArgument = z.array(z.string().max(80)).max(64).describe("Codes or names (default: all).").optional();

export interface GeographyQuery<A extends CountryAnswer> {
  /** "state" if the states list is sufficient for the answer. */
  readonly level: "state" | "district";
  /** Codes or names (default: all states). */
  readonly states: readonly string[] | undefined;
  readonly answer: (states: readonly State[], country: Country) => A | Promise<A>;
  readonly waitSeconds: number | undefined;
}

export interface GeographyMetadata {
  readonly coverage: Coverage;
  readonly vintage: Vintage;
}

export interface GeographyNote {
  /** Vintage, completeness and source in a few words. */
  readonly vintage: string;
  /** Present if lists are missing that the answer depends on. */
  readonly coverage?: Coverage;
}

export interface DescribedAnswer<A extends CountryAnswer = CountryAnswer> {
  readonly answer: A;
  readonly country: Country;
  /** `coverage.missing` contains only the lists that the answer depends on. */
  readonly metadata: GeographyMetadata;
  readonly note: GeographyNote;
  /** Sentences on requested states that were found by other names than their own; they follow the summary. */
  readonly readings: Text;
  readonly line: Text;
  readonly drift: readonly string[];
}

/** Reads the lists that the answer requires within `waitSeconds` (default 20 s), and reports progress. Throws Failure. */
export async function queryCountry<A extends CountryAnswer>(
  { level, states: texts, answer, waitSeconds = DEFAULT_WAIT_SECONDS }: GeographyQuery<A>,
  ctx: ToolContext,
): Promise<DescribedAnswer<A>> {
  // Each progress notification must have a higher value than the one before.
  let reportedCount = -1;
  const query: CountryQuery<A> = {
    answer: (country) => answer(resolveStates(texts, country.states.value.states), country),
    waitMs: waitSeconds * 1000,
    onProgress(progress) {
      if (progress.progress > reportedCount) ctx.report(progress);
      reportedCount = Math.max(reportedCount, progress.progress);
    },
  };
  const result = await ctx.geography.gather(query, ctx);
  const { country } = result;
  const { states } = result.answer;
  const isStates = level === "state";
  const codes = isStates ? [] : states.map(({ code }) => code);
  const coverage: Coverage = isStates
    ? { statesTotal: states.length, statesRead: states.length, complete: true, missing: [] }
    : computeCoverage(result);
  const vintage = summarizeVintage(country, codes);
  const { states: allStates } = country.states.value;
  const readings = separateStates(texts ?? [], allStates).flatMap((text) =>
    describeReading(text, resolveState(text, allStates), allStates),
  );
  const metadata = { coverage, vintage };
  return {
    answer: result.answer,
    country,
    metadata,
    readings,
    ...describeMetadata(metadata),
    drift: collectDrift(country, codes),
  };
}

/** Returns the note and the last line of an answer. */
export const describeMetadata = ({ coverage, vintage }: GeographyMetadata) => ({
  note: { vintage: formatVintage(coverage, vintage), ...(coverage.missing.length > 0 && { coverage }) },
  line: formatCoverage(coverage, vintage),
});

/** Undefined if no missing list can arrive within the longest wait, because each such call would return at once. */
export function repeatWithMaxWait(
  ctx: ToolContext,
  args: NextStep["arguments"],
  coverage: Coverage,
): NextStep | undefined {
  if (!canProgressWithin(coverage, LONGEST_WAIT_SECONDS)) return undefined;
  const why = say`waits for ${countPart(countMissing(coverage), "list")}`;
  return { tool: ctx.tool, arguments: { ...args, waitSeconds: CALL_LIMIT_SECONDS }, why };
}
