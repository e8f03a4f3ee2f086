// Asks all questions over the emulator's districts, named as wanted, and judges each answer.
import { type FoundDistricts, findDistrict } from "../../../src/geography/find-districts.ts";
import { DistrictSearch } from "../../../src/geography/names/district-search.ts";
import { resolveStates } from "../../../src/geography/names/resolve-state.ts";
import { emulated, knownCountry } from "../known-country.ts";
import type { Question } from "./rows.ts";

export interface Judged {
  readonly question: Question;
  readonly isRight: boolean;
  /** Nothing in the answer says that another district may be meant. */
  readonly isCertain: boolean;
  /** The answer is sure of itself, and wrong. */
  readonly isCertainAndWrong: boolean;
  /** The answer, in a line. */
  readonly answer: string;
}

const LIMIT = 5;

function isRight(
  { expected, match }: Question,
  { matches, ambiguous, readAs }: FoundDistricts,
  isCertain: boolean,
): boolean {
  if (expected === "none") return !isCertain;
  if (expected.startsWith("state "))
    return !isCertain && expected === `state ${readAs?.state}` && readAs?.name === undefined;
  const codes = expected.split("+");
  const [best] = matches;
  if (best === undefined || !codes.includes(best.districtCode) || best.match !== (match ?? best.match)) return false;
  return codes.length === 1 || (ambiguous && codes.every((code) => matches.some((each) => each.districtCode === code)));
}

function lineOf({ matches, ambiguous, readAs }: FoundDistricts): string {
  const rows = matches.map(({ name, stateCode, match }) => `${name} ${stateCode} ${match}`).join(", ");
  const read = readAs === undefined ? "" : ` (read as ${readAs.name ?? "a state"} ${readAs.state ?? ""})`;
  return `${rows || "-"}${ambiguous ? ", ambiguous" : ""}${read}`;
}

/** `names`: by district code, what the API calls a district instead. */
export function measure(
  questions: readonly Question[],
  names: ReadonlyMap<string, string> = new Map(),
): readonly Judged[] {
  const country = knownCountry(emulated.map((each) => ({ ...each, name: names.get(each.code) ?? each.name })));
  return questions.map((question) => {
    const { query, state, expected, match } = question;
    const codes = expected.split("+");
    // A district that has another name in this list cannot be found by that of the directory itself.
    const isRenamed = match === "exact" && codes.some((code) => names.has(code));
    const states = resolveStates(state === undefined ? undefined : [state], country.states.value.states);
    const { answer } = findDistrict(query, new DistrictSearch(states, country), LIMIT);
    const [best] = answer.matches;
    const isCertain = best !== undefined && best.match !== "similar" && !answer.ambiguous;
    return {
      question,
      isRight: isRight(isRenamed ? { ...question, match: undefined } : question, answer, isCertain),
      isCertain,
      isCertainAndWrong: isCertain && !codes.includes(best.districtCode),
      answer: lineOf(answer),
    };
  });
}

export interface Rate {
  readonly rows: number;
  readonly right: number;
  /** Right without a doubt; the others are right as a guess only. */
  readonly certain: number;
  readonly certainAndWrong: number;
}

/** By class; "whole" is all but the directory's own names: that these are found would only flatter. */
export function ratesOf(judged: readonly Judged[]): ReadonlyMap<string, Rate> {
  const rateOf = (some: readonly Judged[]): Rate => ({
    rows: some.length,
    right: some.filter((each) => each.isRight).length,
    certain: some.filter((each) => each.isRight && each.isCertain).length,
    certainAndWrong: some.filter((each) => each.isCertainAndWrong).length,
  });
  const kinds = new Set(judged.map(({ question }) => question.kind));
  const ofKind = (kind: string) => judged.filter(({ question }) => question.kind === kind);
  const typed = judged.filter(({ question }) => question.kind !== "every-name");
  return new Map([...Array.from(kinds, (kind) => [kind, rateOf(ofKind(kind))] as const), ["whole", rateOf(typed)]]);
}
