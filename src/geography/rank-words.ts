// What rank_divisions says in a sentence: the first row and how many there are, then what it does not know.
import { word } from "../outside.ts";
import { type Coverage, unreadCount } from "./country.ts";
import type { DistrictRow } from "./districts.ts";
import { againText } from "./find-words.ts";
import { noneListedText, plural, thousands, unreadText } from "./format.ts";
import type { Ranking, RankingQuery, StateRow, Totals } from "./rank.ts";

export type DivisionRow = StateRow | DistrictRow;

const MAX_NAME = 80;

const known = (name: string, value: number | undefined): readonly string[] =>
  value === undefined ? [] : [`${name} ${thousands(value)}`];

export function totalsText({ districts, mandals, min, median, mean, max }: Totals): string {
  const spread = [...known("min", min), ...known("median", median), ...known("mean", mean), ...known("max", max)];
  const counts = `${plural(districts, "district")}, ${plural(mandals, "mandal")}`;
  return spread.length === 0 ? counts : `${counts}; ${spread.join(", ")}`;
}

const placeOf = (row: DivisionRow): string =>
  "stateCode" in row
    ? `${word(row.name, MAX_NAME)} in ${word(row.stateName, MAX_NAME)} (${row.stateCode})`
    : `${word(row.name, MAX_NAME)} (${row.code})`;

function figureOf(row: DivisionRow, by: RankingQuery["by"]): string {
  if (by === "name") return "";
  const figure = "stateCode" in row ? row.mandalCount : row[by];
  return figure === 0 && by === "mandalCount" ? ", 0 (none listed)" : `, ${thousands(figure)}`;
}

export const unreadReasons = ({ unread }: Coverage): string => unread.map(unreadText).join("; ");

/** So many of a list stand in a sentence. */
const MAX_LISTED = 12;

function listed(texts: readonly string[], separator: string): string {
  const others = texts.length - MAX_LISTED;
  return `${texts.slice(0, MAX_LISTED).join(separator)}${others > 0 ? ` and ${others} more` : ""}`;
}

/** What a page that ends in the midst of equals leaves out; of rows that may change there is nothing to say. */
function tiedText({ tied, exact }: Ranking<DivisionRow>): string {
  if (!exact) return "";
  if (tied.rows > 0) return ` Tied with the last row: ${thousands(tied.rows)} more.`;
  return tied.states.length === 0 ? "" : ` Ties are cut in ${listed(tied.states, " ")}.`;
}

/** Names borne by several districts, where districts are ranked by name. */
function sharedText({ shared }: Ranking<DivisionRow>): string {
  if (shared === undefined) return "";
  const names = shared.map(({ name, stateCodes }) => `${word(name, MAX_NAME)} (${stateCodes.join(" ")})`);
  return names.length === 0 ? " No name is borne twice." : ` Borne by several: ${listed(names, ", ")}.`;
}

/** What unread lists mean for the rows. */
function certaintyText({ exact }: Ranking<DivisionRow>, coverage: Coverage): string {
  const count = unreadCount(coverage);
  if (count === 0) return "";
  if (exact) return " These rows are final: no other list can change them.";
  return ` Not exact: ${count} of ${plural(coverage.statesTotal, "list")} unread${againText(coverage)}.`;
}

/** `states`: the codes of those that were asked for by name; undefined where all were meant. */
export function rankingText<R extends DivisionRow>(
  level: "state" | "district",
  ranking: Ranking<R>,
  { by, order, offset = 0, perState }: RankingQuery,
  coverage: Coverage,
  states: readonly string[] | undefined,
): string {
  const { rows, totalRows } = ranking;
  const [first] = rows;
  const within = states === undefined ? "" : ` in ${listed(states, " ")}`;
  const direction = by === "name" ? "" : order === "desc" ? ", highest first" : ", lowest first";
  const each = perState === undefined ? "" : `, at most ${perState} of each state,`;
  const which = `${plural(totalRows, level)}${within}${each} by ${by}${direction}`;
  const place = `rows ${offset + 1} to ${offset + rows.length} of ${which}`;
  const answer =
    first === undefined
      ? `No row${offset > 0 ? ` after ${offset}` : ""} of ${which}`
      : `${placeOf(first)}${figureOf(first, by)}: the first of ${place}`;
  // Said of the first row already, where that is one.
  const noneText = first?.mandalCount === 0 && by === "mandalCount" ? "" : noneListedText(rows);
  return `${answer}.${tiedText(ranking)}${sharedText(ranking)}${certaintyText(ranking, coverage)}${noneText}`;
}
