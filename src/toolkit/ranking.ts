// This module ranks states or districts for rank_divisions and show_divisions.
import type { State } from "../contract/playground.ts";
import { findDifferencesInStates } from "../geography/districts.ts";
import { resolveStates } from "../geography/names/resolve-state.ts";
import {
  type DivisionRow,
  describeRanking,
  type Ranking,
  type RankingQuery,
  rankDistricts,
  rankStates,
  requiredListsForRanking,
} from "../geography/rank.ts";
import { type GeographyMetadata, type GeographyNote, queryCountry } from "./country.ts";
import type { Ports, ToolCall } from "./tool-call.ts";

interface RankingArguments {
  readonly level: "state" | "district";
  /** Codes or names (default: all states). */
  readonly states?: readonly string[] | undefined;
  readonly waitSeconds?: number | undefined;
}

interface RankingFigures
  extends Pick<Ranking<DivisionRow>, "totalRows" | "totals" | "exact" | "unlisted" | "unlistedCount"> {
  readonly consistency: readonly string[];
}

export interface RankingFacts extends RankingFigures, GeographyMetadata {}
export interface RankingAnswer extends RankingFigures, GeographyNote {}

/** Reads the lists that the ranking needs, and ranks. `line`: one line with coverage and vintage. Throws Failure. */
export async function queryRanking(
  { level, states: requestedStates, waitSeconds }: RankingArguments,
  query: RankingQuery,
  call: ToolCall,
  ports: Pick<Ports, "geography">,
) {
  const isState = level === "state";
  const question = {
    level,
    about: (all: readonly State[]) => resolveStates(requestedStates, all),
    requiredLists: (about, read) => (isState ? { rows: [], all: [] } : requiredListsForRanking(about, read, query)),
    waitSeconds,
  } satisfies Parameters<typeof queryCountry>[0];
  const { states, country, metadata, note, line, drift } = await queryCountry(question, call, ports);
  const ranking: Ranking<DivisionRow> = isState
    ? rankStates(states, query)
    : await rankDistricts(states, country, query);
  const { rows, totalRows, totals, exact, unlisted, unlistedCount } = ranking;
  const consistency = findDifferencesInStates(states, country);
  const figures = { totalRows, totals, exact, consistency, ...(unlisted && { unlisted, unlistedCount }) };
  // The answer names the selected states.
  const selectedCodes =
    requestedStates !== undefined && requestedStates.length > 0 ? states.map(({ code }) => code) : undefined;
  return {
    rows,
    /** For the view; `answer` is for a model. */
    facts: { ...figures, ...metadata } satisfies RankingFacts,
    answer: { ...figures, ...note } satisfies RankingAnswer,
    line,
    drift,
    summary: describeRanking(level, ranking, query, metadata.coverage, selectedCodes),
  };
}
