// Tests a server without credentials in its environment: all settings come from the login, and go only to its API.
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { LOGIN_CACHE_MS } from "../../../src/credentials/identity.ts";
import { basicHeader } from "../../../src/credentials/oauth.ts";
import { jobList, statesResponse } from "../../contract/samples.ts";
import { runInProcess as run } from "../../support/command.ts";
import { createLatch } from "../../support/latch.ts";
import { type Connection, connectionForTest } from "../../support/mcp.ts";
import { describeWithKeychain } from "../../support/secret-service.ts";
import { answer, holdUntil, stubForTest } from "../../support/stub.ts";
import { childrenOf, client, expectLogin, putEntry, refusedClient, storeLogin, test } from "./session.ts";

async function requiredBy(connection: Connection, name: string): Promise<unknown> {
  const tools = await connection.listTools();
  return tools.find((tool) => tool.name === name)?.inputSchema["required"] ?? [];
}

describeWithKeychain("a server with a keychain", () => {
  // A server waits 1 s for the keychain before it sends its instructions. On a busy machine the keychain may take longer.
  const patient = { retry: 3 };
  test(
    "a server without settings runs jobs after a login, with its default workspace",
    patient,
    async ({ session, emulator }) => {
      const { workspaceId, fileIds } = emulator;
      await expectLogin(session, emulator);
      const connection = await connectionForTest("v2-modern", { env: session.env });
      expect(await requiredBy(connection, "list_jobs")).toEqual([]);
      expect(await requiredBy(connection, "register_input")).toEqual(["inputKind", "referenceId"]);
      expect(connection.instructions()).toContain(workspaceId);
      expect(await connection.callTool("list_jobs", { limit: 1 })).toMatchObject({ isError: false });
      const registered = await connection.callTool("register_input", { inputKind: "M4_FILE", referenceId: fileIds[0] });
      expect(registered.structured).toMatchObject({ data: { referenceId: fileIds[0] } });
      expect(await connection.callTool("list_states")).toMatchObject({ isError: false });
    },
  );

  test("a server finds the bus in the runtime folder if the address of the bus is not set", async ({
    session,
    emulator,
  }) => {
    await expectLogin(session, emulator);
    const { HOME = "", XDG_RUNTIME_DIR = "" } = session.env;
    const env = { HOME, XDG_RUNTIME_DIR, MIC_KEYCHAIN: "" };
    const connection = await connectionForTest("v2-modern", { env });
    expect(await connection.callTool("list_jobs", { limit: 1 })).toMatchObject({ isError: false });
  });

  test("a server prefers each setting of the environment to the login's", async ({ session, stub }) => {
    stub.respond(() => answer(200, jobList));
    await storeLogin(session, { baseUrl: stub.baseUrl, workspaceId: "micws_login" });
    const own = { clientId: "env-client", clientSecret: "env-secret-0123456789" };
    const connection = await connectionForTest("v2-modern", {
      env: {
        ...session.env,
        MIC_CLIENT_ID: own.clientId,
        MIC_CLIENT_SECRET: own.clientSecret,
        MIC_WORKSPACE_ID: "micws_env",
      },
    });
    await connection.callTool("list_jobs");
    expect(stub.tokenRequests.at(-1)?.headers.authorization).toBe(basicHeader(own));
    expect(stub.requests[0]?.target).toContain("workspaceId=micws_env");
  });

  test("a server uses a renewed secret that was stored after its start", async ({ session, stub, connection }) => {
    const renewed = "renewed-secret-0123456789";
    const valid = basicHeader({ ...client, clientSecret: renewed });
    stub.respondToToken(({ headers }) =>
      headers.authorization === valid ? answer(200, { access_token: "renewed-token" }) : refusedClient,
    );
    const { error } = await connection.callTool("list_jobs");
    expect(error).toMatchObject({ kind: "unauthorized", next: expect.stringContaining("mic-mcp login") });
    await expectLogin(session, { baseUrl: stub.baseUrl, clientSecret: renewed, workspaceId: "micws_1" });
    expect(await connection.callTool("list_jobs")).toMatchObject({ isError: false });
  });

  test("a server stops soon after a logout, and uses a new login", async ({ session, stub, connection }) => {
    expect(await connection.callTool("list_jobs")).toMatchObject({ isError: false });
    const jobs = () => connection.callTool("list_jobs", { workspaceId: "micws_1" });
    expect(await run(["logout"], { env: session.env })).toMatchObject({ code: 0, stderr: "" });
    await expect.poll(async () => (await jobs()).isError).toBe(true);
    const { length } = stub.requests;
    const error = { kind: "not_configured", next: expect.stringContaining("mic-mcp login") };
    for (const { error: failure } of await Promise.all([jobs(), jobs(), jobs()])) expect(failure).toMatchObject(error);
    expect((await connection.callTool("list_states")).error).toMatchObject(error);
    expect(stub.requests).toHaveLength(length);
    await expectLogin(session, { baseUrl: stub.baseUrl, workspaceId: "micws_1" });
    expect(await jobs()).toMatchObject({ isError: false });
  });

  test("a server does not use a token that was requested before a logout", async ({ session, stub, connection }) => {
    const { released, release } = createLatch();
    const requestsBefore = stub.tokenRequests.length;
    stub.respondToToken(() => holdUntil(released, answer(200, { access_token: "late-token" })));
    const calls = [connection.callTool("list_jobs"), connection.callTool("list_jobs", { limit: 1 })];
    await expect.poll(() => stub.tokenRequests.length).toBe(requestsBefore + 1);
    expect(await run(["logout"], { env: session.env })).toMatchObject({ code: 0 });
    await sleep(LOGIN_CACHE_MS);
    calls.push(connection.callTool("list_jobs", { workspaceId: "micws_1" }));
    release();
    for (const { error } of await Promise.all(calls)) expect(error).toMatchObject({ kind: "not_configured" });
    expect(stub.requests).toEqual([]);
  });

  test("a server continues if the keychain is locked", async ({ session, connection }) => {
    expect(await connection.callTool("list_jobs")).toMatchObject({ isError: false });
    await session.lock();
    // Longer than the server caches a login.
    await sleep(LOGIN_CACHE_MS + 200);
    expect(await connection.callTool("list_jobs")).toMatchObject({ isError: false });
  });

  test("a server keeps its client when another client logs in", async ({ session, stub, connection }) => {
    const other = await stubForTest();
    expect(await connection.callTool("list_jobs")).toMatchObject({ isError: false });
    await expectLogin(session, { baseUrl: other.baseUrl, clientId: "another" });
    // The API refuses the token in memory and the client.
    stub.respond(() => answer(401));
    stub.respondToToken(() => refusedClient);
    await connection.callTool("list_jobs");
    const { error } = await connection.callTool("list_jobs");
    expect(error).toMatchObject({ kind: "not_configured", next: expect.stringContaining("Ask the user to restart") });
    expect(other.requests).toEqual([]);
    expect(other.tokenRequests).toHaveLength(1);
  });

  test("a stored secret is sent to no API except the one it was stored for", async ({ session }) => {
    const [own, other] = [await stubForTest(), await stubForTest()];
    await storeLogin(session, { baseUrl: own.baseUrl, workspaceId: "micws_1" });
    other.respond(() => answer(200, statesResponse));
    const connection = await connectionForTest("v2-modern", { env: { ...session.env, MIC_BASE_URL: other.baseUrl } });
    expect(await requiredBy(connection, "list_jobs")).toEqual(["workspaceId"]);
    const { error } = await connection.callTool("list_jobs", { workspaceId: "micws_1" });
    expect(error).toMatchObject({ kind: "not_configured", sideEffect: "none", retryable: false });
    for (const url of [own.baseUrl, other.baseUrl]) expect(error?.message).toContain(url);
    expect(await connection.callTool("list_states")).toMatchObject({ isError: false });
    expect(other.tokenRequests).toEqual([]);
  });

  test("a broken login counts as missing, and a new login replaces it", async ({ session }) => {
    await putEntry(session, "login", Buffer.from([0xff, 0xfe, 0x00, 0xd8]));
    const connection = await connectionForTest("v2-modern", { env: session.env });
    const { error } = await connection.callTool("list_jobs", { workspaceId: "micws_1" });
    expect(error).toMatchObject({ kind: "not_configured", message: expect.stringContaining("no stored login") });
    await storeLogin(session, { baseUrl: (await stubForTest()).baseUrl });
  });

  test("a server with MIC_KEYCHAIN=off or --emulator never accesses the keychain", async ({ session, stub }) => {
    await storeLogin(session, { baseUrl: stub.baseUrl, workspaceId: "micws_1" });
    const connection = await connectionForTest("v2-modern", { env: { ...session.env, MIC_KEYCHAIN: "off" } });
    const emulated = await connectionForTest("v2-modern", { args: ["serve", "--emulator"], env: session.env });
    expect(await emulated.callTool("list_jobs", { limit: 1 })).toMatchObject({ isError: false });
    const { error } = await connection.callTool("list_jobs", { workspaceId: "micws_1" });
    expect(error).toMatchObject({ kind: "not_configured", message: expect.stringContaining("MIC_KEYCHAIN is off") });
    expect(error?.next).not.toContain("mic-mcp login");
    expect([connection, emulated].flatMap(({ pid }) => childrenOf(pid))).toEqual([]);
    expect(stub.requests).toEqual([]);
  });
});

test("credentials of the environment are sent over plain HTTP only to this machine", async () => {
  const connection = await connectionForTest("v2-modern", {
    env: {
      // An unassigned address (RFC 5737): a request there would hang.
      MIC_BASE_URL: "http://192.0.2.1",
      MIC_CLIENT_ID: client.clientId,
      MIC_CLIENT_SECRET: client.clientSecret,
    },
  });
  const { error } = await connection.callTool("list_jobs", { workspaceId: "micws_1" });
  expect(error).toMatchObject({ kind: "not_configured", next: expect.stringContaining("https") });
  expect(error?.message).toContain("http://192.0.2.1");
});
