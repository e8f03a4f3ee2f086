// Tests `mic-mcp watch` and `mic-mcp actions`: a job's progress and the journal, for users (docs/interface.md, "Program").
import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { STAGES } from "../../src/contract/jobs.ts";
import { FILE } from "../emulator/work.ts";
import { CTRL_C, runOnTerminal, terminalsMissing } from "../support/terminal.ts";
import { posixMissing, testUnless } from "../support/unless.ts";
import { userForTest } from "./test-user.ts";

test("watch without a terminal prints a line for each change, and exits with 0 for SUCCEEDED", async () => {
  const user = await userForTest(100);
  const jobId = await user.job(FILE.succeeds);
  const { code, stdout, stderr } = await user.type("watch", jobId);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const lines = stdout.trimEnd().split("\n");
  expect(new Set(lines).size).toBe(lines.length);
  expect(lines.at(-2)).toBe("SUCCEEDED");
  expect(lines.at(-1)).toContain("The job SUCCEEDED");
  expect(stdout).not.toContain("\u001b");
});

test("watch of a failed job exits with 5 and prints the command to use next", async () => {
  const user = await userForTest();
  const jobId = await user.job(FILE.failsRetryably);
  const { code, stdout, stderr } = await user.type("watch", jobId);
  expect(code).toBe(5);
  expect(stdout).toContain("The job FAILED, at stage CHURN");
  expect(stderr).toContain(`mic-mcp call retry_job jobId=${jobId} retryMode=SAFE_RESUME`);
  const missing = { code: 1, stdout: "", stderr: expect.stringContaining("not_found") };
  expect(await user.type("watch", "no-such-job")).toMatchObject(missing);
});

test("watch --timeout stops with exit code 6, and the job keeps running", async () => {
  const user = await userForTest(60_000);
  const jobId = await user.job(FILE.succeeds);
  const { code, stdout, stderr } = await user.type("watch", jobId, "--timeout", "1", "--json");
  expect(code).toBe(6);
  for (const line of stdout.split("\n").filter(Boolean)) expect(JSON.parse(line)).toMatchObject({ jobId });
  expect(stderr).toContain(`Stopped watching after 1 s; the job keeps running. Run mic-mcp watch ${jobId}`);
});

test("watch --timeout 0 reads the job once: exit code 6 while it runs, and the error if it does not exist", async () => {
  const user = await userForTest(60_000);
  const jobId = await user.job(FILE.succeeds);
  expect(await user.type("watch", jobId, "--timeout", "0")).toMatchObject({
    code: 6,
    stderr: expect.stringContaining(`the job keeps running. Run mic-mcp watch ${jobId}`),
  });
  const { code, stderr } = await user.type("watch", "micjob_x", "--timeout", "0");
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("not_found") });
  expect(stderr).not.toContain("keeps running");
});

testUnless(posixMissing, "watch continues while the API is temporarily unavailable", async () => {
  const user = await userForTest();
  const jobId = await user.job(FILE.succeeds);
  const fault = { kind: "status", status: 503, retryAfterSeconds: 30 };
  await user.service.injectFault(fault, { operationId: "getMicJob" });
  await user.service.injectFault({ ...fault, retryAfterSeconds: 1 }, { operationId: "getMicJob", times: 2 });
  const watching = user.startCommand("watch", jobId);
  await expect.poll(watching.stderr).toContain("Retrying.");
  watching.process.kill("SIGINT");
  expect(await watching.exit).toEqual({ code: 1, signal: null });
  expect(watching.stderr()).toContain(`the job was not read. Run mic-mcp watch ${jobId}`);
  expect(await user.type("watch", jobId)).toMatchObject({ code: 0 });
});

testUnless(terminalsMissing, "watch on a terminal draws nine stages and leaves them on the screen", async () => {
  const user = await userForTest(100);
  const jobId = await user.job(FILE.succeeds);
  const terminal = runOnTerminal({ ...user.env, NO_COLOR: "1" }, ["watch", jobId]);
  expect(await terminal.exit).toBe(0);
  const last = terminal.screen().slice(terminal.screen().lastIndexOf(`${STAGES[0]} `));
  for (const stage of STAGES) expect(last).toMatch(new RegExp(`${stage} (\\d+)/\\1\\b`));
  expect(last).toContain("The job SUCCEEDED");
  for (const color of [31, 32, 33, 39]) expect(terminal.screen()).not.toContain(`\u001b[${color}m`);
});

testUnless(terminalsMissing, "watch on a terminal draws no stages of a job that does not exist", async () => {
  const user = await userForTest();
  const terminal = runOnTerminal(user.env, ["watch", "micjob_x"]);
  expect(await terminal.exit).toBe(1);
  expect(terminal.screen()).toMatch(/^watch failed \(not_found\)/);
});

testUnless(terminalsMissing, "Ctrl-C ends watch on a terminal, and does not leave the cursor hidden", async () => {
  const user = await userForTest(60_000);
  const terminal = runOnTerminal(user.env, ["watch", await user.job(FILE.succeeds)]);
  await terminal.answer("GATHER 0/", CTRL_C);
  expect(await terminal.exit).toBe(6);
  expect(terminal.screen()).toContain("the job keeps running");
  expect(terminal.screen()).not.toContain("\u001b[?25l");
});

test("actions prints the journal's counts and a table of actions, newest first, optionally of one state", async () => {
  const user = await userForTest();
  expect(await user.type("actions")).toEqual({ code: 0, stdout: "", stderr: "No actions.\n" });
  await user.callSuccessfully(...user.registration(FILE.succeeds));
  const job = await user.callSuccessfully(...(await user.submission(FILE.succeeds)));
  const { code, stdout } = await user.type("actions");
  expect(code).toBe(0);
  const [summary, header, ...rows] = stdout.trimEnd().split("\n");
  expect(summary).toBe("2 actions: 2 succeeded.");
  expect(header?.split("\t").slice(0, 4)).toEqual(["state", "tool", "targetId", "createdId"]);
  expect(rows.map((row) => row.split("\t")[1])).toEqual(["submit_job", "register_input"]);
  expect(rows[0]?.split("\t")).toContain(job.data.id);
  const none = { code: 0, stdout: "", stderr: "No actions with state unknown.\n" };
  expect(await user.type("actions", "--state", "unknown")).toEqual(none);
});

test("actions reports the reason if the journal cannot be read", async () => {
  const user = await userForTest();
  await user.type("actions");
  await writeFile(`${user.env.MIC_STATE_DIR}/actions.sqlite`, "no database, and longer than a header of one is");
  const stderr = expect.stringMatching(/cannot be used[\s\S]*move the damaged journal away/);
  expect(await user.type("actions")).toMatchObject({ code: 1, stderr });
  const stdout = expect.stringMatching(/FAIL journal .*\n +-> Stop every/);
  expect(await user.type("doctor")).toMatchObject({ code: 1, stdout });
  const { settings } = JSON.parse((await user.type("doctor", "--offline", "--json")).stdout);
  expect(settings.journal).toMatchObject({ engine: "SQLite", error: expect.stringContaining("cannot be used") });
});
