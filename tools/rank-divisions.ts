// This module defines rank_divisions, which ranks, filters and totals states or districts.

import * as z from "zod/v4";
import { MAX_DISTRICTS, MAX_STATES } from "../src/contract/playground.ts";
import { Failure } from "../src/core/failure.ts";
import { formatTable } from "../src/core/table.ts";
import { raw, say } from "../src/core/text.ts";
import { CALL_LIMIT_SECONDS } from "../src/core/time-limits.ts";
import { type Coverage, secondsUntilComplete } from "../src/geography/country.ts";
import { DISTRICT_COLUMNS } from "../src/geography/districts.ts";
import { fold } from "../src/geography/names/name-forms.ts";
import {
  type DivisionRow,
  describeStatistics,
  formatMissingReasons,
  type RankingQuery,
  type StateRow,
} from "../src/geography/rank.ts";
import { geographyWaitSeconds, repeatWithMaxWait, statesArgument } from "../src/toolkit/country.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { queryRanking, type RankingAnswer } from "../src/toolkit/ranking.ts";
import { toolResult } from "../src/toolkit/results.ts";
import { extractSharedFields } from "../src/toolkit/summary-view.ts";

const DEFAULT_FIGURE = "mandalCount";
const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;
/** Maximum number of districts in the country: states times districts in a state (docs/contract.md, 2.1). */
const MAX_ROWS = MAX_STATES * MAX_DISTRICTS;
const MAX_NAME = 80;

const NOT_IN_CATALOG =
  "mandalCount counts tehsils, taluks and circles; the catalog has no population, area, borders, towns or names of mandals";

const input = z
  .strictObject({
    level: z.enum(["state", "district"], { error: NOT_IN_CATALOG }),
    by: z
      .enum(["mandalCount", "districtCount", "mandalsPerDistrict", "name"], { error: NOT_IN_CATALOG })
      .describe(`Default ${DEFAULT_FIGURE}. Districts: mandalCount or name.`)
      .optional(),
    order: z.enum(["asc", "desc"]).describe("Default desc; by name asc.").optional(),
    limit: z.int().min(1).max(MAX_LIMIT).describe(`Rows (default ${DEFAULT_LIMIT}).`).optional(),
    offset: z
      .int()
      .min(0)
      .refine((rows) => rows <= MAX_ROWS, { error: `must be at most ${MAX_ROWS}` })
      .describe("Rows to skip.")
      .optional(),
    perState: z.int().min(1).max(MAX_LIMIT).describe("Top N of each state.").optional(),
    states: statesArgument,
    startsWith: z.string().describe("Start of names.").optional(),
    min: z.number().describe("Only rows whose `by` figure is at least this.").optional(),
    max: z.number().describe("At most this.").optional(),
    createdSince: z.int().min(1).describe("Only districts created since this year.").optional(),
    waitSeconds: geographyWaitSeconds,
  })
  .superRefine(({ level, by, min, max, perState, startsWith, createdSince }, { addIssue }) => {
    const refuse = (argument: string, message: string) =>
      addIssue({ code: "custom", path: [argument], message, params: { code: "CONFLICT" } });
    if (level === "district" && (by === "districtCount" || by === "mandalsPerDistrict"))
      refuse("by", "with level district, must be mandalCount or name");
    if (by === "name" && min !== undefined) refuse("min", "cannot be used if by is name");
    if (by === "name" && max !== undefined) refuse("max", "cannot be used if by is name");
    if (level === "state" && perState !== undefined) refuse("perState", "requires level district");
    if (level === "state" && createdSince !== undefined) refuse("createdSince", "requires level district");
    if (startsWith !== undefined && (fold(startsWith) === "" || startsWith.length > MAX_NAME))
      refuse("startsWith", `must contain a letter or a digit, and at most ${MAX_NAME} characters`);
  });

const STATE_COLUMNS = ["code", "name", "districtCount", "mandalCount", "mandalsPerDistrict"] as const;

const cellsOf = (row: DivisionRow, columns: readonly string[]): readonly (string | number)[] => {
  const cells = new Map<string, string | number>(Object.entries(row));
  return columns.map((column) => cells.get(column) ?? "");
};

function columnsOf(
  level: "state" | "district",
  createdSince: number | undefined,
  isAnyRestored: boolean,
): readonly string[] {
  if (level === "state") return STATE_COLUMNS;
  if (createdSince === undefined) return DISTRICT_COLUMNS;
  return [...DISTRICT_COLUMNS, "createdYear", ...(isAnyRestored ? ["restored"] : []), "carvedFrom"];
}

/** A state's row has the ratio only if it determines the ranking: it follows from the counts. */
function shortenStateRow({ code, name, districtCount, mandalCount, mandalsPerDistrict }: StateRow, by: string) {
  return by === "mandalsPerDistrict"
    ? { code, name, mandalsPerDistrict }
    : { code, name, districts: districtCount, mandals: mandalCount };
}

