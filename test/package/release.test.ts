// Tests the output of `npm run release`: each part is unpacked elsewhere, as its users do, and runs a job with an empty HOME. The npm package
// is installed without scripts, and its contents are checked. The container is built from the same folder.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { publint } from "publint";
import { beforeAll, describe, expect } from "vitest";
import { parse } from "yaml";
import * as z from "zod/v4";
import { MCPB } from "../../scripts/release/bundle.ts";
import { settings } from "../../scripts/release/product.ts";
import { version } from "../../src/cli/version.ts";
import { readConfig } from "../../src/core/config.ts";
import { missingReason, nodeNames, nodeOf } from "../interop/packages.ts";
import { testThoroughly, testUnless, thoroughMissing } from "../support/unless.ts";
import { TOOL_NAMES } from "../tools/catalogue.ts";
import { Manifest, resolveServer } from "./bundle-host.ts";
import { buildImage, containerMissing } from "./container.ts";
import { type Command, driveJob, openClient } from "./drive.ts";
import { execute, releaseForFile } from "./release-fixture.ts";

const root = process.cwd();
const { releasePath, siblingPath } = releaseForFile();
const readReleaseText = (...path: readonly string[]): Promise<string> => readFile(releasePath(...path), "utf8");
const readReleaseJson = async (...path: readonly string[]): Promise<unknown> =>
  JSON.parse(await readReleaseText(...path));

const sha256Of = async (path: string): Promise<string> =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/"));
}

/** Creates a separate folder, which stands for another machine. */
async function createFolder(name: string): Promise<string> {
  const place = siblingPath(name);
  await mkdir(place);
  return place;
}

const currentNode = { name: `Node ${process.versions.node}`, path: process.execPath, missing: undefined };
const nodes = [currentNode, ...nodeNames.map((name) => ({ name, path: nodeOf(name), missing: missingReason(name) }))];
type Node = (typeof nodes)[number];
/** Without it, a bundle has no journal, because only the npm package has an addon. */
const hasSqlite = (node: Node): boolean =>
  node !== currentNode || process.getBuiltinModule("node:sqlite") !== undefined;

let tarballInstalled: Promise<string> | undefined;

/** Installs the npm tarball once, and returns the folder. The keychain's addon comes from npm's cache or from the registry. */
function installTarball(): Promise<string> {
  tarballInstalled ??= (async () => {
    const place = await createFolder("project");
    await writeFile(join(place, "package.json"), JSON.stringify({ name: "user", private: true }));
    const [tarball = ""] = await readdir(releasePath("npm"));
    const flags = ["--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"];
    await execute("npm", ["install", ...flags, releasePath("npm", tarball)], { cwd: place });
    return place;
  })();
  return tarballInstalled;
}

const parts: Readonly<Record<string, (place: string) => Promise<Command>>> = {
  async "the npm tarball"() {
    const place = await installTarball();
    return { command: "node", args: [join(place, "node_modules", "mic-mcp", "dist", "cli.js"), "serve", "--emulator"] };
  },
  async "the MCP bundle"(place) {
    await execute("npm", [...MCPB, "unpack", releasePath("mic-mcp.mcpb"), place]);
    const manifest = Manifest.parse(JSON.parse(await readFile(join(place, "manifest.json"), "utf8")));
    return { command: "node", ...resolveServer(manifest, place, place, { emulator: "true" }) };
  },
};

describe.concurrent("parts of the release", () => {
  for (const [part, install] of Object.entries(parts))
    for (const node of nodes) {
      // published.test.ts installs the package on the other versions.
      if (part === "the npm tarball" ? node !== currentNode : !hasSqlite(node)) continue;
      testUnless(node.missing ?? thoroughMissing, `a job runs from ${part}, on ${node.name}`, async () => {
        const place = await createFolder(`${part} on ${node.name}`.replaceAll(" ", "-"));
        const home = await createFolder(`home of ${part} on ${node.name}`.replaceAll(" ", "-"));
        await driveJob({ ...(await install(place)), command: node.path }, home);
      });
    }
});

