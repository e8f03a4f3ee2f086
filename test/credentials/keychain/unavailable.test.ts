// Tests a keychain that is locked, silent, frozen or absent: each is reported as such within 5 s, and nothing else waits for it.
// The test reads the server's own 5 s limit, because a measured time would depend on the load of the machine.
import { expect } from "vitest";
import * as z from "zod/v4";
import { SERVER_LIMIT_MS } from "../../../src/credentials/keychain/keychain.ts";
import { capabilitySet, enveloped, jobList, statesResponse } from "../../contract/samples.ts";
import { callMessage, initialize, run, start } from "../../mcp/stdio/child.ts";
import { connectionForTest } from "../../support/mcp.ts";
import { describeWithKeychain, type Session, sessionForTest } from "../../support/secret-service.ts";
import { answer, type Stub, stubForTest } from "../../support/stub.ts";
import { isThorough } from "../../support/thorough.ts";
import { client, createFrozenSession, login, readSettings, storeLogin, test } from "./session.ts";

const Answer = z.object({ id: z.number() });
const credentialsFor = ({ baseUrl }: Stub) => ({
  MIC_BASE_URL: baseUrl,
  MIC_CLIENT_ID: client.clientId,
  MIC_CLIENT_SECRET: client.clientSecret,
});

async function createLockedSession(): Promise<Session> {
  const session = await sessionForTest();
  await storeLogin(session, { baseUrl: (await stubForTest()).baseUrl, workspaceId: "micws_1" });
  await session.lock();
  return session;
}

async function createSessionWithoutBus(): Promise<Session> {
  const session = await sessionForTest("absent");
  return { ...session, env: { ...session.env, DBUS_SESSION_BUS_ADDRESS: "", XDG_RUNTIME_DIR: session.folder } };
}

/**
 * `state`: that in `mic-mcp doctor --json`; `next`: advice of a server's call; `fix`: advice of `mic-mcp doctor`, which finds no
 * problem without it unless a keychain is required.
 */
const locked = { state: "locked", message: /keychain is locked/, next: /^Ask the user to unlock/, fix: /unlock/ };
const silent = { state: "silent", message: /keychain is not responding/, next: /MIC_CLIENT_SECRET/, fix: /restart/ };
const absent = { state: "absent", message: /no OS keychain/, next: /MIC_BASE_URL/, fix: undefined };
const mute = { what: "mute", createSession: () => sessionForTest("mute"), ...silent };
const onFrozenBus = { what: "on a frozen bus", createSession: createFrozenSession, ...silent };
const unavailableKeychains = [
  { what: "locked", createSession: createLockedSession, ...locked },
  mute,
  onFrozenBus,
  { what: "absent", createSession: () => sessionForTest("absent"), ...absent },
  { what: "absent, bus and all", createSession: createSessionWithoutBus, ...absent },
];
type UnavailableKeychain = (typeof unavailableKeychains)[number];
/** Outside the thorough run one of each state, because three servers and their keychain processes start for each. */
const testedByCalls = unavailableKeychains.filter(
  ({ what }) => isThorough || ["locked", "on a frozen bus", "absent, bus and all"].includes(what),
);

test("a call waits less than 5 s for the keychain", () => {
  expect(SERVER_LIMIT_MS).toBeLessThan(5_000);
});

/** Runs a task with each keychain concurrently, since most of the time is waiting. */
const runWithEach = (
  chosen: readonly UnavailableKeychain[],
  task: (session: Session, keychain: UnavailableKeychain) => Promise<void>,
) => Promise.all(chosen.map(async (keychain) => await task(await keychain.createSession(), keychain)));

