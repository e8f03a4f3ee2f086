// Tests `mic-mcp doctor`: it reports each problem of a setup on a separate line, with its fix.
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import * as z from "zod/v4";
import { capabilitySet, enveloped, problem, statesResponse } from "../../contract/samples.ts";
import { runInProcess as run } from "../../support/command.ts";
import { emulatorEnv } from "../../support/mcp.ts";
import { describeWithKeychain, sessionForTest } from "../../support/secret-service.ts";
import { answer, refusingBaseUrl, type Stub, stubForTest } from "../../support/stub.ts";
import { client, expectLogin, readStatus, refusedClient, storeLogin, test } from "./session.ts";

type Environment = Readonly<Record<string, string>>;

const Report = z.strictObject({
  ok: z.boolean(),
  checks: z.array(
    z.strictObject({ name: z.string(), ok: z.boolean(), detail: z.string().min(1), fix: z.string().min(1).optional() }),
  ),
});

const NAMES = [
  ...["node", "configuration", "keychain", "base URL", "geography API", "clock", "token", "job API"],
  ...["state folder", "journal", "download folder", "proxy"],
];

async function runDoctor(env: Environment) {
  const { code, stdout, stderr } = await run(["doctor", "--json"], { env });
  expect(stderr).toBe("");
  const { ok, checks } = Report.parse(JSON.parse(stdout));
  expect(code).toBe(ok ? 0 : 1);
  expect(ok).toBe(checks.every((check) => check.ok));
  // Every failed check has a fix, and no successful check has one.
  for (const check of checks) expect(check.fix === undefined, check.name).toBe(check.ok);
  return { ok, checks, wrong: checks.filter((check) => !check.ok) };
}

/** Returns the only failed check. */
async function expectOneFailedCheck(env: Environment) {
  const { wrong, checks } = await runDoctor(env);
  expect(wrong.map(({ name, detail }) => `${name}: ${detail}`)).toHaveLength(1);
  const [failedCheck] = wrong;
  return {
    name: failedCheck?.name,
    detail: failedCheck?.detail ?? "",
    fix: failedCheck?.fix ?? "",
    names: checks.map(({ name }) => name),
  };
}

const stubEnvironment = ({ baseUrl }: Stub): Environment => ({
  MIC_BASE_URL: baseUrl,
  MIC_CLIENT_ID: client.clientId,
  MIC_CLIENT_SECRET: client.clientSecret,
  MIC_WORKSPACE_ID: "micws_1",
});

/** An API that passes all checks, except for the test's changes. */
async function createHealthyStub(headers: Environment = {}): Promise<Stub> {
  const stub = await stubForTest();
  stub.respond(({ target }) =>
    target.includes("/playground/")
      ? answer(200, statesResponse, headers)
      : answer(200, enveloped(capabilitySet), headers),
  );
  return stub;
}

test("doctor reports no problem for a valid setup without a keychain", async ({ emulator }) => {
  const env = { ...emulatorEnv(emulator), MIC_WORKSPACE_ID: emulator.workspaceId };
  const { ok, checks } = await runDoctor(env);
  expect(ok).toBe(true);
  expect(checks.map(({ name }) => name)).toEqual(NAMES);
  const { code, stdout } = await run(["doctor"], { env });
  expect(code).toBe(0);
  for (const name of NAMES) expect(stdout).toMatch(new RegExp(`^ok +${name} `, "m"));
  expect(stdout).not.toContain(emulator.clientSecret);
  // It also passes without a default workspace.
  expect(await runDoctor(emulatorEnv(emulator))).toMatchObject({ ok: true });
});

test("doctor prints each problem and its fix to the user, one per line", async () => {
  const { code, stdout } = await run(["doctor"], { env: {} });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^WRONG base URL .*MIC_BASE_URL.*\n +-> .*MIC_BASE_URL/m);
  expect(stdout).toContain("Some checks failed");
});

test("doctor reports an API that cannot be reached", async () => {
  const env = { MIC_BASE_URL: await refusingBaseUrl(), MIC_CLIENT_ID: "id", MIC_CLIENT_SECRET: "a-secret" };
  const { wrong } = await runDoctor(env);
  expect(wrong.map(({ name }) => name)).toEqual(["geography API", "clock", "token", "job API"]);
  for (const { detail } of wrong) expect(detail).toContain("ECONNREFUSED");
});

test("doctor asks a failing API once per check, because a user is waiting", async ({ stub }) => {
  stub.respond(() => answer(503, { ...problem, status: 503 }));
  const { wrong } = await runDoctor(stubEnvironment(stub));
  expect(wrong.map(({ name }) => name)).toEqual(["geography API", "job API"]);
  // The two checks, and the one that reads the clock.
  expect(stub.requests).toHaveLength(3);
});

test("doctor reports a wrong secret and redacts it in the API's message", async () => {
  const stub = await createHealthyStub();
  const error_description = `no client has the secret ${client.clientSecret} here`;
  stub.respondToToken(() => answer(401, { error: "invalid_client", error_description }));
  const { wrong } = await runDoctor(stubEnvironment(stub));
  expect(wrong.map(({ name }) => name)).toEqual(["token", "job API"]);
  expect(wrong[0]?.detail).toMatch(/invalid_client.*\[redacted\]/);
  expect(wrong[0]?.fix).toContain("mic-mcp login");
  expect(JSON.stringify(wrong)).not.toContain(client.clientSecret);
});

