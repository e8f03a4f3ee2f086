// Tests the npm package as its users get it: packed, installed without scripts into an empty folder, and started.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { build } from "esbuild";
import { publint } from "publint";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/v4";
import { version } from "../../src/cli/version.ts";
import { TOOL_NAMES } from "../tools/catalogue.ts";

const execute = promisify(execFile);
const root = process.cwd();

const Packed = z.array(z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })) })).length(1);

let folder = "";
let installed = "";
let packed: readonly string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mic-mcp-package-"));
  // `npm test` has built dist/ already. A build by `npm pack` would remove it during other tests.
  const pack = ["pack", "--ignore-scripts", "--json", "--pack-destination", folder];
  const [facts] = Packed.parse(JSON.parse((await execute("npm", pack, { cwd: root })).stdout));
  if (facts === undefined) throw new Error("npm packed nothing");
  packed = facts.files.map(({ path }) => path);
  const project = join(folder, "project");
  await mkdir(project);
  await writeFile(join(project, "package.json"), JSON.stringify({ name: "user", private: true }));
  const tarball = join(folder, facts.filename);
  // The keychain's addon comes from npm's cache or from the registry.
  const install = ["install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", tarball];
  await execute("npm", install, { cwd: project });
  installed = join(project, "node_modules");
}, 60_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** @photostructure/sqlite selects its binary with node-gyp-build, which is a separate package. */
const ADDONS_INSTALLED = ["@napi-rs", "@photostructure", "mic-mcp", "node-addon-api", "node-gyp-build"];

const packageFile = (...path: string[]): string => join(installed, "mic-mcp", ...path);
const command = (): string => join(installed, ".bin", "mic-mcp");

test("the package contains only the program and its documents", () => {
  const documents = ["LICENSE", "README.md", "manifest.json", "package.json"];
  const other = packed.filter(
    (path) =>
      !documents.includes(path) &&
      !/^(dist\/([\w-]+\.(js|tsv|txt|1)|package\.json|sbom\.cdx\.json|apps\/[\w-]+\.html)|skills\/[\w-]+\/SKILL\.md)$/.test(
        path,
      ),
  );
  expect(other).toEqual([]);
  expect(packed).toEqual(expect.arrayContaining([...documents, "dist/cli.js", "dist/licenses.txt", "dist/mic-mcp.1"]));
  expect(packed.filter((path) => /test|src|\.ts$|\.map$|node_modules/.test(path))).toEqual([]);
});

test("the package contains no path of the build machine", async () => {
  const names = [root, homedir(), tmpdir(), "file:///"].filter((name) => name.length > 1);
  for (const path of packed) {
    const text = await readFile(packageFile(path), "utf8");
    for (const name of names) expect(text.includes(`${name}/`), `${name} in ${path}`).toBe(false);
  }
});

test("the package installs only the addons for keychain and journal", async () => {
  expect((await readdir(installed)).filter((name) => !name.startsWith(".")).sort()).toEqual(ADDONS_INSTALLED);
  const { dependencies, optionalDependencies } = JSON.parse(await readFile(packageFile("package.json"), "utf8"));
  const pinned = expect.stringMatching(/^\d+\.\d+\.\d+$/);
  expect(dependencies).toBeUndefined();
  expect(optionalDependencies).toEqual({ "@napi-rs/keyring": pinned, "@photostructure/sqlite": pinned });
});

test("the package reads the keychain with the addon, and works without it", async () => {
  const readKeychainState = async (): Promise<unknown> => {
    const env = { PATH: process.env["PATH"], HOME: folder, XDG_RUNTIME_DIR: folder };
    const { stdout } = await execute(command(), ["status", "--json"], { cwd: folder, env });
    return JSON.parse(stdout).keychain;
  };
  // The addon, if installed, reports that this machine has no D-Bus session.
  if (process.platform === "linux")
    expect(await readKeychainState()).toMatchObject({
      state: "absent",
      detail: expect.stringContaining("DBUS_SESSION_BUS_ADDRESS"),
    });
  await rm(join(installed, "@napi-rs"), { recursive: true });
  expect(await readKeychainState()).toMatchObject({
    state: "unusable",
    detail: expect.stringContaining("@napi-rs/keyring"),
  });
});

