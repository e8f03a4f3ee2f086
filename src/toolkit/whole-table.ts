// Whole items as a table that loses nothing and repeats nothing: columns are named once, what all items share is said once,
// and so is a long value that comes again and again. test/toolkit/advice/whole-table.test.ts reads it back.
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { escaped, json } from "../outside.ts";

/** One column: the value of each item, or for a column of lists the list of each. */
interface Column {
  readonly name: string;
  readonly cells: readonly string[];
}

const PLAIN = /^[^\s"@\u00d7{}[\]=;][^\s"\u00d7{}[\]=;]*$/;
const LOOKS_LIKE_JSON = /^(?:-?\d[\d.eE+-]*|true|false|null)$/;

/** Text as it is where it can be nothing else, all other values as JSON. */
const say = (value: unknown): string =>
  typeof value === "string" && PLAIN.test(value) && !LOOKS_LIKE_JSON.test(value) && escaped(value) === value
    ? value
    : json(value);

/** Equal neighbours are counted: `PENDING×5`. */
function sayList(values: readonly unknown[]): string {
  const said: string[] = [];
  for (let at = 0; at < values.length; ) {
    let next = at + 1;
    while (next < values.length && values[next] === values[at]) next++;
    said.push(next - at === 1 ? say(values[at]) : `${say(values[at])}×${next - at}`);
    at = next;
  }
  return said.join(" ");
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

const isScalar = (value: unknown): boolean => typeof value !== "object" || value === null;

/** Nearly always in the same order. */
function hasJust(object: JsonObject, names: readonly string[]): boolean {
  let count = 0;
  for (const name in object) if (name !== names[count++] && !names.includes(name)) return false;
  return count === names.length;
}

/** Objects that all have these fields and no others. */
interface Alike {
  readonly fields: readonly string[];
  readonly objects: readonly JsonObject[];
}

/** The fields are in one order; undefined where the values are not all objects of one shape. */
function alike(values: readonly unknown[]): Alike | undefined {
  const [first] = values;
  if (!isJsonObject(first)) return undefined;
  const fields = Object.keys(first);
  if (fields.length === 0 || !fields.every((name) => /^\w+$/.test(name))) return undefined;
  const objects = values.filter(isJsonObject);
  return objects.length === values.length && objects.every((each) => hasJust(each, fields))
    ? { fields, objects }
    : undefined;
}

/** Rows of one shape, more than one: worth a table of their own. */
export const isTable = (value: unknown): value is readonly unknown[] =>
  isList(value) && value.length > 1 && alike(value) !== undefined;

/** Lists of small objects stand sideways: a column for each field, with the values of all of them. */
function listColumns(name: string, lists: readonly (readonly unknown[])[]): readonly Column[] | undefined {
  const all = alike(lists.flat());
  if (!all) return undefined;
  const { fields, objects } = all;
  const columns = fields.map((field) => ({ field, values: objects.map((each) => each[field]) }));
  if (!columns.every(({ values }) => values.every(isScalar))) return undefined;
  return columns.map(({ field, values }) => {
    let end = 0;
    const cells = lists.map(({ length }) => {
      end += length;
      return sayList(values.slice(end - length, end));
    });
    return { name: `${name}[].${field}`, cells };
  });
}

function columnsOf(name: string, values: readonly unknown[]): readonly Column[] {
  const same = alike(values);
  if (same)
    return same.fields.flatMap((field) =>
      columnsOf(
        name === "" ? field : `${name}.${field}`,
        same.objects.map((each) => each[field]),
      ),
    );
  const lists = values.every(isList) ? listColumns(name, values.filter(isList)) : undefined;
  return lists ?? [{ name, cells: values.map(say) }];
}

const MIN_REPEATED = 16;

/** Long values that come again get a short name: `@1`. */
function shortened(columns: readonly Column[]) {
  const seen = new Set<string>();
  const names = new Map<string, string>();
  const isLong = ({ length }: string): boolean => length >= MIN_REPEATED;
  for (const { cells } of columns)
    for (const cell of cells) {
      if (!isLong(cell)) continue;
      if (!seen.has(cell)) seen.add(cell);
      else if (!names.has(cell)) names.set(cell, `@${names.size + 1}`);
    }
  const shortOf = (cell: string): string => (isLong(cell) ? names.get(cell) : undefined) ?? cell;
  return { names, short: columns.map(({ name, cells }) => ({ name, cells: cells.map(shortOf) })) };
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.every((cell, row) => cell === other[row]);

/** Lines: what all share, what is named, then the columns with a row for each item. Empty for no items. */
export function wholeTable(items: readonly unknown[]): string {
  const columns = items.length === 0 ? [] : columnsOf("", items);
  const shared: string[] = [];
  const varying: Column[] = [];
  for (const column of columns) {
    const { name, cells } = column;
    const [first = ""] = cells;
    const twin = varying.find((each) => isSame(each.cells, cells));
    if (cells.every((cell) => cell === first)) shared.push(`${name}=${first}`);
    else if (twin) shared.push(`${name}=@${twin.name}`);
    else varying.push(column);
  }
  const { names, short } = shortened(varying);
  const rows = items.map((_, row) => short.map(({ cells }) => cells[row] ?? "").join("\t"));
  return [
    ...(shared.length > 0 ? [`In all: ${shared.join("; ")}`] : []),
    ...(names.size > 0 ? [[...names].map(([value, name]) => `${name}=${value}`).join("; ")] : []),
    ...(varying.length > 0 ? [short.map(({ name }) => name).join("\t"), ...rows] : []),
  ].join("\n");
}
