// Tests that secrets are readable only in the keychain: not in a file, an argument, an environment, a log or a crash report.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { basicHeader } from "../../../src/credentials/oauth.ts";
import { enveloped, job, jobList, problem } from "../../contract/samples.ts";
import { callMessage, initialize, type Program, start } from "../../mcp/stdio/child.ts";
import { runInProcess as run } from "../../support/command.ts";
import { connectionForTest } from "../../support/mcp.ts";
import { describeWithKeychain, type Session, sessionForTest } from "../../support/secret-service.ts";
import { answer } from "../../support/stub.ts";
import { childrenOf, client, login, readSettings, test } from "./session.ts";

const TOKEN = "tok-5f2d8c1e9a7b4d60";
const BASIC = basicHeader(client).slice("Basic ".length);
const SECRETS = [client.clientSecret, TOKEN, BASIC];

const leaksIn = (text: string): string[] => SECRETS.filter((secret) => text.includes(secret));

/** Every file below a folder that contains a secret or cannot be read. */
const leakingFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => leaksIn(readFileSync(path, "latin1")).length > 0);

/** Information about a process that other users can read, and its environment, which the same user can read. */
const readProcessInfo = (pid: number): string =>
  ["cmdline", "environ"].map((name) => readFileSync(`/proc/${pid}/${name}`, "latin1")).join("\n");

describeWithKeychain("secrecy", () => {
  test("no secret is in a file, a process or an output, from login to logout", async ({ session, stub }) => {
    stub.respondToToken(() => answer(200, { access_token: TOKEN, expires_in: 3600 }));
    const echo = `${client.clientSecret} ${TOKEN} ${BASIC}`;
    stub.respond(({ target }) => {
      if (target.includes("/operations/")) return answer(422, { ...problem, title: echo });
      return target.includes("/jobs?") ? answer(200, jobList) : answer(200, enveloped({ ...job, echo }));
    });
    const outputs: string[] = [];

    const loggedIn = await login(session, { baseUrl: stub.baseUrl, workspaceId: "micws_1" });
    expect(loggedIn.code).toBe(0);
    outputs.push(loggedIn.stdout, loggedIn.stderr);

    const connection = await connectionForTest("v2-modern", {
      env: { ...session.env, MIC_LOG_LEVEL: "debug", MIC_DOWNLOAD_DIR: join(session.folder, "downloads") },
    });
    // The worker ends when it is idle. On a busy machine this is before the last call.
    const workers = new Set<number>();
    for (const [tool, args] of [
      ["list_jobs", {}],
      ["get_job", { jobId: "job-1" }],
      ["get_operation", { operationId: "operation-1" }],
      ["get_job", { jobId: client.clientSecret }],
    ] as const) {
      const { raw } = await connection.callTool(tool, args);
      outputs.push(raw);
      const children = childrenOf(connection.pid);
      for (const pid of [connection.pid, ...children]) expect(leaksIn(readProcessInfo(pid))).toEqual([]);
      for (const pid of children) workers.add(pid);
    }
    expect(workers.size).toBe(1);
    // The API did receive the secret values.
    expect(stub.requests.every(({ headers }) => headers.authorization === `Bearer ${TOKEN}`)).toBe(true);
    await connection.close();
    outputs.push(connection.stderr());
    expect(connection.stderr()).toContain("tool call");

    expect((await readSettings(session)).tokens).not.toEqual([]);
    for (const args of [["doctor"], ["doctor", "--json"], ["logout"]]) {
      const { stdout, stderr } = await run(args, { env: { ...session.env, MIC_LOG_LEVEL: "debug" } });
      outputs.push(stdout, stderr);
      // The keyring's own files are in this folder too, and contain both, encrypted.
      expect(leakingFiles(session.folder)).toEqual([]);
    }
    expect(outputs.flatMap(leaksIn)).toEqual([]);
  });

  test("no secret is in the environment of the keychain's process", async () => {
    const session = await sessionForTest("mute");
    const program = await startServerWithSecret(session, []);
    program.send(callMessage(2, "list_jobs", { workspaceId: "micws_1" }));
    const { pid = 0 } = program.process;
    await expect.poll(() => childrenOf(pid).length).toBe(1);
    // Wait until the worker has replaced the image of the forked process.
    const [worker = 0] = childrenOf(pid);
    await expect.poll(() => readProcessInfo(worker)).toContain("keychain-worker");
    expect(leaksIn(readProcessInfo(pid))).toEqual([client.clientSecret]);
    expect(leaksIn(readProcessInfo(worker))).toEqual([]);
    expect(readProcessInfo(worker)).not.toContain("MIC_");
  });
});

async function startServerWithSecret(session: Pick<Session, "env">, node: readonly string[]): Promise<Program> {
  const env = {
    ...session.env,
    MIC_BASE_URL: "http://127.0.0.1:1",
    MIC_CLIENT_ID: client.clientId,
    MIC_CLIENT_SECRET: client.clientSecret,
    MIC_LOG_LEVEL: "debug",
  };
  const program = start(["serve"], { env, node });
  await initialize(program);
  return program;
}

test.each([
  ["an error", "throw new Error('at ' + process.env.MIC_CLIENT_SECRET + ' it broke')"],
  ["a rejection", "Promise.reject(new Error('at ' + process.env.MIC_CLIENT_SECRET + ' it broke'))"],
  ["a value that is not an error", "throw 'at ' + process.env.MIC_CLIENT_SECRET + ' it broke'"],
  ["a cause", "throw new Error('it broke', { cause: new Error(process.env.MIC_CLIENT_SECRET) })"],
])("the report of a crash by %s names its cause without the secret", async (_, crash) => {
  const script = `process.on("SIGUSR2", () => { ${crash} })`;
  const program = await startServerWithSecret({ env: {} }, [
    "--import",
    `data:text/javascript,${encodeURIComponent(script)}`,
  ]);
  program.process.kill("SIGUSR2");
  expect(await program.exit).toMatchObject({ code: 1 });
  expect(program.stderr()).toContain("it broke");
  expect(program.stderr()).not.toContain(client.clientSecret);
});