test("doctor reports missing credentials", async () => {
  const stub = await createHealthyStub();
  const { wrong } = await runDoctor({ MIC_BASE_URL: stub.baseUrl });
  expect(wrong.map(({ name }) => name)).toEqual(["token", "job API"]);
  expect(wrong[0]?.fix).toContain("MIC_CLIENT_SECRET");
});

test("doctor reports a workspace that does not belong to the client", async ({ stub }) => {
  stub.respond(({ target }) =>
    target.includes("/playground/") ? answer(200, statesResponse) : answer(403, { ...problem, status: 403 }),
  );
  expect(await expectOneFailedCheck(stubEnvironment(stub))).toMatchObject({ name: "job API" });
});

test.each([
  ["behind", 3600],
  ["ahead of", -3600],
])("doctor reports a clock %s the API's", async (direction, seconds) => {
  const stub = await createHealthyStub({ date: new Date(Date.now() + seconds * 1000).toUTCString() });
  const { name, detail, fix } = await expectOneFailedCheck(stubEnvironment(stub));
  expect(name).toBe("clock");
  expect(detail).toMatch(new RegExp(`^3[56]\\d\\d s ${direction}`));
  expect(fix).toContain("clock");
});

test("doctor reports an unrecognized variable or an invalid value", async () => {
  const stub = await createHealthyStub();
  const { name, detail } = await expectOneFailedCheck({ ...stubEnvironment(stub), MIC_BASE_ULR: "hunter2" });
  expect(name).toBe("configuration");
  expect(detail).toContain("MIC_BASE_ULR");
  expect(detail).not.toContain("hunter2");
  const { code, stderr } = await run(["doctor"], { env: { MIC_LOG_LEVEL: "loud" } });
  expect(code).toBe(2);
  expect(stderr).toContain("MIC_LOG_LEVEL");
});

describeWithKeychain("doctor", () => {
  test("doctor accepts a valid login, and leaves no entry of its own", async ({ session, emulator }) => {
    await expectLogin(session, emulator);
    const { ok, checks } = await runDoctor(session.env);
    expect(ok).toBe(true);
    expect(checks.find(({ name }) => name === "keychain")?.detail).toContain("written, read and deleted");
    await run(["logout"], { env: session.env });
    expect(await run(["logout"], { env: session.env })).toMatchObject({ stdout: "Nothing was stored.\n" });
  });

  test("doctor finds a secret that is no longer valid, even if a token is still stored", async ({ session }) => {
    const stub = await createHealthyStub();
    await storeLogin(session, { baseUrl: stub.baseUrl, workspaceId: "micws_1" });
    expect(await runDoctor(session.env)).toMatchObject({ ok: true });
    expect((await readStatus(session)).tokens).toHaveLength(1);
    stub.respondToToken(() => refusedClient);
    expect(await expectOneFailedCheck(session.env)).toMatchObject({
      name: "token",
      fix: expect.stringContaining("mic-mcp login"),
    });
  });

  test("doctor finds a login for another API", async ({ session }) => {
    const [own, other] = [await stubForTest(), await createHealthyStub()];
    await storeLogin(session, { baseUrl: own.baseUrl });
    const { wrong } = await runDoctor({ ...session.env, MIC_BASE_URL: other.baseUrl });
    expect(wrong.map(({ name }) => name)).toEqual(["token", "job API"]);
    for (const url of [own.baseUrl, other.baseUrl]) expect(wrong[0]?.detail).toContain(url);
  });

  test("doctor reports a locked keychain, and the credentials in it as missing", async ({ session }) => {
    await storeLogin(session, { baseUrl: (await stubForTest()).baseUrl });
    await session.lock();
    expect((await runDoctor(session.env)).wrong.map((check) => check.name)).toEqual(["keychain", "base URL"]);
  });

  test("doctor finds folders that cannot be used, or that others can read", async () => {
    const session = await sessionForTest("absent");
    const env = { ...session.env, ...stubEnvironment(await createHealthyStub()) };
    const state = join(session.env["XDG_STATE_HOME"] ?? "", "mic-mcp");
    await mkdir(state, { recursive: true, mode: 0o755 });
    expect(await expectOneFailedCheck(env)).toMatchObject({
      name: "state folder",
      fix: `chmod 700 ${JSON.stringify(state)}`,
    });
    await chmod(state, 0o700);
    const file = join(session.folder, "a file");
    await writeFile(file, "");
    // /proc accepts no new folder from any user, including root.
    const folders = [file, join(file, "below"), "/proc"];
    for (const { name, fix } of await Promise.all(
      folders.map((folder) => expectOneFailedCheck({ ...env, MIC_DOWNLOAD_DIR: folder })),
    )) {
      expect(name).toBe("download folder");
      expect(fix).toContain("MIC_DOWNLOAD_DIR");
    }
  });
});
