// Checks that every document, section and rule that code, tests and documents cite exists, and that documented names are correct.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { COMMANDS, flagsOf } from "../src/cli/commands.ts";
import { FAILURE_KINDS } from "../src/core/failure.ts";
import { prompts } from "../src/toolkit/prompts.ts";
import { resources } from "../src/toolkit/resources/index.ts";
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

/** Returns the anchor that GitHub generates for a heading. */
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

const interfacePage = read("docs/interface.md");

test("the interface document names every tool, resource, prompt, kind of failure and variable", () => {
  const names = new Set(codeOf(interfacePage));
  const variables = [...read("src/core/config.ts").matchAll(/read\("(MIC_\w+)"/g)].map(([, name = ""]) => name);
  expect(variables.length).toBeGreaterThan(10);
  const fixed = [
    ...tools.map(({ name }) => name),
    ...resources.map(({ uri }) => uri),
    ...prompts.map(({ name }) => name),
    ...FAILURE_KINDS,
    ...variables,
  ];
  expect(fixed.filter((name) => !names.has(name))).toEqual([]);
});

test("relative links in documents have existing targets", () => {
  const links = pages.flatMap((from) => linksIn(read(from)).map((target) => ({ from, target })));
  expect(links.length).toBeGreaterThan(50);
  expect(links.filter(({ from, target }) => brokenLink(from, target))).toEqual([]);
});

/** Pages for users and operators, as opposed to those for contributors. */
const userPages = pages.filter((path) => /^(README|SECURITY)\.md$|^docs\/(README|use\/.*|operate\/.*)\.md$/.test(path));

const withoutCodeBlocks = (page: string): string => page.replace(/^(`{3,})[\s\S]*?^\1$/gm, "");

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
    const command = Object.values(COMMANDS).find(({ name }) => name === line.split(" ")[1]);
    const flags = [...line.matchAll(/ --([\w-]+)/g)].map(([, flag = ""]) => flag);
    const known = ["help", "version", ...flagsOf(command ?? { flags: {} }).map(({ name }) => name)];
    return !(command || /^mic-mcp (?:help|version)\b/.test(line)) || flags.some((flag) => !known.includes(flag));
  });
  expect(wrong).toEqual([]);
});
