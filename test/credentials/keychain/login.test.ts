// Tests `mic-mcp login` for scripts: its arguments, that it verifies before it stores, and that a failure changes nothing.
import { expect, onTestFinished } from "vitest";
import { basicHeader } from "../../../src/credentials/oauth.ts";
import { start } from "../../mcp/stdio/child.ts";
import { runInProcess as run } from "../../support/command.ts";
import { emulatorForTest } from "../../support/emulator.ts";
import { launchProcess, type RunningProcess } from "../../support/process.ts";
import { describeWithKeychain, type Session, sessionForTest } from "../../support/secret-service.ts";
import { answer, neverAnswer, refusingBaseUrl, type Step, stubForTest } from "../../support/stub.ts";
import { testThoroughly } from "../../support/unless.ts";
import { addon, client, expectLogin, login, nothing, readSettings, refusedClient, test } from "./session.ts";

const html = { "content-type": "text/html" };

describeWithKeychain("login with flags", () => {
  test("login stores verified credentials", async ({ session, stub }) => {
    const { code, stdout, stderr } = await login(session, { baseUrl: `${stub.baseUrl}/`, workspaceId: "micws_1" });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(stub.baseUrl);
    expect(stdout).toContain("micws_1");
    expect(stdout).not.toContain(client.clientSecret);
    expect(stub.tokenRequests).toHaveLength(1);
    expect(await readSettings(session)).toMatchObject({
      baseUrl: { value: stub.baseUrl, from: "keychain" },
      clientId: { value: client.clientId, from: "keychain" },
      clientSecret: { from: "keychain" },
      workspaceId: { value: "micws_1", from: "keychain" },
      keychain: { mode: "auto", state: "available" },
      ...{ emulator: false, downloadDir: expect.any(String), stateDir: expect.any(String) },
      journal: { engine: "SQLite", location: expect.any(String) },
    });
  });

  test("login and logout with --json print one line of JSON without the secret", async ({ session, stub }) => {
    const { baseUrl } = stub;
    const { clientId, clientSecret } = client;
    const flags = ["--base-url", baseUrl, "--client-id", clientId, "--secret-stdin", "--profile", "work", "--json"];
    const { env } = session;
    const loggedIn = await run(["login", ...flags], { env, input: clientSecret });
    expect(JSON.parse(loggedIn.stdout)).toEqual({ baseUrl, clientId, profile: "work" });
    const loggedOut = await run(["logout", "--profile", "work", "--json"], { env });
    expect(JSON.parse(loggedOut.stdout)).toEqual({ baseUrl, profile: "work", removed: { login: true, tokens: 0 } });
  });

  test.for([
    ["characters that a shell, a URL and JSON treat specially, and no line break", `'"\\$(x)\`%41+=&:/?#{}<>`, ""],
    ["4,000 characters and a line break", "x".repeat(4000), "\n"],
    ["outer spaces and a Windows line break", "  spaced secret ", "\r\n"],
  ] as const)("login accepts a secret with %s unchanged", async ([_, clientSecret, end], { session, stub }) => {
    await expectLogin(session, { baseUrl: stub.baseUrl, input: clientSecret + end });
    expect(stub.tokenRequests[0]?.headers.authorization).toBe(basicHeader({ ...client, clientSecret }));
  });

  test("login accepts a refused scope as proof that the credentials are valid", async ({ session, stub }) => {
    stub.respondToToken(() => answer(400, { error: "invalid_scope" }));
    await expectLogin(session, { baseUrl: stub.baseUrl });
  });

  test("login warns about unresolved actions, which only their own client can resolve", async ({ session }) => {
    const emulator = await emulatorForTest({ clients: 2 });
    const { baseUrl, clients, fileIds } = emulator;
    const [first, second] = clients;
    if (!first || !second) throw new Error("the emulator has no two clients");
    await expectLogin(session, { baseUrl, ...first });
    const fault = { operationId: "createMicPublicInput", fault: { kind: "hang", afterCommit: true } };
    const headers = { "content-type": "application/json" };
    await fetch(`${baseUrl}/__emulator/faults`, { method: "POST", headers, body: JSON.stringify(fault) });
    const registration = ["register_input", "inputKind=M4_FILE", `referenceId=${fileIds[0]}`];
    const calling = start(["call", ...registration], { env: session.env });
    const executions = async () => await (await fetch(`${baseUrl}/__emulator/executions`)).text();
    await expect.poll(executions, { interval: 20 }).toContain("createMicPublicInput");
    calling.process.kill("SIGKILL");
    await calling.exit;

    expect((await login(session, { baseUrl, ...first })).stderr).toBe("");
    const { code, stderr } = await login(session, { baseUrl, ...second });
    expect(code).toBe(0);
    expect(stderr).toContain(`1 action is unresolved for client ${first.clientId} at ${baseUrl}.`);
    await login(session, { baseUrl, ...first });
    const resolved = await run(["resolve"], { env: session.env });
    expect(resolved).toMatchObject({ code: 0, stdout: expect.stringContaining("Resolved: the action ran once") });
    expect((await login(session, { baseUrl, ...second })).stderr).toBe("");
  });
});