/**
 * Returns the rows with the facts that several of them share stated once: equal fields in `common`, and the states' names by code. Fields
 * have the names that they have in list_states and list_districts.
 */
function shortenRows(rows: readonly DivisionRow[], by: string) {
  const states = new Map<string, string>();
  const shown = rows.map((row): Readonly<Record<string, unknown>> => {
    if (!("stateCode" in row)) return shortenStateRow(row, by);
    const { districtCode: code, name, stateCode: state, stateName, mandalCount: mandals, ...change } = row;
    states.set(state, stateName);
    return { code, name, state, mandals, ...change };
  });
  return { ...extractSharedFields(shown), ...(states.size > 0 && { stateNames: Object.fromEntries(states) }) };
}

type Bounds = Omit<RankingQuery, "by" | "order"> & Partial<Pick<RankingQuery, "by" | "order">>;

const withDefaults = (bounds: Bounds): RankingQuery => {
  const { by = DEFAULT_FIGURE, order = by === "name" ? "asc" : "desc" } = bounds;
  return { ...bounds, by, order };
};

/** A file outlives the result that would mention missing rows, so a file is saved only with all rows. */
function incompleteFailure(coverage: Coverage): Failure {
  const seconds = secondsUntilComplete(coverage);
  return new Failure({
    kind: seconds === undefined ? "upstream_unavailable" : "rate_limited",
    message: say`Nothing was saved, because the table would be incomplete; ${formatMissingReasons(coverage)}.`,
    retryable: true,
    sideEffect: "none",
    retryAfterSeconds: seconds,
    next:
      seconds === undefined
        ? say`Call again later, or set states to all except those.`
        : say`Call again in ${seconds} s with waitSeconds ${CALL_LIMIT_SECONDS}; the lists that were read are kept.`,
  });
}

export const rankDivisions = defineTool({
  toolsets: ["geography"],
  name: "rank_divisions",
  title: "Rank districts: most, fewest, average mandals or tehsils",
  description:
    "Rank, filter and total states or districts of India: top N, sums, averages, new districts. Example: " +
    '{"level":"district","by":"mandalCount","states":["AP"]}.',
  searchHint: "most, fewest, largest, smallest, average, compare states, tehsils, taluks",
  alwaysLoad: true,
  effect: "read",
  input,
  output: outputs.answer<RankingAnswer>(
    {
      rows: outputs.list,
      totalRows: outputs.integer,
      totals: outputs.object,
      complete: outputs.boolean,
      vintage: outputs.text,
    },
    { nextStep: outputs.object, page: outputs.object },
  ),
  async run({ waitSeconds, ...args }, ctx) {
    const { level, limit, offset = 0, perState, createdSince } = args;
    const pageLimit = limit ?? (perState === undefined ? DEFAULT_LIMIT : MAX_LIMIT);
    const query: RankingQuery = withDefaults({ ...args, limit: pageLimit, offset });
    const { rows, facts, answer, differences, line, summary, drift } = await queryRanking(
      { ...args, waitSeconds },
      query,
      ctx,
    );
    const { totalRows, totals, complete, coverage } = facts;
    const shown = offset + rows.length;
    // While lists are missing, the rows of the next page may still change.
    const isMoreToCome = !complete && secondsUntilComplete(coverage) !== undefined;
    const nextStep = isMoreToCome ? repeatWithMaxWait(ctx, args, coverage) : undefined;
    const page = rows.length > 0 && shown < totalRows && !isMoreToCome ? { nextOffset: shown } : undefined;
    const isAnyRestored = rows.some((row) => "restored" in row);
    const columns = columnsOf(level, createdSince, isAnyRestored);
    const cells = rows.map((row) => cellsOf(row, columns));
    const table = cells.length === 0 ? undefined : formatTable(columns, cells);
    const more = page && say`More rows: offset ${page.nextOffset}`;
    const statistics = describeStatistics(totals, query.by);
    const unlisted = (answer.unlisted ?? []).map((change) => [raw(change)]);
    const lines = [statistics, table, more, ...unlisted, ...differences, line];
    const fields = { ...shortenRows(rows, query.by), ...answer, ...(page && { page }) };
    return toolResult({ rows, ...answer }, { summary, nextStep, fields, lines, drift });
  },
  async tabulate(args, ctx) {
    const { level, createdSince } = args;
    const query = withDefaults({ ...args, limit: undefined, offset: undefined });
    const { rows, facts, answer, differences, line, summary, drift } = await queryRanking(args, query, ctx);
    const { totals, complete, coverage } = facts;
    if (!complete) throw incompleteFailure(coverage);
    const columns = columnsOf(level, createdSince, true);
    const lines = [describeStatistics(totals, query.by), ...differences, line];
    return { columns, rows: rows.map((row) => cellsOf(row, columns)), fields: answer, summary, lines, drift };
  },
});
