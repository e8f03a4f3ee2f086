// Tests the environments in which hosts start the program: which folders it uses, and which values it refuses before anything is sent.
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readConfig } from "../../src/core/config.ts";
import { stubEnv } from "../api-client/client.ts";
import { FILE, fileId } from "../emulator/work.ts";
import { run } from "../mcp/stdio/child.ts";
import { runInProcess } from "../support/command.ts";
import { test as testWithStub } from "../support/fixtures.ts";
import { bareEnvironment } from "../support/mcp.ts";
import { missingProgram } from "../support/process.ts";
import { refusingBaseUrl } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { posixMissing, testUnless } from "../support/unless.ts";
import { userForTest } from "./test-user.ts";

const HOME = "/home/asha";
const RECORDED_HOME = userInfo().homedir;
const state = (home: string): string => `${home}/.local/state/mic-mcp`;

/** `outcome`: the value of the setting, or the refusal. `args`: the command, if the setting is one of its flags. */
type Row = readonly [
  setting: string,
  environment: Readonly<Record<string, string>>,
  outcome: string | { readonly file: string } | RegExp,
  args?: readonly string[],
];

const placeholdersFor = (name: string) => [
  `{env:${name}}`,
  `%${name}%`,
  "$MY_SECRET",
  ...["env:X", "input:x", "MY_SECRET", `${name}:-`, `${name}:-x`].map((each) => `\${${each}}`),
];
/** Values of HTTP_PROXY that are not the URL of a proxy. `p4ss` is part of a password. */
const NOT_PROXIES = [
  ...["DIRECT", "null", "proxy.example", "3128", "http://", "ftp://h:1", "socks4://h:1", "http://h:1/path", "://h:1"],
  ...["http://u:p4ss#x@h:1", "http://u:80#p4ss@h:1", "http://u:p4ss%@h:1", "http://u:p4/ss@h:1", "http://h:99999"],
  `\${user_config.proxy}`,
  `\${env:HTTP_PROXY}`,
];

const unreplaced = (name: string) =>
  new RegExp(`^The host did not replace the placeholder in ${name}: write the value itself, or unset ${name}\\.$`);

/** The refusal of a relative path, with the absolute form. */
const relative = (what: string, path: string) =>
  new RegExp(`^${what} must be an absolute path or start with ~/, such as ${process.cwd()}/${path}\\.$`, "m");

