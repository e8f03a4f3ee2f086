// Refuses a JSON text that is nested too deeply or has too many parts, because parsing it would block all other requests. The check
// is one pass over the characters, before the text is parsed.

/** Deeper than any schema, and shallow enough for recursive functions that read a message. */
const MAX_DEPTH = 2_500;
/** Number of objects, lists and members: more than any agent writes, and few enough to parse within 0.1 s. */
const MAX_PARTS = 200_000;

const QUOTE = 0x22;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Returns a sentence that states which limit this text exceeds; undefined if it exceeds none. Text that is not JSON may pass. */
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
