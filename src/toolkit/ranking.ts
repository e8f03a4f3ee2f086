// This module ranks states or districts for rank_divisions and show_divisions.
import { AGENT, render, say } from "../core/text.ts";
import { findDifferencesInStates } from "../geography/districts.ts";
import {
  type DivisionRow,
  describeRanking,
  type Ranking,
  type RankingQuery,
  rankDistricts,
  rankStates,
} from "../geography/rank.ts";
import { describeMetadata, type GeographyMetadata, type GeographyNote, queryCountry } from "./country.ts";
import type { ToolContext } from "./tool-context.ts";

interface RankingArguments {
  readonly level: "state" | "district";
  readonly states?: readonly string[];
  readonly waitSeconds?: number;
}

interface RankingFigures extends Pick<Ranking<DivisionRow>, "totalRows" | "totals" | "unlisted" | "unlistedCount"> {
  readonly complete: boolean;
}

export interface RankingFacts extends RankingFigures, GeographyMetadata {
  readonly consistency: readonly string[];
}
export interface RankingAnswer extends RankingFigures, GeographyNote {
  readonly consistency?: readonly string[];
}

/** Reads the lists that the ranking needs, and ranks. `line`: one line with coverage and vintage. Throws Failure. */
export async function queryRanking(
  { level, states: requestedStates, waitSeconds }: RankingArguments,
  query: RankingQuery,
  ctx: ToolContext,
) {
  const isState = level === "state";
  const described = await queryCountry<Ranking<DivisionRow>>(
    {
      level,
      states: requestedStates,
      answer: (about, known) => (isState ? rankStates(about, query) : rankDistricts(about, known, query)),
      waitSeconds,
    },
    ctx,
  );
  const { answer: ranking, country, metadata, readings, drift } = described;
  const { states, rows, totalRows, totals, exact, unlisted, unlistedCount } = ranking;
  // If the rows are final, the answer asks for no list.
  const missing = exact ? [] : metadata.coverage.missing;
  const { note, line } = describeMetadata({ ...metadata, coverage: { ...metadata.coverage, missing } });
  const differences = findDifferencesInStates(states, country);
  const consistency = differences.map((text) => render(text, AGENT));
  const figures = { totalRows, totals, complete: exact, ...(unlisted && { unlisted, unlistedCount }) };
  const { states: allStates } = country.states.value;
  // The answer names the selected states.
  const selectedCodes =
    requestedStates !== undefined && requestedStates.length > 0 ? states.map(({ code }) => code) : undefined;
  return {
    rows,
    /** For the view; `answer` is for a model. */
    facts: { ...figures, consistency, ...metadata } satisfies RankingFacts,
    answer: { ...figures, ...(consistency.length > 0 && { consistency }), ...note } satisfies RankingAnswer,
    differences,
    line,
    drift,
    summary: say`${describeRanking(level, ranking, query, metadata.coverage, allStates, selectedCodes)}${readings}`,
  };
}
