// Tests `mic-mcp install`: the entry in each client's documented format, nothing else in the file, and real clients use it.
import { chmod, lstat, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { parse } from "jsonc-parser";
import { describe, expect, test } from "vitest";
import * as z from "zod/v4";
import { configurationPaths } from "../../src/cli/client-files.ts";
import { INSTALL_CLIENTS } from "../../src/cli/commands.ts";
import { quoteForShell } from "../../src/cli/terminal-reader.ts";
import { runInProcess as run } from "../support/command.ts";
import { homeVariables } from "../support/empty-home.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { posixMissing } from "../support/unless.ts";
import { type ClientName, programOf, skipReasonFor } from "./packages.ts";
import { run as runClient, testUnless } from "./run.ts";

const asObject = (value: unknown) => z.record(z.string(), z.unknown()).parse(value);
const SERVER = resolve("dist", "cli.js");
type InstallClient = (typeof INSTALL_CLIENTS)[number];

const ENTRY = { command: process.execPath, args: [SERVER, "serve", "--emulator"] };

/** The entry of a local server as the clients document it, without the optional fields that are not written. */
const ENTRIES = {
  claude: { type: "stdio", ...ENTRY },
  gemini: ENTRY,
  copilot: { type: "local", ...ENTRY, tools: ["*"] },
  vscode: { type: "stdio", ...ENTRY },
  cursor: ENTRY,
  "claude-desktop": ENTRY,
} as const;

const jsonClients = INSTALL_CLIENTS.filter((client) => client !== "codex");

const install = (home: string, ...args: readonly string[]) =>
  run(["install", ...args], { env: { HOME: home, PATH: "" } });

const uninstall = (home: string, client: InstallClient) =>
  run(["uninstall", client], { env: { HOME: home, PATH: "" } });

const pathOf = (client: InstallClient, home: string): string =>
  configurationPaths(client, {
    platform: process.platform,
    home,
    environment: homeVariables(home),
    packagedApps: [],
  }).join();

async function configure(client: InstallClient, home: string, text: string): Promise<string> {
  const path = pathOf(client, home);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
}

test.each(jsonClients)(
  "install %s writes the documented entry with absolute paths, and keeps all others",
  async (client) => {
    const key = client === "vscode" ? "servers" : "mcpServers";
    const home = await folderForTest();
    const others = { [key]: { other: { command: "true", args: [] } }, numStartups: 3, nested: { a: [1] } };
    const path = await configure(client, home, JSON.stringify(others, null, 4));
    const { code, stdout } = await install(home, client, "--emulator");
    expect(code).toBe(0);
    expect(stdout).toContain(path);
    const text = await readFile(path, "utf8");
    const { mic, ...otherServers } = JSON.parse(text)[key];
    expect({ ...JSON.parse(text), [key]: otherServers }).toEqual(others);
    expect(mic).toEqual(ENTRIES[client]);
    expect(text).toMatch(/^ {4}"/m);
    const again = await install(home, client, "--emulator");
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("already") });
    expect(await readFile(path, "utf8")).toBe(text);
    const replaced = await install(home, client);
    expect(replaced).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Replaced the command of the entry mic /),
    });
  },
);

const TOML_LIST = JSON.stringify(ENTRY.args);
const TOML_COMMAND = JSON.stringify(ENTRY.command);
const CODEX_FILES = {
  "another server": 'model = "gpt" # mine\n\n# other\n[mcp_servers.other]\ncommand = "true"\n',
  "the name in a text": 'a = """\n[mcp_servers.mic]\n"""\n[mcp_servers.mic-work]\ncommand = "true"\n',
  "large integers": "a = 9223372036854775807\n",
  "only an array of tables": '[[hooks]]\nname = "mic"\n',
  nothing: "",
};
/** The entry in forms of TOML. */
const CODEX_ENTRIES = {
  "a table": `# mine\n[mcp_servers.mic]\ncommand = ${TOML_COMMAND} # Node\nargs = ${TOML_LIST}\n\n[mcp_servers.mic.env]\nA = "b"\n`,
  "an inline table": `[mcp_servers]\nmic = { command = ${TOML_COMMAND}, args = ${TOML_LIST} }\n`,
  "dotted keys": `mcp_servers.mic.command = ${TOML_COMMAND}\n mcp_servers.mic.args = ${TOML_LIST}\n`,
  "a list on several lines": `[mcp_servers.mic]\ncommand = ${TOML_COMMAND}\nargs = [\n  ${ENTRY.args.map((each) => JSON.stringify(each)).join(", # x\n  ")},\n]\n`,
  "a quoted name": `[ mcp_servers . "mic" ]\ncommand = ${TOML_COMMAND}\nargs = ${TOML_LIST}\n`,
  "a byte order mark and Windows line ends": `\uFEFF[mcp_servers.mic]\r\ncommand = ${TOML_COMMAND}\r\nargs = ${TOML_LIST}\r\n`,
};

