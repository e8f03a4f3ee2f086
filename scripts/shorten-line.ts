// Shortens a line of a tool's output for a page or a picture.

/** Shortens ids, which readers do not need, and the line to `maxColumns` characters. */
export function shortenLine(line: string, maxColumns: number): string {
  const short = line
    .replace(/\b([a-z]+_[0-9a-f]{4}|(?:mic|again|view)-[0-9a-f]{4})[0-9a-f]{4,}/g, "$1…")
    .replaceAll("\t", "  ");
  return short.length > maxColumns ? `${short.slice(0, maxColumns - 1)}…` : short;
}