testThoroughly("server.json refers to the release's files", async () => {
  const serverJson = await readReleaseJson("server.json");
  const packageJson = JSON.parse(await readFile("package.json", "utf8"));
  const sha256 = await sha256Of(releasePath("mic-mcp.mcpb"));
  const secret = expect.objectContaining({ name: "MIC_CLIENT_SECRET", isSecret: true });
  expect(serverJson).toMatchObject({
    name: packageJson.mcpName,
    description: packageJson.description,
    version,
    packages: [
      { registryType: "npm", version, environmentVariables: expect.arrayContaining([secret]) },
      { registryType: "mcpb", fileSha256: sha256 },
      { registryType: "oci", runtimeArguments: [{ name: "-v", value: "mic-mcp-data:/data", isRequired: true }] },
    ],
  });
});

testThoroughly("each description of the image mounts a named volume where the image stores the journal", async () => {
  const dockerfile = await readReleaseText("container", "Dockerfile");
  expect(dockerfile).toMatch(/^ENV HOME=\/data /m);
  expect(dockerfile).toMatch(/^VOLUME \["\/data"\]$/m);
  const catalogEntry = parse(await readReleaseText("container", "server.yaml"));
  expect(catalogEntry).toMatchObject({ longLived: true, run: { volumes: ["mic-mcp-data:/data"] } });
  // The variable would name a folder of the host.
  const { packages } = Object(await readReleaseJson("server.json"));
  expect(JSON.stringify(packages[2])).not.toContain("MIC_DOWNLOAD_DIR");
  for (const page of ["docs/use/clients.md", "container/Dockerfile"])
    expect(await readFile(page, "utf8"), page).toContain("-v mic-mcp-data:/data");
});

testThoroughly("each part has the same version", async () => {
  const plugins = [".claude-plugin", ".codex-plugin", ".cursor-plugin"].map((plugin) => `${plugin}/plugin.json`);
  for (const path of [...plugins, "gemini-extension.json", "manifest.json", releasePath("server.json")])
    expect(JSON.parse(await readFile(path, "utf8")), path).toMatchObject({ version });
  expect(await readdir(releasePath("npm"))).toEqual([`mic-mcp-${version}.tgz`]);
  expect(await readFile("CHANGELOG.md", "utf8")).toContain(version);
});

testThoroughly("each host's configuration marks the client secret as sensitive", async () => {
  expect(JSON.parse(await readFile(".claude-plugin/plugin.json", "utf8"))).toMatchObject({
    userConfig: { client_secret: { sensitive: true } },
  });
  expect(JSON.parse(await readFile("manifest.json", "utf8"))).toMatchObject({
    user_config: { client_secret: { sensitive: true } },
  });
  expect(JSON.parse(await readFile("gemini-extension.json", "utf8"))).toMatchObject({
    settings: expect.arrayContaining([expect.objectContaining({ envVar: "MIC_CLIENT_SECRET", sensitive: true })]),
  });
  expect(await readReleaseText("container", "server.yaml")).toMatch(
    /secrets:\n +- name: [^\n]+\n +env: MIC_CLIENT_SECRET/,
  );
});

testThoroughly(
  "each plugin and bundle has every setting, and Codex passes on every variable of a server for one user",
  async () => {
    const read = async (path: string) => Object(JSON.parse(await readFile(path, "utf8")));
    const [claude, cursor, codex] = await Promise.all(
      [".claude-plugin", ".cursor-plugin", ".codex-plugin"].map((folder) => read(`${folder}/plugin.json`)),
    );
    const [gemini, bundle] = await Promise.all(["gemini-extension.json", "manifest.json"].map(read));
    for (const { variable, title } of settings) {
      const name = variable.slice("MIC_".length).toLowerCase();
      expect(claude.userConfig[name]).toMatchObject({ title });
      expect(claude.mcpServers.mic.env[variable]).toBe(`\${user_config.${name}}`);
      expect(bundle.user_config[name]).toMatchObject({ title });
      expect(cursor.variables.properties[variable]).toMatchObject({ title });
      expect(cursor.mcpServers.mic.env[variable]).toBe(`\${${variable}}`);
      expect(gemini.settings).toContainEqual(expect.objectContaining({ name: title, envVar: variable }));
    }
    // A host passes the placeholder of a setting without a value.
    expect(readConfig(cursor.mcpServers.mic.env)).toMatchObject({ emulator: false, readOnly: false, warnings: [] });
    const passed: readonly string[] = codex.mcpServers.mic.env_vars;
    expect(passed).toEqual(expect.arrayContaining(["MIC_TOOLS", "MIC_EXCLUDE_TOOLS", "MIC_READ_ONLY"]));
    const page = await readFile("docs/use/configuration.md", "utf8");
    for (const name of passed.filter((each) => each.startsWith("MIC_"))) expect(page).toContain(`\`${name}\``);
  },
);

