// Writes JSON for reviewers: each value that fits into a line of 120 columns is on one line.

const WIDTH = 120;

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
  return `${name}${open}\n${parts.map((part) => `${indent}  ${part}`).join(",\n")}\n${indent}${close}`;
}
