// What find_district says in a sentence: the answer first, then what it does not know.
import type { State } from "../contract/playground.ts";
import { quote, word } from "../outside.ts";
import { type Coverage, secondsUntilRead, unreadCount } from "./country.ts";
import type { DistrictRow } from "./districts.ts";
import type { Finding, FoundDistrict, FoundDistricts } from "./find.ts";
import { plural } from "./format.ts";
import { formsOf, isPartOf } from "./names/likeness.ts";
import { isIndianScript, latinOf } from "./names/scripts.ts";
import type { Unlisted } from "./names/unlisted.ts";

/** As many as a sentence holds. */
const MAX_LISTED = 3;
const MAX_NAME = 80;
/** So like the asked name that it is named beside the one that bears it. */
const MIN_RIVAL = 0.9;

/** No mandals in the list is no statement about the place. */
const mandalsOf = (count: number): string =>
  count === 0 ? "of mandals the catalogue lists none" : plural(count, "mandal");

export const stateText = ({ name, code }: State): string => `${word(name, MAX_NAME)} (${code})`;

const placeOf = ({ name, stateName, stateCode }: DistrictRow): string =>
  `${word(name, MAX_NAME)} in ${word(stateName, MAX_NAME)} (${stateCode})`;

const factOf = (row: DistrictRow): string => `${placeOf(row)}: ${mandalsOf(row.mandalCount)}`;

/** The name that was searched for; one in an Indian script as it was read, where nothing bears it. */
function askedText({ query, readAs, matches }: FoundDistricts): string {
  const name = readAs?.name ?? query;
  const isKnown = matches.some(({ match }) => match !== "similar");
  return `${quote(name, MAX_NAME)}${isIndianScript(name) && !isKnown ? ` (${word(latinOf(name), MAX_NAME)})` : ""}`;
}

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

/** What the record knows of a name that the list does not have. */
function unlistedText(asked: string, { state, change, seat }: Unlisted): string {
  const where = stateText(state);
  if (change === undefined)
    return seat === undefined
      ? ""
      : `${asked} is the seat of ${word(seat.district, MAX_NAME)} in ${where}, which is not in the list.`;
  const { status, year, partOf } = change;
  const wholes = partOf.map((name) => word(name, MAX_NAME)).join(" and ");
  if (status === "abolished")
    return `${asked} in ${where} was abolished in ${year}${wholes === "" ? "" : ` and is part of ${wholes} again`}.`;
  if (status === "announced")
    return `${asked} in ${where} was announced in ${year}${wholes === "" ? "" : `, out of ${wholes},`} and is not in the list.`;
  return `${asked} in ${where} was made a district in ${year}${wholes === "" ? "" : `, part of ${wholes} until then`}; it is not in the list.`;
}

const UNREADABLE =
  "Names are read in Latin letters and in nine Indian scripts (Devanagari, Bengali, Gurmukhi, Gujarati, Odia, Tamil, Telugu, Kannada, Malayalam): write it in one of them.";

function noneText(finding: Finding, where: string, coverage: Coverage, elsewhere: readonly DistrictRow[]): string {
  const { answer, inState, unlisted, isUnreadable } = finding;
  const asked = askedText(answer);
  if (isUnreadable) return `${asked} is in letters that are not read. ${UNREADABLE}`;
  const known = elsewhere.length === 0 ? "" : ` There is ${listed(elsewhere.map(placeOf))}.`;
  if (unlisted !== undefined) return `${unlistedText(asked, unlisted)}${known}`;
  const place = inState === undefined ? where : ` in ${stateText(inState)}`;
  if (coverage.complete) {
    const among = place === "" ? ` in any of ${plural(coverage.statesTotal, "list")}` : place;
    return `No district like ${asked}${among}.${known}`;
  }
  const { statesRead, statesTotal } = coverage;
  return `None like ${asked} found${place} in ${statesRead} of ${plural(statesTotal, "list")}${againText(coverage)}.${known}`;
}

