// Asks all questions over the emulator's districts, named as wanted, and judges each answer.
import { type FoundDistricts, findDistrict } from "../../../src/geography/find-districts.ts";
import { DistrictSearch } from "../../../src/geography/names/district-search.ts";
import { resolveStates } from "../../../src/geography/names/resolve-state.ts";
import { emulatedDistricts, knownCountry } from "../known-country.ts";
import type { Question } from "./question-tables.ts";

export interface Judgment {
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

function formatAnswer({ matches, ambiguous, readAs }: FoundDistricts): string {
  const rows = matches.map(({ name, stateCode, match }) => `${name} ${stateCode} ${match}`).join(", ");
  const read = readAs === undefined ? "" : ` (read as ${readAs.name ?? "a state"} ${readAs.state ?? ""})`;
  return `${rows || "-"}${ambiguous ? ", ambiguous" : ""}${read}`;
}

/** `names`: by district code, what the API calls a district instead. */
export function judgeAnswers(
  questions: readonly Question[],
  names: ReadonlyMap<string, string> = new Map(),
): readonly Judgment[] {
  const country = knownCountry(emulatedDistricts.map((each) => ({ ...each, name: names.get(each.code) ?? each.name })));
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
      answer: formatAnswer(answer),
    };
  });
}

export interface Rate {
  readonly rows: number;
  readonly correct: number;
  /** Right without a doubt; the others are right as a guess only. */
  readonly certain: number;
  readonly certainAndWrong: number;
}

/** By class; "whole" is all but the directory's own names: that these are found would only flatter. */
export function computeRates(judgments: readonly Judgment[]): ReadonlyMap<string, Rate> {
  const computeRate = (group: readonly Judgment[]): Rate => ({
    rows: group.length,
    correct: group.filter((each) => each.isRight).length,
    certain: group.filter((each) => each.isRight && each.isCertain).length,
    certainAndWrong: group.filter((each) => each.isCertainAndWrong).length,
  });
  const kinds = new Set(judgments.map(({ question }) => question.kind));
  const ofKind = (kind: string) => judgments.filter(({ question }) => question.kind === kind);
  const userQuestions = judgments.filter(({ question }) => question.kind !== "every-name");
  return new Map([
    ...Array.from(kinds, (kind) => [kind, computeRate(ofKind(kind))] as const),
    ["whole", computeRate(userQuestions)],
  ]);
}
