// Tests `mic-mcp call`: a tool on the command line, with the journal and keys of an agent's call (docs/interface.md, "Program").
import { readFile } from "node:fs/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { createProgressDisplay, createStopwatch } from "../../src/cli/terminal.ts";
import { formatToolHelp } from "../../src/cli/tool-arguments.ts";
import { tools } from "../../tools/index.ts";
import { FILE } from "../emulator/work.ts";
import { runInProcess as run } from "../support/command.ts";
import { CTRL_C, ENTER, runOnTerminal, terminalsMissing } from "../support/terminal.ts";
import { posixMissing, testUnless } from "../support/unless.ts";
import { TOOL_NAMES } from "../tools/catalogue.ts";
import { userForTest } from "./test-user.ts";

test("call without a tool lists the offered tools", async () => {
  const { code, stdout } = await run(["call"]);
  expect(code).toBe(0);
  for (const name of TOOL_NAMES) expect(stdout).toMatch(new RegExp(`^  ${name} `, "m"));
  const some = await run(["call"], { env: { MIC_TOOLSETS: "jobs", MIC_READ_ONLY: "1" } });
  expect(some.stdout).toMatch(/^ {2}get_job /m);
  expect(some.stdout).not.toMatch(/list_states|submit_job/);
  const inReadOnlyMode = await run(["call", "submit_job"], { env: { MIC_READ_ONLY: "1" } });
  expect(inReadOnlyMode).toMatchObject({ code: 2, stderr: expect.stringContaining("MIC_READ_ONLY=1") });
});

test("call --help has each argument of each tool", async () => {
  for (const tool of tools) {
    const text = formatToolHelp(tool, false);
    for (const argument of tool.argumentNames) expect(text).toMatch(new RegExp(`^  ${argument}= `, "m"));
  }
  const [tool] = tools.filter(({ name }) => name === "submit_job").map((each) => formatToolHelp(each, false));
  expect(await run(["call", "submit_job", "--help"])).toEqual({ code: 0, stdout: `${tool}\n`, stderr: "" });
});

test("call --help shows required arguments, types and limits, and the effect of a default workspace", async () => {
  const { stdout } = await run(["call", "list_jobs", "--help"]);
  expect(stdout).toMatch(/workspaceId= +text\. Required\./);
  expect(stdout).toMatch(/states= +list PREPARING, .*CANCELLED/);
  expect(stdout).toMatch(/limit= +number up to 100/);
  const withDefault = await run(["call", "list_jobs", "--help"], { env: { MIC_WORKSPACE_ID: "micws_1" } });
  expect(withDefault.stdout).toMatch(/workspaceId= +text\. Optional if configured\.$/m);
});

test.each([["call", "list_states"], ["call", "list_jobs"], ["resolve"], ["show", "divisions"]])(
  "%s %s reports the missing settings to the user, not to an agent",
  async (...args) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(stderr).toMatch(/not_configured[\s\S]*Next: Add --emulator to try it .*: MIC_BASE_URL=/);
  },
);

test("call without a workspace exits with 4 and says where its id is found", async () => {
  const { env } = await userForTest();
  const { code, stderr } = await run(["call", "list_recipes"], { env: { ...env, MIC_WORKSPACE_ID: "" } });
  expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringMatching(/Set MIC_WORKSPACE_ID .*micws_/) });
});

test("call prints the tool's text, or its structuredContent as JSON", async () => {
  const { type } = await userForTest();
  const text = await type("call", "find_district", "names=Patna", "names=Gaya");
  expect(text.code).toBe(0);
  expect(text.stdout).toMatch(/Patna[\s\S]*Gaya/);
  const { code, stdout } = await type("call", "list_districts", "state=Goa", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ state: "Goa", districts: { 551: { name: "North Goa" } } });
  const both = await type("call", "list_jobs", "--input", '{"limit":2,"states":["SUCCEEDED"]}', "limit=1", "--json");
  const requestId = expect.stringMatching(/^micreq_/);
  expect(JSON.parse(both.stdout)).toMatchObject({ data: [{ state: "SUCCEEDED" }], requestId });
  const table = ["source=rank_divisions", 'arguments={"level":"state","by":"name"}', "fileName=states.csv"];
  const saved = await type("call", "save_table", ...table, "--json");
  expect(await readFile(JSON.parse(saved.stdout).path, "utf8")).toContain("Telangana");
});