const ENVIRONMENTS: readonly Row[] = [
  ["MIC_STATE_DIR", { HOME }, state(HOME)],
  ["MIC_STATE_DIR", {}, state(RECORDED_HOME)],
  ["MIC_STATE_DIR", { HOME: "" }, state(RECORDED_HOME)],
  ["MIC_STATE_DIR", { HOME: "asha" }, state(RECORDED_HOME)],
  ["MIC_STATE_DIR", { HOME: "~" }, state(RECORDED_HOME)],
  ["MIC_STATE_DIR", { HOME: "$HOME" }, state(RECORDED_HOME)],
  ["MIC_STATE_DIR", { HOME: "/" }, state("")],
  ["MIC_STATE_DIR", { HOME: "/home/a b ü #?%" }, state("/home/a b ü #?%")],
  ["MIC_STATE_DIR", { HOME, XDG_STATE_HOME: "/s" }, "/s/mic-mcp"],
  ["MIC_STATE_DIR", { HOME, XDG_STATE_HOME: "" }, state(HOME)],
  ["MIC_STATE_DIR", { HOME, XDG_STATE_HOME: "state" }, state(HOME)],
  ["MIC_STATE_DIR", { HOME, XDG_STATE_HOME: "./state" }, state(HOME)],
  ["MIC_STATE_DIR", { HOME, XDG_STATE_HOME: "~/state" }, state(HOME)],
  ["MIC_STATE_DIR", { HOME, XDG_STATE_HOME: "$HOME/state" }, state(HOME)],
  ["MIC_STATE_DIR", { HOME, MIC_STATE_DIR: "/var/lib/mic" }, "/var/lib/mic"],
  ["MIC_STATE_DIR", { HOME, MIC_STATE_DIR: "/var/lib/../lib/mic/" }, "/var/lib/mic"],
  ["MIC_STATE_DIR", { HOME, MIC_STATE_DIR: "" }, state(HOME)],
  ["MIC_STATE_DIR", { HOME, MIC_STATE_DIR: "~" }, HOME],
  ["MIC_STATE_DIR", { HOME, MIC_STATE_DIR: "~/mic" }, `${HOME}/mic`],
  ["MIC_STATE_DIR", { HOME: "", MIC_STATE_DIR: "~/mic" }, `${RECORDED_HOME}/mic`],
  ["MIC_STATE_DIR", { HOME, MIC_STATE_DIR: `\${MIC_STATE_DIR}` }, state(HOME)],
  ["MIC_STATE_DIR", { HOME, MIC_STATE_DIR: `\${user_config.state}` }, state(HOME)],
  ["MIC_STATE_DIR", { HOME, MIC_STATE_DIR: "mic" }, relative("MIC_STATE_DIR", "mic")],
  ["MIC_STATE_DIR", { HOME, MIC_STATE_DIR: "./mic" }, relative("MIC_STATE_DIR", "mic")],
  ["MIC_STATE_DIR", { HOME, MIC_STATE_DIR: "../mic" }, /^MIC_STATE_DIR must be an absolute path/],
  ["MIC_STATE_DIR", { HOME, MIC_STATE_DIR: "~other/mic" }, /^MIC_STATE_DIR must be an absolute path/],
  ["MIC_STATE_DIR", { HOME, MIC_STATE_DIR: "file:///var/lib/mic" }, /^MIC_STATE_DIR must be an absolute path/],
  ["MIC_STATE_DIR", { HOME, MIC_STATE_DIR: "C:\\mic" }, /^MIC_STATE_DIR must be an absolute path/],
  [
    "MIC_STATE_DIR",
    { HOME, MIC_STATE_DIR: "$HOME/mic" },
    /did not replace the placeholder in MIC_STATE_DIR, .* such as \/home\/asha\/mic\.$/,
  ],
  [
    "MIC_STATE_DIR",
    { HOME, MIC_STATE_DIR: `\${HOME}/mic` },
    /did not replace the placeholder .* such as \/home\/asha\/mic\.$/,
  ],
  [
    "MIC_STATE_DIR",
    { HOME, MIC_STATE_DIR: "%USERPROFILE%\\mic" },
    /did not replace the placeholder .* such as \/home\/asha\/mic\.$/,
  ],
  ["MIC_STATE_DIR", { HOME, MIC_STATE_DIR: `\${env:HOME}/mic` }, /did not replace the placeholder in MIC_STATE_DIR/],
  ["MIC_DOWNLOAD_DIR", { HOME, MIC_DOWNLOAD_DIR: "Downloads" }, relative("MIC_DOWNLOAD_DIR", "Downloads")],
  [
    "MIC_CLIENT_SECRET_FILE",
    { HOME, MIC_CLIENT_SECRET_FILE: "hunter2" },
    /^MIC_CLIENT_SECRET_FILE must be an absolute path or start with ~\/\.$/,
  ],
  ["MIC_DOWNLOAD_DIR", { HOME, MIC_DOWNLOAD_DIR: "~/files" }, `${HOME}/files`],
  [
    "MIC_CLIENT_SECRET_FILE",
    { HOME, MIC_CLIENT_ID: "id", MIC_CLIENT_SECRET_FILE: "~/secret" },
    { file: `${HOME}/secret` },
  ],
  ["--env-file", {}, relative("The path of --env-file", "mic.env"), ["doctor", "--env-file", "mic.env"]],
  ["--token", {}, relative("The path of --token", "token"), ["doctor", "--teams", "--token", "token"]],
  ["--download-dir", {}, relative("MIC_DOWNLOAD_DIR", "files"), ["serve", "--download-dir", "files"]],
  ["MIC_STATE_DIR", { MIC_STATE_DIR: "files" }, relative("MIC_STATE_DIR", "files"), ["emulator"]],
  ...["MIC_CLIENT_SECRET", "MIC_CLIENT_ID", "MIC_BASE_URL", "MIC_WORKSPACE_ID", "MIC_STATE_DIR", "MIC_PROFILE"].flatMap(
    (name) => placeholdersFor(name).map((value): Row => [name, { [name]: value }, unreplaced(name)]),
  ),
  ["MIC_CLIENT_SECRET", { MIC_CLIENT_SECRET: `Bearer \${TOKEN}` }, unreplaced("MIC_CLIENT_SECRET")],
  ["MIC_CLIENT_SECRET", { MIC_CLIENT_SECRET: `abc\${env:X}` }, unreplaced("MIC_CLIENT_SECRET")],
  ["MIC_CLIENT_ID", { MIC_CLIENT_ID: "my-{env:ID}" }, unreplaced("MIC_CLIENT_ID")],
  ["MIC_BASE_URL", { MIC_BASE_URL: `https://\${HOST}/api` }, unreplaced("MIC_BASE_URL")],
  ["MIC_STATE_DIR", { MIC_STATE_DIR: `/var/\${env:X}/mic` }, unreplaced("MIC_STATE_DIR")],
  ...["pa$WORD", "100%A%", "a{b}", "$", "a$1{2}"].map(
    (secret): Row => ["MIC_CLIENT_SECRET", { MIC_CLIENT_ID: "id", MIC_CLIENT_SECRET: secret }, secret],
  ),
  ...NOT_PROXIES.map(
    (value): Row => ["HTTP_PROXY", { HTTP_PROXY: value }, /the value of HTTP_PROXY is not the URL of a proxy/],
  ),
];

const rows = ENVIRONMENTS.filter(([setting]) => posixMissing === undefined || !/_DIR|_FILE|^--/.test(setting));
const accepted = rows.flatMap(([setting, environment, outcome]) =>
  outcome instanceof RegExp ? [] : [{ setting, environment, outcome }],
);
const refused = rows.flatMap(([setting, environment, refusal, args]) =>
  refusal instanceof RegExp ? [{ setting, environment, refusal, args }] : [],
);

