// Tests the environments in which hosts start the program: which folders it uses, and which values it refuses before anything is sent.
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readConfig, UsageError } from "../../src/core/config.ts";
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

type Row = readonly [environment: Readonly<Record<string, string>>, outcome: string | RegExp];

/** The folder of the journal, or the refusal. */
const FOLDERS: readonly Row[] = [
  [{ HOME }, state(HOME)],
  [{}, state(RECORDED_HOME)],
  [{ HOME: "" }, state(RECORDED_HOME)],
  [{ HOME: "asha" }, state(RECORDED_HOME)],
  [{ HOME: "~" }, state(RECORDED_HOME)],
  [{ HOME: "$HOME" }, state(RECORDED_HOME)],
  [{ HOME: "/" }, state("")],
  [{ HOME: "/home/a b ü #?%" }, state("/home/a b ü #?%")],
  [{ HOME, XDG_STATE_HOME: "/s" }, "/s/mic-mcp"],
  [{ HOME, XDG_STATE_HOME: "" }, state(HOME)],
  [{ HOME, XDG_STATE_HOME: "state" }, state(HOME)],
  [{ HOME, XDG_STATE_HOME: "./state" }, state(HOME)],
  [{ HOME, XDG_STATE_HOME: "~/state" }, state(HOME)],
  [{ HOME, XDG_STATE_HOME: "$HOME/state" }, state(HOME)],
  [{ HOME, MIC_STATE_DIR: "/var/lib/mic" }, "/var/lib/mic"],
  [{ HOME, MIC_STATE_DIR: "/var/lib/../lib/mic/" }, "/var/lib/mic"],
  [{ HOME, MIC_STATE_DIR: "" }, state(HOME)],
  [{ HOME, MIC_STATE_DIR: "~" }, HOME],
  [{ HOME, MIC_STATE_DIR: "~/mic" }, `${HOME}/mic`],
  [{ HOME: "", MIC_STATE_DIR: "~/mic" }, `${RECORDED_HOME}/mic`],
  [{ HOME, MIC_STATE_DIR: `\${MIC_STATE_DIR}` }, state(HOME)],
  [{ HOME, MIC_STATE_DIR: `\${user_config.state}` }, state(HOME)],
  [
    { HOME, MIC_STATE_DIR: "mic" },
    `MIC_STATE_DIR must be an absolute path or start with ~/, such as ${process.cwd()}/mic.`,
  ],
  [{ HOME, MIC_STATE_DIR: "./mic" }, new RegExp(`such as ${process.cwd()}/mic\\.$`)],
  [{ HOME, MIC_STATE_DIR: "../mic" }, /^MIC_STATE_DIR must be an absolute path/],
  [{ HOME, MIC_STATE_DIR: "~other/mic" }, /^MIC_STATE_DIR must be an absolute path/],
  [{ HOME, MIC_STATE_DIR: "file:///var/lib/mic" }, /^MIC_STATE_DIR must be an absolute path/],
  [{ HOME, MIC_STATE_DIR: "C:\\mic" }, /^MIC_STATE_DIR must be an absolute path/],
  [
    { HOME, MIC_STATE_DIR: "$HOME/mic" },
    /did not replace the placeholder in MIC_STATE_DIR, .* such as \/home\/asha\/mic\.$/,
  ],
  [{ HOME, MIC_STATE_DIR: `\${HOME}/mic` }, /did not replace the placeholder .* such as \/home\/asha\/mic\.$/],
  [{ HOME, MIC_STATE_DIR: "%USERPROFILE%\\mic" }, /did not replace the placeholder .* such as \/home\/asha\/mic\.$/],
  [{ HOME, MIC_STATE_DIR: `\${env:HOME}/mic` }, /did not replace the placeholder in MIC_STATE_DIR/],
  [
    { HOME, MIC_DOWNLOAD_DIR: "Downloads" },
    `MIC_DOWNLOAD_DIR must be an absolute path or start with ~/, such as ${process.cwd()}/Downloads.`,
  ],
  [
    { HOME, MIC_CLIENT_ID: "id", MIC_CLIENT_SECRET_FILE: "hunter2" },
    "MIC_CLIENT_SECRET_FILE must be an absolute path or start with ~/.",
  ],
];

