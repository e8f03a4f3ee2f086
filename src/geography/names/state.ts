// Which state of the live list a code or a name means: nothing is known of codes but what the service lists.
import type { State } from "../../contract/playground.ts";
import { Failure, invalidArguments } from "../../failure.ts";
import { quote, word } from "../../outside.ts";
import { otherCodesOf, stateNamesLike } from "./aliases.ts";
import { fold } from "./fold.ts";
import { searchNames } from "./search.ts";

/** A likeness that may be followed without asking. */
const SURE = 0.85;
const MAX_NAME = 80;

function byCode(text: string, states: readonly State[]): readonly State[] {
  const code = text.trim().toUpperCase();
  const has = (wanted: string) => states.filter((state) => state.code.toUpperCase() === wanted);
  const exact = has(code);
  return exact.length > 0 ? exact : otherCodesOf(code).flatMap(has);
}

/** By its very name, or another name of the same state. */
function byOwnName(text: string, states: readonly State[]): readonly State[] {
  const has = (name: string) => states.filter((state) => fold(state.name) === name);
  const exact = has(fold(text));
  return exact.length > 0 ? exact : stateNamesLike(fold(text)).flatMap(has);
}

/** The one state that bears this name, whatever its case; undefined where none does, or several do. */
export function stateNamed(text: string, states: readonly State[]): State | undefined {
  const [state, ...others] = byOwnName(text, states);
  return others.length === 0 ? state : undefined;
}

/** The same of a code or a name. */
export function stateMeant(text: string, states: readonly State[]): State | undefined {
  const [state, ...others] = byCode(text, states);
  return state !== undefined && others.length === 0 ? state : stateNamed(text, states);
}

function byName(text: string, states: readonly State[]): readonly State[] {
  const own = byOwnName(text, states);
  if (own.length > 0) return own;
  const { found } = searchNames(text, states, ({ name }) => name);
  return found.filter(({ score, match }) => match === "exact" || score >= SURE).map(({ item }) => item);
}

const listed = (states: readonly State[]): string =>
  states.map(({ code, name }) => `${code} ${word(name, MAX_NAME)}`).join(", ");

/** Throws Failure when it means none, or one of several. */
export function resolveState(text: string, states: readonly State[]): State {
  const coded = byCode(text, states);
  const found = coded.length > 0 ? coded : byName(text, states);
  const [state, ...others] = found;
  const asked = quote(text, MAX_NAME);
  if (state === undefined)
    throw new Failure({
      kind: "not_found",
      message: `No such state: ${asked} matches none of the service's ${states.length} states.`,
      retryable: false,
      sideEffect: "none",
      next: `Use one of these codes: ${states.map(({ code }) => code).join(", ")}; list_states has their names.`,
    });
  if (others.length > 0)
    throw invalidArguments(`${asked} may mean several states: ${listed(found)}.`, [], "Use the code of the one meant.");
  return state;
}

/** Each once, in the order asked for; all of them when nothing was asked for. */
export function resolveStates(texts: readonly string[] | undefined, states: readonly State[]): readonly State[] {
  if (texts === undefined || texts.length === 0) return states;
  return [...new Set(texts.map((text) => resolveState(text, states)))];
}
