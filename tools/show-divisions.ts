import * as z from "zod/v4";
import type { State } from "../src/contract/playground.ts";
import { differencesIn } from "../src/geography/consistency.ts";
import { resolveStates } from "../src/geography/names/state.ts";
import { needsForRanking, type Ranking, type RankingQuery, rankDistricts, rankStates } from "../src/geography/rank.ts";
import { type DivisionRow, rankingText } from "../src/geography/rank-words.ts";
import { askAgain, askCountry, type GeographyTail, sweepSeconds } from "../src/toolkit/country.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { shownToUser, toolResult } from "../src/toolkit/results.ts";

interface Shown extends GeographyTail {
  readonly level: "state" | "district";
  readonly rows: readonly DivisionRow[];
  readonly totalRows: number;
  readonly totals: Ranking<DivisionRow>["totals"];
  readonly exact: boolean;
  readonly consistency: readonly string[];
}

/** As many as a person looks through. */
const QUERY: RankingQuery = { by: "mandalCount", order: "desc", limit: 100 };

export const showDivisions = defineTool({
  toolset: "geography",
  name: "show_divisions",
  title: "Show states or districts",
  description:
    "Shows the person states, or the 100 largest districts, with their counts as a sortable table, bars and tiles. For yourself: rank_divisions.",
  effect: "read",
  view: "divisions",
  input: z.strictObject({
    level: z.enum(["state", "district"]),
    states: z.array(z.string().max(80)).max(64).describe("Codes or names.").optional(),
    waitSeconds: sweepSeconds,
  }),
  output: outputs.answer<Shown>({
    level: outputs.text,
    rows: outputs.objects,
    totalRows: outputs.integer,
    totals: outputs.object,
    exact: outputs.boolean,
    consistency: outputs.texts,
    coverage: outputs.object,
    vintage: outputs.object,
  }),
  async run({ level, states: asked, waitSeconds }, call, ports) {
    const { states, country, tail, line, drift } = await askCountry(
      {
        level,
        about: (all: readonly State[]) => resolveStates(asked, all),
        needs: (about, read) => (level === "state" ? { rows: [], all: [] } : needsForRanking(about, read, QUERY)),
        notNeeded: "not needed: its total is below every row",
        waitSeconds,
      },
      call,
      ports,
    );
    const ranking: Ranking<DivisionRow> =
      level === "state" ? rankStates(states, QUERY) : rankDistricts(states, country, QUERY);
    const { rows, totalRows, totals, exact } = ranking;
    const nextStep = exact ? undefined : askAgain(call, { level, ...(asked && { states: asked }) }, tail.coverage);
    const taken = asked === undefined ? undefined : states.map(({ code }) => code);
    const summary = rankingText(level, ranking, QUERY, tail.coverage, taken);
    const shown: Shown = {
      level,
      rows,
      totalRows,
      totals,
      exact,
      consistency: differencesIn(states, country),
      ...tail,
    };
    const read = toolResult(call, shown, { summary, nextStep, lines: [line], drift });
    return shownToUser(read, "The person sees these rows.");
  },
});
