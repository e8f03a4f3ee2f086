// Whether a JSON text may be parsed at all: what is nested too deep, or made of too many parts, would hold up everybody
// else while it is parsed and walked. One pass over the characters, before anything is made of them.

/** More than any schema has, and less than what recursion over a message bears. */
const MAX_DEPTH = 2_500;
/** Objects, lists and members: more than any agent writes, and less than what takes a tenth of a second. */
const MAX_PARTS = 200_000;

const QUOTE = 0x22;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Why not, as a sentence; undefined when it may be. Text that is no JSON is for the parser to refuse. */
export function shapeFault(json: string): string | undefined {
  let depth = 0;
  let parts = 0;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (isText) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) isText = false;
    } else if (code === QUOTE) isText = true;
    else if (code === COLON) parts++;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      parts++;
      depth++;
      if (depth > MAX_DEPTH) return `This message is nested deeper than ${MAX_DEPTH} levels; nothing was done.`;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
    if (parts > MAX_PARTS)
      return `This message has more than ${MAX_PARTS} objects, lists and members; nothing was done.`;
  }
  return undefined;
}
