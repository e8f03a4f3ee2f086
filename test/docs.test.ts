// Checks that every document, section and rule that code, tests and documents cite exists, and that documented names are correct.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { lint } from "markdownlint/sync";
import { expect, test } from "vitest";
import { NEEDS_RELEASE, PAGES } from "../scripts/release/unreleased.ts";
import { commands, flagsOf } from "../src/cli/commands.ts";
import { FAILURE_KINDS } from "../src/core/failure.ts";
import { tools } from "../tools/index.ts";

const FOLDERS = ["docs", "src", "tools", "test", "scripts", "bench", "evals", "skills"];
const files = [
  ...readdirSync("."),
  ...FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => !/(^|\/)(node_modules|\.generated)\//.test(name))
      .map((name) => join(folder, name)),
  ),
].filter((path) => /\.(ts|md|mjs)$/.test(path) && statSync(path).isFile());

const read = (path: string): string => readFileSync(path, "utf8");
const codeOf = (text: string): string[] => [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
const headings = (page: string): string[] => [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading);

const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");

/** A number names a section of the contract. Any other section is named by its heading. */
const hasSection = (page: string, section: string): boolean =>
  headings(page).some(
    (heading) => heading === section || heading.startsWith(`${section}. `) || heading.startsWith(`${section} `),
  );

interface Citation {
  readonly document: string;
  readonly sections: readonly string[];
}

/**
 * Finds `docs/x.md` and the sections after it: `docs/x.md, 2.2 (of this) and 3`, `docs/x.md, "Heading"`, `docs/x.md
 * ("Heading")`.
 */
function citationsIn(text: string): Citation[] {
  const section = String.raw`(?:\d(?:\.\d)?(?![\w.]*\d)|"[^"\n]+")(?: \(\w+\))?`;
  const cited = new RegExp(String.raw`\bdocs/([\w/-]+\.md)(?:(?:, | \()(${section}(?:(?:, | and )${section})*))?`, "g");
  return [...text.matchAll(cited)].map(([, document = "", sections = ""]) => ({
    document: `docs/${document}`,
    sections: [...sections.matchAll(/\d(?:\.\d)?|"([^"]+)"/g)].map(([matched, quoted]) => quoted ?? matched),
  }));
}

const findMissing = ({ document, sections }: Citation): string[] =>
  existsSync(document)
    ? sections.filter((section) => !hasSection(read(document), section)).map((each) => `${document}, ${each}`)
    : [document];

const findBareNames = (text: string): string[] =>
  [...text.matchAll(/(?<![\w/.-])(?:service|interface|design|contract|architecture|operations|testing)\.md\b/g)].map(
    ([name]) => name,
  );

/** Targets of the links to other files and of the pictures, as written in the page. */
const linksIn = (page: string): string[] =>
  [...page.matchAll(/\]\(([^)\s]+)\)|\bsrc(?:set)?="([^"]+)"/g)]
    .map(([, target = "", picture]) => picture ?? target)
    .filter((target) => !/^[a-z]+:/.test(target));

function brokenLink(from: string, target: string): boolean {
  const [path = "", anchor] = target.split("#");
  const to = path === "" ? from : join(dirname(from), path);
  if (!existsSync(to)) return true;
  return anchor !== undefined && !headings(read(to)).map(anchorOf).includes(anchor);
}

const HERE = "test/docs.test.ts";
const sources = files.filter((path) => !path.endsWith(".md") && path !== HERE);
const pages = files.filter((path) => path.endsWith(".md"));

test("every cited document and section exists", () => {
  const cited = sources.flatMap((path) => citationsIn(read(path)));
  expect(cited.length).toBeGreaterThan(50);
  expect(cited.flatMap(findMissing)).toEqual([]);
});

test("no document is cited without its folder", () => {
  expect(sources.flatMap((path) => findBareNames(read(path)).map((name) => `${path}: ${name}`))).toEqual([]);
});

test("every cited open question exists", () => {
  const numbers = new Set(
    [...read("src/contract/open-questions.md").matchAll(/^(\d+)\. /gm)].map(([, number]) => number),
  );
  const cited = sources.flatMap((path) =>
    [...read(path).matchAll(/\bopen questions?(?:\.md)?,? (\d+)/gi)].map(([, number]) => number),
  );
  expect(cited.length).toBeGreaterThan(5);
  expect(cited.filter((number) => !numbers.has(number))).toEqual([]);
});

