// A keychain that is locked, silent, frozen or not there: told apart, within 5 s, and nothing else waits for it.
// The 5 s are the server's own limit, which a test reads; a clock here would measure how much the machine has to do.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { SERVER_LIMIT_MS } from "../../../src/auth/keychain/keychain.ts";
import { jobList, statesResponse } from "../../contract/samples.ts";
import { callMessage, initialize, run, start } from "../../mcp/stdio/child.ts";
import { connectionForTest } from "../../support/mcp.ts";
import { describeWithKeychain, type Session, sessionForTest } from "../../support/secret-service.ts";
import { answer, type Stub, stubForTest } from "../../support/stub.ts";
import { client, frozen, login, stored } from "./session.ts";

const Answer = z.object({ id: z.number() });

const inEnvironment = ({ baseUrl }: Stub) => ({
  MIC_BASE_URL: baseUrl,
  MIC_CLIENT_ID: client.clientId,
  MIC_CLIENT_SECRET: client.clientSecret,
});

async function locked(): Promise<Session> {
  const session = await sessionForTest();
  await stored(session, { baseUrl: (await stubForTest()).baseUrl, workspaceId: "micws_1" });
  await session.lock();
  return session;
}

async function withoutBus(): Promise<Session> {
  const session = await sessionForTest("absent");
  return { ...session, env: { ...session.env, DBUS_SESSION_BUS_ADDRESS: "", XDG_RUNTIME_DIR: session.folder } };
}

const troubles = [
  ["locked", locked, /keychain is locked/, /^Ask the user to unlock/],
  ["mute", () => sessionForTest("mute"), /keychain does not answer/, /MIC_CLIENT_SECRET/],
  ["on a frozen bus", frozen, /keychain does not answer/, /MIC_CLIENT_SECRET/],
  ["absent", () => sessionForTest("absent"), /no OS keychain/, /MIC_BASE_URL/],
  ["absent, bus and all", withoutBus, /no OS keychain/, /MIC_BASE_URL/],
] as const;

test("a call waits for the keychain for less than 5 s", () => {
  expect(SERVER_LIMIT_MS).toBeLessThan(5_000);
});

/** All at once, since most of it is waiting; `work` says of which keychain a failure is. */
const withEach = (
  chosen: readonly (typeof troubles)[number][],
  work: (session: Session, told: RegExp, next: RegExp, what: string) => Promise<void>,
) => Promise.all(chosen.map(async ([what, make, told, next]) => await work(await make(), told, next, what)));

describeWithKeychain("a keychain that is locked, mute, on a frozen bus or absent", () => {
  test("is told as what it is, within 5 s; the environment's credentials work, but where one is required", async () => {
    await withEach(troubles, async (session, told, next, what) => {
      const stub = await stubForTest();
      stub.respond(({ target }) => answer(200, target.includes("/playground/") ? statesResponse : jobList));
      const own = { ...session.env, ...inEnvironment(stub) };
      const environments = [session.env, { ...own, MIC_KEYCHAIN: "require" }, own];
      const [bare, strict, free] = await Promise.all(
        environments.map((env) => connectionForTest("v2-modern", { env })),
      );
      const jobsBy = (connection: typeof bare) => connection?.callTool("list_jobs", { workspaceId: "micws_1" });
      const [ofBare, ofStrict, ofFree] = await Promise.all([bare, strict, free].map(jobsBy));
      // By the keychain's own limit: what a call's runs out on is told as a timeout.
      for (const failed of [ofBare, ofStrict]) {
        expect(failed?.error, what).toMatchObject({ kind: "not_configured", sideEffect: "none" });
        expect(failed?.error?.message, what).toMatch(told);
      }
      expect(ofBare?.error?.next, what).toMatch(next);
      // Not hidden behind the workspace that the same login would have brought.
      if (told.source !== "no OS keychain")
        expect((await bare?.callTool("list_jobs"))?.error?.message, what).toMatch(told);
      // What it is required for are jobs alone.
      expect(await strict?.callTool("list_states"), what).toMatchObject({ isError: false });
      for (const result of [ofFree, await jobsBy(free), await jobsBy(free)])
        expect(result, what).toMatchObject({ isError: false });
      // In memory the token is kept all the same.
      expect(stub.tokenRequests, what).toHaveLength(1);
      expect(
        stub.requests.filter(({ target }) => target.includes("/jobs")),
        what,
      ).toHaveLength(3);
    });
  });

  test("holds up nothing else where it does not answer", async () => {
    await withEach([troubles[1], troubles[2]], async (session, _told, _next, what) => {
      const stub = await stubForTest();
      stub.respond(() => answer(200, statesResponse));
      const program = start(["serve"], { env: { ...session.env, MIC_BASE_URL: stub.baseUrl } });
      await initialize(program);
      const answered: number[] = [];
      program.send(callMessage(10, "list_jobs", { workspaceId: "micws_1" }));
      program.send(callMessage(11, "list_states"));
      program.send({ jsonrpc: "2.0", id: 12, method: "tools/list" });
      for (let id = 100; !answered.includes(10); id++) {
        program.send({ jsonrpc: "2.0", id, method: "ping" });
        while (!answered.includes(id)) answered.push(Answer.parse(await program.next()).id);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      // A server that waits with the keychain answers the first of them when it is done.
      expect(answered.indexOf(10), what).toBeGreaterThan(5);
      const others = answered.filter((id) => id < 100);
      expect([others.slice(0, 2).sort(), others.at(-1)], what).toEqual([[11, 12], 10]);
    });
  });
});

describeWithKeychain("a keychain that is", () => {
  test("out of order is told in our words, by servers and by every command, with what to do", async () => {
    const session = await sessionForTest();
    const stub = await stubForTest();
    await stored(session, { baseUrl: stub.baseUrl, workspaceId: "micws_1" });
    await session.crowd();
    const connection = await connectionForTest("v2-modern", { env: { ...session.env, MIC_LOG_LEVEL: "info" } });
    const failed = await connection.callTool("list_jobs", { workspaceId: "micws_1" });
    expect(failed.error).toMatchObject({
      kind: "not_configured",
      next: expect.stringMatching(/^Call again\. .*doctor/),
    });
    const outputs = await Promise.all(
      [["logout"], ["status"], ["status", "--json"], ["doctor"]].map((args) => run(args, { env: session.env })),
    );
    const again = await login(session, { baseUrl: stub.baseUrl });
    for (const { code, stderr } of [outputs[0] ?? again, again]) {
      expect(code).toBe(1);
      expect(stderr).toMatch(/keychain did not do what it was asked\. Try again\..*restart/);
    }
    const said = [...outputs, again].map(({ stdout, stderr }) => stdout + stderr).join("\n");
    expect(said + failed.raw + connection.stderr()).not.toMatch(
      /d-?bus error|zbus|maximum number|UID 0|org\.freedesktop/i,
    );
  });

  test("unlocked again is used without a restart", async () => {
    const session = await sessionForTest();
    const stub = await stubForTest();
    stub.respond(() => answer(200, jobList));
    await stored(session, { baseUrl: stub.baseUrl, workspaceId: "micws_1" });
    await session.lock();
    const connection = await connectionForTest("v2-modern", { env: session.env });
    expect(await connection.callTool("list_jobs")).toMatchObject({ isError: true });
    await session.unlock();
    await expect
      .poll(async () => (await connection.callTool("list_jobs")).isError, { timeout: 20_000, interval: 500 })
      .toBe(false);
  });
});
