// Runs all questions against the emulator's districts, optionally renamed, and judges each answer.
import { type FoundDistricts, findDistrict } from "../../../src/geography/find-districts.ts";
import { createDistrictSearch } from "../../../src/geography/names/district-search.ts";
import { resolveStates } from "../../../src/geography/names/resolve-state.ts";
import { emulatedDistricts, knownCountry } from "../known-country.ts";
import type { Question } from "./question-tables.ts";

export interface Judgment {
  readonly question: Question;
  readonly isRight: boolean;
  /** True if the answer says that the query is the name of one listed district, and not of a city or of an unlisted district. */
  readonly isCertain: boolean;
  /** True if the answer is certain and wrong. */
  readonly isCertainAndWrong: boolean;
  /** The answer as one line. */
  readonly answer: string;
}

const LIMIT = 5;

function isRight({ expected, match }: Question, { matches, readAs }: FoundDistricts, isCertain: boolean): boolean {
  if (expected === "none") return !isCertain;
  if (expected.startsWith("state "))
    return !isCertain && expected === `state ${readAs?.state}` && readAs?.name === undefined;
  const codes = expected.split("+");
  const [best] = matches;
  if (best === undefined || !codes.includes(best.districtCode) || best.match !== (match ?? best.match)) return false;
  return (
    codes.length === 1 || (!isCertain && codes.every((code) => matches.some((each) => each.districtCode === code)))
  );
}

function formatAnswer({ matches, ambiguous, readAs }: FoundDistricts): string {
  const rows = matches.map(({ name, stateCode, match }) => `${name} ${stateCode} ${match}`).join(", ");
  const read = readAs === undefined ? "" : ` (read as ${readAs.name ?? "a state"} ${readAs.state ?? ""})`;
  return `${rows || "-"}${ambiguous ? ", ambiguous" : ""}${read}`;
}

/** Judges the answers to all questions. `names`: by district code, names that replace those of the directory. */
export function judgeAnswers(
  questions: readonly Question[],
  names: ReadonlyMap<string, string> = new Map(),
): readonly Judgment[] {
  const country = knownCountry(emulatedDistricts.map((each) => ({ ...each, name: names.get(each.code) ?? each.name })));
  return questions.map((question) => {
    const { query, state, expected, match } = question;
    const codes = expected.split("+");
    // A renamed district cannot have an exact match by the directory's name.
    const isRenamed = match === "exact" && codes.some((code) => names.has(code));
    const states = resolveStates(state === undefined ? undefined : [state], country.states.value.states);
    const { answer, unlisted } = findDistrict(query, createDistrictSearch(states, country), LIMIT);
    const isKnown = answer.certainty === "certain";
    const isCity = answer.matches[0]?.kind === "city";
    const isCertain = isKnown && answer.ambiguous !== true && !isCity && unlisted === undefined;
    return {
      question,
      isRight: isRight(isRenamed ? { ...question, match: undefined } : question, answer, isCertain),
      isCertain,
      isCertainAndWrong: isCertain && !codes.includes(answer.matches[0]?.districtCode ?? ""),
      answer: formatAnswer(answer),
    };
  });
}

export interface Rate {
  readonly rows: number;
  readonly correct: number;
  /** Number of answers that are right and certain; other right answers are ambiguous or guesses. */
  readonly certain: number;
  readonly certainAndWrong: number;
}

/** Rates by class. "whole" excludes the directory's own names in all shapes, because they are easy to find and would inflate the rate. */
export function computeRates(judgments: readonly Judgment[]): ReadonlyMap<string, Rate> {
  const computeRate = (group: readonly Judgment[]): Rate => ({
    rows: group.length,
    correct: group.filter((each) => each.isRight).length,
    certain: group.filter((each) => each.isRight && each.isCertain).length,
    certainAndWrong: group.filter((each) => each.isCertainAndWrong).length,
  });
  const kinds = new Set(judgments.map(({ question }) => question.kind));
  const ofKind = (kind: string) => judgments.filter(({ question }) => question.kind === kind);
  const userQuestions = judgments.filter(
    ({ question }) => question.kind !== "every-name" && !question.kind.startsWith("shape-"),
  );
  return new Map([
    ...Array.from(kinds, (kind) => [kind, computeRate(ofKind(kind))] as const),
    ["whole", computeRate(userQuestions)],
  ]);
}
