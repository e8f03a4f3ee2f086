// `mic-mcp doctor`: each set-up that is broken is found, on its own line, with what mends it.
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import * as z from "zod/v4";
import { capabilitySet, enveloped, problem, statesResponse } from "../../contract/samples.ts";
import { run } from "../../mcp/stdio/child.ts";
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
  "node",
  "configuration",
  "keychain",
  "service",
  "geography API",
  "clock",
  "token",
  "job API",
  "state folder",
  "journal",
  "download folder",
  "proxy",
];

async function runDoctor(env: Environment) {
  const { code, stdout, stderr } = await run(["doctor", "--json"], { env });
  expect(stderr).toBe("");
  const { ok, checks } = Report.parse(JSON.parse(stdout));
  expect(code).toBe(ok ? 0 : 1);
  expect(ok).toBe(checks.every((check) => check.ok));
  // What is wrong can be mended; what is well needs nothing.
  for (const check of checks) expect(check.fix === undefined, check.name).toBe(check.ok);
  return { ok, checks, wrong: checks.filter((check) => !check.ok) };
}

/** The one line that is wrong. */
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

/** A service that is well, but for what a test changes. */
async function createHealthyStub(headers: Environment = {}): Promise<Stub> {
  const stub = await stubForTest();
  stub.respond(({ target }) =>
    target.includes("/playground/")
      ? answer(200, statesResponse, headers)
      : answer(200, enveloped(capabilitySet), headers),
  );
  return stub;
}

test("a sound set-up without a keychain is well", async ({ emulator }) => {
  const env = { ...emulatorEnv(emulator), MIC_WORKSPACE_ID: emulator.workspaceId };
  const { ok, checks } = await runDoctor(env);
  expect(ok).toBe(true);
  expect(checks.map(({ name }) => name)).toEqual(NAMES);
  const { code, stdout } = await run(["doctor"], { env });
  expect(code).toBe(0);
  for (const name of NAMES) expect(stdout).toMatch(new RegExp(`^ok +${name} `, "m"));
  expect(stdout).not.toContain(emulator.clientSecret);
  // Without a default workspace too.
  expect(await runDoctor(emulatorEnv(emulator))).toMatchObject({ ok: true });
});

test("a person is told what is wrong and what mends it, line by line", async () => {
  const { code, stdout } = await run(["doctor"], { env: {} });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^WRONG service .*MIC_BASE_URL.*\n +-> .*MIC_BASE_URL/m);
  expect(stdout).toContain("Something is wrong");
});

test("no base URL", async () => {
  const { name, detail, fix } = await expectOneFailedCheck({});
  expect(name).toBe("service");
  expect(detail).toContain("MIC_BASE_URL");
  expect(fix).toContain("MIC_BASE_URL");
});

test("a service that cannot be reached", async () => {
  const env = { MIC_BASE_URL: await refusingBaseUrl(), MIC_CLIENT_ID: "id", MIC_CLIENT_SECRET: "a-secret" };
  const { wrong } = await runDoctor(env);
  expect(wrong.map(({ name }) => name)).toEqual(["geography API", "clock", "token", "job API"]);
  for (const { detail } of wrong) expect(detail).toContain("ECONNREFUSED");
});

test("a service that is out of order is asked once by each check: a person is waiting", async ({ stub }) => {
  stub.respond(() => answer(503, { ...problem, status: 503 }));
  const { wrong } = await runDoctor(stubEnvironment(stub));
  expect(wrong.map(({ name }) => name)).toEqual(["geography API", "job API"]);
  // The two, and the one that reads the clock.
  expect(stub.requests).toHaveLength(3);
});

test("a wrong secret, echoed by the service", async () => {
  const stub = await createHealthyStub();
  const error_description = `no client has the secret ${client.clientSecret} here`;
  stub.respondToToken(() => answer(401, { error: "invalid_client", error_description }));
  const { wrong } = await runDoctor(stubEnvironment(stub));
  expect(wrong.map(({ name }) => name)).toEqual(["token", "job API"]);
  expect(wrong[0]?.detail).toMatch(/invalid_client.*\[redacted\]/);
  expect(wrong[0]?.fix).toContain("mic-mcp login");
  expect(JSON.stringify(wrong)).not.toContain(client.clientSecret);
});

test("no credentials", async () => {
  const stub = await createHealthyStub();
  const { wrong } = await runDoctor({ MIC_BASE_URL: stub.baseUrl });
  expect(wrong.map(({ name }) => name)).toEqual(["token", "job API"]);
  expect(wrong[0]?.fix).toContain("MIC_CLIENT_SECRET");
});

test("a workspace that is not the client's", async ({ stub }) => {
  stub.respond(({ target }) =>
    target.includes("/playground/") ? answer(200, statesResponse) : answer(403, { ...problem, status: 403 }),
  );
  expect(await expectOneFailedCheck(stubEnvironment(stub))).toMatchObject({ name: "job API" });
});

test.each([
  ["behind", 3600],
  ["ahead of", -3600],
])("a clock %s the service's", async (direction, seconds) => {
  const stub = await createHealthyStub({ date: new Date(Date.now() + seconds * 1000).toUTCString() });
  const { name, detail, fix } = await expectOneFailedCheck(stubEnvironment(stub));
  expect(name).toBe("clock");
  expect(detail).toMatch(new RegExp(`^3[56]\\d\\d s ${direction}`));
  expect(fix).toContain("clock");
});

test("a variable that nobody knows, or that says what cannot be", async () => {
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
  test("finds a sound login, and leaves nothing of its own behind", async ({ session, emulator }) => {
    await expectLogin(session, emulator);
    const { ok, checks } = await runDoctor(session.env);
    expect(ok).toBe(true);
    expect(checks.find(({ name }) => name === "keychain")?.detail).toContain("written, read back and deleted");
    await run(["logout"], { env: session.env });
    expect(await run(["logout"], { env: session.env })).toMatchObject({ stdout: "Nothing was stored.\n" });
  });

  test("finds a secret that is wrong by now, whatever token is still kept", async ({ session }) => {
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

  test("finds a login for another service", async ({ session }) => {
    const [own, other] = [await stubForTest(), await createHealthyStub()];
    await storeLogin(session, { baseUrl: own.baseUrl });
    const { wrong } = await runDoctor({ ...session.env, MIC_BASE_URL: other.baseUrl });
    expect(wrong.map(({ name }) => name)).toEqual(["token", "job API"]);
    for (const url of [own.baseUrl, other.baseUrl]) expect(wrong[0]?.detail).toContain(url);
  });

  test("finds a locked keychain, and that the credentials in it are missing", async ({ session }) => {
    await storeLogin(session, { baseUrl: (await stubForTest()).baseUrl });
    await session.lock();
    expect((await runDoctor(session.env)).wrong.map((check) => check.name)).toEqual(["keychain", "service"]);
  });

  test("finds folders that cannot be used, or that others can read", async () => {
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
    // /proc takes no new folder from anybody, root included.
    const folders = [file, join(file, "below"), "/proc"];
    for (const { name, fix } of await Promise.all(
      folders.map((folder) => expectOneFailedCheck({ ...env, MIC_DOWNLOAD_DIR: folder })),
    )) {
      expect(name).toBe("download folder");
      expect(fix).toContain("MIC_DOWNLOAD_DIR");
    }
  });
});
