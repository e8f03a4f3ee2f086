// This module formats full items as a lossless table without repetition. Column names, values that all items share, and long values
// that occur more than once are written once (decision 015). test/toolkit/compact-table.test.ts parses the table.
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { formatJson, isCode } from "../core/untrusted-text.ts";

/** One column: for each item, its formatted value or list of values. */
interface Column {
  readonly name: string;
  readonly cells: readonly string[];
}

const LOOKS_LIKE_JSON = /^(?:-?\d[\d.eE+-]*|true|false|null)$/;

/** Leaves an id or a code unquoted if it cannot be mistaken for JSON; formats all other values as JSON. */
const formatCell = (value: unknown): string =>
  typeof value === "string" && isCode(value) && !LOOKS_LIKE_JSON.test(value) ? value : formatJson(value);

/** Formats a list of values; adjacent equal values are counted: `PENDING×5`. */
function formatList(values: readonly unknown[]): string {
  const parts: string[] = [];
  for (let at = 0; at < values.length; ) {
    let next = at + 1;
    while (next < values.length && values[next] === values[at]) next++;
    parts.push(next - at === 1 ? formatCell(values[at]) : `${formatCell(values[at])}×${next - at}`);
    at = next;
  }
  return parts.join(" ");
}

/** Returns the objects and their fields if all values are objects with the same fields; otherwise undefined. */
function findCommonFields(values: readonly unknown[]) {
  const objects = values.filter(isJsonObject);
  const fields = Object.keys(objects[0] ?? {});
  const hasSameFields = (object: JsonObject): boolean =>
    Object.keys(object).length === fields.length && fields.every((name) => Object.hasOwn(object, name));
  const haveSameFields = fields.length > 0 && objects.length === values.length && objects.every(hasSameFields);
  return haveSameFields && fields.every((name) => /^\w+$/.test(name)) ? { fields, objects } : undefined;
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** Returns true for two or more objects with the same fields, which are shown as a separate table. */
export const isTable = (value: unknown): value is readonly unknown[] =>
  isList(value) && value.length > 1 && findCommonFields(value) !== undefined;

/** Transposes lists of flat objects: returns one column for each field, whose cells contain that field of all list items. */
function listColumns(name: string, values: readonly unknown[]): readonly Column[] | undefined {
  const lists = values.filter(isList);
  const all = lists.length === values.length ? findCommonFields(lists.flat()) : undefined;
  if (!all?.objects.every((object) => Object.values(object).every((part) => typeof part !== "object" || part === null)))
    return undefined;
  return all.fields.map((field) => ({
    name: `${name}[].${field}`,
    cells: lists.map((list) => formatList(list.filter(isJsonObject).map((object) => object[field]))),
  }));
}

function columnsOf(name: string, values: readonly unknown[]): readonly Column[] {
  const { fields, objects = [] } = findCommonFields(values) ?? {};
  if (!fields) return listColumns(name, values) ?? [{ name, cells: values.map(formatCell) }];
  return fields.flatMap((field) =>
    columnsOf(
      name === "" ? field : `${name}.${field}`,
      objects.map((object) => object[field]),
    ),
  );
}

const MIN_REPEATED = 16;

/** Assigns names such as `@1` to long cells that occur more than once. */
function createAliases(columns: readonly Column[]): ReadonlyMap<string, string> {
  const seen = new Set<string>();
  const aliases = new Map<string, string>();
  for (const cell of columns.flatMap(({ cells }) => cells)) {
    if (seen.has(cell) && !aliases.has(cell)) aliases.set(cell, `@${aliases.size + 1}`);
    if (cell.length >= MIN_REPEATED) seen.add(cell);
  }
  return aliases;
}

/** Returns lines: shared values, named values, column names, and a row for each item. Returns an empty string for no items. */
export function formatCompactTable(items: readonly unknown[]): string {
  const shared: string[] = [];
  const varying: Column[] = [];
  for (const column of items.length === 0 ? [] : columnsOf("", items)) {
    const { name, cells } = column;
    const equalColumn = varying.find((other) => other.cells.every((cell, row) => cell === cells[row]));
    if (cells.every((cell) => cell === cells[0])) shared.push(`${name}=${cells[0]}`);
    else if (equalColumn) shared.push(`${name}=@${equalColumn.name}`);
    else varying.push(column);
  }
  const aliases = createAliases(varying);
  const lines = [];
  if (shared.length > 0) lines.push(`In each row: ${shared.join("; ")}`);
  if (aliases.size > 0) lines.push([...aliases].map(([value, name]) => `${name}=${value}`).join("; "));
  if (varying.length === 0) return lines.join("\n");
  const toAlias = (cell = ""): string => aliases.get(cell) ?? cell;
  const rows = items.map((_, row) => varying.map(({ cells }) => toAlias(cells[row])).join("\t"));
  return [...lines, varying.map(({ name }) => name).join("\t"), ...rows].join("\n");
}
