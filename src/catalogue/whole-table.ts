// Whole items as a table that loses nothing and repeats nothing: columns are named once, what all items share is said once,
// and so is a long value that comes again and again. test/telling/whole-table.test.ts reads it back.
import { isJsonObject } from "../contract/json-object.ts";

/** One column: the value of each item, or for a column of lists the list of each. */
interface Column {
  readonly name: string;
  readonly cells: readonly string[];
}

const PLAIN = /^[^\s"@\u00d7{}[\]=;][^\s"\u00d7{}[\]=;]*$/;
const LOOKS_LIKE_JSON = /^(?:-?\d[\d.eE+-]*|true|false|null)$/;

/** Text as it is where it can be nothing else, all other values as JSON. */
const say = (value: unknown): string =>
  typeof value === "string" && PLAIN.test(value) && !LOOKS_LIKE_JSON.test(value) ? value : JSON.stringify(value);

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

/** The fields that each of these objects has, in one order; undefined where they are not all objects of one shape. */
function commonFields(values: readonly unknown[]): readonly string[] | undefined {
  const [first] = values;
  if (!isJsonObject(first)) return undefined;
  const names = Object.keys(first);
  const fits = (value: unknown): boolean =>
    isJsonObject(value) &&
    Object.keys(value).length === names.length &&
    names.every((name) => Object.hasOwn(value, name));
  return names.length > 0 && names.every((name) => /^\w+$/.test(name)) && values.every(fits) ? names : undefined;
}

/** Rows of one shape, more than one: worth a table of their own. */
export const isTable = (value: unknown): value is readonly unknown[] =>
  isList(value) && value.length > 1 && commonFields(value) !== undefined;

const fieldOf = (value: unknown, name: string): unknown => (isJsonObject(value) ? value[name] : undefined);

/** Lists of small objects stand sideways: a column for each field, with the values of all of them. */
function listColumns(name: string, lists: readonly (readonly unknown[])[]): readonly Column[] | undefined {
  const all = lists.flat();
  const fields = commonFields(all);
  if (!fields || !all.every((each) => fields.every((field) => isScalar(fieldOf(each, field))))) return undefined;
  return fields.map((field) => ({
    name: `${name}[].${field}`,
    cells: lists.map((list) => sayList(list.map((each) => fieldOf(each, field)))),
  }));
}

function columnsOf(name: string, values: readonly unknown[]): readonly Column[] {
  const fields = commonFields(values);
  if (fields)
    return fields.flatMap((field) =>
      columnsOf(
        name === "" ? field : `${name}.${field}`,
        values.map((value) => fieldOf(value, field)),
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
  for (const cell of columns.flatMap(({ cells }) => cells)) {
    if (cell.length < MIN_REPEATED) continue;
    if (seen.has(cell) && !names.has(cell)) names.set(cell, `@${names.size + 1}`);
    seen.add(cell);
  }
  const short = columns.map(({ name, cells }) => ({ name, cells: cells.map((cell) => names.get(cell) ?? cell) }));
  return { names, short };
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