test("a result that asks an agent to ask the user is addressed to the user", async () => {
  const { type, service } = await userForTest();
  const { stdout } = await type("call", "get_input", service.emulator.inputIds[FILE.quarantined] ?? "");
  expect(stdout).toMatch(/QUARANTINED .* cannot be used\. Use another file\./);
});

test("a failure is printed on stderr, and with --json on stdout, with exit code 1, or 2 for invalid arguments", async () => {
  const { type } = await userForTest();
  const failed = await type("call", "get_job", "jobId=none");
  expect(failed).toMatchObject({ code: 1, stdout: "" });
  expect(failed.stderr).toMatch(/not_found[\s\S]*Next: /);
  const forProgram = await type("call", "get_job", "jobId=none", "--json");
  expect(forProgram.code).toBe(1);
  expect(JSON.parse(forProgram.stdout)).toMatchObject({ error: { kind: "not_found", sideEffect: "none" } });
  const missing = await type("call", "list_districts");
  expect(missing.code).toBe(2);
  expect(missing.stderr).toMatch(
    /\/state: is missing[\s\S]*Next: mic-mcp call list_districts --help shows its arguments\.$/m,
  );
});

test("after kill -9 the same command resumes the action, and the API has executed it once", async () => {
  const user = await userForTest();
  const line = await user.submission(FILE.succeeds);
  await user.service.injectFault({ kind: "hang", afterCommit: true }, { operationId: "createMicJob" });
  const killed = user.startCommand("call", ...line);
  await expect.poll(async () => (await user.executions("createMicJob")).size).toBe(1);
  killed.process.kill("SIGKILL");
  expect(await killed.exit).toMatchObject({ signal: "SIGKILL" });
  expect(killed.stdout()).toBe("");

  const unknown = await user.type("actions", "--state", "unknown");
  const key = await user.keyOf("createMicJob");
  expect(unknown.stdout).toMatch(/^1 action: 1 unknown\.\n/);
  expect(unknown.stdout).toContain(`\nmic-mcp resolve ${key} `);
  expect((await user.type("doctor")).stdout).toMatch(/ok +journal .*1 with unknown outcome; run mic-mcp resolve/);

  const resumed = await user.callSuccessfully(...line);
  expect(resumed.action).toMatchObject({ idempotencyKey: key, replayed: false });
  expect(await user.executions("createMicJob")).toEqual(new Map([[key, 1]]));
  // The resolve command that `actions` printed still resolves the same action.
  const resolved = await user.type("resolve", key, "--json");
  expect(resolved).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(resolved.stdout)).toMatchObject({
    results: [{ idempotencyKey: key, outcome: "resolved", createdId: resumed.data.id }],
  });
  const byKey = await user.type("call", "submit_job", `idempotencyKey=${key}`, "--json");
  expect(byKey).toMatchObject({ code: 3, stderr: "" });
  expect(JSON.parse(byKey.stdout)).toMatchObject({ data: { id: resumed.data.id }, action: { replayed: true } });
  expect(await user.executions("createMicJob")).toEqual(new Map([[key, 1]]));
});

test("a call whose stdout is closed completes, and the same command then returns a replay", async () => {
  const user = await userForTest();
  const line = user.registration(FILE.succeeds);
  const withClosedOutput = user.startCommand("call", ...line);
  withClosedOutput.process.stdout.destroy();
  await withClosedOutput.exit;
  const key = await user.keyOf("createMicPublicInput");
  const again = await user.type("call", ...line, "--json");
  expect(again).toMatchObject({ code: 3, stderr: "" });
  expect(JSON.parse(again.stdout)).toMatchObject({ action: { idempotencyKey: key, replayed: true } });
  expect((await user.type("call", ...line)).stdout).toMatch(
    /^Not run again: .* To run it again, add idempotencyKey=again-\w{16}\. /,
  );
  expect(await user.executions("createMicPublicInput")).toEqual(new Map([[key, 1]]));
});

test("a destructive call needs --yes without a terminal", async () => {
  const user = await userForTest(60_000);
  const jobId = await user.job(FILE.succeeds);
  const cancel = ["call", "cancel_job", `jobId=${jobId}`, "reason=no longer needed"];
  const refused = await user.type(...cancel);
  expect(refused).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/Nothing was changed[\s\S]*--yes/),
  });
  expect(await user.executions("cancelMicJob")).toEqual(new Map());
  expect(await user.type(...cancel, "--yes")).toMatchObject({ code: 0 });
  expect([...(await user.executions("cancelMicJob")).values()]).toEqual([1]);
});