describe("codex", () => {
  const command = (...flags: readonly string[]) => {
    const words = [ENTRY.command, SERVER, "serve", ...flags];
    return `codex mcp add mic -- ${words.map(quoteForShell).join(" ")}\n`;
  };

  test.each(Object.entries(CODEX_FILES))(
    "install codex prints Codex's command for a file with %s, and uninstall finds no entry",
    async (_, text) => {
      const home = await folderForTest();
      const path = await configure("codex", home, text);
      expect(await install(home, "codex", "--emulator")).toEqual({
        code: 1,
        stdout: command("--emulator"),
        stderr: `mic-mcp: ${path} was not changed: mic-mcp does not edit TOML. Add the entry yourself:\n`,
      });
      expect(await install(home, "codex", "--print")).toEqual({ code: 0, stdout: command(), stderr: "" });
      expect(await uninstall(home, "codex")).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("no entry mic"),
      });
      expect(await readFile(path, "utf8")).toBe(text);
    },
  );

  test.each(Object.entries(CODEX_ENTRIES))(
    "install codex and uninstall codex find an entry that is %s, and change nothing",
    async (_, text) => {
      const home = await folderForTest();
      const path = await configure("codex", home, text);
      const same = await install(home, "codex", "--emulator");
      expect(same).toMatchObject({ code: 0, stdout: `Codex already has this entry mic in ${path}.\n` });
      const other = await install(home, "codex");
      expect(other).toMatchObject({
        code: 1,
        stdout: command(),
        stderr: expect.stringContaining("replaces all settings"),
      });
      const removed = await uninstall(home, "codex");
      expect(removed).toMatchObject({ code: 1, stderr: expect.stringContaining("codex mcp remove mic does. Remove") });
      expect(await readFile(path, "utf8")).toBe(text);
    },
  );
});

