// Whole items as a table that loses nothing and repeats nothing: columns are named once, what all items share is said once,
// and so is a long value that comes again and again. test/toolkit/advice/whole-table.test.ts reads it back.
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { isCode, json } from "../outside.ts";

/** One column: the value of each item, or for a column of lists the list of each. */
interface Column {
  readonly name: string;
  readonly cells: readonly string[];
}

const LOOKS_LIKE_JSON = /^(?:-?\d[\d.eE+-]*|true|false|null)$/;

/** An id or a code as it is where it can be nothing else, all other values as JSON. */
function say(value: unknown): string {
  if (typeof value === "number" && Number.isFinite(value)) return `${value}`;
  const isPlain = typeof value === "string" && isCode(value) && !LOOKS_LIKE_JSON.test(value);
  return isPlain ? value : json(value);
}

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
  if (fields.length === 0) return undefined;
  for (const name of fields) if (!/^\w+$/.test(name)) return undefined;
  const objects: JsonObject[] = [];
  for (const value of values) {
    if (!isJsonObject(value) || !hasJust(value, fields)) return undefined;
    objects.push(value);
  }
  return { fields, objects };
}

function listsAmong(values: readonly unknown[]): readonly (readonly unknown[])[] | undefined {
  const lists: (readonly unknown[])[] = [];
  for (const value of values) {
    if (!isList(value)) return undefined;
    lists.push(value);
  }
  return lists;
}

function valuesOf(objects: readonly JsonObject[], field: string): unknown[] {
  const values: unknown[] = [];
  for (const object of objects) values.push(object[field]);
  return values;
}

/** A cell like the one above it is not said anew. */
function sayAll(values: readonly unknown[]): string[] {
  const cells: string[] = [];
  let above: unknown;
  let said = "";
  for (const value of values) {
    if (said === "" || value !== above) said = say(value);
    above = value;
    cells.push(said);
  }
  return cells;
}

/** Rows of one shape, more than one: worth a table of their own. */
export const isTable = (value: unknown): value is readonly unknown[] =>
  isList(value) && value.length > 1 && alike(value) !== undefined;

/** Lists of small objects stand sideways: a column for each field, with the values of all of them. */
function listColumns(name: string, lists: readonly (readonly unknown[])[]): readonly Column[] | undefined {
  const all = alike(lists.flat());
  if (!all) return undefined;
  const columns: Column[] = [];
  for (const field of all.fields) {
    const values = valuesOf(all.objects, field);
    if (!values.every(isScalar)) return undefined;
    const cells: string[] = [];
    let end = 0;
    for (const { length } of lists) {
      end += length;
      cells.push(sayList(values.slice(end - length, end)));
    }
    columns.push({ name: `${name}[].${field}`, cells });
  }
  return columns;
}

function addColumns(columns: Column[], name: string, values: readonly unknown[]): void {
  const same = alike(values);
  if (same) {
    for (const field of same.fields)
      addColumns(columns, name === "" ? field : `${name}.${field}`, valuesOf(same.objects, field));
    return;
  }
  const lists = listsAmong(values);
  const sideways = lists && listColumns(name, lists);
  if (sideways) columns.push(...sideways);
  else columns.push({ name, cells: sayAll(values) });
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

function isSame(one: readonly string[], other: readonly string[]): boolean {
  for (const [row, cell] of one.entries()) if (cell !== other[row]) return false;
  return true;
}

/** Loops, no nested callbacks: those are compiled anew whenever a page of items and a single one take turns. */
function sharedAndVarying(items: readonly unknown[]) {
  const columns: Column[] = [];
  if (items.length > 0) addColumns(columns, "", items);
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
  return { shared, varying };
}

/** Lines: what all share, what is named, then the columns with a row for each item. Empty for no items. */
export function wholeTable(items: readonly unknown[]): string {
  const { shared, varying } = sharedAndVarying(items);
  const { names, short } = shortened(varying);
  const lines: string[] = [];
  if (shared.length > 0) lines.push(`In all: ${shared.join("; ")}`);
  if (names.size > 0) lines.push([...names].map(([value, name]) => `${name}=${value}`).join("; "));
  if (varying.length === 0) return lines.join("\n");
  lines.push(short.map(({ name }) => name).join("\t"));
  for (let row = 0; row < items.length; row++) {
    let line = "";
    for (const [index, { cells }] of short.entries()) line += `${index === 0 ? "" : "\t"}${cells[row] ?? ""}`;
    lines.push(line);
  }
  return lines.join("\n");
}