test.each(accepted)(
  "$setting is accepted and does not depend on the working folder, with $environment",
  ({ setting, environment, outcome }) => {
    const { stateDir, downloadDir, credentials } = readConfig(environment);
    const folder = new Map([
      ["MIC_STATE_DIR", stateDir],
      ["MIC_DOWNLOAD_DIR", downloadDir],
    ]).get(setting);
    expect(folder ?? credentials?.clientSecret).toEqual(outcome);
  },
);

testWithStub.for(refused)(
  "a wrong $setting is refused in one sentence, nothing is sent, and doctor reports it, with $environment",
  async ({ setting, environment, refusal, args }, { stub }) => {
    const env = { ...stubEnv(stub), ...environment };
    const { code, stderr } = await runInProcess(args ?? ["call", "get_capabilities", "workspaceId=w"], { env });
    expect(stderr.replace(/^mic-mcp: |\n$/g, "")).toMatch(refusal);
    expect(code).toBe(setting === "HTTP_PROXY" ? 4 : 2);
    if (args === undefined) {
      const report = await runInProcess(["doctor"], { env });
      expect(report.code).toBe(1);
      expect(report.stdout).toMatch(/^FAIL (configuration|proxy) .*\n +-> /m);
      expect(report.stdout).not.toContain("p4ss");
    }
    expect(stderr).not.toContain("p4ss");
    expect(stub.requests.length + stub.tokenRequests.length).toBe(0);
  },
);

/** Runs the built program in a working folder. */
const runIn = (cwd: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<number> =>
  new Promise((resolve) => {
    const program = join(process.cwd(), "dist/cli.js");
    const child = execFile(process.execPath, [program, ...args], { cwd, env }, () => resolve(child.exitCode ?? -1));
  });

test("the same call from two working folders runs once, or is refused", async () => {
  const { env, executions, service } = await userForTest();
  const args = ["call", "register_input", "inputKind=M4_FILE", `referenceId=${fileId(service, FILE.succeeds)}`];
  const [first, second, home] = [await folderForTest(), await folderForTest(), await folderForTest()];
  const callIn = (cwd: string, stateDir: string) =>
    runIn(cwd, args, { ...bareEnvironment(home), ...env, MIC_STATE_DIR: stateDir });
  expect([await callIn(first, "mic"), await callIn(second, "mic")]).toEqual([2, 2]);
  expect([await callIn(first, "~/mic"), await callIn(second, "~/mic")]).toEqual([0, 3]);
  expect([...(await executions("createMicPublicInput")).values()]).toEqual([1]);
});

test("doctor reports another journal of this user with unresolved actions", async () => {
  const home = await folderForTest();
  const env = { HOME: home, XDG_STATE_HOME: "", ...stubEnv({ baseUrl: await refusingBaseUrl() }) };
  const project = join(home, "project");
  await mkdir(join(home, ".cursor"));
  await writeFile(
    join(home, ".cursor/mcp.json"),
    JSON.stringify({ mcpServers: { mic: { command: "mic-mcp", env: { MIC_STATE_DIR: "~/project" } } } }),
  );
  const { service, env: user } = await userForTest();
  const args = ["call", "register_input", "inputKind=M4_FILE", `referenceId=${fileId(service, FILE.succeeds)}`];
  await service.injectFault({ kind: "status", status: 503 }, { operationId: "createMicPublicInput", times: 100 });
  await runInProcess([...args, "--timeout", "1"], { env: { ...user, MIC_STATE_DIR: project } });
  const { stdout } = await runInProcess(["doctor"], { env });
  expect(stdout).toContain(`FAIL other journal   ${project}/actions.sqlite has 1 with unknown outcome`);
});

const strangerMissing = posixMissing ?? (process.getuid?.() === 0 ? missingProgram("setpriv") : "needs root");

testUnless(strangerMissing, "without HOME and an entry in /etc/passwd, commands need only the folders", async () => {
  const folder = await folderForTest();
  const launcher = [
    "setpriv",
    "--reuid",
    "54321",
    "--regid",
    "54321",
    "--clear-groups",
    "env",
    "-u",
    "HOME",
    "-u",
    "XDG_CACHE_HOME",
  ];
  const folders = { MIC_STATE_DIR: `${folder}/state`, MIC_DOWNLOAD_DIR: folder };
  for (const args of [["--version"], ["help"], ["call", "list_states", "--emulator"]]) {
    const { code, stderr } = await run(args, { launcher, env: folders });
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
  }
  const { code, stderr } = await run(["actions"], { launcher, env: { MIC_DOWNLOAD_DIR: folder } });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: "mic-mcp: MIC_STATE_DIR is required, because this user has no home folder: set it to an absolute path.\n",
  });
  const { stdout } = await run(["doctor"], { launcher });
  expect(stdout).toMatch(/FAIL configuration +MIC_STATE_DIR is required, .* MIC_DOWNLOAD_DIR is required, /);
});
