// Checks the manifest against the tests: tests cite every rule of the contract, and cite only rules.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { fieldsOf, headersOf } from "./fields.ts";
import { rows } from "./operations.ts";
import { requirements } from "./requirements.ts";

const sections = ["1", "2.1", "2.2", "3", "4.1", "4.2", "5", "6", "7.1", "7.2", "8", "9"];

// Comments, strings, templates and regular expressions are single tokens, so that text in them does not count as a call.
const tokenPattern = new RegExp(
  [
    String.raw`\/\/[^\n]*`,
    String.raw`\/\*[^]*?\*\/`,
    String.raw`"(?:\\[^]|[^"\\\n])*"`,
    String.raw`'(?:\\[^]|[^'\\\n])*'`,
    String.raw`\`(?:\\[^]|[^\`\\])*\``,
    String.raw`(?<=(?:[=(,:[!&|?{};>]|\breturn)\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*`,
    String.raw`[\w$]+`,
    String.raw`\S`,
  ].join("|"),
  "g",
);

/** Finds the ids in the first argument of each `covers(...)` and `covers.skipIf(...)(...)` of a source text, in order. */
function citedIds(source: string): string[] {
  const tokens = [...source.matchAll(tokenPattern)].map(([text]) => text).filter((text) => !/^\/[/*]/.test(text));
  return tokens.flatMap((token, at) => {
    if (token !== "covers" || tokens[at - 1] === ".") return [];
    const skips = tokens[at + 1] === "." && tokens[at + 2] === "skipIf" && tokens[at + 3] === "(";
    const open = skips ? afterParentheses(tokens, at + 3) : at + 1;
    return tokens[open] === "(" ? literalsFrom(tokens, open + 1) : [];
  });
}

function afterParentheses(tokens: readonly string[], open: number): number {
  let depth = 0;
  for (let at = open; at < tokens.length; at += 1) {
    if (tokens[at] === "(") depth += 1;
    if (tokens[at] === ")") depth -= 1;
    if (depth === 0) return at + 1;
  }
  return tokens.length;
}

// Everything except literals (a variable, a sum, a spread) returns nothing: an id must be readable at the place of its citation.
function literalsFrom(tokens: readonly string[], start: number): string[] {
  const inArray = tokens[start] === "[";
  const end = inArray ? tokens.indexOf("]", start) : start + 1;
  const argument = inArray ? tokens.slice(start + 1, end).filter((token) => token !== ",") : tokens.slice(start, end);
  const next = tokens[inArray ? end + 1 : end];
  return next === "," && argument.every((token) => /^["']/.test(token))
    ? argument.map((token) => token.slice(1, -1))
    : [];
}

const here = fileURLToPath(new URL(".", import.meta.url));

const citations = readdirSync(here, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts"))
  .sort()
  .flatMap((file) => citedIds(readFileSync(join(here, file), "utf8")).map((id) => ({ id, file })));

test.each([
  ["a string", 'covers("1/a", "title", () => {});', ["1/a"]],
  ["single quotes", "covers('1/a', 'title', () => {});", ["1/a"]],
  ["an array", 'covers(["1/a", "2.1/b"], "title", () => {});', ["1/a", "2.1/b"]],
  ["lines and a trailing comma", 'covers(\n  [\n    "1/a", // why\n    "2.1/b",\n  ],\n  "t", f);', ["1/a", "2.1/b"]],
  ["an argument on its own line", 'covers(\n  "1/a",\n  "title",\n  f,\n);', ["1/a"]],
  ["skipIf", 'covers.skipIf(true)("1/a", "title", f);', ["1/a"]],
  ["skipIf with calls and strings", 'covers.skipIf(f(")", g()))(["1/a", "1/b"], "title", h);', ["1/a", "1/b"]],
  ["several calls", 'covers("1/a", "t", f);\ncovers("1/b", "t", () => { call("1/c", 2); });', ["1/a", "1/b"]],
  ["a call after a quote in a regular expression", 'x.match(/["\'`]/g);\ncovers("1/a", "t", f);', ["1/a"]],
  ["a call after an address", 'const u = "http://h";\ncovers("1/a", "t", f);', ["1/a"]],
  ["a call after a division", 'const n = a / b;\ncovers("1/a", "t", () => c / d);', ["1/a"]],
  ["a call after a template", 'const s = `it\'s "x`;\ncovers("1/a", "t", f);', ["1/a"]],
  ["no line comment", '// covers("1/a", "t", f);', []],
  ["no block comment", '/* covers("1/a", "t", f); */', []],
  ["no string's content", 'const sample = \'covers("1/a", "t", f);\';', []],
  ["no template's content", 'const sample = `covers("1/a", "t", f);`;', []],
  ["no other names", 'recovers("1/a", "t", f); it.covers("1/b", "t", f); test("1/c", f);', []],
  ["no import", 'import { covers } from "./covers.ts";', []],
  ["no variable", 'covers(id, "t", f);', []],
  ["no spread", 'covers(["1/a", ...ids], "t", f);', []],
  ["no sum", 'covers("1/a" + b, "t", f);', []],
])("the scanner reads %s", (_, source, ids) => {
  expect(citedIds(source)).toEqual(ids);
});

test("the scanner takes no citations from its own samples", () => {
  expect(citations.filter(({ file }) => file === "requirements.test.ts")).toEqual([]);
});

// The field tests are generated from the operation rows, which cite the rules of each field.
const citedByFields = rows.flatMap((row) => [...fieldsOf(row), ...headersOf(row)].flatMap(({ rules }) => rules));

test("every requirement is cited by a test", () => {
  const cited = new Set([...citations.map(({ id }) => id), ...citedByFields]);
  const uncited = Object.keys(requirements).filter((id) => !cited.has(id));
  expect(uncited.sort().join("\n")).toBe("");
});

test("every cited id is a requirement", () => {
  const unknown = citations
    .filter(({ id }) => !Object.hasOwn(requirements, id))
    .map(({ id, file }) => `${id} (${file})`);
  expect([...new Set(unknown)].sort().join("\n")).toBe("");
});

test("every requirement id consists of a section of the contract, a slash and a kebab-case slug", () => {
  const misnamed = Object.keys(requirements).filter((id) => {
    const [section = "", slug = "", ...rest] = id.split("/");
    return !sections.includes(section) || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(slug) || rest.length > 0;
  });
  expect(misnamed).toEqual([]);
});
