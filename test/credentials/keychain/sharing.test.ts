// Tests tokens in the keychain: all processes share one until it expires or is refused.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { tokenAccount } from "../../../src/credentials/login.ts";
import { enveloped, job } from "../../contract/samples.ts";
import { type Connection, connectionForTest } from "../../support/mcp.ts";
import { describeWithKeychain, sessionForTest } from "../../support/secret-service.ts";
import { answer, type Stub, stubForTest } from "../../support/stub.ts";
import { client, putEntry, readSettings, refusedClient, storeLogin } from "./session.ts";

const completeAnswer = answer(200, enveloped(job));
const SCOPES = ["mic.jobs:read"];

const readJob = (connection: Connection) => connection.callTool("get_job", { jobId: "job-1" });
const bearersOf = ({ requests }: Stub) => requests.map(({ headers }) => headers.authorization);

/**
 * Starts a server in a session that is logged in to a stub, whose tokens are `token-1`, `token-2` and so on. `expiresIn`: their
 * lifetime in seconds (default: none).
 */
async function startLoggedIn(expiresIn?: number) {
  const [session, stub] = [await sessionForTest(), await stubForTest()];
  await storeLogin(session, { baseUrl: stub.baseUrl });
  stub.respondToToken(() =>
    answer(200, {
      access_token: `token-${stub.tokenRequests.length}`,
      expires_in: expiresIn,
    }),
  );
  stub.respond(() => completeAnswer);
  const startServer = () => connectionForTest("v2-modern", { env: session.env });
  const expectStored = (count: number) =>
    expect.poll(async () => (await readSettings(session)).tokens.length).toBe(count);
  return { session, stub, startServer, first: await startServer(), expectStored };
}

describeWithKeychain("a token in the keychain", () => {
  test("a token in the keychain serves current and later processes", async () => {
    const { stub, startServer, first, expectStored } = await startLoggedIn();
    const second = await startServer();
    await readJob(first);
    await expectStored(1);
    await readJob(second);
    await first.close();
    await second.close();
    await readJob(await startServer());
    expect(stub.tokenRequests).toHaveLength(1);
    expect(bearersOf(stub)).toEqual(["Bearer token-1", "Bearer token-1", "Bearer token-1"]);
  });

  test("a token in the keychain is not used by another process once it has expired", async () => {
    const { stub, startServer, first } = await startLoggedIn(1);
    await readJob(first);
    await first.close();
    await sleep(1_000);
    await readJob(await startServer());
    expect(bearersOf(stub)).toEqual(["Bearer token-1", "Bearer token-2"]);
  });

  test("a token that another process has renewed is used when a process's own token is refused", async () => {
    const { stub, startServer, first, expectStored } = await startLoggedIn();
    const second = await startServer();
    await readJob(first);
    stub.respond(({ headers }) => (headers.authorization === "Bearer token-2" ? completeAnswer : answer(401)));
    // Takes token-1 from the keychain, is refused, fetches token-2 and stores it.
    expect(await readJob(second)).toMatchObject({ isError: false });
    await expectStored(1);
    expect(await readJob(first)).toMatchObject({ isError: false });
    expect(stub.tokenRequests).toHaveLength(2);
  });

  test("a token is removed from the keychain when the API refuses it", async () => {
    const { stub, first, expectStored } = await startLoggedIn();
    await readJob(first);
    await expectStored(1);
    stub.respond(() => answer(401));
    stub.respondToToken(() => refusedClient);
    expect(await readJob(first)).toMatchObject({ error: { kind: "unauthorized" } });
    await expectStored(0);
  });

  test("a token with a time of issue in the future is replaced", async () => {
    const { session, stub, first, expectStored } = await startLoggedIn();
    const account = tokenAccount({ baseUrl: stub.baseUrl, clientId: client.clientId }, SCOPES);
    // As stored under a clock that was wrong.
    const [obtainedAt, expiresAt] = [Date.now() + 1e9, Date.now() + 2e9];
    await putEntry(session, account, JSON.stringify({ value: "of-the-future", obtainedAt, expiresAt }));
    expect(await readJob(first)).toMatchObject({ isError: false });
    expect(bearersOf(stub)).toEqual(["Bearer token-1"]);
    await expectStored(1);
  });
});