describe("install", () => {
  test.each([
    '{"a": ',
    '{"mcpServers": {}, "mcpServers": {}}',
    '{"mcpServers": []}',
    "[]",
    '{"mcpServers": {"mic": "x"}}',
  ])("a configuration that cannot be changed safely stays as it is: %j", async (text) => {
    const home = await folderForTest();
    const path = await configure("cursor", home, text);
    const { code, stdout, stderr } = await install(home, "cursor");
    expect(code).toBe(1);
    expect(JSON.parse(stdout).mcpServers.mic.args).toEqual([SERVER, "serve"]);
    expect(stderr).toMatch(/was not changed: .*Add the entry yourself/);
    expect(await readFile(path, "utf8")).toBe(text);
  });

  test("install and uninstall name a file that they cannot read, and install prints the entry", async () => {
    const home = await folderForTest();
    await writeFile(join(home, ".cursor"), "");
    const reason = `${join(home, ".cursor", "mcp.json")} was not changed: ENOTDIR`;
    const { code, stdout, stderr } = await install(home, "cursor");
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(reason) });
    expect(JSON.parse(stdout).mcpServers.mic.args).toEqual([SERVER, "serve"]);
    expect(await uninstall(home, "cursor")).toMatchObject({ code: 1, stderr: expect.stringContaining(reason) });
  });

  test.each([
    [
      "comments",
      '// mine\n{\n\t// the servers\n\t"servers": {\n\t\t/* old */ "a": { "command": "a" } // last\n\t},\n\t"x": 1 // end\n}\n',
    ],
    ["trailing commas", '{\n    "servers": {\n        "a": { "command": "a", },\n    },\n    "x": [1, 2,],\n}\n'],
    ["only a comment", "// mine\n{}\n"],
    ["a byte order mark and Windows line ends", '\uFEFF{\r\n  // mine\r\n  "servers": {}\r\n}\r\n'],
  ])("install keeps a configuration with %s, and uninstall restores its servers", async (_, text) => {
    const home = await folderForTest();
    const path = await configure("vscode", home, text);
    const settingsOf = (json: string): unknown =>
      parse(json.replace(/^\uFEFF/, ""), undefined, { allowTrailingComma: true });
    expect(await install(home, "vscode")).toMatchObject({ code: 0, stderr: "" });
    const after = await readFile(path, "utf8");
    for (const comment of text.match(/\/\/.*|\/\*.*\*\//g) ?? []) expect(after).toContain(comment);
    expect(after.startsWith("\uFEFF")).toBe(text.startsWith("\uFEFF"));
    expect(after.includes("\r\n")).toBe(text.includes("\r\n"));
    const { servers: before = {}, ...others } = asObject(settingsOf(text));
    const mic = { type: "stdio", ...ENTRY, args: [SERVER, "serve"] };
    expect(settingsOf(after)).toEqual({ ...others, servers: { ...asObject(before), mic } });
    expect(await install(home, "vscode")).toMatchObject({ code: 0, stdout: expect.stringContaining("already") });
    expect(await uninstall(home, "vscode")).toMatchObject({ code: 0 });
    expect(settingsOf(await readFile(path, "utf8"))).toEqual({ ...others, servers: before });
  });

  testUnless(
    posixMissing,
    "install keeps other fields of its entry, the mode of the file, and a symbolic link",
    {},
    async () => {
      const home = await folderForTest();
      const [real, link] = [join(home, "dotfiles.json"), join(home, ".cursor", "mcp.json")];
      const env = { MIC_LOG_LEVEL: "info" };
      await writeFile(real, JSON.stringify({ mcpServers: { mic: { command: "old", args: [], env } } }));
      await chmod(real, 0o640);
      await mkdir(dirname(link));
      await symlink(real, link);
      expect(await install(home, "cursor", "--emulator")).toMatchObject({ code: 0 });
      expect(JSON.parse(await readFile(real, "utf8")).mcpServers.mic).toEqual({ ...ENTRY, env });
      expect((await stat(real)).mode & 0o777).toBe(0o640);
      expect((await lstat(link)).isSymbolicLink()).toBe(true);
    },
  );

  test("install --print prints the entry that install would write, and changes no file", async () => {
    const home = await folderForTest();
    const { code, stdout } = await install(home, "cursor", "--emulator", "--print");
    expect(code).toBe(0);
    const path = pathOf("cursor", home);
    await expect(stat(path)).rejects.toThrow("ENOENT");
    const written = await install(home, "cursor", "--emulator", "--json");
    expect(await readFile(path, "utf8")).toBe(stdout);
    expect(JSON.parse(written.stdout)).toMatchObject({ client: "cursor", name: "mic", path, changed: true });
  });

  test("a profile has its own entry", async () => {
    const home = await folderForTest();
    await install(home, "cursor");
    await install(home, "cursor", "--profile", "work");
    const { mcpServers } = JSON.parse(await readFile(pathOf("cursor", home), "utf8"));
    expect(mcpServers).toEqual({
      mic: { ...ENTRY, args: [SERVER, "serve"] },
      "mic-work": { ...ENTRY, args: [SERVER, "serve", "--profile", "work"] },
    });
  });

  test.each([
    [["install"], "CLIENT must be one of claude, codex"],
    [["install", "curser"], "Did you mean cursor?"],
    [["install", "cursor", "codex"], "CLIENT must be one of"],
    [["install", "cursor", "--profile", "a b"], "profile name"],
  ])("install with the arguments %j is a usage error", async (args, reason) => {
    expect(await run(args)).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(reason) });
  });

  test.each([
    ["claude", "linux", {}, "/home/u/.claude.json"],
    ["claude", "linux", { CLAUDE_CONFIG_DIR: "/c" }, "/c/.claude.json"],
    ["codex", "darwin", {}, "/home/u/.codex/config.toml"],
    ["codex", "linux", { CODEX_HOME: "/c" }, "/c/config.toml"],
    ["copilot", "linux", { COPILOT_HOME: "/c" }, "/c/mcp-config.json"],
    ["vscode", "linux", {}, "/home/u/.config/Code/User/mcp.json"],
    ["vscode", "darwin", {}, "/home/u/Library/Application Support/Code/User/mcp.json"],
    ["vscode", "win32", { APPDATA: "C:\\A" }, "C:\\A\\Code\\User\\mcp.json"],
    ["claude-desktop", "darwin", {}, "/home/u/Library/Application Support/Claude/claude_desktop_config.json"],
    ["claude-desktop", "win32", { APPDATA: "C:\\A" }, "C:\\A\\Claude\\claude_desktop_config.json"],
    ["cursor", "win32", {}, "C:\\U\\.cursor\\mcp.json"],
  ] as const)("the configuration of %s on %s with %j is %s", (client, platform, environment, path) => {
    const home = platform === "win32" ? "C:\\U" : "/home/u";
    const machine = { platform, home, environment, packagedApps: ["Other_1"] };
    expect(configurationPaths(client, machine)).toEqual([path]);
  });

  test.each([
    [["Claude_a"], { LOCALAPPDATA: "C:\\L" }, ["C:\\L\\Packages\\Claude_a"]],
    [["Claude_a", "Other_1"], {}, ["C:\\U\\AppData\\Local\\Packages\\Claude_a"]],
    [["Claude_a", "Claude_b"], { LOCALAPPDATA: "C:\\L" }, ["C:\\L\\Packages\\Claude_a", "C:\\L\\Packages\\Claude_b"]],
  ])(
    "the packaged apps %j of Claude Desktop on Windows have their own copies of the configuration",
    (packagedApps, environment, folders) => {
      const paths = folders.map((folder) => `${folder}\\LocalCache\\Roaming\\Claude\\claude_desktop_config.json`);
      const machine = { platform: "win32", home: "C:\\U", environment, packagedApps } as const;
      expect(configurationPaths("claude-desktop", machine)).toEqual(paths);
    },
  );
});