test("doctor reports each missing addon with its fix", async () => {
  const sqlite = join(installed, "@photostructure");
  const movedAside = join(folder, "set aside");
  await rename(sqlite, movedAside);
  const env = { PATH: process.env["PATH"], HOME: folder, XDG_RUNTIME_DIR: folder };
  const runDoctor = async (...args: readonly string[]): Promise<string> =>
    await execute(command(), ["doctor", ...args], { cwd: folder, env }).then(
      ({ stdout }) => stdout,
      (error: unknown) =>
        typeof error === "object" && error !== null && "stdout" in error ? String(error.stdout) : "",
    );
  const hasOwn = process.getBuiltinModule("node:sqlite") !== undefined;
  if (!hasOwn) {
    expect(await runDoctor("--emulator")).toMatch(/WRONG journal .*has no SQLite inside.*\n +-> Run Node 22\.16/);
    expect(await runDoctor("--emulator")).not.toContain("Require stack");
  }
  expect(await runDoctor()).toMatch(/WRONG keychain .*@napi-rs\/keyring is not installed.*\n +-> .*--include=optional/);
  await rename(movedAside, sqlite);
  expect(await runDoctor("--emulator")).toMatch(/ok +journal +SQLite/);
});

test("the package installs an executable command", async () => {
  const { mode } = await stat(command());
  expect(mode & 0o111).toBe(0o111);
  expect((await execute(command(), ["--version"], { cwd: folder })).stdout).toBe(`${version}\n`);
});

test("the installed package serves every tool and skill", async () => {
  const client = new Client({ name: "package-test", version: "1" });
  await client.connect(
    new StdioClientTransport({ command: command(), args: ["serve", "--emulator"], cwd: folder, stderr: "ignore" }),
  );
  try {
    const listed = await client.listTools();
    expect(listed.tools.map(({ name }) => name)).toEqual(TOOL_NAMES);
    const result = await client.callTool({ name: "list_districts", arguments: { state: "TG" } });
    expect(result.structuredContent).toMatchObject({ state: "Telangana" });
    const { contents } = await client.readResource({ uri: "skill://run-a-job/SKILL.md" });
    expect(contents).toMatchObject([{ text: await readFile("skills/run-a-job/SKILL.md", "utf8") }]);
  } finally {
    await client.close();
  }
});

test("publint finds no problem in the package", async () => {
  const { messages } = await publint({ pkgDir: packageFile(), strict: true });
  expect(messages).toEqual([]);
});

test("the package contains the license of every bundled package", async () => {
  const { metafile } = await build({
    entryPoints: ["src/cli/cli.ts"],
    outdir: folder,
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "node",
    external: ["@napi-rs/keyring", "@photostructure/sqlite", "pg-native"],
    logLevel: "silent",
  });
  const folders = new Set(
    Object.keys(metafile.inputs).flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []),
  );
  expect(folders.size).toBeGreaterThan(5);
  const licenses = await readFile(packageFile("dist", "licenses.txt"), "utf8");
  const Facts = z.object({ name: z.string(), version: z.string() });
  for (const path of folders) {
    const facts = Facts.parse(JSON.parse(await readFile(join(root, path, "package.json"), "utf8")));
    expect(licenses).toContain(`${facts.name} ${facts.version} (`);
  }
  // A license that is listed without its text does not satisfy its terms.
  expect(licenses).not.toContain("No license file");
});

test("the licenses name every data source of the tables in the package", async () => {
  const licenses = await readFile(packageFile("dist", "licenses.txt"), "utf8");
  expect(licenses).toContain("Local Government Directory (LGD)");
  const tables = packed.filter((path) => path.endsWith(".tsv"));
  const sources = new Set<string>();
  for (const path of tables) {
    const [head = "", ...rows] = (await readFile(packageFile(path), "utf8")).trim().split("\n");
    const column = head.split("\t").indexOf("source");
    for (const row of column < 0 ? [] : rows) sources.add(row.split("\t")[column] ?? "");
    // In a cell of names: "Cuddapah (former 2005, gazette-ap)".
    for (const [, source = ""] of rows.join("\n").matchAll(/, ([\w-]+)\)(?= \+ |\t|\n|$)/g)) sources.add(source);
  }
  expect([...sources]).toEqual(expect.arrayContaining(["wikipedia-districts", "gazette-ap", "iso-3166-2"]));
  for (const source of sources) expect(licenses).toContain(`\n${source}: `);
});
