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
  return `, ${thousands(figure)}`;
}

export const unreadReasons = ({ unread }: Coverage): string => unread.map(unreadText).join("; ");

export function rankingText<R extends DivisionRow>(
  level: "state" | "district",
  { rows, totalRows, exact }: Ranking<R>,
  { by, order, offset = 0, perState }: RankingQuery,
  coverage: Coverage,
): string {
  const [first] = rows;
  const which = `${plural(totalRows, level)}${perState === undefined ? "" : `, at most ${perState} of each state,`} by ${by}${
    by === "name" ? "" : order === "desc" ? ", highest first" : ", lowest first"
  }`;
  const place = `rows ${offset + 1} to ${offset + rows.length} of ${which}`;
  const answer =
    first === undefined
      ? `No row${offset > 0 ? ` after ${offset}` : ""} of ${which}`
      : `${placeOf(first)}${figureOf(first, by)}: the first of ${place}`;
  const certainty = exact
    ? ""
    : ` Not exact: ${unreadCount(coverage)} of ${plural(coverage.statesTotal, "list")} unread${againText(coverage)}.`;
  return `${answer}.${certainty}${noneListedText(rows)}`;
}
