// Tests the exit codes of calls that start, retry or wait for jobs (docs/use/automate-retries.md, "Exit codes").

import { expect, test } from "vitest";
import * as z from "zod/v4";
import { stubEnv } from "../api-client/client.ts";
import { job, problem } from "../contract/samples.ts";
import { createJobBody, FILE, findOneInputOffer } from "../emulator/work.ts";
import { runInProcess } from "../support/command.ts";
import { speedUpTimers } from "../support/fast-timers.ts";
import { serveJobs } from "../support/job-list.ts";
import { stubForTest } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { userForTest } from "./test-user.ts";

type User = Awaited<ReturnType<typeof userForTest>>;

async function runWords(
  user: User,
  tool: "run_job" | "run_jobs",
  files: readonly number[],
): Promise<readonly string[]> {
  const body = createJobBody(user.service, await findOneInputOffer(user.service), "");
  const ids = files.map((file) => user.service.emulator.fileIds[file]);
  const port = body.inputBindings[0]?.port;
  const inputs = tool === "run_jobs" ? `files=${ids}` : `inputs=${JSON.stringify([{ port, referenceId: ids[0] }])}`;
  return [
    tool,
    `recipeVersionId=${body.recipeVersionId}`,
    inputs,
    `parameterValues=${JSON.stringify(body.parameterValues)}`,
  ];
}

/** Calls a tool with --json. Returns its result, after checking that the result states the same exit code as the process. */
async function callJson(
  user: User,
  words: readonly string[],
): Promise<{ readonly code: number; readonly text: string }> {
  const { code, stdout } = await user.type("call", ...words, "--json");
  expect(JSON.parse(stdout)).toMatchObject({ exitCode: code });
  return { code, text: stdout };
}

const codeOf = async (user: User, ...words: readonly string[]): Promise<number> => (await callJson(user, words)).code;

test.each([
  ["succeeds", 0, 3],
  ["failsRetryably", 5, 5],
  ["failsForGood", 5, 5],
  ["waitsForReview", 6, 6],
  ["pauses", 6, 6],
  ["quarantined", 5, 5],
] as const)("run_job on the file that %s exits with %i, and an identical call with %i", async (file, first, again) => {
  const user = await userForTest();
  const words = await runWords(user, "run_job", [FILE[file]]);
  expect([await codeOf(user, ...words), await codeOf(user, ...words)]).toEqual([first, again]);
});

test("without the journal of the first call, the API recognizes the key: the same job, but exit code 0", async () => {
  const user = await userForTest();
  const words = [
    ...(await runWords(user, "run_job", [FILE.succeeds])),
    "idempotencyKey=divisions-2026-11-23",
    "--json",
  ];
  async function runWithEmptyJournal() {
    const env = { ...user.env, MIC_STATE_DIR: await folderForTest() };
    const { code, stdout } = await runInProcess(["call", ...words], { env });
    return { code, id: z.object({ data: z.object({ id: z.string() }) }).parse(JSON.parse(stdout)).data.id };
  }
  const first = await runWithEmptyJournal();
  expect(first.code).toBe(0);
  expect(await runWithEmptyJournal()).toEqual(first);
  expect(await user.executions("createMicJob")).toEqual(new Map([["divisions-2026-11-23", 1]]));
});

test("run_job exits with 6 if its wait ends before the scan or the job does, and with 0 if it need not wait for the job", async () => {
  const user = await userForTest(60_000);
  const words = await runWords(user, "run_job", [FILE.succeeds]);
  expect(await codeOf(user, ...words, "waitSeconds=0")).toBe(0);
  expect(await codeOf(user, ...words, "waitSeconds=0")).toBe(3);
  expect(await codeOf(user, ...words, "waitSeconds=1")).toBe(6);
  const scanning = await runWords(user, "run_job", [FILE.waitsForScan]);
  expect(await codeOf(user, ...scanning, "waitSeconds=0")).toBe(6);
});

test.each([
  [["succeeds", "failsRetryably"], 5],
  [["succeeds", "pauses"], 6],
  [["pauses", "failsForGood"], 5],
  [["succeeds", "quarantined"], 5],
  [["succeeds"], 0],
] as const)("run_jobs on the files that %j exits with %i: the worst row decides", async (files, code) => {
  const user = await userForTest();
  const words = await runWords(
    user,
    "run_jobs",
    files.map((file) => FILE[file]),
  );
  expect(await codeOf(user, ...words)).toBe(code);
});

test("run_jobs exits with 6 if the job of a file has not been submitted yet", async () => {
  const user = await userForTest(60_000);
  const files = [FILE.succeeds, FILE.failsRetryably, FILE.failsForGood, FILE.waitsForReview, FILE.pauses];
  const { code, text } = await callJson(user, [...(await runWords(user, "run_jobs", files)), "waitSeconds=0"]);
  expect({ code, text }).toEqual({ code: 6, text: expect.stringContaining('"notSent":{"count":1,') });
});

test("submit_job and retry_job exit with 0 for a new job, 3 for a replay, and 5 if the job of a replay has failed", async () => {
  const user = await userForTest();
  const submission = await user.submission(FILE.failsRetryably);
  const { data } = await user.callSuccessfully(...submission);
  expect(await user.type("watch", data.id)).toMatchObject({ code: 5 });
  expect(await codeOf(user, ...submission)).toBe(5);
  const retry = ["retry_job", `jobId=${data.id}`, "retryMode=SAFE_RESUME", "reason=The workers are back"];
  expect([await codeOf(user, ...retry), await codeOf(user, ...retry)]).toEqual([0, 3]);
});