/** What the asked name is to the district that was found. */
function identityText(asked: string, { match, kind, since }: FoundDistrict): string {
  if (match === "seat") return `${asked} is ${kind === "city" ? "a city in" : "the seat of"} `;
  if (kind === "former") return `${asked} is a former name${since === undefined ? "" : ` (until ${since})`} of `;
  if (kind === "later") return `${asked} is a later name${since === undefined ? "" : ` (since ${since})`} of `;
  return `${asked} is `;
}

function guessOf(row: FoundDistrict): string {
  const { name, stateName, stateCode, via } = row;
  if (via === undefined) return placeOf(row);
  return `${word(name, MAX_NAME)} (also ${quote(via, MAX_NAME)}) in ${word(stateName, MAX_NAME)} (${stateCode})`;
}

function guessText(asked: string, { answer, left, partOf, unlisted }: Finding): string {
  const { matches } = answer;
  const guesses = listed(matches.map(guessOf), left);
  const [, ...others] = matches;
  const isOne = others.length + left === 0;
  if (unlisted !== undefined) return `${unlistedText(asked, unlisted)} Like it: ${guesses}: a guess.`;
  if (partOf !== undefined) {
    const part = formsOf(answer.readAs?.name ?? answer.query);
    const names = matches.filter(({ name }) => isPartOf(part, formsOf(name))).map(placeOf);
    return `${asked} is part of ${plural(partOf, "name")}: ${listed(names, partOf - names.length)}: a guess.`;
  }
  return `No district is called ${asked}; ${guesses} ${isOne ? "is" : "are"} like it: a guess.`;
}

function foundText(finding: Finding): string {
  const { answer, left, notIn, unlisted } = finding;
  const { query, matches, readAs, ambiguous } = answer;
  const [best, ...others] = matches;
  if (best === undefined) return "";
  const asked = askedText(answer);
  const named = matches.filter(({ match }) => match !== "similar");
  const where = notIn === undefined ? "" : `${stateText(notIn)} has no district like ${asked}; elsewhere there is `;
  if (named.length > 1)
    return `${where === "" ? `${asked} may be any of ` : where}${listed(named.map(placeOf), matches.length === named.length ? left : 0)}.`;
  if (best.match === "similar") return guessText(asked, finding);
  const isItself = best.match === "exact" && best.name === (readAs?.name ?? query);
  const what = where === "" && !isItself ? identityText(asked, best) : where;
  const also = unlisted === undefined ? "" : ` ${unlistedText(asked, unlisted)}`;
  const rivals =
    ambiguous && where === "" && unlisted === undefined ? others.filter(({ score }) => score >= MIN_RIVAL) : [];
  const perhaps = rivals.length === 0 ? "" : ` Perhaps meant: ${listed(rivals.map(placeOf))}.`;
  return `${what}${factOf(best)}.${also}${perhaps}`;
}

/** One query's answer as a sentence. `where`: " in Goa (GA)", when one state was asked about. */
export function findingText(
  finding: Finding,
  coverage: Coverage,
  where: string,
  elsewhere: readonly DistrictRow[],
): string {
  const { answer, asState } = finding;
  if (asState !== undefined)
    return `${quote(answer.query, MAX_NAME)} is a state, ${stateText(asState)}, of ${plural(asState.districtCount, "district")}.`;
  return answer.matches.length === 0 ? noneText(finding, where, coverage, elsewhere) : foundText(finding);
}

/** What to try where nothing is like the name, and nothing is known of it. */
export function hintText({ answer, asState, unlisted, isUnreadable }: Finding, { complete }: Coverage): string {
  const isMiss = answer.matches.length === 0 && asState === undefined && unlisted === undefined;
  return isMiss && complete && !isUnreadable ? " Towns and blocks are not listed: try their district." : "";
}

/** How the query was read, where words were taken out of it: a sentence, or none. */
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