testUnless(
  posixMissing,
  "without a terminal, progress is a line on stderr, and SIGTERM ends only the wait",
  async () => {
    const user = await userForTest(60_000);
    const jobId = await user.job(FILE.succeeds);
    const waiting = user.startCommand("call", "get_job", `jobId=${jobId}`, "waitSeconds=45");
    await expect.poll(waiting.stderr).toMatch(/^\w+ GATHER 0\/(\d+|\?) units\n/);
    waiting.process.kill("SIGTERM");
    expect(await waiting.exit).toEqual({ code: 6, signal: null });
    expect(waiting.stdout()).toContain(`mic-mcp watch ${jobId}`);
    expect(waiting.stderr()).toMatch(/^Stopped\.$/m);
    expect(waiting.stderr()).not.toContain("\u001b");
  },
);

test("progress is first shown after 1 s, then at most once per second, and no message is shown twice", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const written: string[] = [];
  const progress = createProgressDisplay({ write: (text) => written.push(text) });
  const reportProgress = (message: string) => progress.report({ progress: 1, message });
  reportProgress("quick");
  expect(written).toEqual([]);
  vi.advanceTimersByTime(1_000);
  for (const message of ["a", "b", "c"]) reportProgress(message);
  vi.advanceTimersByTime(3_000);
  reportProgress("d");
  progress.end();
  vi.advanceTimersByTime(3_000);
  expect(written).toEqual(["quick\n", "c\n"]);
});

test("the time left follows from the progress so far, counts down without progress, and is unknown without a total", () => {
  let now = 0;
  const format = createStopwatch(() => now);
  const shown = ([seconds, progress, total]: readonly [number, number, number?]): string => {
    now = seconds * 1_000;
    return format({ progress, total });
  };
  const readings = [
    [1, 0, 9],
    [5, 2, 9],
    [9, 2, 9],
    [30, 2, 9],
    [31, 3, 9],
    [40, 500],
  ] as const;
  expect(readings.map(shown)).toEqual([
    "1 s",
    "5 s, about 14 s left",
    "9 s, about 10 s left",
    "30 s",
    "31 s, about 1 min left",
    "40 s",
  ]);
});

testUnless(terminalsMissing, "a terminal shows a bar that disappears at the end, and aligned columns", async () => {
  const user = await userForTest(60_000);
  const jobId = await user.job(FILE.succeeds);
  const waiting = runOnTerminal(user.env, ["call", "get_job", `jobId=${jobId}`, "waitSeconds=45"]);
  await waiting.answer("[------------------------] ", CTRL_C);
  expect(await waiting.exit).toBe(6);
  expect(waiting.screen()).toContain("\u001b[2KStopped.");
  const table = runOnTerminal(user.env, ["call", "list_states"]);
  expect(await table.exit).toBe(0);
  expect(table.screen()).not.toContain("\t");
  expect(table.screen()).toMatch(/^TG +Telangana +\d/m);
});

testUnless(
  terminalsMissing,
  "cancel_job on a terminal asks the user, and sends nothing unless the answer is yes",
  async () => {
    const user = await userForTest(60_000);
    const jobId = await user.job(FILE.succeeds);
    const cancel = ["call", "cancel_job", `jobId=${jobId}`, "reason=no longer needed"];
    for (const keys of [`n${ENTER}`, ENTER, CTRL_C]) {
      const refused = runOnTerminal(user.env, cancel);
      await refused.answer("Type yes", keys);
      expect(await refused.exit).toBe(1);
      expect(refused.screen()).toContain(`Cancel job ${jobId}?`);
      expect(refused.screen()).toContain("Nothing was sent");
    }
    expect(await user.executions("cancelMicJob")).toEqual(new Map());
    const confirmed = runOnTerminal(user.env, cancel);
    await confirmed.answer("Type yes", `yes${ENTER}`);
    expect(await confirmed.exit).toBe(0);
    expect([...(await user.executions("cancelMicJob")).values()]).toEqual([1]);
  },
);

test("the notes in rows of many jobs name commands, as other texts at a terminal do", async () => {
  const user = await userForTest(60_000);
  const jobId = await user.job(FILE.succeeds);
  const { stdout } = await user.type("call", "retry_jobs", `jobIds=${jobId}`, "retryMode=SAFE_RESUME", "reason=again");
  expect(stdout).toContain(`mic-mcp watch ${jobId} waits for it`);
  const json = await user.type(
    "call",
    "retry_jobs",
    `jobIds=${jobId}`,
    "retryMode=SAFE_RESUME",
    "reason=again",
    "--json",
  );
  expect(JSON.parse(json.stdout).results[0].note).toContain('get_job {"jobId":');
});
