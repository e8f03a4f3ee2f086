// Tests `mic-mcp doctor`: it reports each problem of a setup on a separate line, with its fix.
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import * as z from "zod/v4";
import { capabilitySet, enveloped, problem, statesResponse } from "../../contract/samples.ts";
import { runInProcess as run } from "../../support/command.ts";
import { emulatorEnv } from "../../support/mcp.ts";
import { describeWithKeychain } from "../../support/secret-service.ts";
import { answer, refusingBaseUrl, type Step, type Stub, stubForTest } from "../../support/stub.ts";
import { folderForTest } from "../../support/temporary-folder.ts";
import { linuxMissing, testUnless } from "../../support/unless.ts";
import { client, expectLogin, readSettings, refusedClient, storeLogin, test } from "./session.ts";

type Environment = Readonly<Record<string, string>>;

const Report = z.strictObject({
  ok: z.boolean(),
  settings: z.object(),
  checks: z.array(
    z.strictObject({ name: z.string(), ok: z.boolean(), detail: z.string().min(1), fix: z.string().min(1).optional() }),
  ),
});

const NAMES = [
  ...["node", "configuration", "keychain", "base URL", "geography API", "clock", "token", "job API"],
  ...["state folder", "journal", "download folder", "HTTP token", "proxy"],
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

async function expectOneFailedCheck(env: Environment) {
  const { wrong } = await runDoctor(env);
  expect(wrong).toHaveLength(1);
  return wrong[0];
}

const stubEnvironment = ({ baseUrl }: Stub): Environment => ({
  MIC_BASE_URL: baseUrl,
  MIC_CLIENT_ID: client.clientId,
  MIC_CLIENT_SECRET: client.clientSecret,
  MIC_WORKSPACE_ID: "micws_1",
});

/** An API that passes all checks, except for the test's changes. */
async function createHealthyStub(headers: Environment = {}, jobs = answer(200, enveloped(capabilitySet), headers)) {
  const stub = await stubForTest();
  stub.respond(({ target }) => (target.includes("/playground/") ? answer(200, statesResponse, headers) : jobs));
  return stub;
}

test("doctor reports no problem for a valid setup without a keychain", async ({ emulator }) => {
  const env = { ...emulatorEnv(emulator), MIC_WORKSPACE_ID: emulator.workspaceId };
  const { ok, checks } = await runDoctor(env);
  expect(ok).toBe(true);
  expect(checks.map(({ name }) => name)).toEqual(NAMES);
  const { stdout } = await run(["doctor"], { env });
  for (const name of NAMES) expect(stdout).toMatch(new RegExp(`^ok +${name} `, "m"));
  expect(stdout).not.toContain(emulator.clientSecret);
});

test("doctor reports an API that cannot be reached", async () => {
  const credentials = { MIC_CLIENT_ID: "id", MIC_CLIENT_SECRET: "a-secret", MIC_WORKSPACE_ID: "micws_1" };
  const env = { MIC_BASE_URL: await refusingBaseUrl(), ...credentials };
  const { wrong } = await runDoctor(env);
  expect(wrong.map(({ name }) => name)).toEqual(["geography API", "clock", "token", "job API"]);
  for (const { detail } of wrong) expect(detail).toContain("ECONNREFUSED");
});

test("doctor sends a failing API one request per check, because a user is waiting", async ({ stub }) => {
  stub.respond(() => answer(503, { ...problem, status: 503 }));
  const { wrong } = await runDoctor(stubEnvironment(stub));
  expect(wrong.map(({ name }) => name)).toEqual(["geography API", "job API"]);
  // The two checks, and the one that reads the clock.
  expect(stub.requests).toHaveLength(3);
});

const hoursFromNow = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toUTCString();
const wrongSecret = {
  error: "invalid_client",
  error_description: `no client has the secret ${client.clientSecret} here`,
};
const noCredentials = { MIC_CLIENT_ID: "", MIC_CLIENT_SECRET: "" };

interface Problem {
  readonly what: string;
  readonly failed: readonly string[];
  readonly report: RegExp;
  readonly token?: Step;
  readonly jobs?: Step;
  readonly headers?: Environment;
  readonly env?: Environment;
}

test.each<Problem>([
  {
    ...{ what: "a wrong secret, and redacts it in the API's message", failed: ["token", "job API"] },
    ...{ token: answer(401, wrongSecret), report: /invalid_client.*\[redacted\].*mic-mcp login/ },
  },
  {
    what: "a missing workspace",
    failed: ["job API"],
    env: { MIC_WORKSPACE_ID: "" },
    report: /MIC_WORKSPACE_ID .*micws_/,
  },
  { what: "missing credentials", failed: ["token", "job API"], env: noCredentials, report: /MIC_CLIENT_SECRET/ },
  {
    ...{ what: "a clock behind the API's", failed: ["clock"] },
    ...{ headers: { date: hoursFromNow(1) }, report: /3[56]\d\d s behind.*clock/ },
  },
  {
    ...{ what: "a clock ahead of the API's", failed: ["clock"] },
    ...{ headers: { date: hoursFromNow(-1) }, report: /3[56]\d\d s ahead of.*clock/ },
  },
  {
    ...{ what: "an unrecognized variable without its value", failed: ["configuration"] },
    ...{ env: { MIC_BASE_ULR: "hunter2" }, report: /MIC_BASE_ULR/ },
  },
  {
    ...{ what: "a workspace that does not belong to the client", failed: ["job API"] },
    ...{ jobs: answer(403, { ...problem, status: 403 }), report: /forbidden|403/ },
  },
])("doctor reports $what", async ({ failed, report, token, jobs, headers, env }) => {
  const stub = await createHealthyStub(headers, jobs);
  if (token) stub.respondToToken(() => token);
  const { wrong } = await runDoctor({ ...stubEnvironment(stub), ...env });
  expect(wrong.map(({ name }) => name)).toEqual(failed);
  expect(`${wrong[0]?.detail} ${wrong[0]?.fix}`).toMatch(report);
  expect(JSON.stringify(wrong)).not.toMatch(new RegExp(`hunter2|${client.clientSecret}`));
});

describeWithKeychain("doctor", () => {
  test("doctor accepts a valid login, and leaves no test entry in the keychain", async ({ session, emulator }) => {
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
    expect((await readSettings(session)).tokens).toHaveLength(1);
    stub.respondToToken(() => refusedClient);
    expect(await expectOneFailedCheck(session.env)).toMatchObject({
      name: "token",
      fix: expect.stringContaining("mic-mcp login"),
    });
  });
});

testUnless(linuxMissing, "doctor finds folders that cannot be used, or that others can read", async () => {
  const folder = await folderForTest();
  const env = { ...stubEnvironment(await createHealthyStub()), XDG_STATE_HOME: folder };
  const state = join(folder, "mic-mcp");
  await mkdir(state, { mode: 0o755 });
  expect(await expectOneFailedCheck(env)).toMatchObject({
    name: "state folder",
    fix: `chmod 700 ${JSON.stringify(state)}`,
  });
  await chmod(state, 0o700);
  const file = join(folder, "a file");
  await writeFile(file, "");
  const download = { name: "download folder", fix: expect.stringContaining("MIC_DOWNLOAD_DIR") };
  // /proc accepts no new folder from any user, including root.
  for (const MIC_DOWNLOAD_DIR of [file, join(file, "below"), "/proc"])
    expect(await expectOneFailedCheck({ ...env, MIC_DOWNLOAD_DIR })).toMatchObject(download);
});
