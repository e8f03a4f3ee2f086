// Tests the lifecycle of a task, from the call that starts it to the result of its job.
import { resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { Service, serviceForFile } from "../../emulator/service.ts";
import {
  createJobBodyForFile,
  createRetryableJob,
  FILE,
  fileId,
  isTerminal,
  last,
  watchJob,
} from "../../emulator/work.ts";
import { operations } from "../../operations.ts";
import { createManualClock, emulatorForTest } from "../../support/emulator.ts";
import { TASKS, type TaskClient } from "./client.ts";
import { clientForFile, jobArguments, startTaskClient } from "./fixtures.ts";

const service = serviceForFile();
const sharedClient = clientForFile(service);

const Result = z.looseObject({
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional(), uri: z.string().optional() })),
  structuredContent: z.looseObject({
    summary: z.string(),
    nextStep: z.looseObject({ tool: z.string() }).optional(),
    data: z.looseObject({ id: z.string(), state: z.string(), retryOfBatchId: z.string().optional() }),
    action: z.object({ idempotencyKey: z.string(), replayed: z.boolean() }),
  }),
  isError: z.boolean().optional(),
});

/** The id of the newest job, because only the texts of a task name its job. */
async function newestJobId(): Promise<string> {
  const query = { workspaceId: service().emulator.workspaceId, limit: 1 };
  const [job] = (await service().ok(operations.listMicJobs, { query })).data;
  return job?.id ?? "";
}

async function completedTask(client: TaskClient, taskId: string) {
  const task = await client.get(taskId);
  if (task.status !== "completed") throw new Error(`the task is ${task.status}: ${task.statusMessage}`);
  return { ...task, result: Result.parse(task.result) };
}

const finishNewestJob = async (): Promise<string> => {
  const id = await newestJobId();
  await watchJob(service(), id, isTerminal, { stepMs: 60_000 });
  return id;
};

test("a job runs as a task from its submission to its result, which equals the result of get_job", async () => {
  const client = sharedClient();
  const { result: discovered } = await client.request("server/discover");
  expect(discovered).toMatchObject({ capabilities: { extensions: { [TASKS]: {} } } });
  const begun = await client.begin("submit_job", await jobArguments(service(), FILE.succeeds));
  const statusMessage = expect.stringContaining("PREPARING");
  expect(begun).toMatchObject({ resultType: "task", status: "working", ttlMs: null, statusMessage });
  expect(begun).not.toHaveProperty("result");
  const { taskId, createdAt } = begun;
  const jobId = await newestJobId();

  await watchJob(service(), jobId, ({ stages }) => stages[1]?.state === "RUNNING");
  const working = await client.get(taskId);
  // The job is young, because the emulator's clock is ahead.
  expect(working).toMatchObject({
    taskId,
    resultType: "complete",
    status: "working",
    createdAt,
    pollIntervalMs: 1_000,
  });
  expect(working.statusMessage).toMatch(/RUNNING, at stage SIFT/);
  expect(Date.parse(working.lastUpdatedAt)).toBeGreaterThan(Date.parse(begun.lastUpdatedAt));

  await finishNewestJob();
  const { result, ...completed } = await completedTask(client, taskId);
  const { content, structuredContent } = result;
  expect(result.isError).toBe(false);
  expect(structuredContent).toMatchObject({
    summary: completed.statusMessage,
    data: { id: jobId, state: "SUCCEEDED" },
  });
  expect(completed.pollIntervalMs).toBeUndefined();
  expect(content[0]?.text).toContain(completed.statusMessage);
  expect(content[1]).toMatchObject({ type: "resource_link", uri: `mic://jobs/${jobId}` });

  const read = await client.request("tools/call", { name: "get_job", arguments: { jobId } });
  const { action, ...sharedFields } = structuredContent;
  expect(read.result).toMatchObject({ resultType: "complete", structuredContent: sharedFields });
  const [request] = (await service().requests("createMicJob")).slice(-1);
  expect(action).toEqual({ idempotencyKey: request?.idempotencyKey, replayed: false });
  // The result does not change.
  expect((await completedTask(client, taskId)).result.structuredContent.data).toEqual(structuredContent.data);
});

test("run_job becomes a task once it has submitted the job; if it stops before that, it returns a plain result", async () => {
  const client = await startTaskClient(service());
  const { inputBindings, ...order } = await createJobBodyForFile(service(), FILE.succeeds);
  const runArguments = (file: number) => ({
    ...order,
    inputs: [{ port: inputBindings[0]?.port, referenceId: fileId(service(), file) }],
  });
  const { taskId } = await client.begin("run_job", runArguments(FILE.succeeds));
  const id = await finishNewestJob();
  const { result } = await completedTask(client, taskId);
  expect(result).toMatchObject({ isError: false, structuredContent: { data: { id, state: "SUCCEEDED" } } });
  const call = { name: "run_job", arguments: runArguments(FILE.quarantined) };
  const structuredContent = { data: { state: "QUARANTINED" } };
  expect((await client.request("tools/call", call)).result).toMatchObject({
    resultType: "complete",
    structuredContent,
  });
});

test("the official client follows a job to success, failure and cancellation", async () => {
  const session = sharedClient().session();
  const startJobTask = async (file: number) => {
    const args = z.record(z.string(), z.json()).parse(await jobArguments(service(), file));
    const execution = await session.callTool("submit_job", args);
    expect(execution.kind).toBe("task");
    return execution;
  };
  for (const [file, isError, state] of [
    [FILE.succeeds, false, "SUCCEEDED"],
    [FILE.failsForGood, true, "FAILED"],
  ] as const) {
    const execution = await startJobTask(file);
    await finishNewestJob();
    const result = Result.parse(resultFromTaskOutcome((await execution.settle()).outcome));
    expect(result).toMatchObject({ isError, structuredContent: { data: { state } } });
  }
  const canceled = await startJobTask(FILE.succeeds);
  const id = await newestJobId();
  await canceled.cancel();
  service().clock.advance(60_000);
  expect(last(await watchJob(service(), id)).state).toBe("CANCELLED");
  await session.close();
});

