// What find_district says in a sentence: the answer first, then what it does not know.
import type { State } from "../contract/playground.ts";
import { quote, word } from "../outside.ts";
import { type Coverage, secondsUntilRead, unreadCount } from "./country.ts";
import type { DistrictRow } from "./districts.ts";
import type { Finding } from "./find.ts";
import { plural } from "./format.ts";

/** As many as a sentence holds. */
const MAX_LISTED = 3;
const MAX_NAME = 80;

/** No mandals in the list is no statement about the place. */
const mandalsOf = (count: number): string =>
  count === 0 ? "of mandals the catalogue lists none" : plural(count, "mandal");

export const stateText = ({ name, code }: State): string => `${word(name, MAX_NAME)} (${code})`;

const placeOf = ({ name, stateName, stateCode }: DistrictRow): string =>
  `${word(name, MAX_NAME)} in ${word(stateName, MAX_NAME)} (${stateCode})`;

const factOf = (row: DistrictRow): string => `${placeOf(row)}: ${mandalsOf(row.mandalCount)}`;

/** The first of a list, and how many others there are. */
export function listed(texts: readonly string[], left = 0): string {
  const others = texts.length - MAX_LISTED + left;
  return `${texts.slice(0, MAX_LISTED).join(", ")}${others > 0 ? ` and ${others} more` : ""}`;
}

/** "ask again in 42 s", where anything is to come. */
export function againText(coverage: Coverage): string {
  const seconds = secondsUntilRead(coverage);
  return seconds === undefined ? "" : `: ask again in ${seconds} s`;
}

function noneText(asked: string, where: string, coverage: Coverage, elsewhere: readonly DistrictRow[]): string {
  const known = elsewhere.length === 0 ? "" : ` There is ${listed(elsewhere.map(placeOf))}.`;
  if (coverage.complete) return `No district like ${asked}${where}: every list was read.${known}`;
  const { statesRead, statesTotal } = coverage;
  return `None like ${asked} found${where} in ${statesRead} of ${plural(statesTotal, "list")}${againText(coverage)}.${known}`;
}

function foundText({ answer: { query, matches, readAs }, left, notIn }: Finding): string {
  const [best] = matches;
  if (best === undefined) return "";
  const asked = quote(readAs?.name ?? query, MAX_NAME);
  const named = matches.filter(({ match }) => match !== "similar");
  const where = notIn === undefined ? "" : `${stateText(notIn)} has no district like ${asked}; elsewhere there is `;
  if (named.length > 1)
    return `${where === "" ? `${asked} may be any of ` : where}${listed(named.map(placeOf), matches.length === named.length ? left : 0)}.`;
  if (best.match === "similar")
    return `No district is called ${asked}; ${listed(matches.map(placeOf), left)} ${matches.length + left === 1 ? "is" : "are"} like it: a guess.`;
  const isItself = best.name === (readAs?.name ?? query);
  return `${where}${where === "" && !isItself ? `${asked} is ` : ""}${factOf(best)}.`;
}

/** One query's answer as a sentence. `where`: " in Goa (GA)", when one state was asked about. */
export function findingText(
  finding: Finding,
  coverage: Coverage,
  where: string,
  elsewhere: readonly DistrictRow[],
): string {
  const { answer, asState } = finding;
  const asked = quote(answer.readAs?.name ?? answer.query, MAX_NAME);
  if (asState !== undefined)
    return `${quote(answer.query, MAX_NAME)} is a state, ${stateText(asState)}, of ${plural(asState.districtCount, "district")}.`;
  return answer.matches.length === 0 ? noneText(asked, where, coverage, elsewhere) : foundText(finding);
}

/** How the query was read, where a state was taken out of it: a sentence, or none. */
export function readAsText({ answer: { query, readAs } }: Finding): readonly string[] {
  if (readAs?.name === undefined) return [];
  const where = readAs.state === undefined ? "" : ` in ${readAs.state}`;
  return [`${quote(query, MAX_NAME)} was read as ${quote(readAs.name, MAX_NAME)}${where}.`];
}

/** What a found name does not exclude. */
export const namesakesText = ({ needs }: Finding): string =>
  needs.all.length === 0 ? "" : ` ${plural(needs.all.length, "list")} unread: namesakes are possible.`;

/** Of several names. */
export function findingsText(findings: readonly Finding[], coverage: Coverage): string {
  const some = (kind: string, which: readonly Finding[]): readonly string[] =>
    which.length === 0
      ? []
      : [`${which.length} ${kind} (${listed(which.map(({ answer }) => quote(answer.query, MAX_NAME)))})`];
  const none = findings.filter(({ answer }) => answer.matches.length === 0);
  const ambiguous = findings.filter(({ answer }) => answer.ambiguous);
  const parts = [
    `${findings.length - none.length - ambiguous.length} found`,
    ...some("ambiguous", ambiguous),
    ...some("not found", none),
  ];
  const isCertain = findings.every(({ needs }) => needs.rows.length === 0);
  const rest = isCertain
    ? ""
    : ` Not certain: ${unreadCount(coverage)} of ${coverage.statesTotal} lists are unread${againText(coverage)}.`;
  return `Of ${plural(findings.length, "name")}: ${parts.join(", ")}.${rest}`;
}