/** Another program that creates and removes mic-mcp entries in an endless loop. */
function startBusyProgram(session: Session): RunningProcess {
  const script = `const { AsyncEntry } = require(process.argv[1]);
    const entries = Array.from({ length: 8 }, (_, n) =>
      new AsyncEntry("mic-mcp", "busy " + process.pid + " " + n, { linux: { store: "secret-service" } }));
    (async () => { for (;;) for (const turn of [(e) => e.setSecret(Buffer.from("x")), (e) => e.deleteCredential()])
      await Promise.all(entries.map((entry) => turn(entry).catch(() => 0))); })();`;
  return launchProcess([process.execPath, "-e", script, addon], { env: { ...session.env } });
}

describeWithKeychain("login while other programs change entries", () => {
  testThoroughly("simultaneous logins and logouts succeed or explain why not", async () => {
    const session = await sessionForTest();
    const stub = await stubForTest();
    const busy = [startBusyProgram(session), startBusyProgram(session)];
    onTestFinished(async () => void (await Promise.all(busy.map((program) => program.kill()))));
    for (let round = 0; round < 2; round++) {
      const ended = await Promise.all([
        ...["first", "second", "third"].map((name) => login(session, { baseUrl: stub.baseUrl, clientId: name })),
        run(["logout"], { env: session.env }),
      ]);
      for (const { code, stderr } of ended) {
        expect(stderr).not.toMatch(/interface|object|freedesktop|bus error/i);
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      }
    }
  });
});

describeWithKeychain("a login that cannot be verified", () => {
  const echo = `${client.clientSecret} in ${basicHeader(client).slice("Basic ".length)} is wrong`;
  const refusals: readonly (readonly [string, Step | string, RegExp])[] = [
    ["a wrong secret", refusedClient, /HTTP 401.*invalid_client/s],
    ["a page instead of JSON", answer(200, "<html>sign in</html>", html), /holds no token/],
    ["a broken service", answer(503), /HTTP 503/],
    [
      ...(["a service that echoes the secret", answer(401, { error: "x", error_description: echo })] as const),
      /\[redacted\] in \[redacted\] is wrong/,
    ],
    // 192.0.2.0/24 is unassigned (RFC 5737): a request there would hang.
    ["plain HTTP to another machine", "http://192.0.2.1", /https/],
  ];

  test("a login that fails stores nothing", async ({ session }) => {
    const unreachable = [
      "a service that is down",
      await refusingBaseUrl(),
      /could not be reached.*ECONNREFUSED/,
    ] as const;
    for (const [what, step, expectedError] of [...refusals, unreachable]) {
      const stub = await stubForTest();
      if (typeof step !== "string") stub.respondToToken(() => step);
      const baseUrl = typeof step === "string" ? step : stub.baseUrl;
      const { code, stdout, stderr } = await login(session, { baseUrl });
      expect({ code, stdout }, what).toEqual({ code: 1, stdout: "" });
      expect(stderr, what).toMatch(expectedError);
      expect(stderr, what).toContain("Nothing was stored.");
    }
    expect(await readSettings(session)).toMatchObject(nothing);
  });

  test("a login that fails keeps the previous login", async ({ session, stub }) => {
    await expectLogin(session, { baseUrl: stub.baseUrl });
    stub.respondToToken(() => refusedClient);
    expect(await login(session, { baseUrl: stub.baseUrl, clientId: "another" })).toMatchObject({ code: 1 });
    expect(await readSettings(session)).toMatchObject({ clientId: { value: client.clientId, from: "keychain" } });
  });

  test("login stores nothing if it is killed during verification", async ({ session, stub }) => {
    stub.respondToToken(() => neverAnswer);
    const args = ["login", "--base-url", stub.baseUrl, "--client-id", "id", "--secret-stdin"];
    const program = start(args, { env: session.env });
    program.process.stdin.end(client.clientSecret);
    await expect.poll(() => stub.tokenRequests.length).toBe(1);
    program.process.kill("SIGINT");
    expect(await program.exit).toMatchObject({ code: null, signal: "SIGINT" });
    expect(await readSettings(session)).toMatchObject(nothing);
  });

  test("an invalid secret on stdin is a usage error, and is not shown", async ({ session }) => {
    for (const input of ["\n", "hunter2\nhunter2\n", "hunter2-é\n", "hunter2".repeat(20_000)]) {
      const { code, stdout, stderr } = await login(session, { baseUrl: "https://service.example", input });
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain("client secret");
      expect(stderr).not.toContain("hunter2");
    }
    expect(await readSettings(session)).toMatchObject(nothing);
  });
});

const complete = ["--base-url", "https://service.example", "--client-id", "id", "--secret-stdin"];

test.each([
  ["no flags", [], ["--base-url", "--client-id", "--secret-stdin"]],
  ["no secret", complete.slice(0, -1), ["--secret-stdin"]],
  ["an invalid base URL", [...complete, "--base-url", "service.example"], ["base URL"]],
  ["an invalid workspace id", [...complete, "--workspace-id", "a b"], ["workspace id"]],
  ["an invalid client id", [...complete, "--client-id", "é"], ["client id"]],
])("login without a terminal and with %s is a usage error", async (_, args, named) => {
  const { code, stdout, stderr } = await run(["login", ...args], { env: { MIC_KEYCHAIN: "" }, input: "a-secret" });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  for (const name of named) expect(stderr).toContain(name);
  expect(stderr).not.toContain("a-secret");
});

test.each(["login", "logout"])("%s with MIC_KEYCHAIN=off reports that the keychain is off", async (command) => {
  const { code, stderr } = await run([command, ...(command === "login" ? complete : [])], { input: "a-secret" });
  expect(code).toBe(2);
  expect(stderr).toContain("MIC_KEYCHAIN=off");
});
