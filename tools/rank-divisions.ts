// This module defines rank_divisions, which ranks, filters and totals states or districts.
import * as z from "zod/v4";
import { MAX_DISTRICTS, MAX_STATES } from "../src/contract/playground.ts";
import { Failure, invalidArguments } from "../src/core/failure.ts";
import { formatTable } from "../src/core/table.ts";
import { type Coverage, secondsUntilComplete } from "../src/geography/country.ts";
import { DISTRICT_COLUMNS, toDistrictCells } from "../src/geography/districts.ts";
import { fold } from "../src/geography/names/name-forms.ts";
import { type DivisionRow, describeTotals, formatMissingReasons, type RankingQuery } from "../src/geography/rank.ts";
import { geographyWaitSeconds, repeatWithMaxWait, statesArgument } from "../src/toolkit/country.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { queryRanking, type RankingFacts } from "../src/toolkit/ranking.ts";
import { type NextStep, toolResult } from "../src/toolkit/results.ts";

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;
/** Maximum number of districts: that of states times that of districts in a state (docs/contract.md, 2.1). */
const MAX_ROWS = MAX_STATES * MAX_DISTRICTS;
const MAX_NAME = 80;

function throwInvalidArgument(argument: string, message: string): never {
  throw invalidArguments(`rank_divisions was not called: wrong argument "${argument}".`, [
    { pointer: `/${argument}`, code: "CONFLICT", message },
  ]);
}

/** Rejects combinations of arguments that a schema without unions cannot exclude. Throws Failure (invalid_arguments). */
function checkCombinations(level: "state" | "district", { by, min, max, perState, startsWith }: RankingQuery): void {
  if (level === "district" && (by === "districtCount" || by === "mandalsPerDistrict"))
    throwInvalidArgument("by", "a district has mandalCount and name only");
  const bound = min !== undefined ? "min" : max !== undefined ? "max" : undefined;
  if (by === "name" && bound !== undefined) throwInvalidArgument(bound, "bounds a figure; by name there is none");
  if (level === "state" && perState !== undefined)
    throwInvalidArgument("perState", "counts the districts of each state");
  if (startsWith !== undefined && (fold(startsWith) === "" || startsWith.length > MAX_NAME))
    throwInvalidArgument("startsWith", `must have a letter or a digit, and at most ${MAX_NAME} characters`);
}

const STATE_COLUMNS = ["code", "name", "districtCount", "mandalCount", "mandalsPerDistrict"] as const;

const cellsOf = (row: DivisionRow): readonly (string | number)[] =>
  "stateCode" in row ? toDistrictCells(row) : STATE_COLUMNS.map((column) => row[column]);

const columnsOf = (level: "state" | "district") => (level === "state" ? STATE_COLUMNS : DISTRICT_COLUMNS);

const totalsText = (totals: RankingFacts["totals"]): string => `In all ${describeTotals(totals)}.`;

type Bounds = Pick<RankingQuery, "by" | "perState" | "startsWith" | "min" | "max">;

const boundsOf = ({ by, order, perState, startsWith, min, max }: Bounds & { order?: "asc" | "desc" | undefined }) =>
  ({ by, order: order ?? (by === "name" ? "asc" : "desc"), perState, startsWith, min, max }) as const;

/** A file outlives the result that would mention missing rows, so a file is saved only with all rows. */
function incompleteFailure(coverage: Coverage): Failure {
  const seconds = secondsUntilComplete(coverage);
  return new Failure({
    kind: seconds === undefined ? "upstream_unavailable" : "rate_limited",
    message: `Nothing was saved, since lists are missing: ${formatMissingReasons(coverage)}.`,
    retryable: true,
    sideEffect: "none",
    ...(seconds !== undefined && { retryAfterSeconds: seconds }),
    next:
      seconds === undefined
        ? "Call again later, or leave those states out with states."
        : `Call again in ${seconds} s with waitSeconds 45; what was read is kept.`,
  });
}

export const rankDivisions = defineTool({
  toolsets: ["geography"],
  name: "rank_divisions",
  title: "Rank districts: most, fewest, average mandals or tehsils",
  description:
    "Rank, filter and total states or districts of India by mandal or district count, exactly: top N, bounds, sums, means, medians. " +
    "Use it instead of adding up rows yourself.",
  searchHint: "most, fewest, largest, smallest, average, compare states, tehsils, taluks",
  alwaysLoad: true,
  effect: "read",
  input: z.strictObject({
    level: z.enum(["state", "district"]),
    by: z
      .enum(["mandalCount", "districtCount", "mandalsPerDistrict", "name"])
      .describe("For districts only mandalCount or name."),
    order: z.enum(["asc", "desc"]).describe("Default desc; by name asc.").optional(),
    limit: z.int().min(1).max(MAX_LIMIT).describe(`Rows (default ${DEFAULT_LIMIT}).`).optional(),
    offset: z
      .int()
      .min(0)
      .refine((rows) => rows <= MAX_ROWS, { error: `must be at most ${MAX_ROWS}` })
      .describe("Rows to skip.")
      .optional(),
    perState: z.int().min(1).max(MAX_LIMIT).describe("First N districts of each state.").optional(),
    states: statesArgument,
    startsWith: z.string().describe("Only names that begin with this.").optional(),
    min: z.number().describe("Least value of by to include.").optional(),
    max: z.number().describe("Greatest value of by to include.").optional(),
    waitSeconds: geographyWaitSeconds,
  }),
  output: outputs.answer<RankingFacts & { rows: readonly DivisionRow[] }>(
    {
      rows: outputs.objects,
      totalRows: outputs.integer,
      totals: outputs.object,
      exact: outputs.boolean,
      consistency: outputs.texts,
      coverage: outputs.object,
      vintage: outputs.object,
    },
    { nextStep: outputs.object },
  ),
  async run({ waitSeconds, ...args }, call, ports) {
    const { level, limit, offset = 0, perState } = args;
    const pageLimit = limit ?? (perState === undefined ? DEFAULT_LIMIT : MAX_LIMIT);
    const query: RankingQuery = { ...boundsOf(args), limit: pageLimit, offset };
    checkCombinations(level, query);
    const { rows, facts, line, summary, drift } = await queryRanking({ ...args, waitSeconds }, query, call, ports);
    const { totalRows, totals, exact, consistency, coverage } = facts;
    const shown = offset + rows.length;
    const last = Math.min(totalRows, shown + rows.length);
    const nextPage: NextStep | undefined =
      rows.length === 0 || shown >= totalRows
        ? undefined
        : {
            tool: call.tool,
            arguments: { ...args, offset: shown },
            why: `rows ${shown + 1} to ${last} of ${totalRows}`,
          };
    // While lists are missing, the rows of the next page may still change.
    const isMoreToCome = !exact && secondsUntilComplete(coverage) !== undefined;
    const nextStep = isMoreToCome ? repeatWithMaxWait(call, args, coverage) : nextPage;
    const lines = [totalsText(totals), formatTable(columnsOf(level), rows.map(cellsOf)), ...consistency, line];
    return toolResult(call, { rows, ...facts }, { summary, nextStep, lines, drift });
  },
  async tabulate(args, call, ports) {
    const { level } = args;
    const query = boundsOf(args);
    checkCombinations(level, query);
    const { rows, facts, line, drift } = await queryRanking(args, query, call, ports);
    const { totals, exact, consistency, coverage } = facts;
    if (!exact) throw incompleteFailure(coverage);
    const lines = [totalsText(totals), ...consistency, line];
    return { columns: columnsOf(level), rows: rows.map(cellsOf), fields: facts, summary: "", lines, drift };
  },
});
