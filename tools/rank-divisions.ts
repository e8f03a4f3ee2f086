import * as z from "zod/v4";
import type { State } from "../src/contract/playground.ts";
import { invalidArguments } from "../src/failure.ts";
import { differencesIn } from "../src/geography/consistency.ts";
import type { DistrictRow } from "../src/geography/find.ts";
import { alignedTable, plural, thousands } from "../src/geography/format.ts";
import { resolveStates } from "../src/geography/names/state.ts";
import {
  needsForRanking,
  type Ranking,
  type RankingQuery,
  rankDistricts,
  rankStates,
  type StateRow,
  type Totals,
} from "../src/geography/rank.ts";
import { askCountry, type CountryAnswer, type GeographyTail, sweepSeconds } from "../src/toolkit/country.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { type ToolResult, wholeResult } from "../src/toolkit/results.ts";

type DivisionRow = StateRow | DistrictRow;

interface RankingAnswer extends Ranking<DivisionRow>, GeographyTail {
  readonly consistency: readonly string[];
}

const DEFAULT_LIMIT = 10;

function refuse(argument: string, message: string): never {
  throw invalidArguments(`rank_divisions was not called: wrong argument "${argument}".`, [
    { pointer: `/${argument}`, code: "CONFLICT", message },
  ]);
}

/** What no schema without unions can say. */
function checkTogether(level: "state" | "district", { by, min, max }: RankingQuery): void {
  if (level === "district" && (by === "districtCount" || by === "mandalsPerDistrict"))
    refuse("by", "a district has mandalCount and name only");
  const bound = min !== undefined ? "min" : max !== undefined ? "max" : undefined;
  if (by === "name" && bound !== undefined) refuse(bound, "bounds a figure; by name there is none");
}

const known = (name: string, value: number | undefined): readonly string[] =>
  value === undefined ? [] : [`${name} ${thousands(value)}`];

function totalsText({ districts, mandals, min, median, mean, max }: Totals): string {
  const spread = [...known("min", min), ...known("median", median), ...known("mean", mean), ...known("max", max)];
  const counts = `${plural(districts, "district")}, ${plural(mandals, "mandal")}`;
  return spread.length === 0 ? counts : `${counts}; ${spread.join(", ")}`;
}

function answer<R extends DivisionRow>(
  what: string,
  { rows, totalRows, totals, exact }: Ranking<R>,
  table: string,
  { country, states, tail, line, forTheRest, drift }: CountryAnswer,
): ToolResult<RankingAnswer> {
  const consistency = differencesIn(states, country);
  const certainty = exact ? "" : ` Not exact: lists that are not read yet may change this.${forTheRest}`;
  const head = `${thousands(rows.length)} of ${plural(totalRows, what)} (in all ${totalsText(totals)}).${certainty}`;
  const text = [head, table, ...consistency, line].join("\n");
  return wholeResult({ rows, totalRows, totals, exact, consistency, ...tail }, { text, drift });
}

export const rankDivisions = defineTool({
  toolset: "geography",
  name: "rank_divisions",
  title: "Rank states or districts",
  description:
    "Ranks, filters and totals states, or districts of all India, exactly: tops, bounds, sums, means, medians.",
  effect: "read",
  input: z.strictObject({
    level: z.enum(["state", "district"]),
    by: z
      .enum(["mandalCount", "districtCount", "mandalsPerDistrict", "name"])
      .describe("district: mandalCount or name."),
    order: z.enum(["asc", "desc"]).describe("Default desc; by name asc.").optional(),
    limit: z.int().min(1).max(100).describe("Default 10.").optional(),
    states: z.array(z.string().max(80)).max(64).describe("Codes or names.").optional(),
    min: z.number().describe("Bounds the by figure.").optional(),
    max: z.number().optional(),
    waitSeconds: sweepSeconds,
  }),
  output: outputs.whole<RankingAnswer>({
    rows: outputs.objects,
    totalRows: outputs.integer,
    totals: outputs.object,
    exact: outputs.boolean,
    consistency: outputs.texts,
    coverage: outputs.object,
    vintage: outputs.object,
  }),
  async run({ level, by, order, limit = DEFAULT_LIMIT, states: asked, min, max, waitSeconds }, call, ports) {
    const ranked: RankingQuery = { by, order: order ?? (by === "name" ? "asc" : "desc"), limit, min, max };
    checkTogether(level, ranked);
    const question = { level, about: (all: readonly State[]) => resolveStates(asked, all), waitSeconds };
    if (level === "state") {
      const answered = await askCountry(
        { ...question, needs: () => ({ rows: [], all: [] }), notNeeded: "" },
        call,
        ports,
      );
      const ranking = rankStates(answered.states, ranked);
      const rows = ranking.rows.map((row) => Object.values(row));
      return answer(
        "state",
        ranking,
        alignedTable(["code", "state", "districts", "mandals", "per district"], rows),
        answered,
      );
    }
    const answered = await askCountry(
      {
        ...question,
        needs: (states, country) => needsForRanking(states, country, ranked),
        notNeeded: "not needed: its total is below every row",
      },
      call,
      ports,
    );
    const ranking = rankDistricts(answered.states, answered.country, ranked);
    const rows = ranking.rows.map((row) => [row.name, row.stateName, row.stateCode, row.mandalCount, row.districtCode]);
    return answer("district", ranking, alignedTable(["district", "state", "", "mandals", "code"], rows), answered);
  },
});
