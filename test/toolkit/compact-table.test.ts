// Tests the table of complete items: a parser that uses only the rules of the format reads back everything that was written.
import fc from "fast-check";
import { expect, test } from "vitest";
import { formatCompactTable } from "../../src/toolkit/compact-table.ts";
import { anyCharacter } from "../support/any-character.ts";
import { runCount } from "../support/thorough.ts";
import { words } from "../support/words.ts";

const LIST = "[].";

function readValue(token: string): unknown {
  try {
    return JSON.parse(token);
  } catch {
    return token;
  }
}

/** `a "b c"×2` is three values. */
const parseList = (cell: string): readonly unknown[] =>
  [...cell.matchAll(/("(?:[^"\\]|\\.)*"|[^\s×]+)(?:×(\d+))?/g)].flatMap(([, token = "", count]) =>
    Array.from({ length: Number(count ?? 1) }, () => readValue(token)),
  );

/** The parts between `; `, except for separators inside JSON strings. */
function splitParts(line: string): readonly (readonly [string, string])[] {
  const parts = line.match(/(?:"(?:[^"\\]|\\.)*"|[^";])+/g) ?? [];
  return parts.map((part) => {
    const at = part.indexOf("=");
    return [part.slice(0, at).trim(), part.slice(at + 1)] as const;
  });
}

type Tree = Record<string, unknown>;

const isTree = (value: unknown): value is Tree => typeof value === "object" && value !== null;

function setField(item: Tree, name: string, cell: string): void {
  const [path = "", field] = name.split(LIST);
  const [first = "", ...rest] = path.split(".");
  if (rest.length > 0) {
    const inner = isTree(item[first]) ? item[first] : {};
    item[first] = inner;
    setField(inner, [rest.join("."), ...(field === undefined ? [] : [field])].join(LIST), cell);
  } else if (field === undefined) item[first] = readValue(cell);
  else {
    const list: unknown[] = Array.isArray(item[first]) ? item[first] : [];
    item[first] = parseList(cell).map((value, index) => ({ ...Object(list[index]), [field]: value }));
  }
}

function parseTable(text: string, count: number): readonly unknown[] {
  const lines = text.split("\n");
  const shared = lines[0]?.startsWith("In each row: ")
    ? splitParts((lines.shift() ?? "").slice("In each row: ".length))
    : [];
  const named = new Map(lines[0]?.startsWith("@") ? splitParts(lines.shift() ?? "") : []);
  const columns = (lines.shift() ?? "").split("\t").filter((name) => name !== "");
  return Array.from({ length: count }, (_, row) => {
    const item: Tree = {};
    const cells = (lines[row] ?? "").split("\t").map((cell) => named.get(cell) ?? cell);
    const readCell = (name: string) => cells[columns.indexOf(name)] ?? "";
    for (const [name, cell] of shared) setField(item, name, cell.startsWith("@") ? readCell(cell.slice(1)) : cell);
    for (const name of columns) setField(item, name, readCell(name));
    return item;
  });
}

const textValue = fc.oneof(
  fc.constantFrom("", " ", "a b", 'say "hi"', "tab\there", ...words("RUNNING null 1 -2.5e3 @1 x×3 a;b=c {} []")),
  fc.string({ unit: anyCharacter }),
  fc.constantFrom("micrecipev_0123456789abcdef", "micrecipev_fedcba9876543210"),
);
const scalar = fc.oneof(textValue, fc.integer(), fc.boolean(), fc.constant(null));
const stage = fc.record({
  stage: fc.constantFrom("GATHER", "SIFT"),
  state: textValue,
  units: fc.oneof(fc.nat(), fc.constant(null)),
});
const item = fc.record({
  id: textValue,
  state: fc.constantFrom("QUEUED", "RUNNING"),
  processingState: fc.constantFrom("QUEUED", "RUNNING"),
  recipe: fc.record({
    name: textValue,
    inputs: fc.array(fc.record({ port: textValue, schema: fc.object() }), { maxLength: 2 }),
  }),
  stages: fc.array(stage, { maxLength: 9 }),
  list: fc.array(scalar, { maxLength: 3 }),
  failure: fc.option(fc.record({ code: textValue, retryable: fc.boolean() })),
  value: scalar,
});

test("a compact table parses back to the items it was built from", () => {
  const property = fc.property(fc.array(item, { minLength: 1, maxLength: 6 }), (items) => {
    const asJson = JSON.parse(JSON.stringify(items));
    expect(parseTable(formatCompactTable(asJson), items.length)).toEqual(asJson);
  });
  fc.assert(property, { numRuns: runCount(150, 1_000) });
});
