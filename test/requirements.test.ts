// Checks the tests against the rules of docs/contract.md: the tags of tests, and the titles of rows, cite every rule, and only rules.
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { idsIn, pageFields, pageOperations, pageScopes } from "./contract/page.ts";

const contract = readFileSync("docs/contract.md", "utf8");
const rules = new Set(idsIn(contract));

/** Finds the ids in the tags of tests, and in square brackets at the end of the titles of rows, in a source text. */
function citedIds(source: string): string[] {
  const code = source.replace(/^\s*\/\/.*$/gm, "");
  const inTitles = [...code.matchAll(/\[(\d[\d.]*\/[^"`[\]\n]*)\]["`],/g)].flatMap(([, ids = ""]) => ids.split(", "));
  const inTags = [...code.matchAll(/\btags: \[([^\]]*)\]/g)].flatMap(([, tags = ""]) =>
    [...tags.matchAll(/"([^"]*)"/g)].map(([, id = ""]) => id),
  );
  return [...inTitles, ...inTags];
}

const sources = readdirSync("test", { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts") && file !== "requirements.test.ts")
  .map((file) => ({ file, source: readFileSync(`test/${file}`, "utf8") }));
const citations = sources.flatMap(({ file, source }) => citedIds(source).map((id) => ({ id, file })));
// fields.test.ts has a test for each field and each operation of the page, scopes.test.ts one for each set of scopes. They cite the rules.
const citedByPage = [
  ...[...[...pageFields.values()].flat(), ...pageOperations].flatMap(({ rules: ids }) => ids),
  ...[...pageScopes.values()].flat(),
];

test("every rule is cited by a test", () => {
  const cited = new Set([...citations.map(({ id }) => id), ...citedByPage]);
  expect([...rules].filter((id) => !cited.has(id))).toEqual([]);
});

test("every cited id is a rule", () => {
  expect(citations.filter(({ id }) => !rules.has(id))).toEqual([]);
});

test("every rule's id consists of a section that has the rule, a slash and a kebab-case slug", () => {
  const placed = contract.split(/^#{2,3} (?=\d)/m).flatMap((part) => {
    const number = /^\d(\.\d)?/.exec(part)?.[0] ?? "none";
    return idsIn(part).filter((id) => `${id.split("/")[0]}.`.startsWith(`${number}.`));
  });
  expect([...rules].filter((id) => !placed.includes(id) || !/\/[a-z0-9]+(-[a-z0-9]+)*$/.test(id))).toEqual([]);
  expect(rules.size).toBeGreaterThan(200);
});

test("no title of a test is longer than 120 characters", () => {
  const titles = sources.flatMap(({ source }) => [
    ...source.matchAll(/(?:\b(?:test|describe)(?:\.\w+)*|\))\(\s*(["`])((?:\\.|(?!\1)[^\\])*)\1/g),
  ]);
  expect(titles.length).toBeGreaterThan(1000);
  expect(titles.map(([, , title = ""]) => title).filter((title) => title.length > 120)).toEqual([]);
});