test("a failed job is an error result whose next step starts another task", async () => {
  const client = sharedClient();
  const { taskId } = await client.begin("submit_job", await jobArguments(service(), FILE.failsRetryably));
  const jobId = await finishNewestJob();
  const { result } = await completedTask(client, taskId);
  expect(result.isError).toBe(true);
  const { nextStep } = result.structuredContent;
  expect(nextStep).toMatchObject({ tool: "retry_job", arguments: { jobId, retryMode: "SAFE_RESUME" } });
  // Clients that only show the text of an error lose nothing.
  expect(result.content[0]?.text).toContain(`Next: retry_job ${JSON.stringify(Object(nextStep).arguments)}`);

  const retry = await client.begin("retry_job", Object(nextStep).arguments);
  await finishNewestJob();
  const structuredContent = { data: { state: "SUCCEEDED", retryOfBatchId: jobId } };
  expect((await completedTask(client, retry.taskId)).result).toMatchObject({ isError: false, structuredContent });
  // The result of the first task is unchanged.
  expect((await completedTask(client, taskId)).result.isError).toBe(true);
});

test.each([
  ["waits for a review", FILE.waitsForReview, "WAITING_REVIEW"],
  ["is paused by its operator", FILE.pauses, "PAUSED"],
])("a job that %s is a working task without input requests", async (_what, file, state) => {
  const client = sharedClient();
  const { taskId } = await client.begin("submit_job", await jobArguments(service(), file));
  await watchJob(service(), await newestJobId(), (job) => job.state === state);
  const task = await client.get(taskId);
  expect(task).toMatchObject({ status: "working", pollIntervalMs: 30_000 });
  expect(task.statusMessage).toMatch(/review|operator/);
  expect(task).not.toHaveProperty("inputRequests");
});

test("the poll interval is longer if the job is old", async () => {
  const clock = createManualClock("2020-01-01T00:00:00.000Z");
  const other = new Service(await emulatorForTest({ clock }), clock);
  const client = await startTaskClient(other);
  const begun = await client.begin("submit_job", await jobArguments(other, FILE.succeeds));
  expect(begun.pollIntervalMs).toBe(10_000);
  expect((await client.get(begun.taskId)).pollIntervalMs).toBe(10_000);
});

test("errors at submission are plain results; after an unknown outcome the same call returns the task", async () => {
  const client = sharedClient();
  const args = await jobArguments(service(), FILE.succeeds);
  const before = await service().countEffects("createMicJob");
  for (const wrong of [{ nonsense: 1 }, { recipeVersionId: "recipe-that-is-not" }]) {
    const call = { name: "submit_job", arguments: { ...args, ...wrong } };
    const _meta = { "mic-mcp/error": { sideEffect: "none" } };
    expect((await client.request("tools/call", call)).result).toMatchObject({ resultType: "complete", _meta });
  }
  expect(await service().countEffects("createMicJob")).toBe(before);
  for (const fault of [{ kind: "drop-after" }, { kind: "status", status: 429, retryAfterSeconds: 3600 }])
    await service().injectFault(fault, { operationId: "createMicJob" });
  const { result } = await client.request("tools/call", { name: "submit_job", arguments: args });
  const _meta = { "mic-mcp/error": { kind: "outcome_unknown" } };
  expect(result).toMatchObject({ resultType: "complete", isError: true, _meta });
  expect(await client.begin("submit_job", args)).toMatchObject({ status: "working" });
});

test("a client without tasks gets a plain result and cannot access tasks", async () => {
  const client = sharedClient();
  const args = await jobArguments(service(), FILE.succeeds);
  const plain = await client.request("tools/call", { name: "submit_job", arguments: args }, { tasks: false });
  expect(plain.result).toMatchObject({ resultType: "complete", structuredContent: { data: { state: "PREPARING" } } });
  expect(plain.result).not.toHaveProperty("taskId");
  const { taskId } = await client.begin("submit_job", args);
  const missing = { code: -32021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } };
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"])
    expect(await client.refusal(method, { taskId, inputResponses: {} }, { tasks: false })).toMatchObject(missing);
  expect(await client.get(taskId)).toMatchObject({ status: "working" });
});

test("RESTART asks the user before a task exists, and the confirmed call returns the task", async () => {
  const client = sharedClient();
  const { id: jobId } = await createRetryableJob(service());
  const call = { name: "retry_job", arguments: { jobId, retryMode: "RESTART", reason: "again" } };
  const both = { elicitation: true };
  const { result: question = {} } = await client.request("tools/call", call, both);
  expect(question).toMatchObject({ resultType: "input_required", inputRequests: {} });
  expect(question).not.toHaveProperty("taskId");
  const answered = async (action: string) => {
    const inputResponses = { confirm: { action, content: {} } };
    const { requestState } = question;
    return (await client.request("tools/call", { ...call, requestState, inputResponses }, both)).result;
  };
  const before = await service().countEffects("retryMicJob");
  expect(await answered("decline")).toMatchObject({ resultType: "complete", structuredContent: { declined: true } });
  expect(await service().countEffects("retryMicJob")).toBe(before);
  const task = await answered("accept");
  expect(task).toMatchObject({ resultType: "task", status: "working" });
  expect(task).not.toHaveProperty("requestState");
  expect(task).not.toHaveProperty("inputRequests");
  expect(await service().countEffects("retryMicJob")).toBe(before + 1);
});
