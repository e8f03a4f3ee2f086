import * as z from "zod/v4";
import { MAX_DISTRICTS, MAX_STATES, type State } from "../src/contract/playground.ts";
import { Failure, invalidArguments } from "../src/failure.ts";
import { differencesIn } from "../src/geography/consistency.ts";
import { type Coverage, secondsUntilRead } from "../src/geography/country.ts";
import { DISTRICT_COLUMNS, type DistrictRow, districtCells } from "../src/geography/districts.ts";
import { fold } from "../src/geography/names/fold.ts";
import { resolveStates } from "../src/geography/names/state.ts";
import {
  needsForRanking,
  type Ranking,
  type RankingQuery,
  rankDistricts,
  rankStates,
  type StateRow,
} from "../src/geography/rank.ts";
import { type DivisionRow, rankingText, totalsText, unreadReasons } from "../src/geography/rank-words.ts";
import { table } from "../src/table.ts";
import { saveAs } from "../src/toolkit/arguments.ts";
import { askAgain, askCountry, type CountryAnswer, type GeographyTail, sweepSeconds } from "../src/toolkit/country.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { type NextStep, type ToolResult, toolResult } from "../src/toolkit/results.ts";
import { checkSaveAs, type SavedRows, savedText, saveRows } from "../src/toolkit/save-rows.ts";
import type { Ports, ToolCall } from "../src/toolkit/tool-call.ts";

interface RankingFacts extends GeographyTail {
  readonly totalRows: number;
  readonly totals: Ranking<DivisionRow>["totals"];
  readonly exact: boolean;
  readonly consistency: readonly string[];
}

type RankingAnswer = RankingFacts & ({ readonly rows: readonly DivisionRow[] } | SavedRows);

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;
/** Of states and of districts in each (docs/contract.md, 2.1). */
const MAX_ROWS = MAX_STATES * MAX_DISTRICTS;
const MAX_NAME = 80;

function refuse(argument: string, message: string): never {
  throw invalidArguments(`rank_divisions was not called: wrong argument "${argument}".`, [
    { pointer: `/${argument}`, code: "CONFLICT", message },
  ]);
}

/** What no schema without unions can say. */
function checkTogether(level: "state" | "district", { by, min, max, perState, startsWith }: RankingQuery): void {
  if (level === "district" && (by === "districtCount" || by === "mandalsPerDistrict"))
    refuse("by", "a district has mandalCount and name only");
  const bound = min !== undefined ? "min" : max !== undefined ? "max" : undefined;
  if (by === "name" && bound !== undefined) refuse(bound, "bounds a figure; by name there is none");
  if (level === "state" && perState !== undefined) refuse("perState", "counts the districts of each state");
  if (startsWith !== undefined && (fold(startsWith) === "" || startsWith.length > MAX_NAME))
    refuse("startsWith", `must have a letter or a digit, and at most ${MAX_NAME} characters`);
}

/** The rows as they are saved and shown: columns and cells. */
interface Sheet<R> {
  readonly level: "state" | "district";
  readonly columns: readonly string[];
  readonly cells: (row: R) => readonly (string | number)[];
}

const STATE_COLUMNS = ["code", "name", "districtCount", "mandalCount", "mandalsPerDistrict"] as const;

const stateSheet: Sheet<StateRow> = {
  level: "state",
  columns: STATE_COLUMNS,
  cells: (row) => STATE_COLUMNS.map((column) => row[column]),
};
const districtSheet: Sheet<DistrictRow> = { level: "district", columns: DISTRICT_COLUMNS, cells: districtCells };

/** A file outlives what is said of it: it holds all rows, or there is none. */
function incomplete(coverage: Coverage): Failure {
  const seconds = secondsUntilRead(coverage);
  return new Failure({
    kind: seconds === undefined ? "upstream_unavailable" : "rate_limited",
    message: `Nothing was saved, since lists are unread: ${unreadReasons(coverage)}.`,
    retryable: true,
    sideEffect: "none",
    ...(seconds !== undefined && { retryAfterSeconds: seconds }),
    next:
      seconds === undefined
        ? "Call again later, or leave those states out with states."
        : `Call again in ${seconds} s with waitSeconds 45; what was read is kept.`,
  });
}

interface RowsPage {
  readonly query: RankingQuery;
  /** Which states were taken is a part of the answer. */
  readonly areStatesNamed: boolean;
  readonly args: NextStep["arguments"];
}