test("the page about errors lists every kind of failure", () => {
  const [, table = ""] = read("docs/use/errors.md").split(/^## Kinds of errors$/m);
  const kinds = [...(table.split(/^## /m)[0] ?? "").matchAll(/^\| `(\w+)`/gm)].map(([, kind]) => kind);
  expect(kinds.sort()).toEqual([...FAILURE_KINDS].sort());
});

// This is not in test/snapshots/, where `npm run fix` writes the page of a new tool after all tests.
test("each tool has a page of the texts that agents read, and each page has a tool", () => {
  const pages = readdirSync("test/snapshots").filter((file) => file.endsWith(".md"));
  expect(pages.sort()).toEqual(tools.map(({ name }) => `${name}.md`).sort());
});

test("relative links in documents have existing targets", () => {
  const links = pages.flatMap((from) => linksIn(read(from)).map((target) => ({ from, target })));
  expect(links.length).toBeGreaterThan(50);
  expect(links.filter(({ from, target }) => brokenLink(from, target))).toEqual([]);
});

/** Pages for users and operators, as opposed to those for contributors. */
const userPages = pages.filter((path) => /^(README|SECURITY)\.md$|^docs\/(README|use\/.*|operate\/.*)\.md$/.test(path));

const INTERFACE = "docs/interface.md";

const withoutCodeBlocks = (page: string): string => page.replace(/^(`{3,})[\s\S]*?^\1$/gm, "");

test("the index links every page", () => {
  const linked = new Set(
    ["docs/README.md", "docs/contribute/decisions/README.md"].flatMap((index) =>
      linksIn(read(index)).map((target) => join(dirname(index), target)),
    ),
  );
  const inDocs = pages.filter((path) => path.startsWith("docs/") && path !== "docs/README.md");
  expect(inDocs.length).toBeGreaterThan(30);
  expect(inDocs.filter((path) => !linked.has(path))).toEqual([]);
});

test("no page for users links the specification for maintainers, except the index", () => {
  const linking = userPages.filter((from) =>
    linksIn(read(from)).some((target) => join(dirname(from), target).split("#")[0] === INTERFACE),
  );
  expect(linking).toEqual(["docs/README.md"]);
});

const GLOSSARY = "docs/use/glossary.md";

test("the words of the glossary are defined only there, except in the README", () => {
  const words = [...read(GLOSSARY).matchAll(/^\| ([a-z ,]+) \|/gm)]
    .flatMap(([, cell = ""]) => cell.split(", "))
    .filter((word) => word !== "word");
  expect(words.length).toBeGreaterThan(20);
  expect(new Set(words).size).toBe(words.length);
  const definitionOf = (word: string) =>
    new RegExp(String.raw`(?<!\*)\*${word}\*(?!\*)|(?:^|[.:] |- )An? ${word} is (?:an?|one|the) `, "m");
  const others = pages.filter((path) => path.startsWith("docs/") && path !== GLOSSARY && path !== "docs/contract.md");
  const defined = others.flatMap((page) =>
    words.filter((word) => definitionOf(word).test(read(page))).map((word) => `${page}: ${word}`),
  );
  expect(definitionOf("recipe").test(read("README.md"))).toBe(true);
  expect(defined).toEqual([]);
});

test("every variable is on the page about configuration", () => {
  const variablesIn = (file: string) =>
    [...read(file).matchAll(/read\w*\(\s*"(MIC_\w+)"/g)].map(([, name = ""]) => name);
  for (const [page, file] of [
    ["docs/use/configuration.md", "src/core/config.ts"],
    ["docs/operate/configuration.md", "src/teams/settings.ts"],
  ] as const) {
    const variables = variablesIn(file);
    expect(variables.length, file).toBeGreaterThan(10);
    expect(codeOf(read(page)), page).toEqual(expect.arrayContaining(variables));
  }
});

test("every command on a page for users has a known name and known flags", () => {
  const codes = userPages.flatMap((page) => [
    ...codeOf(withoutCodeBlocks(read(page))),
    ...[...read(page).matchAll(/^(`{3,})[\s\S]*?^\1$/gm)]
      .flatMap(([block]) => [...block.matchAll(/^(?:.*\| )?(mic-mcp .*?)(?: {2,}#.*)?$/gm)])
      .map(([, line = ""]) => line),
  ]);
  const lines = codes.filter((code) => /^mic-mcp [a-z]/.test(code));
  expect(lines.length).toBeGreaterThan(40);
  const wrong = lines.filter((line) => {
    const command = commands.find(({ name }) => name === line.split(" ")[1]);
    const flags = [...line.matchAll(/ --([\w-]+)/g)].map(([, flag = ""]) => flag);
    const known = ["help", "version", "env-file", ...flagsOf(command ?? { flags: {} }).map(({ name }) => name)];
    return !(command || /^mic-mcp (?:help|version)\b/.test(line)) || flags.some((flag) => !known.includes(flag));
  });
  expect(wrong).toEqual([]);
});

/** Files that only a release or a user's machine has. */
const GENERATED_NAMES = new Set(["links.md"]);

test("every file that a document cites exists", () => {
  const names = new Set(files.map((path) => basename(path)));
  const path = new RegExp(`^(?:${[...FOLDERS, "apps", "container", "deploy"].join("|")})/[\\w./@-]*(?:\\.\\w+|/)$`);
  const missing = pages.flatMap((page) =>
    codeOf(read(page))
      .filter((code) =>
        path.test(code)
          ? !existsSync(code)
          : /^[\w-]+\.(?:ts|mjs|md)$/.test(code) && !names.has(code) && !GENERATED_NAMES.has(code),
      )
      .map((code) => `${page}: ${code}`),
  );
  expect(missing).toEqual([]);
});

test("markdownlint finds no problem in the pages, except those that are generated and the contract", () => {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"], {
    encoding: "utf8",
  });
  const written = listed
    .split("\n")
    .filter((path) => existsSync(path) && !/^(?:docs\/contract|test\/snapshots\/)/.test(path));
  expect(written.length).toBeGreaterThan(50);
  const results = lint({ files: written, config: JSON.parse(read(".markdownlint.json")) });
  expect(String(results)).toBe("");
  expect(String(lint({ strings: { page: "# One\n# Two\n" } }))).toContain("MD022");
});

test("each page for users with a command that needs the release has the generated note about it", () => {
  const pages = files.filter((path) => /^(README\.md|docs\/(use|operate)\/.*\.md)$/.test(path));
  const needing = [...pages, "examples/README.md"].filter((path) => NEEDS_RELEASE.test(read(path)));
  expect(needing.sort()).toEqual([...PAGES].sort());
  for (const page of PAGES) expect(read(page), page).toContain("<!-- release: made by npm run fix -->");
});