test("retry_jobs exits with 5 if a retry was rejected, and with 6 if more jobs match than it may retry", async () => {
  const user = await userForTest();
  const jobs = [await user.job(FILE.failsRetryably), await user.job(FILE.failsForGood)];
  for (const each of jobs) expect(await user.type("watch", each)).toMatchObject({ code: 5 });
  const retry = ["retry_jobs", "retryMode=SAFE_RESUME", "reason=The workers are back"];
  expect(await codeOf(user, ...retry, `jobIds=${jobs}`)).toBe(5);
  expect(await codeOf(user, ...retry, `jobIds=${jobs[0]}`)).toBe(3);
  // The emulator starts with other failed jobs.
  expect(await codeOf(user, ...retry, "createdSince=2020-01-01T00:00:00Z", "limit=1")).toBe(6);
});

test.each([
  ["no failed job", 0, []],
  ["a retry that failed", 5, ["FAILED"]],
  ["a retry that is running", 6, ["RUNNING"]],
  ["a retry that succeeded", 0, ["SUCCEEDED"]],
])("retry_jobs with createdSince that finds only %s exits with %i", async (_, expected, states) => {
  const stub = await stubForTest();
  const failure = { ...problem, retryable: true };
  const failed = { ...job, id: "job-0", retryOfBatchId: null, state: "FAILED", failure };
  const retries = states.map((state) => ({ ...failed, id: "job-1", retryOfBatchId: "job-0", state }));
  serveJobs(stub, () => (states.length === 0 ? [] : [...retries, failed]));
  const env = { ...stubEnv(stub), MIC_WORKSPACE_ID: "micws_1" };
  const words = ["retry_jobs", "retryMode=SAFE_RESUME", "reason=again", "createdSince=2020-01-01T00:00:00Z"];
  const { code, stdout } = await runInProcess(["call", ...words], { env });
  expect({ code, stdout }).toEqual({ code: expected, stdout: expect.stringContaining("No job to retry.") });
});

test("a read exits with 0 in every state of the job, and a wait with the code of the worst state", async () => {
  const user = await userForTest();
  const [failed, paused] = [await user.job(FILE.failsRetryably), await user.job(FILE.pauses)];
  expect(await codeOf(user, "get_job", failed, "waitSeconds=45")).toBe(5);
  expect(await codeOf(user, "get_job", paused, "waitSeconds=45")).toBe(6);
  expect(await codeOf(user, "wait_for_jobs", paused)).toBe(6);
  expect(await codeOf(user, "wait_for_jobs", paused, failed)).toBe(5);
  expect(await codeOf(user, "wait_for_jobs", paused, "until=any", "waitSeconds=0")).toBe(0);
  expect(await codeOf(user, "get_job", failed)).toBe(0);
  expect(await codeOf(user, "list_jobs")).toBe(0);
});

test("cancel_jobs exits with 0 if all jobs are canceled, with 6 before their end, and with 5 if one had ended", async () => {
  const user = await userForTest(500);
  const cancel = ["cancel_jobs", "reason=no longer needed", "--yes"];
  const [first, second] = [await user.job(FILE.pauses), await user.job(FILE.pauses)];
  expect(await codeOf(user, ...cancel, `jobIds=${first}`, "waitSeconds=0")).toBe(6);
  expect(await codeOf(user, ...cancel, `jobIds=${first},${second}`)).toBe(0);
  expect(await codeOf(user, ...cancel, `jobIds=${first},${second}`)).toBe(3);
  const ended = await user.job(FILE.succeeds);
  expect(await user.type("watch", ended)).toMatchObject({ code: 0 });
  expect(await codeOf(user, ...cancel, `jobIds=${first},${ended}`)).toBe(5);
});

test("cancel_job exits with 0 if the job is canceled, and a later wait for this job exits with 5", async () => {
  const user = await userForTest(500);
  const jobId = await user.job(FILE.succeeds);
  const cancel = ["cancel_job", `jobId=${jobId}`, "reason=no longer needed", "--yes"];
  expect(await codeOf(user, ...cancel, "waitSeconds=45")).toBe(0);
  expect(await codeOf(user, ...cancel)).toBe(3);
  expect(await codeOf(user, "wait_for_jobs", jobId)).toBe(5);
});

test("resolve exits with 6 if an outcome stays unknown, and with 0 once the outcome is known", async () => {
  const user = await userForTest();
  const submission = await user.submission(FILE.succeeds);
  speedUpTimers();
  await user.service.injectFault({ kind: "drop-after" }, { operationId: "createMicJob", times: 1_000 });
  expect(await user.type("call", ...submission)).toMatchObject({ code: 1 });
  const unknown = await user.type("resolve", "--json");
  expect(unknown.code).toBe(6);
  expect(JSON.parse(unknown.stdout)).toMatchObject({ results: [{ outcome: "still unknown" }], exitCode: 6 });
  await user.service.admin("DELETE", "faults");
  expect(await user.type("resolve")).toMatchObject({ code: 0 });
});
