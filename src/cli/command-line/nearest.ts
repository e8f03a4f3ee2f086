// "Did you mean …?": the name that a mistyped one was probably meant to be.
import { distance } from "fastest-levenshtein";

/** So many letters of a name may be wrong: one in three. */
const allowedIn = (name: string): number => Math.max(1, Math.floor(name.length / 3));

/** The likest of `names`; undefined where none is like it. Case does not count. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const lower = typed.toLowerCase();
  const [best] = names
    .map((name) => ({ name, off: distance(lower, name.toLowerCase()) }))
    .filter(({ name, off }) => off <= allowedIn(name))
    .sort((one, other) => one.off - other.off);
  return best?.name;
}

/** The question behind a sentence; empty where no name is like it. */
export function didYouMean(typed: string, names: readonly string[], shown = (name: string): string => name): string {
  const name = nearest(typed, names);
  return name === undefined ? "" : ` Did you mean ${shown(name)}?`;
}
