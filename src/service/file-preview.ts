// The first lines of a downloaded file, where it is text.
import { open } from "node:fs/promises";
import type { SavedFile } from "./download.ts";

const MAX_BYTES = 2_048;
const MAX_LINES = 20;

/** Types that say "text", and those that say nothing. */
const MAY_BE_TEXT = /^(?:text\/.*|application\/(?:.*\+)?json|application\/csv|(?:application|binary)\/octet-stream)$/i;
/** Text has no control characters but tab and line ends. */
const CONTROL = /[^\P{Cc}\t\n\r]/u;

async function readStart(path: string): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** UTF-8, without a character that the end cuts; undefined where it is something else. */
function decoded(bytes: Buffer): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return CONTROL.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Cut behind a whole line, or else behind a whole value: a secret that lay across the cut would not be recognized any more. */
function cutEnd(text: string): string {
  const end = text.lastIndexOf("\n") + 1 || text.search(/[\s,;:[\]{}][^\s,;:[\]{}]*$/) + 1;
  return text.slice(0, end);
}

/** At most 20 lines and 2,048 bytes; undefined where it is no text (UTF-8). */
export async function previewOf({ path, bytes, contentType }: SavedFile): Promise<string | undefined> {
  const [type = ""] = contentType.split(";");
  if (!MAY_BE_TEXT.test(type.trim())) return undefined;
  const text = decoded(await readStart(path));
  if (text === undefined) return undefined;
  const whole = bytes > MAX_BYTES ? cutEnd(text) : text;
  return whole
    .split(/(?<=\n)/)
    .slice(0, MAX_LINES)
    .join("");
}