/** The lists that are still to come; then the next page, while rows are left. */
function nextFor(
  { rows, totalRows, exact }: Ranking<DivisionRow>,
  { query, args }: RowsPage,
  coverage: Coverage,
  call: ToolCall,
) {
  // Further rows may be others by then.
  if (!exact && secondsUntilRead(coverage) !== undefined) return askAgain(call, args, coverage);
  const shown = (query.offset ?? 0) + rows.length;
  if (rows.length === 0 || shown >= totalRows) return undefined;
  const last = Math.min(totalRows, shown + rows.length);
  const why = `rows ${shown + 1} to ${last} of ${totalRows}`;
  return { tool: call.tool, arguments: { ...args, offset: shown }, why };
}

async function answer<R extends DivisionRow>(
  ranking: Ranking<R>,
  { level, columns, cells }: Sheet<R>,
  page: RowsPage & { readonly saveAs: string | undefined },
  { country, states, tail, line, drift }: CountryAnswer,
  call: ToolCall,
  ports: Pick<Ports, "files">,
): Promise<ToolResult<RankingAnswer>> {
  const { rows, totalRows, totals, exact } = ranking;
  const consistency = differencesIn(states, country);
  const facts: RankingFacts = { totalRows, totals, exact, consistency, ...tail };
  const inAll = `In all ${totalsText(totals)}.`;
  const sheet = { columns, rows: rows.map(cells) };
  if (page.saveAs !== undefined) {
    if (!exact) throw incomplete(tail.coverage);
    const madeBy = { tool: call.tool, arguments: page.args };
    const { said, file } = await saveRows(ports, page.saveAs, sheet, madeBy);
    const lines = [inAll, ...consistency, line];
    return toolResult(call, { ...said, ...facts }, { summary: savedText(said), lines, drift, file });
  }
  const nextStep = nextFor(ranking, page, tail.coverage, call);
  const taken = page.areStatesNamed ? states.map(({ code }) => code) : undefined;
  const summary = rankingText(level, ranking, page.query, tail.coverage, taken);
  const lines = [inAll, table(columns, sheet.rows), ...consistency, line];
  return toolResult(call, { rows, ...facts }, { summary, nextStep, lines, drift });
}

export const rankDivisions = defineTool({
  toolset: "geography",
  name: "rank_divisions",
  title: "Rank states or districts",
  description: "Ranks, filters and totals states or districts of India exactly: tops, bounds, sums, means, medians.",
  effect: "export",
  input: z.strictObject({
    level: z.enum(["state", "district"]),
    by: z
      .enum(["mandalCount", "districtCount", "mandalsPerDistrict", "name"])
      .describe("district: mandalCount or name."),
    order: z.enum(["asc", "desc"]).describe("Default desc; by name asc.").optional(),
    limit: z.int().min(1).max(MAX_LIMIT).describe("Default 10.").optional(),
    offset: z.int().min(0).max(MAX_ROWS).optional(),
    perState: z.int().min(1).max(MAX_LIMIT).describe("First of each state.").optional(),
    states: z.array(z.string().max(80)).max(64).describe("Codes or names.").optional(),
    startsWith: z.string().optional(),
    min: z.number().describe("Bounds the by figure.").optional(),
    max: z.number().optional(),
    saveAs,
    waitSeconds: sweepSeconds,
  }),
  output: outputs.answer<RankingFacts>(
    {
      totalRows: outputs.integer,
      totals: outputs.object,
      exact: outputs.boolean,
      consistency: outputs.texts,
      coverage: outputs.object,
      vintage: outputs.object,
    },
    // And `rows`: the rows, or how many were saved.
    { nextStep: outputs.object },
  ),
  async run({ waitSeconds, ...args }, call, ports) {
    const { level, by, order, limit, offset, perState, states: asked, startsWith, min, max, saveAs } = args;
    const bounds = { by, order: order ?? (by === "name" ? "asc" : "desc"), perState, startsWith, min, max } as const;
    const pageLimit = limit ?? (perState === undefined ? DEFAULT_LIMIT : MAX_LIMIT);
    const query: RankingQuery = saveAs === undefined ? { ...bounds, limit: pageLimit, offset } : bounds;
    checkTogether(level, query);
    if (saveAs !== undefined) await checkSaveAs(ports, saveAs);
    const page = { query, areStatesNamed: asked !== undefined && asked.length > 0, args: { ...args }, saveAs };
    const question = {
      level,
      about: (all: readonly State[]) => resolveStates(asked, all),
      waitSeconds,
    };
    if (level === "state") {
      const answered = await askCountry(
        { ...question, needs: () => ({ rows: [], all: [] }), notNeeded: "" },
        call,
        ports,
      );
      return await answer(rankStates(answered.states, query), stateSheet, page, answered, call, ports);
    }
    const answered = await askCountry(
      {
        ...question,
        needs: (states, country) => needsForRanking(states, country, query),
        notNeeded: "not needed: its total is below every row",
      },
      call,
      ports,
    );
    const ranking = rankDistricts(answered.states, answered.country, query);
    return await answer(ranking, districtSheet, page, answered, call, ports);
  },
});
