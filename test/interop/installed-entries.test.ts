// Tests the entries of `mic-mcp install` after an upgrade of Node, a deleted cache of npx and a moved clone, and `mic-mcp uninstall`.
import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { copyFile, cp, mkdir, readFile, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { decideLaunch } from "../../src/cli/launch.ts";
import { launchHttp } from "../mcp/http/server.ts";
import { runInProcess as run } from "../support/command.ts";
import { homeVariables } from "../support/empty-home.ts";
import { refusingBaseUrl } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { describeUnless, posixMissing } from "../support/unless.ts";

const { version } = z.object({ version: z.string() }).parse(JSON.parse(await readFile("package.json", "utf8")));
const Outcome = z.object({ entry: z.object({ command: z.string(), args: z.array(z.string()) }) });

const execute = (home: string, program: string, args: readonly string[], path = "") =>
  promisify(execFile)(program, args, { env: { ...homeVariables(home), PATH: path, MIC_KEYCHAIN: "off" } });

async function installWith(home: string, node: string, program: string, path = "") {
  const { stdout, stderr } = await execute(home, node, [program, "install", "cursor", "--emulator", "--json"], path);
  return { ...Outcome.parse(JSON.parse(stdout)).entry, stderr };
}

async function checkClients(home: string) {
  const { stdout } = await run(["doctor", "--emulator"], { env: { HOME: home } });
  return stdout
    .split("\n")
    .filter((line, at, lines) => /^\S+ +(cursor|codex)/.test(lines[line.startsWith(" ") ? at - 1 : at] ?? ""));
}

async function copyPackage(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  await cp("dist", join(folder, "dist"), { recursive: true });
  await copyFile("package.json", join(folder, "package.json"));
  return join(folder, "dist", "cli.js");
}

describeUnless(posixMissing, "after an upgrade of Node that removes the folder of the old version", () => {
  async function upgrade(isLinked: boolean) {
    const home = await realpath(await folderForTest());
    const [bin, cellar] = [join(home, "bin"), join(home, "Cellar", "node")];
    const [before, after] = ["24.1.0", "24.2.0"].map((each) => join(cellar, each, "bin", "node"));
    const [node = "", newer = ""] = [before, after];
    await mkdir(dirname(node), { recursive: true });
    await mkdir(bin);
    await copyFile(process.execPath, node, constants.COPYFILE_FICLONE);
    if (isLinked) await symlink(node, join(bin, "node"));
    const entry = await installWith(home, node, resolve("dist", "cli.js"), `${dirname(node)}:${bin}`);
    await rename(dirname(dirname(node)), dirname(dirname(newer)));
    await rm(join(bin, "node"), { force: true });
    if (isLinked) await symlink(newer, join(bin, "node"));
    return { home, node, bin, entry };
  }

  test("after an upgrade of Node, an entry works that has a link to Node outside of the removed folder", async () => {
    const { home, bin, entry } = await upgrade(true);
    expect(entry).toMatchObject({ command: join(bin, "node"), stderr: "" });
    const { stdout } = await execute(home, entry.command, [...entry.args.slice(0, 1), "--version"]);
    expect(stdout).toBe(`${version}\n`);
    expect(await checkClients(home)).toEqual([expect.stringMatching(/^ok +cursor/)]);
  });

  test("install warns about an entry with a versioned path of Node, and doctor names the entry after an upgrade", async () => {
    const { home, node, entry } = await upgrade(false);
    expect(entry).toMatchObject({ command: node, stderr: expect.stringContaining(`may remove ${node}`) });
    const [line, fix] = await checkClients(home);
    expect(line).toMatch(/^FAIL cursor/);
    expect(line).toContain(`${node}, which does not exist`);
    expect(fix).toMatch(/-> mic-mcp install cursor --emulator$/);
  });
});

test("doctor says what it finds at the URL of an entry, and whether the variable of its token is set", async () => {
  const home = await realpath(await folderForTest());
  const server = await launchHttp({ args: ["--emulator"], env: { MIC_HTTP_TOKEN: "t0ken-0123456789" } });
  onTestFinished(() => server.kill());
  const headers = { Authorization: "Bearer $TOKEN_OF_MIC" };
  await mkdir(join(home, ".codex"));
  await mkdir(join(home, ".cursor"));
  const [config, file] = [join(home, ".codex", "config.toml"), join(home, ".cursor", "mcp.json")];
  await writeFile(config, `[mcp_servers.mic]\nurl = "${server.url}"\nbearer_token_env_var = "TOKEN_OF_MIC"\n`);
  await writeFile(file, JSON.stringify({ mcpServers: { mic: { url: await refusingBaseUrl(), headers } } }));
  const refused =
    /^FAIL cursor .* mic connects to http:\S+: .*ECONNREFUSED.*\n +-> mic-mcp serve --http --port \d+ --emulator$/m;
  for (const [token, codex] of [
    ["", /^FAIL codex .* HTTP 401; TOKEN_OF_MIC is not set\n +-> export TOKEN_OF_MIC="\$\(cat .*http-token\)"/m],
    ["wrong-0123456789", /^FAIL codex .* HTTP 401; the token in TOKEN_OF_MIC is not the server's$/m],
    ["t0ken-0123456789", /^ok +codex .* connects to http:\S+: HTTP 200$/m],
  ] as const) {
    const { stdout } = await run(["doctor", "--emulator"], { env: { HOME: home, TOKEN_OF_MIC: token } });
    expect(stdout).toMatch(codex);
    expect(stdout).toMatch(refused);
  }
});

/** The installed files on each system: the path in PATH, and the real path of this version. */
const NVM_WINDOWS = { "C:\\nvm4w\\nodejs\\node.exe": "C:\\nvm\\v24.1.0\\node.exe" };
const FNM = { "C:\\fnm\\aliases\\default\\node.exe": "C:\\fnm\\node-versions\\v24.1.0\\installation\\node.exe" };
const FNM_SHELL = "C:\\Local\\fnm_multishells\\1_2\\node.exe";
const VOLTA = {
  "/Users/u/.volta/bin/node": "/Users/u/.volta/bin/volta-shim",
  "/Users/u/.volta/tools/image/node/24.1.0/bin/node": "/Users/u/.volta/tools/image/node/24.1.0/bin/node",
};
const HOMEBREW = { "/opt/homebrew/bin/node": "/opt/homebrew/Cellar/node/24.1.0/bin/node" };
const NODE_PROGRAM = { "C:\\Program Files\\nodejs\\node.exe": "C:\\Program Files\\nodejs\\node.exe" };
const CELLAR = "/opt/homebrew/Cellar/node/24.1.0/bin/node";
const SYSTEM_NODE = "C:\\Program Files\\nodejs\\node.exe";

test.each([
  ["Homebrew", "darwin", HOMEBREW, CELLAR, { PATH: "/usr/bin:/opt/homebrew/bin" }, "/opt/homebrew/bin/node"],
  ["Homebrew, not in PATH", "darwin", HOMEBREW, CELLAR, { PATH: "" }, CELLAR],
  ["Volta", "darwin", VOLTA, Object.keys(VOLTA)[1], { PATH: "/Users/u/.volta/bin" }, "/Users/u/.volta/bin/node"],
  ["the installer", "win32", NODE_PROGRAM, SYSTEM_NODE, { Path: "C:\\Program Files\\nodejs" }, SYSTEM_NODE],
  [
    "nvm-windows",
    "win32",
    NVM_WINDOWS,
    "C:\\nvm\\v24.1.0\\node.exe",
    { Path: "C:\\Windows;C:\\nvm4w\\nodejs" },
    "C:\\nvm4w\\nodejs\\node.exe",
  ],
  [
    "fnm",
    "win32",
    { ...FNM, [FNM_SHELL]: Object.values(FNM)[0] },
    FNM_SHELL,
    { Path: "C:\\Local\\fnm_multishells\\1_2", FNM_DIR: "C:\\fnm" },
    "C:\\fnm\\aliases\\default\\node.exe",
  ],
] as const)("with %s on %s, the entry has the path of Node that an upgrade keeps", async (...row) => {
  const [, platform, files, execPath = "", environment, expected] = row;
  const links = new Map<string, string | undefined>(Object.entries(files));
  const realpath = async (path: string) => {
    const target = links.get(path) ?? [...links.values()].find((each) => each === path);
    if (target === undefined) throw new Error("ENOENT");
    return target;
  };
  const programFile = platform === "win32" ? "C:\\mic-mcp\\dist\\cli.js" : "/mic-mcp/dist/cli.js";
  const launch = await decideLaunch({ platform, environment, execPath, programFile, realpath }, ["--emulator"]);
  expect(launch).toEqual({
    command: expected,
    args: [programFile, "serve", "--emulator"],
    versionFolder: expected === CELLAR ? CELLAR : undefined,
  });
});

test.each([
  ["win32", "C:\\npm-cache\\_npx\\e9c2\\node_modules\\mic-mcp\\dist\\cli.js", "cmd", ["/c", "npx"]],
  ["darwin", "/Users/u/.npm/_npx/e9c2/node_modules/mic-mcp/dist/cli.js", "npx", []],
] as const)(
  "on %s, the entry of npx is a command that clients can start",
  async (platform, programFile, command, first) => {
    const facts = { platform, environment: {}, execPath: "", programFile, realpath: async (path: string) => path };
    const args = [...first, "-y", `mic-mcp@${version}`, "serve"];
    expect(await decideLaunch(facts, [])).toEqual({ command, args });
  },
);

test("an entry that npx installed starts npx, and does not need its cache", async () => {
  const home = await folderForTest();
  const cache = join(home, ".npm", "_npx");
  const program = await copyPackage(join(cache, "e9c2", "node_modules", "mic-mcp"));
  const entry = await installWith(home, process.execPath, program);
  expect(entry).toEqual({ command: "npx", args: ["-y", `mic-mcp@${version}`, "serve", "--emulator"], stderr: "" });
  await rm(cache, { recursive: true });
  expect(await checkClients(home)).toEqual([expect.stringMatching(/^ok +cursor/)]);
});

test("doctor names the entry of a moved clone, and prints nothing else from the entry", async () => {
  const home = await realpath(await folderForTest());
  const program = await copyPackage(join(home, "clone"));
  await installWith(home, process.execPath, program);
  const path = join(home, ".cursor", "mcp.json");
  const settings = JSON.parse(await readFile(path, "utf8"));
  settings.mcpServers.mic.env = { MIC_CLIENT_SECRET: "secret-1" };
  await writeFile(path, JSON.stringify(settings));
  await mkdir(join(home, ".codex"));
  const args = JSON.stringify([program, "serve", "--profile", "work"]);
  await writeFile(join(home, ".codex", "config.toml"), `mcp_servers.mic-work = { command = "node", args = ${args} }\n`);
  expect(await checkClients(home)).toHaveLength(2);
  await rename(join(home, "clone"), join(home, "moved"));
  const lines = (await checkClients(home)).join("\n");
  expect(lines.match(/^FAIL (cursor|codex).*clone.dist.cli\.js, which does not exist$/gm)).toHaveLength(2);
  expect(lines).toContain("-> mic-mcp install cursor --emulator");
  expect(lines).toContain("-> mic-mcp install codex --profile work");
  expect(lines).not.toContain("secret-1");
});

async function writeConfiguration(text: string) {
  const home = await folderForTest();
  const path = join(home, ".cursor", "mcp.json");
  await mkdir(dirname(path));
  await writeFile(path, text);
  return { path, env: { HOME: home } };
}

test.each([
  [
    '{"mcpServers":{"mic":{"command":"node","args":["dist/cli.js","serve"]}}}',
    "dist/cli.js, which is not an absolute path",
  ],
  ['{"mcpServers":{"mic":{"url":"not a url"}}}', "a URL that is not valid"],
  ['{"mcpServers":', "it is not valid JSON"],
])("doctor reports the entries of %s, which start no server", async (text, problem) => {
  const { path, env } = await writeConfiguration(text);
  const [line] = await checkClients(env.HOME);
  expect(line).toMatch(/^FAIL cursor/);
  expect(line).toContain(`${path}`);
  expect(line).toContain(problem);
});

describe("uninstall", () => {
  test("uninstall removes only the entry of install", async () => {
    const client = "cursor";
    const text =
      '{\n    "a": [\n        1\n    ],\n    "mcpServers": {\n        "other": {\n            "command": "true"\n        }\n    }\n}\n';
    const { path, env } = await writeConfiguration(text);
    await run(["install", client], { env });
    await run(["install", client, "--profile", "work"], { env });
    const installed = await readFile(path, "utf8");
    expect((await run(["uninstall", client, "--print"], { env })).stdout).toContain("would remove the entry mic from");
    expect(await readFile(path, "utf8")).toBe(installed);
    expect(await run(["uninstall", client, "--profile", "work"], { env })).toMatchObject({ code: 0, stderr: "" });
    expect(await readFile(path, "utf8")).toMatch(/mcpServers[\s\S]*mic\b/);
    expect((await run(["uninstall", client], { env })).stdout).toContain(`Removed the entry mic from ${path}`);
    expect(await readFile(path, "utf8")).toBe(text);
    const again = await run(["uninstall", client], { env });
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("has no entry mic") });
  });

  test("uninstall keeps the line ends of Windows", async () => {
    const text = '{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "other": {}\r\n  }\r\n}\r\n';
    const { path, env } = await writeConfiguration(text);
    await run(["install", "cursor"], { env });
    const installed = await readFile(path, "utf8");
    expect(installed).toContain("mic");
    expect(installed.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
    await run(["uninstall", "cursor"], { env });
    expect(await readFile(path, "utf8")).toBe(text);
  });

  test("uninstall leaves a configuration that is not JSON unchanged", async () => {
    const { path, env } = await writeConfiguration('{"mine": ');
    const { code, stderr } = await run(["uninstall", "cursor"], { env });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("Remove the entry mic yourself") });
    expect(await readFile(path, "utf8")).toBe('{"mine": ');
  });
});