/** The closed schemas of https://agent-plugins.org, version 1.0.0, as far as this plugin uses them. */
const text = z.string();
const agentSchema = (name: string) => z.literal(`https://agent-plugins.org/schemas/1.0.0/${name}.schema.json`);
const AgentPlugin = z.strictObject({
  $schema: agentSchema("plugin"),
  name: text.regex(/^[a-z0-9]([a-z0-9.-]{0,62}[a-z0-9])?$/),
  ...{ version: text, description: text, homepage: text, repository: text, license: text, keywords: z.array(text) },
  author: z.strictObject({ name: text }),
});
const AgentServers = z.strictObject({
  $schema: agentSchema("mcp"),
  mcpServers: z.record(text, z.strictObject({ type: z.literal("stdio"), command: text, args: z.array(text) })),
});

testThoroughly("the repository is an Agent Plugin: a manifest, the server and the skills", async () => {
  expect(AgentPlugin.parse(JSON.parse(await readFile("plugin.json", "utf8")))).toMatchObject({ version });
  const { mcpServers } = AgentServers.parse(JSON.parse(await readFile("mcp.json", "utf8")));
  expect(mcpServers).toEqual({ mic: { type: "stdio", command: "npx", args: ["-y", `mic-mcp@${version}`, "serve"] } });
  for (const skill of await readdir("skills"))
    expect(await readFile(`skills/${skill}/SKILL.md`, "utf8")).toMatch(new RegExp(`^---\\nname: ${skill}\\n`));
});

testThoroughly("the bundle requires a Node with SQLite, and has the addresses that directories ask for", async () => {
  expect(JSON.parse(await readFile("manifest.json", "utf8"))).toMatchObject({
    compatibility: { runtimes: { node: ">=22.16.0" } },
    description: JSON.parse(await readFile("package.json", "utf8")).description,
    ...Object.fromEntries(
      ["homepage", "documentation", "support"].map((name) => [name, expect.stringMatching(/^https:/)]),
    ),
    privacy_policies: [expect.stringMatching(/SECURITY\.md$/)],
  });
});

testThoroughly("SHA256SUMS lists every file of the release with its checksum", async () => {
  const sums = await readReleaseText("SHA256SUMS");
  const files = (await filesBelow(releasePath())).filter((path) => path !== "SHA256SUMS");
  expect(files).toContain("container/Dockerfile");
  const lines = files.map(async (path) => `${await sha256Of(releasePath(path))}  ${path}`);
  expect(sums.trimEnd().split("\n").sort()).toEqual((await Promise.all(lines)).sort());
});

testThoroughly(
  "the licenses have a text for each package in the bill of materials, and name the sources of the data",
  async () => {
    const Bill = z.object({ bomFormat: z.literal("CycloneDX"), components: z.array(z.object({ purl: z.string() })) });
    const { components } = Bill.parse(await readReleaseJson("sbom.cdx.json"));
    const licenses = await readReleaseText("licenses.txt");
    const heads = [...licenses.matchAll(/^(@?[\w./-]+) (\d+\.\d+\.\d+\S*) \(.+\)$/gm)];
    expect(heads.length).toBeGreaterThan(20);
    const listed = components.map(({ purl }) => decodeURIComponent(purl));
    for (const [, name, release] of heads) expect(listed).toContain(`pkg:npm/${name}@${release}`);
    // A license that is listed without its text does not satisfy its terms.
    expect(licenses).not.toContain("No license file");
    // test/geography/record.test.ts compares the tables with their sources.
    for (const source of ["Local Government Directory (LGD)", "\nwikipedia-districts: "])
      expect(licenses).toContain(source);
  },
);