function outcomeOf(environment: Readonly<Record<string, string>>): string {
  try {
    return readConfig(environment).stateDir;
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}

test.skipIf(posixMissing !== undefined).each(FOLDERS)(
  "the journal's folder does not depend on the working folder, or is refused, with %j",
  (environment, outcome) => {
    if (typeof outcome === "string") expect(outcomeOf(environment)).toBe(outcome);
    else expect(outcomeOf(environment)).toMatch(outcome);
  },
);

test("the download folder and the file of the secret may start with ~/", () => {
  const environment = { HOME, MIC_DOWNLOAD_DIR: "~/files", MIC_CLIENT_ID: "id", MIC_CLIENT_SECRET_FILE: "~/secret" };
  expect(readConfig(environment)).toMatchObject({
    downloadDir: `${HOME}/files`,
    credentials: { clientSecret: { file: `${HOME}/secret` } },
  });
});

test.each([
  ["status", "--env-file", "mic.env"],
  ["doctor", "--teams", "--token", "token"],
  ["serve", "--download-dir", "files"],
  ["emulator"],
])("%s %s %s with a relative path exits with 2 and shows the absolute path", async (...args) => {
  const { code, stderr } = await runInProcess(args, { env: { MIC_STATE_DIR: "files" } });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`such as ${process.cwd()}/`) });
});

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

const doctor = async (env: Readonly<Record<string, string>>) => {
  const { code, stdout } = await runInProcess(["doctor"], { env });
  return { code, stdout };
};

const forms = (name: string) => [
  `{env:${name}}`,
  `%${name}%`,
  "$MY_SECRET",
  ...["env:X", "input:x", "MY_SECRET", `${name}:-`, `${name}:-x`].map((each) => `\${${each}}`),
];

testWithStub(
  "a placeholder that the host did not replace is reported in one sentence, and nothing is sent",
  async ({ stub }) => {
    for (const name of [
      "MIC_CLIENT_SECRET",
      "MIC_CLIENT_ID",
      "MIC_BASE_URL",
      "MIC_WORKSPACE_ID",
      "MIC_STATE_DIR",
      "MIC_PROFILE",
    ])
      for (const value of forms(name)) {
        const env = { ...stubEnv(stub), [name]: value };
        const { code, stderr } = await runInProcess(["call", "get_capabilities"], { env });
        expect({ code, stderr }, value).toEqual({
          code: 2,
          stderr: `mic-mcp: The host did not replace the placeholder in ${name}: write the value itself, or unset ${name}.\n`,
        });
      }
    const { code, stdout } = await doctor({ ...stubEnv(stub), MIC_CLIENT_SECRET: `\${env:SECRET}` });
    expect(code).toBe(1);
    expect(stdout).toMatch(/FAIL configuration +The host did not replace the placeholder in MIC_CLIENT_SECRET/);
    expect(stub.requests).toHaveLength(0);
    expect(stub.tokenRequests).toHaveLength(0);
  },
);

test("doctor reports a folder that is not absolute as a failed row", async () => {
  const { code, stdout } = await doctor({ MIC_STATE_DIR: "mic" });
  expect(code).toBe(1);
  expect(stdout).toMatch(/FAIL configuration +MIC_STATE_DIR must be an absolute path .*\n +-> Correct or unset/);
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
  const { stdout } = await doctor(env);
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
  for (const args of [["--version"], ["help"], ["status"], ["call", "list_states", "--emulator"]]) {
    const { code, stderr } = await run(args, { launcher, env: folders });
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
  }
  const { code, stderr } = await run(["status"], { launcher, env: { MIC_DOWNLOAD_DIR: folder } });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: "mic-mcp: MIC_STATE_DIR is required, because this user has no home folder: set it to an absolute path.\n",
  });
  const { stdout } = await run(["doctor"], { launcher });
  expect(stdout).toMatch(/FAIL configuration +MIC_STATE_DIR is required, .* MIC_DOWNLOAD_DIR is required, /);
});
