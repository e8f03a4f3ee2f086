// Refuses a JSON text before it is parsed: one that is nested too deeply, or has too many parts, would hold up everybody else.
// One pass over its characters decides.

/** Deeper than any schema, and shallower than what a recursive walk over a message can bear. */
const MAX_DEPTH = 2_500;
/** Objects, lists and members: more than any agent writes, and few enough to parse within a tenth of a second. */
const MAX_PARTS = 200_000;

const QUOTE = 0x22;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** A sentence that says why this text must not be parsed; undefined when it may. The parser refuses what is not JSON. */
export function findExceededLimit(json: string): string | undefined {
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