testThoroughly("each link contains a command that the npm package accepts", async () => {
  const text = await readReleaseText("links.md");
  const [, config = ""] = /config=([^`&]+)/.exec(text) ?? [];
  expect(JSON.parse(Buffer.from(decodeURIComponent(config), "base64").toString())).toEqual({
    command: "npx",
    args: ["-y", `mic-mcp@${version}`],
  });
  for (const client of ["Cursor", "VS Code", "LM Studio", "Goose"]) expect(text).toContain(`- ${client}: `);
});

testThoroughly(
  "the badges of the README have https links: Cursor tries the emulator, VS Code asks for the credentials",
  async () => {
    const [cursor, code] = [...(await readFile("README.md", "utf8")).matchAll(/\]\((https:[^)]+install[^)]+)\)/g)].map(
      ([, link = ""]) => new URL(link),
    );
    const decoded = Buffer.from(cursor?.searchParams.get("config") ?? "", "base64").toString();
    const args = ["-y", `mic-mcp@${version}`];
    expect(cursor?.host).toBe("cursor.com");
    expect(JSON.parse(decoded)).toEqual({ command: "npx", args: [...args, "serve", "--emulator"] });
    const read = (name: string) => JSON.parse(code?.searchParams.get(name) ?? "");
    expect(code?.host).toBe("vscode.dev");
    expect(read("config")).toMatchObject({ command: "npx", args, env: expect.anything() });
    expect(read("inputs")).toContainEqual(expect.objectContaining({ id: "client_secret", password: true }));
    const ids = read("inputs").map(({ id }: { id: string }) => `\${input:${id}}`);
    expect(Object.values(read("config").env)).toEqual(ids);
  },
);

/** @photostructure/sqlite selects its binary with node-gyp-build, which is a separate package. */
const ADDONS_INSTALLED = ["@napi-rs", "@photostructure", "mic-mcp", "node-addon-api", "node-gyp-build"];

/** The files of the package, and the installed package as its users get it: without scripts, in an empty folder. */
let folder = "";
let installed = "";
let packed: readonly string[] = [];
const packageFile = (...path: string[]): string => join(installed, "mic-mcp", ...path);
const command = (): string => join(installed, ".bin", "mic-mcp");
beforeAll(async () => {
  folder = await installTarball();
  installed = join(folder, "node_modules");
  packed = await filesBelow(packageFile());
});

testThoroughly("the package contains only the program and its documents", () => {
  const documents = ["LICENSE", "README.md", "manifest.json", "package.json"];
  const built = /^dist\/([\w-]+\.(js|tsv|txt|1)|package\.json|sbom\.cdx\.json|apps\/[\w-]+\.html)$/;
  const skill = /^skills\/[\w-]+\/SKILL\.md$/;
  expect(packed.filter((path) => !documents.includes(path) && !built.test(path) && !skill.test(path))).toEqual([]);
  expect(packed).toEqual(expect.arrayContaining([...documents, "dist/cli.js", "dist/licenses.txt", "dist/mic-mcp.1"]));
  expect(packed.filter((path) => /test|src|\.ts$|\.map$|node_modules/.test(path))).toEqual([]);
});

testThoroughly("the package contains no path of the build machine", async () => {
  const names = [root, homedir(), tmpdir(), "file:///"].filter((name) => name.length > 1);
  for (const path of packed) {
    const text = await readFile(packageFile(path), "utf8");
    for (const name of names) expect(text.includes(`${name}/`), `${name} in ${path}`).toBe(false);
  }
});

testThoroughly("the package installs only the addons for keychain and journal", async () => {
  expect((await readdir(installed)).filter((name) => !name.startsWith(".")).sort()).toEqual(ADDONS_INSTALLED);
  const { dependencies, optionalDependencies } = JSON.parse(await readFile(packageFile("package.json"), "utf8"));
  const pinned = expect.stringMatching(/^\d+\.\d+\.\d+$/);
  expect(dependencies).toBeUndefined();
  expect(optionalDependencies).toEqual({ "@napi-rs/keyring": pinned, "@photostructure/sqlite": pinned });
});

function runInstalled(...args: readonly string[]): string {
  const env = { PATH: process.env["PATH"], HOME: folder, XDG_RUNTIME_DIR: folder };
  return spawnSync(command(), args, { cwd: folder, env, encoding: "utf8" }).stdout;
}

testThoroughly("the package reads the keychain with the addon, and works without it", async () => {
  const readKeychainState = () => JSON.parse(runInstalled("doctor", "--offline", "--json")).settings.keychain;
  // The addon, if installed, reports that this machine has no D-Bus session.
  if (process.platform === "linux")
    expect(readKeychainState()).toMatchObject({
      state: "absent",
      detail: expect.stringContaining("DBUS_SESSION_BUS_ADDRESS"),
    });
  await rm(join(installed, "@napi-rs"), { recursive: true });
  expect(readKeychainState()).toMatchObject({ state: "unusable" });
});

testThoroughly("doctor reports each missing addon with its fix", async () => {
  const sqlite = join(installed, "@photostructure");
  const movedAside = join(folder, "set aside");
  await rename(sqlite, movedAside);
  if (process.getBuiltinModule("node:sqlite") === undefined) {
    const report = runInstalled("doctor", "--emulator");
    expect(report).toMatch(/FAIL journal .*has no SQLite inside.*\n +-> Run Node 22\.16/);
    expect(report).not.toContain("Require stack");
  }
  const keychain = /FAIL keychain .*@napi-rs\/keyring is not installed.*\n +-> .*--include=optional/;
  expect(runInstalled("doctor")).toMatch(keychain);
  await rename(movedAside, sqlite);
  expect(runInstalled("doctor", "--emulator")).toMatch(/ok +journal +SQLite/);
});

testThoroughly("the installed package serves every tool and skill", async () => {
  const { client } = await openClient({ command: command(), args: ["serve", "--emulator"], cwd: folder }, folder);
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

testThoroughly("publint finds no problem in the package", async () => {
  const { messages } = await publint({ pkgDir: packageFile(), strict: true });
  expect(messages).toEqual([]);
});

const NAMED_VOLUME = "mic-mcp-data";
/** Docker gives a random name to the volume of `VOLUME` if the user names none. */
const ANONYMOUS_VOLUME = "0123456789abcdef".repeat(4);
const ADVICE = "-v mic-mcp-data:/data";

let createContainer: (volume: string) => Command;
beforeAll(async () => {
  if (containerMissing === undefined)
    createContainer = await buildImage(releasePath("container"), siblingPath("image"));
});

function runIn(container: Command, args: readonly string[], more: object = {}) {
  const env = { PATH: process.env["PATH"] ?? "", ...container.env, ...more };
  return spawnSync(container.command, [...container.args, ...args], { env, encoding: "utf8" });
}

testUnless(
  thoroughMissing ?? containerMissing,
  "the container runs a job with a read-only root as its own user, and sets no variable that serve --teams refuses",
  async () => {
    const container = createContainer(NAMED_VOLUME);
    await driveJob({ ...container, args: [...container.args, "serve", "--emulator"] }, "/");
    const teams = runIn(container, ["serve", "--teams"]);
    expect(teams.status).toBe(2);
    expect(teams.stderr).toContain("MIC_PUBLIC_URL");
    expect(teams.stderr).not.toMatch(/_DIR/);
  },
);

/** Nothing listens there: the journal needs no API. */
const SERVICE = { MIC_BASE_URL: "http://127.0.0.1:9", MIC_CLIENT_ID: "client", MIC_CLIENT_SECRET: "a-secret" };

/** Returns the log of a start and the text of list_actions in a new container. */
async function listActions(container: Command, more: Readonly<Record<string, string>> = {}) {
  const { env, args } = container;
  const started = { ...container, args: [...args, "serve"], env: { ...env, ...SERVICE, ...more } };
  const { client, log } = await openClient(started, "/");
  const { content } = await client.callTool({ name: "list_actions", arguments: {} });
  await client.close();
  return { log: log(), text: JSON.stringify(content) };
}

const runDoctor = (container: Command): string => runIn(container, ["doctor"], SERVICE).stdout;

testUnless(
  thoroughMissing ?? containerMissing,
  "the log, list_actions and doctor report that the journal is deleted with the container, unless its volume has a name",
  async () => {
    const { log, text } = await listActions(createContainer(ANONYMOUS_VOLUME));
    expect(text).toContain("0 actions.");
    for (const each of [log, text]) expect(each).toContain(ADVICE);
    expect(runDoctor(createContainer(ANONYMOUS_VOLUME))).toMatch(/FAIL journal .*\n +-> .*-v mic-mcp-data:\/data/);
    // The journal would be in the container's own layer.
    const ownLayer = await listActions(createContainer(NAMED_VOLUME), { MIC_STATE_DIR: "/app/state" });
    expect(ownLayer.log).toContain(ADVICE);
    const named = await listActions(createContainer(NAMED_VOLUME));
    for (const each of [named.log, named.text]) expect(each).not.toContain("-v ");
    const report = runDoctor(createContainer(NAMED_VOLUME));
    expect(report).toMatch(/ok +journal /);
    expect(report).toMatch(/ok +download folder +\/data\/Downloads\n/);
  },
);
