// Tests the settings in `mic-mcp doctor`, with their sources but no secret, `mic-mcp logout`, and profiles.
import { expect } from "vitest";
import { enveloped, job, jobList } from "../../contract/samples.ts";
import { runInProcess as run } from "../../support/command.ts";
import { connectionForTest } from "../../support/mcp.ts";
import { describeWithKeychain, type Session, sessionForTest } from "../../support/secret-service.ts";
import { answer, type Stub, stubForTest } from "../../support/stub.ts";
import { testThoroughly } from "../../support/unless.ts";
import { expectLogin, nothing, putEntry, readSettings, storeLogin, test } from "./session.ts";

const environment = {
  MIC_BASE_URL: "https://other.example",
  MIC_CLIENT_ID: "env-client",
  MIC_CLIENT_SECRET: "env-secret-0123456789",
  MIC_WORKSPACE_ID: "micws_env",
} as const;

async function storeTokens(session: Session, stub: Stub): Promise<void> {
  await storeLogin(session, { baseUrl: stub.baseUrl, workspaceId: "micws_1" });
  stub.respondToToken(() =>
    answer(200, { access_token: `token-number-${stub.tokenRequests.length}`, expires_in: 3600 }),
  );
  stub.expect(answer(200, enveloped(job)), answer(200, enveloped({})));
  const connection = await connectionForTest("v2-modern", { env: session.env });
  await connection.callTool("get_job", { jobId: "job-1" });
  await connection.callTool("get_input", { inputId: "input-1" });
  await connection.close();
}

describeWithKeychain("the settings in doctor", () => {
  test("doctor reports the scopes and ages of the tokens", async ({ session }) => {
    await storeTokens(session, await stubForTest());
    const { tokens } = await readSettings(session);
    expect(tokens.map(({ scopes }) => scopes).sort()).toEqual(["files:read mic.inputs:read", "mic.jobs:read"]);
    for (const { ageSeconds, expiresInSeconds } of tokens) {
      expect(ageSeconds).toBeLessThan(60);
      expect(expiresInSeconds).toBeGreaterThan(3500);
    }
    const { stdout } = await run(["doctor", "--offline"], { env: session.env });
    expect(stdout).toContain("mic.jobs:read");
  });

  test("doctor reports the source of each setting when the environment overrides some", async ({ session, stub }) => {
    await storeLogin(session, { baseUrl: stub.baseUrl, workspaceId: "micws_1" });
    expect(await readSettings(session, { MIC_WORKSPACE_ID: "micws_env" })).toMatchObject({
      baseUrl: { from: "keychain" },
      clientSecret: { from: "keychain" },
      workspaceId: { value: "micws_env", from: "environment" },
    });
    expect(await readSettings(session, environment)).toMatchObject({
      baseUrl: { value: environment.MIC_BASE_URL, from: "environment" },
      clientId: { value: "env-client", from: "environment" },
      clientSecret: { from: "environment" },
      workspaceId: { value: "micws_env", from: "environment" },
    });
    expect((await readSettings(session, { MIC_KEYCHAIN: "off" })).keychain).toEqual({ mode: "off", state: "off" });
  });
});

describeWithKeychain("logout", () => {
  test("logout removes the credentials and every token, and may be repeated", async ({ session }) => {
    await storeTokens(session, await stubForTest());
    const first = await run(["logout"], { env: session.env });
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).toMatch(/credentials.*tokens: 2/);
    expect(await readSettings(session)).toMatchObject(nothing);
    const again = await run(["logout"], { env: session.env });
    expect(again).toEqual({ code: 0, stdout: "Nothing was stored.\n", stderr: "" });
  });

  testThoroughly("logout removes tokens of credentials that are not stored", async () => {
    const session = await sessionForTest();
    const stub = await stubForTest();
    stub.expect(answer(200, jobList));
    const env = { ...session.env, ...environment, MIC_BASE_URL: stub.baseUrl };
    const connection = await connectionForTest("v2-modern", { env });
    await connection.callTool("list_jobs");
    await connection.close();
    expect((await readSettings(session, env)).tokens).toHaveLength(1);
    expect(await run(["logout"], { env: session.env })).toMatchObject({ code: 0 });
    expect((await readSettings(session, env)).tokens).toEqual([]);
  });

  test("logout removes unreadable entries", async ({ session }) => {
    // The second kind prevents the keychain from listing any entries.
    for (const entry of ["{ broken", Buffer.from([0xff, 0xfe])]) {
      await putEntry(session, "login", entry);
      expect(await run(["logout"], { env: session.env })).toMatchObject({ code: 0, stderr: "" });
      expect(await run(["logout"], { env: session.env })).toMatchObject({ stdout: "Nothing was stored.\n" });
    }
  });
});

describeWithKeychain("profiles", () => {
  test("each profile has its own login and tokens, and a login or logout keeps the others", async ({
    session,
    stub,
  }) => {
    const { baseUrl } = stub;
    await expectLogin(session, { baseUrl, clientId: "replaced", profile: "work", workspaceId: "micws_1" });
    await expectLogin(session, { baseUrl, clientId: "personal" });
    await expectLogin(session, { baseUrl, clientId: "work", profile: "work" });
    stub.respondToToken(() => answer(200, { access_token: "a-token-0123456789", expires_in: 3600 }));
    stub.respond(() => answer(200, enveloped(job)));
    for (const profile of ["", "work"]) {
      const env = { ...session.env, MIC_PROFILE: profile };
      expect(await run(["call", "get_job", job.id], { env })).toMatchObject({ code: 0, stderr: "" });
    }
    const work = { MIC_PROFILE: "work" };
    const personal = { clientId: { value: "personal" }, profile: "default", profiles: ["default", "work"] };
    expect(await readSettings(session)).toMatchObject(personal);
    const loggedInAgain = { clientId: { value: "work" }, workspaceId: { from: "not set" }, profile: "work" };
    expect(await readSettings(session, work)).toMatchObject(loggedInAgain);

    const { code, stdout } = await run(["logout"], { env: session.env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("credentials, tokens: 1") });
    expect(await readSettings(session)).toMatchObject(nothing);
    const left = await readSettings(session, work);
    expect({ clientId: left.clientId.value, tokens: left.tokens.length }).toEqual({ clientId: "work", tokens: 1 });
    await run(["logout", "--profile", "work"], { env: session.env });
    expect(await readSettings(session, work)).toMatchObject({ ...nothing, profiles: [] });
  });

  test("a profile without a login is reported with the command that creates it", async ({ session, stub }) => {
    await expectLogin(session, { baseUrl: stub.baseUrl });
    const { code, stderr } = await run(["call", "get_job", job.id], { env: { ...session.env, MIC_PROFILE: "work" } });
    expect(code).toBe(4);
    expect(stderr).toMatch(/not_configured.*\(profile work\)[\s\S]*Run mic-mcp login --profile work/);
    expect(stub.requests).toHaveLength(0);
  });
});
