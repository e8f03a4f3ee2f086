// Tests `mic-mcp doctor --scopes` with clients that are granted a part of the scopes, and compares its answer with real calls.
import { expect, test } from "vitest";
import { SCOPES } from "../../src/contract/endpoints/index.ts";
import { TOOL_NAMES } from "../../src/core/tool-names.ts";
import { createJobBody, FILE, findOneInputOffer } from "../emulator/work.ts";
import { runInProcess } from "../support/command.ts";
import { speedUpTimers } from "../support/fast-timers.ts";
import { refusingBaseUrl } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { userForTest } from "./test-user.ts";

/** Returns the exit code of `doctor --scopes`, the check's text and its fix. */
async function doctor(env: Readonly<Record<string, string>>) {
  const { code, stdout } = await runInProcess(["doctor", "--scopes", "--json"], { env });
  const { checks } = JSON.parse(stdout);
  const { ok, detail, fix } = checks.find(({ name }: { name: string }) => name === "scopes");
  return { code, ok, detail, fix };
}

test("a client with all scopes can use each tool, and no variable is offered", async () => {
  const { env } = await userForTest();
  expect(await doctor(env)).toEqual({
    code: 0,
    ok: true,
    detail: expect.stringContaining(` has all ${SCOPES.length}, and can use each offered tool`),
    fix: undefined,
  });
});

test("a read-only client gets a line MIC_TOOLS=…; with this line, call lists exactly the tools that the client can use", async () => {
  const granted = SCOPES.filter((scope) => scope.endsWith(":read"));
  const { env, type } = await userForTest(20, undefined, granted);
  const writing = ["register_input", "submit_job", "cancel_job", "retry_job", "request_file_processing"];
  const others = [...writing, "run_job", "run_jobs", "retry_jobs", "cancel_jobs"];
  const { code, ok, detail, fix } = await doctor(env);
  expect({ code, ok }).toEqual({ code: 0, ok: true });
  expect(detail).toContain(` lacks mic.inputs:write, mic.jobs:run, mic.jobs:cancel, and cannot use ${others[0]}, `);
  expect(fix).toBe(`MIC_TOOLS=${TOOL_NAMES.filter((name) => !others.includes(name)).join(",")}`);
  const restricted = { ...env, MIC_TOOLS: fix.slice("MIC_TOOLS=".length) };
  const { tools } = JSON.parse((await runInProcess(["call", "--json"], { env: restricted })).stdout);
  expect(tools.map(({ name }: { name: string }) => name)).not.toContain("submit_job");
  // The printed form is a line that can be copied.
  expect((await type("doctor", "--scopes")).stdout).toContain(`-> ${fix}\n`);
  // The same client without the tools that it cannot use anyway.
  expect(await doctor({ ...env, MIC_READ_ONLY: "1" })).toMatchObject({ fix: undefined, detail: / each offered tool$/ });
});

test("tools of several operations need exactly the scopes that doctor assumes", async () => {
  // Faster, the limits of a call would be too short for a busy machine.
  speedUpTimers(10);
  const scopes = [...SCOPES];
  const user = await userForTest(20, undefined, scopes);
  const { recipeVersionId, inputBindings, parameterValues } = createJobBody(
    user.service,
    await findOneInputOffer(user.service),
    "",
  );
  const referenceId = user.service.emulator.fileIds[FILE.waitsForScan];
  const job = { recipeVersionId, parameterValues };
  const callsOf = (jobId: string, pausedJobId: string, otherJobId: string) => ({
    run_job: { ...job, inputs: [{ port: inputBindings[0]?.port, referenceId }] },
    run_jobs: { ...job, port: inputBindings[0]?.port, files: [referenceId] },
    retry_jobs: { jobIds: [jobId], retryMode: "SAFE_RESUME", reason: "a test" },
    wait_for_jobs: { jobIds: [jobId] },
    cancel_job: { jobId: pausedJobId, reason: "a test" },
    cancel_jobs: { jobIds: [otherJobId], reason: "a test" },
  });
  /** The exit codes with all scopes. */
  const codes = new Map<string, number>();
  for (const missing of [undefined, ...SCOPES]) {
    scopes.splice(0, scopes.length, ...SCOPES);
    const calls = callsOf(
      await user.job(FILE.failsRetryably),
      await user.job(FILE.pauses),
      await user.job(FILE.pauses),
    );
    scopes.splice(0, scopes.length, ...SCOPES.filter((scope) => scope !== missing));
    const { fix = `MIC_TOOLS=${TOOL_NAMES.join(",")}` } = await doctor(user.env);
    const usable = fix.slice("MIC_TOOLS=".length).split(",");
    for (const [tool, args] of Object.entries(calls)) {
      // With a new journal, each step is sent again.
      const env = { ...user.env, MIC_STATE_DIR: await folderForTest() };
      const { code, stdout, stderr } = await runInProcess(["call", tool, "--yes", "--input", JSON.stringify(args)], {
        env,
      });
      if (missing === undefined) codes.set(tool, code);
      const isComplete = code === codes.get(tool) && !/forbidden/.test(stdout + stderr);
      expect(isComplete, `${tool} without ${missing}: ${stdout}${stderr}`).toBe(usable.includes(tool));
    }
  }
});

test.each([
  ["no credentials", { MIC_CLIENT_ID: "", MIC_CLIENT_SECRET: "" }, /not configured|client/i],
  ["a wrong secret", { MIC_CLIENT_SECRET: "another-secret" }, /invalid_client/],
  ["a client without any scope", {}, /invalid_scope/],
])("doctor --scopes reports %s as one failed check with its fix", async (_, changes, detail) => {
  const { env } = await userForTest(20, undefined, []);
  const report = await doctor({ ...env, ...changes });
  expect(report).toMatchObject({ code: 1, ok: false, fix: expect.stringMatching(/\w/) });
  expect(report.detail).toMatch(detail);
});

test("doctor --scopes reports a token endpoint that is down", async () => {
  const { env } = await userForTest();
  const report = await doctor({ ...env, MIC_BASE_URL: await refusingBaseUrl() });
  expect(report).toMatchObject({ code: 1, ok: false, detail: expect.stringContaining("ECONNREFUSED") });
});
