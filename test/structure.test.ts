// Checks the rules of the codebase (docs/contribute/architecture.md, "Modules"): module imports, packages of each module, writers to stdout.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { readConfig } from "../src/core/config.ts";
import { IGNORED_VARIABLES, REPLACED_VARIABLES } from "../src/teams/variables.ts";

interface Module {
  /** Other modules that it may import. */
  readonly modules: readonly string[];
  /** Packages that it may import. All modules except the contract may import the node modules. */
  readonly packages: readonly string[];
}

const moduleOf = (path: string): string => /^(?:src\/)?([^/.]+)/.exec(path)?.[1] ?? "";

const inlineCodes = (cell = ""): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

/** Reads the table of modules: `path`, purpose, modules that it may import, packages. */
function readModules(page: string): ReadonlyMap<string, Module> {
  const [, section = ""] = page.split(/^## Modules$/m);
  const rows = [...section.matchAll(/^\| `((?:src|tools)\b[^`]*)` \|([^|]*)\|([^|]*)\|([^|]*)\|$/gm)];
  return new Map(
    rows.map(([, path = "", , modules, packages]) => [
      moduleOf(path),
      { modules: inlineCodes(modules), packages: inlineCodes(packages) },
    ]),
  );
}

/** Finds imports that a row allows although the other module is listed below it or is not listed. */
function findDownwardImports(modules: ReadonlyMap<string, Module>): string[] {
  const above = new Set<string>();
  return [...modules].flatMap(([name, module]) => {
    const wrong = module.modules.filter((other) => !above.has(other)).map((other) => `${name} imports ${other}`);
    above.add(name);
    return wrong;
  });
}

const MODULES = readModules(readFileSync("docs/contribute/architecture.md", "utf8"));

// Commands write to the user's terminal on stdout. Code that a server loads must not write to stdout.
const MAY_WRITE_STDOUT = /^src\/(?:cli|demo|teams\/commands)\//;

/** Commands load the code of a deployment only with import(): a single-user start does not load it. */
const DEPLOYMENT = "src/teams/program.ts";

const packageOf = (specifier: string): string => /^(@[^/]+\/[^/]+|[^/]+)/.exec(specifier)?.[1] ?? "";

const specifiersIn = (code: string): string[] =>
  [...code.matchAll(/(?:\bfrom|\bimport|\bimport\()\s*"([^",\s]+)"/g)].flatMap((match) => match[1] ?? []);

function findViolations(path: string, code: string): string[] {
  const name = moduleOf(path);
  const module = MODULES.get(name);
  if (!module) return [`${path} is in no module`];
  return specifiersIn(code).flatMap((specifier) => {
    if (specifier.startsWith("node:")) return name === "contract" ? [`${path} imports ${specifier}`] : [];
    if (!specifier.startsWith("."))
      return module.packages.includes(packageOf(specifier)) ? [] : [`${path} imports ${specifier}`];
    const file = normalize(join(dirname(path), specifier));
    const target = moduleOf(file);
    const isLazy = name === "cli" && file === DEPLOYMENT && !code.includes(`from "${specifier}"`);
    const allowed = target === name || target === "package" || module.modules.includes(target) || isLazy;
    return allowed ? [] : [`${path} imports ${specifier}`];
  });
}

/** Nodes of a graph, each with the nodes that it points to. */
type Graph = ReadonlyMap<string, ReadonlySet<string>>;

function findCycles(graph: Graph): string[] {
  const done = new Set<string>();
  const path: string[] = [];
  function walk(node: string): string[] {
    const start = path.indexOf(node);
    if (start !== -1) return [[...path.slice(start), node].join(" -> ")];
    if (done.has(node)) return [];
    path.push(node);
    const found = [...(graph.get(node) ?? [])].flatMap(walk);
    path.pop();
    done.add(node);
    return found;
  }
  return [...graph.keys()].flatMap(walk);
}

interface File {
  readonly path: string;
  readonly code: string;
}

const buildImportGraph = (sources: readonly File[]): Graph =>
  new Map(
    sources.map(({ path, code }) => {
      const own = specifiersIn(code).filter((specifier) => specifier.startsWith("."));
      return [path, new Set(own.map((specifier) => normalize(join(dirname(path), specifier))))];
    }),
  );

/** The same for the entries of a folder. Each entry is a file or a subfolder; a subfolder counts as one node. */
function buildFolderGraph(folder: string, sources: readonly File[]): Graph {
  const parts = new Map<string, Set<string>>();
  const partOf = (path: string): string => path.slice(folder.length).split("/")[0] ?? "";
  for (const [path, targets] of buildImportGraph(sources.filter(({ path }) => path.startsWith(folder)))) {
    const part = partOf(path);
    const others = [...targets].filter((target) => target.startsWith(folder) && partOf(target) !== part).map(partOf);
    parts.set(part, new Set([...(parts.get(part) ?? []), ...others]));
  }
  return parts;
}

const files = ["src", "tools"]
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)))
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({ path, code: readFileSync(path, "utf8") }));

test("modules import only the modules and packages that their rows in the table allow", () => {
  expect(files.length).toBeGreaterThan(50);
  expect(files.flatMap(({ path, code }) => findViolations(path, code))).toEqual([]);
});

test("the table lists every module, and each module imports only modules listed above it, so there is no cycle", () => {
  expect(new Set(MODULES.keys())).toEqual(new Set(files.map(({ path }) => moduleOf(path))));
  expect(findDownwardImports(MODULES)).toEqual([]);
});

test("no file imports, directly or indirectly, a file that imports it, not even for a type", () => {
  expect(findCycles(buildImportGraph(files))).toEqual([]);
});

test.each(["src/mcp/", "src/teams/", "src/toolkit/"])(
  "the folders of %s import each other in one direction only",
  (folder) => {
    expect(buildFolderGraph(folder, files).size).toBeGreaterThan(5);
    expect(findCycles(buildFolderGraph(folder, files))).toEqual([]);
  },
);

test("only commands write to stdout", () => {
  const writers = files.filter(({ code }) =>
    /process\s*\.\s*stdout|\bstdout\b[^;]*"node:process"|writeSync\(\s*1\b|console\s*\.\s*(log|info|debug)\(/.test(
      code,
    ),
  );
  expect(writers.map(({ path }) => path).filter((path) => !MAY_WRITE_STDOUT.test(path))).toEqual([]);
});

test("a MIC_ variable is read by the configuration, never from process.env", () => {
  expect(files.filter(({ code }) => /process\.env\W{1,3}MIC_/.test(code)).map(({ path }) => path)).toEqual([]);
});

test("each setting is read by code that a deployment has too, unless a deployment refuses or ignores it", () => {
  const isRead = (key: string) =>
    files.some(
      ({ path, code }) =>
        !/^src\/(?:core\/config|cli\/(?!components))/.test(path) && new RegExp(`\\b${key}\\b`).test(code),
    );
  const unread = Object.keys(readConfig({ HOME: "/" })).filter((key) => !isRead(key));
  const variables = unread.map((key) => `MIC_${key.replace(/[A-Z]/g, "_$&").toUpperCase()}`);
  const known = [...Object.keys(REPLACED_VARIABLES), ...IGNORED_VARIABLES];
  const remedy = "use it in createRuntime (src/cli/components.ts), or add it to src/teams/variables.ts";
  expect(
    variables.filter((name) => !known.includes(name)),
    remedy,
  ).toEqual([]);
  expect(variables).toContain("MIC_DOWNLOAD_DIR");
});

test("code for serving over HTTP is loaded only on request", () => {
  const isHttp = (path: string) => /^src\/(?:transports\/http\/|cli\/serve-http\.|teams\/)/.test(path);
  const loaded = ({ path, code }: File) =>
    [...code.matchAll(/^(?:import|export) (?!type)[^;]*?"(\.[^"]+)"/gm)].map(([, to = ""]) => join(dirname(path), to));
  const loadedHttp = (fromHttp: boolean) =>
    files.filter(({ path }) => isHttp(path) === fromHttp).flatMap((file) => loaded(file).filter(isHttp));
  expect(loadedHttp(true).length).toBeGreaterThan(10);
  expect(loadedHttp(false)).toEqual([]);
});

/** These modules define ports. Teams, their audit and their limits are implemented and composed in src/teams/. */
const WITHOUT_TEAMS = /^(?:src\/(?:core|store|actions|toolkit|mcp)|tools)\//;

test("core, store, actions, toolkit, mcp and tools have no code for teams, their audit or their limits", () => {
  const named = files
    .filter(({ path }) => WITHOUT_TEAMS.test(path))
    .flatMap(({ path, code }) => {
      const withoutTexts = code.replace(/\/\*[\s\S]*?\*\/|\/\/.*|"[^"\n]*"|\bsay`.*`/g, "");
      return [...withoutTexts.matchAll(/\w*(?:audit|tenant|tenancy|team|hooks\?)\w*/gi)].map(
        ([word]) => `${path}: ${word}`,
      );
    });
  expect(named).toEqual([]);
});

test("only the composition loads the exporter of telemetry", () => {
  const exporter = join("src", "telemetry", "otel.ts");
  const loading = files.filter(({ path, code }) =>
    specifiersIn(code).some((specifier) => normalize(join(dirname(path), specifier)) === exporter),
  );
  expect(loading.map(({ path }) => path)).toEqual(["src/cli/telemetry.ts"]);
});

test("only src/core/text.ts looks into a text, and only it makes own words", () => {
  const readers = files.filter(({ code }) => /\[\{ (?:own|data): |"(?:own|agent)" in /.test(code));
  expect(readers.map(({ path }) => path)).toEqual(["src/core/text.ts"]);
});

test("only the emulator reads the geography table", () => {
  const readers = files.filter(({ code }) => code.includes("lgd-")).map(({ path }) => moduleOf(path));
  expect(new Set(readers)).toEqual(new Set(["emulator"]));
});

test("each tool has its file in test/tools/, and each other file there is in the table of docs/contribute/testing.md", () => {
  const page = readFileSync("docs/contribute/testing.md", "utf8");
  const rules = [...page.matchAll(/^\| `([\w-]+\.test\.ts)` \|/gm)].map(([, file = ""]) => file);
  const ofTools = readdirSync("tools")
    .filter((file) => file !== "index.ts")
    .map((file) => file.replace(/\.ts$/, ".test.ts"));
  const tests = readdirSync("test/tools").filter((file) => file.endsWith(".test.ts"));
  expect(tests.sort()).toEqual([...ofTools, ...rules].sort());
});
