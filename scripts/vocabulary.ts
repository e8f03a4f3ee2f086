// Counts the words that docs/contribute/style.md replaces, in each kind of text, and compares the counts with the limits in vocabulary.tsv.
// A count above its limit fails with the places and the replacement; a count below it fails until the limit is lowered with --update.
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { parseSync, Visitor } from "oxc-parser";

const SCOPES = ["names", "comments", "titles", "docs", "agent", "cli"] as const;
type Scope = (typeof SCOPES)[number];

interface Text {
  readonly scope: Scope;
  readonly where: string;
  readonly text: string;
}

const LIMITS = new URL("vocabulary.tsv", import.meta.url);
const CLI = /^src\/(?:cli|demo|teams\/commands)\//;
/** Pages for users and operators: no term may occur there, whatever the limit of the scope is. */
const USER_PAGE = /^(?:README|SECURITY)\.md:|^docs\/(?:README\.md:|use\/|operate\/)/;
const TEST_FUNCTIONS = new Set(["it", "test", "describe"]);

/** Separates camelCase, kebab-case and snake_case into words. */
const words = (name: string) => name.replace(/([a-z\d])([A-Z])/g, "$1 $2").replace(/[-_#.]+/g, " ");

/** Puts each sentence on a line, without code, links and markup. */
const sentences = (text: string) =>
  text
    .replace(/`[^`]*`/g, "X")
    .replace(/\{@link [^}]*\}|\]\([^)]*\)|https?:\S+/g, "")
    .replace(/\n[ \t]*\n/g, ". ")
    .replace(/\s*\n\s*(?:\* ?)?/g, " ")
    .replace(/([.!?:;|])\s+/g, "$1\n")
    .replace(/^[\s*#>|-]+/gm, "");

function textsOfMarkdown(where: string, text: string): Text[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, "").replace(/\n(?=[-*|#>\d])/g, "\n\n");
  return [{ scope: "docs", where, text: sentences(prose) }];
}

function textsOfCode(where: string, code: string): Text[] {
  const { program, comments } = parseSync(where, code);
  const lineAt = (offset: number) => `${where}:${code.slice(0, offset).split("\n").length}`;
  const found: Text[] = [];
  let lastEnd = -1;
  for (const { value, start, end } of comments) {
    const previous = found.at(-1);
    // Consecutive line comments are one text.
    if (previous !== undefined && lastEnd !== -1 && /^\n[ \t]*$/.test(code.slice(lastEnd, start)))
      found[found.length - 1] = { ...previous, text: `${previous.text}\n${value}` };
    else found.push({ scope: "comments", where: lineAt(start), text: value });
    lastEnd = end;
  }
  const names = new Map<string, string>();
  const name = (node: { name: string; start: number }) => {
    if (!names.has(node.name)) names.set(node.name, lineAt(node.start));
  };
  const isAgentText = /^(?:src|tools)\//.test(where) && !where.startsWith("src/emulator/");
  const literal = (text: string, start: number) => {
    if (isAgentText && text.includes(" "))
      found.push({ scope: CLI.test(where) ? "cli" : "agent", where: lineAt(start), text });
  };
  new Visitor({
    Identifier: name,
    PrivateIdentifier: name,
    Literal: ({ value, start }) => {
      if (typeof value === "string") literal(value, start);
    },
    TemplateElement: ({ value, start }) => literal(value.cooked ?? "", start),
    CallExpression({ callee, arguments: [first] }) {
      let called = callee;
      while (called.type === "MemberExpression" || called.type === "CallExpression")
        called = called.type === "MemberExpression" ? called.object : called.callee;
      if (called.type !== "Identifier" || !TEST_FUNCTIONS.has(called.name) || first === undefined) return;
      if (first.type === "Literal" && typeof first.value === "string")
        found.push({ scope: "titles", where: lineAt(first.start), text: first.value });
      if (first.type === "TemplateLiteral")
        found.push({
          scope: "titles",
          where: lineAt(first.start),
          text: first.quasis.map(({ value }) => value.raw).join("…"),
        });
    },
  }).visit(program);
  return [
    ...found.map((text) => ({ ...text, text: sentences(text.text) })),
    ...[...names].map(([text, place]) => ({ scope: "names" as const, where: place, text: words(text) })),
  ];
}

async function textsOf(file: string): Promise<Text[]> {
  const text = await readFile(file, "utf8");
  const texts = file.endsWith(".md") ? textsOfMarkdown(file, text) : textsOfCode(file, text);
  return [...texts, { scope: "names", where: file, text: words(basename(file)) }];
}

/** The checked files: all of ours except the API document, the record of changes and generated pages. */
const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { encoding: "utf8" });
const files = listed
  .split("\n")
  .filter(
    (file) =>
      /\.(?:tsx?|mts|mjs|md)$/.test(file) &&
      !/^(?:docs\/(?:contract|contribute\/style)\.md|CHANGELOG\.md|test\/snapshots\/.*\.md)$/.test(file),
  );
const texts = (await Promise.all(files.map(textsOf))).flat();

const [header = "", ...rows] = (await readFile(LIMITS, "utf8")).trimEnd().split("\n");
const lines = rows.map((row) => {
  const [term = "", replacement = "", except = "", ...limits] = row.split("\t");
  const pattern = new RegExp(term.startsWith("^") ? term : `\\b(?:${term})\\b`, "gim");
  const exceptions = new RegExp(`^(?:${except})$`, "i");
  const counts = SCOPES.map((scope, column) => {
    // A limit of "-" means that the term has a standard meaning in this scope.
    if (limits[column] === "-") return "-";
    const places = texts.flatMap(({ scope: its, where, text }) => {
      if (its !== scope || (scope === "names" && except !== "" && exceptions.test(text))) return [];
      return Array.from(text.matchAll(pattern), ({ index }) => {
        const start = text.lastIndexOf("\n", index) + 1;
        return `${where}: ${text.slice(start).split("\n")[0]?.slice(0, 150)}`;
      });
    });
    const limit = Number(limits[column]);
    const onUserPages = scope === "docs" ? places.filter((place) => USER_PAGE.test(place)) : [];
    if (onUserPages.length > 0) {
      process.exitCode = 1;
      process.stderr.write(
        `"${term}" is on a page for users. Use instead: ${replacement}\n  ${onUserPages.join("\n  ")}\n`,
      );
    }
    if (process.argv.includes(`--list=${scope}`))
      for (const place of places) process.stdout.write(`${term}\t${place}\n`);
    else if (places.length > limit && !process.argv.includes("--update")) {
      process.exitCode = 1;
      process.stderr.write(
        `"${term}" occurs ${places.length} times in ${scope}, allowed: ${limit}. Use instead: ${replacement}\n`,
      );
      for (const place of places.slice(0, 20)) process.stderr.write(`  ${place}\n`);
    }
    return String(process.argv.includes("--record") ? places.length : Math.min(limit, places.length));
  });
  return [term, replacement, except, ...counts].join("\t");
});

const updated = `${[header, ...lines].join("\n")}\n`;
if (process.argv.includes("--update")) await writeFile(LIMITS, updated);
else if (updated !== (await readFile(LIMITS, "utf8")) && process.exitCode === undefined) {
  process.exitCode = 1;
  process.stderr.write("scripts/vocabulary.tsv: some counts fell below their limits. Run npm run fix.\n");
}
