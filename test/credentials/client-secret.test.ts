// Tests MIC_CLIENT_SECRET_FILE and MIC_CLIENT_SECRET_COMMAND: the secret that the API receives, and that no output contains it.
import { execFileSync } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { basicHeader } from "../../src/credentials/oauth.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { runInProcess as run } from "../support/command.ts";
import { speedUpTimers } from "../support/fast-timers.ts";
import { test } from "../support/fixtures.ts";
import { inProcessClientForTest } from "../support/mcp.ts";
import { answer, type Stub } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { posixMissing } from "../support/unless.ts";

const SECRET = "s3cr3t $(touch x) `y`";
const QUOTED = JSON.stringify(SECRET);

const headerFor = (clientSecret: string) => basicHeader({ clientId: "client", clientSecret });

const settings = (stub: Stub, env: Readonly<Record<string, string>>) => ({
  MIC_BASE_URL: stub.baseUrl,
  MIC_CLIENT_ID: "client",
  ...env,
});

async function secretFile(text: string, mode = 0o600): Promise<string> {
  const path = join(await folderForTest(), "secret");
  await writeFile(path, text);
  await chmod(path, mode);
  return path;
}

const commandOf = (script: string): string => JSON.stringify([process.execPath, "-e", script]);

async function callGetJob(stub: Stub, env: Readonly<Record<string, string>>) {
  stub.respond(() => answer(200, enveloped(job)));
  const result = await run(["call", "get_job", job.id], { env: { MIC_LOG_LEVEL: "debug", ...settings(stub, env) } });
  expect(result.stdout + result.stderr).not.toContain(SECRET);
  return result;
}

test.for(["", "\n", "\r\n"])("the API receives the secret of a file that ends with %j", async (end, { stub }) => {
  expect(await callGetJob(stub, { MIC_CLIENT_SECRET_FILE: await secretFile(SECRET + end) })).toMatchObject({
    code: 0,
  });
  expect(stub.tokenRequests[0]?.headers.authorization).toBe(headerFor(SECRET));
});

test.for([
  ...(posixMissing === undefined
    ? ([
        [SECRET, 0o640, "other users can read", "chmod 600"],
        [SECRET, 0o604, "other users can read", "chmod 600"],
      ] as const)
    : []),
  [`${SECRET}\nsecond line`, 0o600, "one line", "correct MIC_CLIENT_SECRET_FILE"],
  ["", 0o600, "one line", "correct MIC_CLIENT_SECRET_FILE"],
  ["x".repeat(9_000), 0o600, "one line", "correct MIC_CLIENT_SECRET_FILE"],
] as const)("secret file %# is refused, and nothing is sent", async ([text, mode, reason, fix], { stub }) => {
  const { code, stderr } = await callGetJob(stub, { MIC_CLIENT_SECRET_FILE: await secretFile(text, mode) });
  expect(code).toBe(4);
  expect(stderr).toMatch(new RegExp(`not_configured.*${reason}[\\s\\S]*Next: .*${fix}`, "i"));
  expect(stub.tokenRequests).toHaveLength(0);
});

test.skipIf(process.platform === "win32")(
  "a missing file, and a named pipe without a writer, are reported with their paths",
  async ({ stub }) => {
    const folder = await folderForTest();
    execFileSync("mkfifo", ["-m", "600", join(folder, "pipe")]);
    for (const [name, reason] of [
      ["missing", "cannot be read (ENOENT)"],
      ["pipe", "is not a file"],
    ] as const) {
      const path = join(folder, name);
      const { code, stderr } = await callGetJob(stub, { MIC_CLIENT_SECRET_FILE: path });
      expect(code).toBe(4);
      expect(stderr).toContain(`${JSON.stringify(path)} ${reason}`);
    }
  },
);

test("a running server reads a replaced file after the API has refused the old secret", async ({ stub }) => {
  const path = await secretFile("old-secret-0123456789");
  const isNew = ({ headers }: { headers: { authorization?: string | undefined } }) =>
    headers.authorization === headerFor(SECRET);
  stub.respondToToken((request) =>
    isNew(request) ? answer(200, { access_token: "token" }) : answer(401, { error: "invalid_client" }),
  );
  stub.respond(() => answer(200, enveloped(job)));
  const connection = await inProcessClientForTest("v2-modern", settings(stub, { MIC_CLIENT_SECRET_FILE: path }));
  expect(await connection.callTool("get_job", { jobId: job.id })).toMatchObject({ isError: true });
  await writeFile(path, SECRET);
  expect(await connection.callTool("get_job", { jobId: job.id })).toMatchObject({ isError: false });
});

test("doctor reports where the secret comes from, but not the secret", async ({ stub }) => {
  stub.respond(() => answer(200, enveloped(job)));
  const env = settings(stub, { MIC_CLIENT_SECRET_FILE: await secretFile(SECRET) });
  const doctor = await run(["doctor"], { env });
  expect(doctor.stdout).toMatch(/client secret +set, not shown \(from the file in MIC_CLIENT_SECRET_FILE\)/);
  expect(doctor.stdout).toMatch(/ok +token /);
  expect(doctor.stdout + doctor.stderr).not.toContain(SECRET);
});

const PRINT_VARIABLES = `process.stdin.resume().on("end", () =>
  console.log("none:" + Object.keys(process.env).filter((name) => name.startsWith("MIC_"))))`;

