// Whole items as a table that loses nothing and repeats nothing: columns are named once, and what all items share, or a long
// value that occurs again, is written once (decision 015). test/toolkit/advice/compact-table.test.ts reads it back.
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { formatJson, isCode } from "../core/untrusted-text.ts";

/** One column: the value of each item, or for a column of lists the list of each. */
interface Column {
  readonly name: string;
  readonly cells: readonly string[];
}

const LOOKS_LIKE_JSON = /^(?:-?\d[\d.eE+-]*|true|false|null)$/;

/** An id or a code is unchanged if it can be nothing else; all other values are JSON. */
const formatCell = (value: unknown): string =>
  typeof value === "string" && isCode(value) && !LOOKS_LIKE_JSON.test(value) ? value : formatJson(value);

/** Equal neighbors are counted: `PENDING×5`. */
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

/** The fields of objects that all have the same ones; undefined if the values are not all such objects. */
function findCommonFields(values: readonly unknown[]) {
  const objects = values.filter(isJsonObject);
  const fields = Object.keys(objects[0] ?? {});
  const hasSameFields = (object: JsonObject): boolean =>
    Object.keys(object).length === fields.length && fields.every((name) => Object.hasOwn(object, name));
  const haveSameFields = fields.length > 0 && objects.length === values.length && objects.every(hasSameFields);
  return haveSameFields && fields.every((name) => /^\w+$/.test(name)) ? { fields, objects } : undefined;
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** Rows of one shape, more than one: worth a table of their own. */
export const isTable = (value: unknown): value is readonly unknown[] =>
  isList(value) && value.length > 1 && findCommonFields(value) !== undefined;

/** Lists of flat objects stand sideways: a column for each field, whose cells contain that field of all list items. */
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

/** Names for long cells that occur again: `@1`. */
function createAliases(columns: readonly Column[]): ReadonlyMap<string, string> {
  const seen = new Set<string>();
  const aliases = new Map<string, string>();
  for (const cell of columns.flatMap(({ cells }) => cells)) {
    if (seen.has(cell) && !aliases.has(cell)) aliases.set(cell, `@${aliases.size + 1}`);
    if (cell.length >= MIN_REPEATED) seen.add(cell);
  }
  return aliases;
}

/** Lines: what all share, what is named, then the columns with a row for each item. Empty for no items. */
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
  if (shared.length > 0) lines.push(`In all: ${shared.join("; ")}`);
  if (aliases.size > 0) lines.push([...aliases].map(([value, name]) => `${name}=${value}`).join("; "));
  if (varying.length === 0) return lines.join("\n");
  const toAlias = (cell = ""): string => aliases.get(cell) ?? cell;
  const rows = items.map((_, row) => varying.map(({ cells }) => toAlias(cells[row])).join("\t"));
  return [...lines, varying.map(({ name }) => name).join("\t"), ...rows].join("\n");
}
