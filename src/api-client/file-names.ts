// This module checks the names that agents request for downloaded files, and derives names from Content-Disposition headers.
import { parse } from "content-disposition";
import * as z from "zod/v4";

// File systems allow 255 bytes. The rest is reserved for the number that is added if a name is taken.
const MAX_NAME_BYTES = 200;

// Device names of Windows, with any extension or trailing spaces.
const RESERVED = /^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(\..*)?$/i;
const FORBIDDEN = /[/\\<>:"|?*\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/u;

const isPlainName = (name: string): boolean =>
  name !== "" &&
  !FORBIDDEN.test(name) &&
  !RESERVED.test(name) &&
  !name.startsWith(".") &&
  !/[. ]$/.test(name) &&
  name.trim() === name &&
  Buffer.byteLength(name) <= MAX_NAME_BYTES;

/** A plain file name that is valid on every platform: not a path and not hidden. */
export const fileNameSchema = z.string().refine(isPlainName, {
  error: `must be a plain file name of at most ${MAX_NAME_BYTES} bytes: no path, no leading dot, none of / \\ < > : " | ? *`,
});

function sanitizeName(name: string): string {
  const base = name.split(/[/\\]/).at(-1) ?? "";
  let plain = base.replace(new RegExp(FORBIDDEN, "gu"), "_").replace(/^[. ]+|[. ]+$/g, "");
  while (Buffer.byteLength(plain) > MAX_NAME_BYTES) plain = [...plain].slice(1).join("");
  return plain;
}

/** Returns the sanitized name in a Content-Disposition header (RFC 6266; filename* first), else `fallback` sanitized, else "asset". */
export function nameFromHeader(disposition: string | undefined, fallback: string): string {
  const wanted = parse(disposition ?? "").parameters["filename"] ?? fallback;
  for (const candidate of [sanitizeName(wanted), sanitizeName(fallback)]) if (isPlainName(candidate)) return candidate;
  return "asset";
}