describeWithKeychain("a keychain that is locked, mute, on a frozen bus or absent", () => {
  test("an unavailable keychain is reported within 5 s; environment credentials work unless the keychain is required", async () => {
    await runWithEach(testedByCalls, async (session, { message, next, what }) => {
      const stub = await stubForTest();
      stub.respond(({ target }) => answer(200, target.includes("/playground/") ? statesResponse : jobList));
      const own = { ...session.env, ...credentialsFor(stub) };
      const environments = [session.env, { ...own, MIC_KEYCHAIN: "require" }, own];
      const [bare, strict, free] = await Promise.all(
        environments.map((env) => connectionForTest("v2-modern", { env })),
      );
      const listJobs = (connection: typeof bare) => connection?.callTool("list_jobs", { workspaceId: "micws_1" });
      const [bareResult, strictResult, freeResult] = await Promise.all([bare, strict, free].map(listJobs));
      // The keychain's own limit ends the call: the call's limit would be reported as a timeout.
      for (const failed of [bareResult, strictResult]) {
        expect(failed?.error, what).toMatchObject({ kind: "not_configured", sideEffect: "none" });
        expect(failed?.error?.message, what).toMatch(message);
      }
      expect(bareResult?.error?.next, what).toMatch(next);
      // The error is not hidden by the workspace that the same login would have supplied.
      if (message.source !== "no OS keychain")
        expect((await bare?.callTool("list_jobs"))?.error?.message, what).toMatch(message);
      // Only the job API requires the keychain.
      expect(await strict?.callTool("list_states"), what).toMatchObject({ isError: false });
      for (const result of [freeResult, await listJobs(free), await listJobs(free)])
        expect(result, what).toMatchObject({ isError: false });
      // The token is kept in memory anyway.
      expect(stub.tokenRequests, what).toHaveLength(1);
      const jobRequests = stub.requests.filter(({ target }) => target.includes("/jobs"));
      expect(jobRequests, what).toHaveLength(3);
    });
  });

  test("an unavailable keychain is reported by every command with advice, and no command changes anything", async () => {
    // On a frozen bus a command waits for 60 s, because the user may be typing the keyring's password.
    const others = unavailableKeychains.filter((keychain) => keychain !== onFrozenBus);
    await runWithEach(others, async (session, { state, message, fix, what }) => {
      const stub = await stubForTest();
      stub.respond(({ target }) =>
        answer(200, target.includes("/playground/") ? statesResponse : enveloped(capabilitySet)),
      );
      const env = { ...session.env, ...credentialsFor(stub), MIC_WORKSPACE_ID: "micws_1" };
      const runKeychainCheck = async (more: object) => {
        const { stdout } = await run(["doctor", "--json"], { env: { ...env, ...more } });
        return JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === "keychain");
      };
      const [settings, check, required, ...entries] = await Promise.all([
        readSettings(session, credentialsFor(stub)),
        runKeychainCheck({}),
        runKeychainCheck({ MIC_KEYCHAIN: "require" }),
        login(session, { baseUrl: stub.baseUrl, clientId: "another" }),
        ...(state === "absent" ? [] : [run(["logout"], { env: session.env })]),
      ]);
      expect(settings.keychain, what).toMatchObject({ state, detail: expect.stringMatching(message) });
      expect(check, what).toMatchObject(fix ? { ok: false, fix: expect.stringMatching(fix) } : { ok: true });
      expect(required, what).toMatchObject({ ok: false, fix: expect.stringMatching(fix ?? /gnome-keyring/) });
      for (const { code, stderr } of entries) {
        expect(code, what).toBe(1);
        expect(stderr, what).toMatch(message);
        expect(stderr, what).toContain("MIC_CLIENT_SECRET");
      }
      // There is nothing to remove.
      if (state === "absent")
        expect(await run(["logout"], { env: session.env })).toMatchObject({ code: 0, stdout: "Nothing was stored.\n" });
      if (state !== "locked") return;
      await session.unlock();
      expect(await readSettings(session)).toMatchObject({ clientId: { value: client.clientId, from: "keychain" } });
    });
  });

  test("a keychain that does not respond blocks nothing else", async () => {
    await runWithEach([mute, onFrozenBus], async (session, { what }) => {
      const stub = await stubForTest();
      stub.respond(() => answer(200, statesResponse));
      const program = start(["serve"], { env: { ...session.env, MIC_BASE_URL: stub.baseUrl } });
      await initialize(program);
      const answered: number[] = [];
      program.send(callMessage(10, "list_jobs", { workspaceId: "micws_1" }));
      program.send(callMessage(11, "list_states"));
      program.send({ jsonrpc: "2.0", id: 12, method: "tools/list" });
      for (let id = 100; !answered.includes(10) || !answered.includes(12); id++) {
        program.send({ jsonrpc: "2.0", id, method: "ping" });
        while (!answered.includes(id)) answered.push(Answer.parse(await program.next()).id);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      // A server that is blocked by the keychain would answer the first ping only when it is unblocked.
      expect(answered.indexOf(10), what).toBeGreaterThan(2);
      expect(answered.indexOf(11), what).toBeLessThan(answered.indexOf(10));
    });
  });
});

describeWithKeychain("a keychain that changes its state", () => {
  test("servers and every command report why a keychain fails, with advice", async ({ session, stub }) => {
    await storeLogin(session, { baseUrl: stub.baseUrl, workspaceId: "micws_1" });
    await session.exhaustConnections();
    const connection = await connectionForTest("v2-modern", { env: { ...session.env, MIC_LOG_LEVEL: "info" } });
    const failed = await connection.callTool("list_jobs", { workspaceId: "micws_1" });
    const next = expect.stringMatching(/^Call again\. .*doctor/);
    expect(failed.error).toMatchObject({ kind: "not_configured", next });
    const outputs = await Promise.all(
      [["logout"], ["doctor"], ["doctor", "--json"]].map((args) => run(args, { env: session.env })),
    );
    const again = await login(session, { baseUrl: stub.baseUrl });
    for (const { code, stderr } of [outputs[0] ?? again, again]) {
      expect(code).toBe(1);
      expect(stderr).toMatch(/keychain operation failed\. Try again\..*restart/);
    }
    const output = [...outputs, again].map(({ stdout, stderr }) => stdout + stderr).join("\n");
    expect(output + failed.raw + connection.stderr()).not.toMatch(
      /d-?bus error|zbus|maximum number|UID 0|org\.freedesktop/i,
    );
  });

  test("a keychain is used without a restart after it is unlocked", async ({ session, stub }) => {
    stub.respond(() => answer(200, jobList));
    await storeLogin(session, { baseUrl: stub.baseUrl, workspaceId: "micws_1" });
    await session.lock();
    const connection = await connectionForTest("v2-modern", { env: session.env });
    const isRefused = async () => (await connection.callTool("list_jobs")).isError;
    expect(await isRefused()).toBe(true);
    await session.unlock();
    await expect.poll(isRefused, { interval: 500 }).toBe(false);
  });
});
