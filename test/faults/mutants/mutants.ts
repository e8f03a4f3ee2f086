// Reads the mutants of mutants.txt and applies them. A mutant changes one function so that a safeguard of the program is missing, and names
// the test that fails without the safeguard.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";

export interface Mutant {
  readonly what: string;
  /** Name of the changed function, method or constant. */
  readonly target: string;
  /** Part of the target that is replaced, see mutants.txt. */
  readonly code: string;
  readonly scope: "tokens" | "condition" | "statement";
  readonly replacement: string;
  /** `name`: part of the test's full name. `needsBuild`: the test starts the built server. */
  readonly killedBy: { readonly file: string; readonly name: string; readonly needsBuild: boolean };
}

interface Span {
  readonly start: number;
  readonly end: number;
}

interface Source {
  readonly path: string;
  readonly text: string;
  readonly definitions: ReadonlyMap<string, readonly Span[]>;
  readonly condition: readonly Span[];
  readonly statement: readonly Span[];
}

function parse(path: string, text: string): Source {
  const definitions = new Map<string, Span[]>();
  const condition: Span[] = [];
  const statement: Span[] = [];
  const define = (node: Span, id: object | null) => {
    if (!id || !("name" in id) || typeof id.name !== "string") return;
    definitions.set(id.name, [...(definitions.get(id.name) ?? []), node]);
  };
  new Visitor({
    FunctionDeclaration: (node) => define(node, node.id),
    VariableDeclarator: (node) => define(node, node.id),
    Property: (node) => define(node, node.key),
    MethodDefinition: (node) => define(node, node.key),
    IfStatement: (node) => void condition.push(node.test),
    ConditionalExpression: (node) => void condition.push(node.test),
    LogicalExpression: (node) => void condition.push(node.left, node.right),
    ArrowFunctionExpression: (node) => void (node.expression && condition.push(node.body)),
    ReturnStatement: (node) => {
      statement.push(node);
      if (node.argument) condition.push(node.argument);
    },
    ExpressionStatement: (node) => void statement.push(node),
    ThrowStatement: (node) => void statement.push(node),
  }).visit(parseSync(path, text).program);
  return { path, text, definitions, condition, statement };
}

export const readSources = (root: string): readonly Source[] =>
  ["src", "tools"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => parse(join(folder, name), readFileSync(join(root, folder, name), "utf8"))),
  );

/** Matches the tokens of some code with any white space between them. */
function tokensPattern(code: string): RegExp {
  const tokens = code.match(/[\w$]+|[^\w\s]/g) ?? [];
  const escaped = tokens.map((token) => token.replace(/[^\w]/g, "\\$&")).join("\\s*");
  return new RegExp(`(?<![\\w$](?=[\\w$]))${escaped}(?!(?<=[\\w$])[\\w$])`, "g");
}

/** Finds the spans of a file that a mutant replaces. */
function findSpans({ target, code, scope }: Mutant, source: Source): Span[] {
  const pattern = tokensPattern(code);
  const matches = (source.definitions.get(target) ?? []).flatMap(({ start, end }) =>
    [...source.text.slice(start, end).matchAll(pattern)].map((match) => {
      const at = start + match.index;
      return { start: at, end: at + match[0].length };
    }),
  );
  // A definition can contain another one of the same name.
  const distinct = [...new Map(matches.map((match) => [match.start, match])).values()];
  if (scope === "tokens") return distinct;
  return distinct.flatMap(({ start, end }) => {
    const around = source[scope].filter((span) => span.start <= start && end <= span.end);
    return around.sort((one, other) => one.end - one.start - (other.end - other.start)).slice(0, 1);
  });
}

/** Returns the changed text of one file. Throws Error unless the code of the mutant occurs exactly once in its target. */
export function applyMutant(
  mutant: Mutant,
  sources: readonly Source[],
): { readonly path: string; readonly text: string } {
  const [found, ...others] = sources.flatMap((source) => findSpans(mutant, source).map((span) => ({ source, span })));
  if (!found || others.length > 0) {
    const places = found ? `${others.length + 1} times` : "nowhere";
    throw new Error(`mutant "${mutant.what}": "${mutant.code}" occurs ${places} in ${mutant.target}`);
  }
  const { path, text } = found.source;
  const replacement = mutant.scope === "statement" ? `${mutant.replacement};` : mutant.replacement;
  return { path, text: text.slice(0, found.span.start) + replacement + text.slice(found.span.end) };
}

function readMutants(text: string): readonly Mutant[] {
  const mutants: Mutant[] = [];
  let [file = "", isBuilt = "", name = ""]: readonly string[] = [];
  const PATTERN =
    /^(test\/\S+)( \(built\))?$|^> (.+)$|^([^#\s].*)\n {2}(\S+): (?:(condition|statement) )?(.+?) ->(?: (.+))?$/gm;
  for (const [, path, mark = "", title, what, target = "", scope, code = "", replacement = ""] of text.matchAll(
    PATTERN,
  ))
    if (path !== undefined) [file, isBuilt] = [path, mark];
    else if (title !== undefined) name = title;
    else if (what !== undefined) {
      const killedBy = { file, name, needsBuild: isBuilt !== "" };
      const kind = scope === "condition" || scope === "statement" ? scope : "tokens";
      mutants.push({ what, target, scope: kind, code, replacement, killedBy });
    }
  return mutants;
}

export const mutants = readMutants(readFileSync(new URL("mutants.txt", import.meta.url), "utf8"));
