// Writes JSON for reviewers in lines of about 120 columns: a value that fits is on one line, and short members share a line.

const WIDTH = 120;

/** Joins parts to lines. A part with several lines, or one that is too long, has its own. */
function fillLines(parts: readonly string[], indent: string): string {
  const lines: string[] = [];
  for (const part of parts) {
    const joined = `${lines.at(-1)}, ${part}`;
    const fits = lines.length > 0 && !joined.includes("\n") && indent.length + joined.length < WIDTH;
    if (fits) lines.splice(-1, 1, joined);
    else lines.push(part);
  }
  return lines.join(`,\n${indent}`);
}

/** `name` comes first on the value's line. Values nested deeper than `maxDepth`, or named `flat`, are on one line, however long. */
export function formatWideJson(value: unknown, maxDepth: number, flat = "", depth = 0, name = ""): string {
  const line = name + JSON.stringify(value);
  const indent = "  ".repeat(depth);
  const isFlat = depth > maxDepth || name === `"${flat}": `;
  if (typeof value !== "object" || value === null || indent.length + line.length < WIDTH || isFlat) return line;
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((item) => formatWideJson(item, maxDepth, flat, depth + 1))
    : Object.entries(value).map(([key, item]) => formatWideJson(item, maxDepth, flat, depth + 1, `"${key}": `));
  const [open, close] = isList ? "[]" : "{}";
  // Without a name, the members are aligned although the first one follows the bracket.
  const start = name === "" ? " " : `\n${indent}  `;
  return `${name}${open}${start}${fillLines(parts, `${indent}  `)} ${close}`;
}
