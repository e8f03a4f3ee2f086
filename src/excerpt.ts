// Long text from outside, cut for showing: at a word's end, since a secret that lay across the cut would show in part and
// not be recognized any more.

/** At most `max` characters, with … where something was left out. */
export function excerpt(text: string, max: number): string {
  if (text.length <= max) return text;
  const lastSpace = text.slice(0, max + 1).search(/\s\S*$/);
  return `${text.slice(0, Math.max(0, lastSpace))}…`;
}
