// The first lines of a downloaded file, where it is text.
import { open } from "node:fs/promises";
import type { SavedFile } from "./downloads.ts";

/** So much of a file is enough for its preview. */
export const PREVIEW_BYTES = 2_048;
const MAX_LINES = 20;

/** Types that say "text", and those that say nothing. */
const MAY_BE_TEXT = /^(?:text\/.*|application\/(?:.*\+)?json|application\/csv|(?:application|binary)\/octet-stream)$/i;
/** Text has no control characters but tab and line ends. */
const CONTROL = /[^\P{Cc}\t\n\r]/u;

async function readStart(path: string): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(PREVIEW_BYTES), 0, PREVIEW_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

const mayBeText = (contentType: string): boolean => MAY_BE_TEXT.test(contentType.split(";")[0]?.trim() ?? "");

/** UTF-8, without a character that the end of a part cuts; undefined where it is something else. */
function decodeText(bytes: Buffer, isComplete: boolean): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: isComplete }).decode(bytes, {
      stream: !isComplete,
    });
    return CONTROL.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Cut behind a whole line, or else behind a whole value: a secret that lay across the cut would not be recognized any more. */
function cutAtBoundary(text: string): string {
  const end = text.lastIndexOf("\n") + 1 || text.search(/[\s,;:[\]{}][^\s,;:[\]{}]*$/) + 1;
  return text.slice(0, end);
}

/** A whole file as text; undefined where it is none. */
export const decodeTextFile = (bytes: Buffer, contentType: string): string | undefined =>
  mayBeText(contentType) ? decodeText(bytes, true) : undefined;

/** Of a file's first bytes at most 20 lines and 2,048 bytes; undefined where it is no text (UTF-8). */
export function previewFromStart(start: Buffer, isComplete: boolean, contentType: string): string | undefined {
  const text = mayBeText(contentType) ? decodeText(start.subarray(0, PREVIEW_BYTES), false) : undefined;
  if (text === undefined) return undefined;
  const preview = isComplete && start.length <= PREVIEW_BYTES ? text : cutAtBoundary(text);
  return preview
    .split(/(?<=\n)/)
    .slice(0, MAX_LINES)
    .join("");
}

/** The same of a file on disk. */
export async function readPreview({ path, bytes, contentType }: SavedFile): Promise<string | undefined> {
  if (!mayBeText(contentType)) return undefined;
  return previewFromStart(await readStart(path), bytes <= PREVIEW_BYTES, contentType);
}
