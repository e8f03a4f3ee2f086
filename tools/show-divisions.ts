// This module defines show_divisions, which shows states or districts with their counts to the user.
import * as z from "zod/v4";
import { say } from "../src/core/text.ts";
import type { DivisionRow, RankingQuery } from "../src/geography/rank.ts";
import { geographyWaitSeconds, repeatWithMaxWait, statesArgument } from "../src/toolkit/country.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { queryRanking, type RankingFacts } from "../src/toolkit/ranking.ts";
import { toolResult, toViewResult } from "../src/toolkit/results.ts";

export interface ShownDivisions extends RankingFacts {
  readonly level: "state" | "district";
  readonly rows: readonly DivisionRow[];
}

/** The limit is about as many rows as a user looks through. */
const QUERY: RankingQuery = { by: "mandalCount", order: "desc", limit: 100 };

export const showDivisions = defineTool({
  toolsets: ["geography"],
  name: "show_divisions",
  title: "Show states or districts",
  description:
    "Show the user states, or the 100 largest districts, as a table, bars and tiles. To read them yourself, use rank_divisions.",
  effect: "read",
  view: "divisions",
  input: z.strictObject({
    level: z.enum(["state", "district"]),
    states: statesArgument,
    waitSeconds: geographyWaitSeconds,
  }),
  output: outputs.view<ShownDivisions>(),
  async run({ waitSeconds, ...args }, ctx) {
    const { rows, facts, line, summary, drift } = await queryRanking({ ...args, waitSeconds }, QUERY, ctx);
    const nextStep = facts.complete ? undefined : repeatWithMaxWait(ctx, args, facts.coverage);
    const shown: ShownDivisions = { level: args.level, rows, ...facts };
    const read = toolResult(shown, { summary, nextStep, lines: [line], drift });
    return toViewResult(read, say`The user sees these rows.`);
  },
});