testUnless(
  process.platform === "win32" ? undefined : "needs Windows",
  "install claude-desktop writes the file of the packaged app, and none if there are several",
  {},
  async () => {
    const home = await folderForTest();
    const name = join("LocalCache", "Roaming", "Claude", "claude_desktop_config.json");
    const [first, second] = ["Claude_a", "Claude_b"].map((app) => join(home, "Packages", app, name));
    const env = { LOCALAPPDATA: home };
    await mkdir(join(home, "Packages", "Claude_a"), { recursive: true });
    expect(await run(["install", "claude-desktop"], { env })).toMatchObject({ code: 0 });
    expect(JSON.parse(await readFile(first ?? "", "utf8")).mcpServers.mic.command).toBe(process.execPath);
    await mkdir(join(home, "Packages", "Claude_b"));
    const { code, stderr } = await run(["install", "claude-desktop", "--emulator"], { env });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(`another installation reads ${second}`),
    });
    await expect(stat(second ?? "")).rejects.toThrow("ENOENT");
  },
);

const realClients: readonly (readonly [ClientName, InstallClient, RegExp])[] = [
  ["Claude Code", "claude", /^mic: .*Connected$/m],
  ["Codex", "codex", /^mic +\S+ +.*serve --emulator .*enabled/m],
  ["Gemini CLI", "gemini", /^. mic: .*Connected$/m],
  ["Copilot CLI", "copilot", /^ +mic \(local\)$/m],
];

describe("after mic-mcp install", () => {
  for (const [name, client, connected] of realClients) {
    testUnless(skipReasonFor(name), `${name} lists the installed server`, { retry: 2 }, async () => {
      const home = await folderForTest();
      // Only the user can trust a folder.
      const settings = { security: { folderTrust: { enabled: false } }, privacy: { usageStatisticsEnabled: false } };
      await configure("gemini", home, JSON.stringify(settings));
      const { code, stdout: command } = await install(home, client, "--emulator");
      expect(code).toBe(client === "codex" ? 1 : 0);
      if (client === "codex") await runClient(home, ...programOf(name), ...command.trim().split(" ").slice(1));
      const { stdout, stderr } = await runClient(home, ...programOf(name), "mcp", "list");
      expect(stdout + stderr).toMatch(connected);
    });
  }
});