test.for([
  ["that no shell runs", JSON.stringify(["printf", "%s\\n", SECRET]), SECRET],
  ["that is specified as plain words", "echo a-secret", "a-secret"],
  ["that gets no MIC_ variables and an empty stdin", commandOf(PRINT_VARIABLES), "none:"],
  ["that prints long messages", commandOf("console.error('x'.repeat(100_000)); console.log('a-secret')"), "a-secret"],
] as const)("the API receives the output of a program %s", async ([_, command, printed], { stub }) => {
  expect(await callGetJob(stub, { MIC_CLIENT_SECRET_COMMAND: command })).toMatchObject({ code: 0 });
  expect(stub.tokenRequests[0]?.headers.authorization).toBe(headerFor(printed));
});

test("listing the actions of an empty journal does not run the program of the secret", async ({ stub }) => {
  const env = settings(stub, { MIC_CLIENT_SECRET_COMMAND: commandOf("process.exit(1)") });
  expect(await run(["actions"], { env })).toMatchObject({ code: 0, stderr: "No actions.\n" });
});

/** Submits a job with the secret in its clientReference. The outcome stays unknown. */
async function submitWithSecret(stub: Stub, env: Readonly<Record<string, string>>) {
  const connection = await start(env);
  stub.respond(() => answer(503, undefined, { "retry-after": "100" }));
  await connection.callTool("submit_job", { ...createJob, clientReference: SECRET });
}

const start = (env: Readonly<Record<string, string>>) => inProcessClientForTest("v2-modern", env);

const sources = [
  ["file", async () => ({ MIC_CLIENT_SECRET_FILE: await secretFile(SECRET) })],
  ["program", async () => ({ MIC_CLIENT_SECRET_COMMAND: commandOf(`console.log(${QUOTED})`) })],
] as const;

test.for(sources)(
  "a new server that has not read the secret of a %s redacts it in the list of actions",
  async ([_, source], { stub }) => {
    const env = { ...settings(stub, await source()), MIC_STATE_DIR: await folderForTest() };
    await submitWithSecret(stub, env);
    const tool = await (await start(env)).callTool("list_actions", {});
    const resource = await (await start(env)).readResource("mic://actions");
    const commands = [await run(["actions", "--json"], { env }), await run(["actions"], { env })];
    // Only this form contains the arguments of an action.
    expect(commands[0]?.stdout).toContain("[redacted]");
    const shown = JSON.stringify([tool, resource, commands]);
    expect(shown).not.toContain(SECRET);
    expect(shown).toContain("submit_job");
  },
);

test.for(["process.exit(1)", "setTimeout(() => 0, 60_000)"])(
  "the list of actions is returned even if the program of the secret fails or does not end: %s",
  async (script, { stub }) => {
    const state = { MIC_STATE_DIR: await folderForTest() };
    const file = { MIC_CLIENT_SECRET_FILE: await secretFile(SECRET) };
    await submitWithSecret(stub, { ...settings(stub, file), ...state });
    const env = { ...settings(stub, { MIC_CLIENT_SECRET_COMMAND: commandOf(script) }), ...state };
    const connection = await start(env);
    speedUpTimers();
    expect(await connection.callTool("list_actions", {})).toMatchObject({
      isError: false,
      structured: { actions: [{ tool: "submit_job", state: "unknown" }] },
    });
  },
);

test.for([
  [commandOf(`console.log(${QUOTED}); console.error(${QUOTED}); process.exitCode = 3`), "ended with exit code 3"],
  // Windows has no signals: the program ends with exit code 1.
  [
    commandOf(`process.kill(process.pid, "SIGTERM"); setTimeout(() => 0, 60000)`),
    posixMissing === undefined ? "ended with SIGTERM" : "ended with exit code 1",
  ],
  [commandOf("console.log('x'.repeat(10000))"), "one line of 1 to 8192"],
  [commandOf("console.log('x'.repeat(2_000_000))"), "printed more than 1048576 bytes"],
  ['["no-such-program-of-mic-mcp"]', "cannot be started (E"],
  [commandOf(""), "one line of 1 to 8192"],
] as const)("the error of secret program %# is reported, and nothing is sent", async ([command, reason], { stub }) => {
  const { code, stderr } = await callGetJob(stub, { MIC_CLIENT_SECRET_COMMAND: command });
  expect(code).toBe(4);
  expect(stderr).toContain(reason);
  expect(stub.tokenRequests).toHaveLength(0);
});

test.skipIf(posixMissing !== undefined)(
  `a program that does not end is stopped, even if its child keeps the pipe open (needs POSIX)`,
  async ({ stub }) => {
    speedUpTimers();
    const MIC_CLIENT_SECRET_COMMAND = JSON.stringify(["sh", "-c", "sleep 30 & sleep 30"]);
    const { stderr } = await callGetJob(stub, { MIC_CLIENT_SECRET_COMMAND });
    expect(stderr).toContain('"sh" did not end within 20 s');
  },
);

test.for([
  [{ MIC_CLIENT_SECRET: "a-secret", MIC_CLIENT_SECRET_FILE: "/secret" }, "Set only one of"],
  [{ MIC_CLIENT_SECRET_FILE: "/secret", MIC_CLIENT_SECRET_COMMAND: "cat /secret" }, "Set only one of"],
  [{ MIC_CLIENT_ID: "", MIC_CLIENT_SECRET_FILE: "/secret" }, "set both or neither"],
] as const)("the settings %j are refused", async ([env, reason], { stub }) => {
  const refused = await run(["actions"], { env: settings(stub, env) });
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(reason) });
});
