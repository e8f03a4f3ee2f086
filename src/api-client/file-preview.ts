// This module returns the first lines of a downloaded file if it is text.
import { open } from "node:fs/promises";
import type { SavedFile } from "./downloads.ts";

/** A preview needs at most this part of a file. */
export const PREVIEW_BYTES = 2_048;
const MAX_LINES = 20;

/** Content types of text, and generic types that do not exclude text. */
const MAY_BE_TEXT = /^(?:text\/.*|application\/(?:.*\+)?json|application\/csv|(?:application|binary)\/octet-stream)$/i;
/** Text has no control characters except tab and line ends. */
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

/** Decodes UTF-8, without a character that is cut at the end of a part. Returns undefined if the bytes are not text. */
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

/** Cuts after a complete line, or else after a complete value, because redaction would not recognize a part of a secret. */
function cutAtBoundary(text: string): string {
  const end = text.lastIndexOf("\n") + 1 || text.search(/[\s,;:[\]{}][^\s,;:[\]{}]*$/) + 1;
  return text.slice(0, end);
}

/** Decodes a complete file as text; undefined if it is not text. */
export const decodeTextFile = (bytes: Buffer, contentType: string): string | undefined =>
  mayBeText(contentType) ? decodeText(bytes, true) : undefined;

/** Returns at most 20 lines and 2,048 bytes of a file's first bytes; undefined if they are not UTF-8 text. */
export function previewFromStart(start: Buffer, isComplete: boolean, contentType: string): string | undefined {
  const text = mayBeText(contentType) ? decodeText(start.subarray(0, PREVIEW_BYTES), false) : undefined;
  if (text === undefined) return undefined;
  const preview = isComplete && start.length <= PREVIEW_BYTES ? text : cutAtBoundary(text);
  return preview
    .split(/(?<=\n)/)
    .slice(0, MAX_LINES)
    .join("");
}

/** Returns the same preview of a file on disk. */
export async function readPreview({ path, bytes, contentType }: SavedFile): Promise<string | undefined> {
  if (!mayBeText(contentType)) return undefined;
  return previewFromStart(await readStart(path), bytes <= PREVIEW_BYTES, contentType);
}
