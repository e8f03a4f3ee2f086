// Names of downloaded files: what an agent may ask for, and what can be made of a Content-Disposition header.
import { parse } from "content-disposition";
import * as z from "zod/v4";

// Room for the suffixes that a download adds while it runs or when a name is taken: file systems allow 255 bytes.
const MAX_NAME_BYTES = 200;

// Windows' device names, whatever ending or spaces follow.
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

/** A plain file name, good on every platform; never a path, never hidden. */
export const fileNameSchema = z.string().refine(isPlainName, {
  error: `must be a plain file name of at most ${MAX_NAME_BYTES} bytes: no path, no leading dot, none of / \\ < > : " | ? *`,
});

function sanitizeName(name: string): string {
  const base = name.split(/[/\\]/).at(-1) ?? "";
  let plain = base.replace(new RegExp(FORBIDDEN, "gu"), "_").replace(/^[. ]+|[. ]+$/g, "");
  while (Buffer.byteLength(plain) > MAX_NAME_BYTES) plain = [...plain].slice(1).join("");
  return plain;
}

/** The name a Content-Disposition header gives (RFC 6266; filename* first), made plain; else one made from `fallback`. */
export function nameFromHeader(disposition: string | undefined, fallback: string): string {
  const wanted = parse(disposition ?? "").parameters["filename"] ?? fallback;
  for (const candidate of [sanitizeName(wanted), sanitizeName(fallback)]) if (isPlainName(candidate)) return candidate;
  return "asset";
}
