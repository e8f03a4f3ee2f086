// Tests what happens to tasks besides the normal course: cancellation, servers that exit or are killed, and access without the right to it.
import { expect, test } from "vitest";
import { serviceForFile, serviceForTest } from "../../emulator/service.ts";
import { FILE } from "../../emulator/work.ts";
import { emulatorEnv, inProcessClientForTest } from "../../support/mcp.ts";
import { folderForTest } from "../../support/temporary-folder.ts";
import { TASKS, type TaskClient } from "./client.ts";
import { clientForFile, jobArguments, pollOptions, startProcessClient, startTaskClient } from "./fixtures.ts";

const service = serviceForFile();
const sharedClient = clientForFile(service);
const METHODS = ["tasks/get", "tasks/update", "tasks/cancel"];

const beginTask = async (client: TaskClient, file: number = FILE.succeeds): Promise<string> =>
  (await client.begin("submit_job", await jobArguments(service(), file))).taskId;
const requestCount = async (): Promise<number> => (await service().requests()).length;
const cancelRequests = async () => (await service().requests("cancelMicJob")).length;
const countCancels = () => service().countEffects("cancelMicJob");

/** Number of times that `operationId` took effect during `work`. */
async function countEffects(operationId: string, work: () => Promise<unknown>): Promise<number> {
  const before = await service().countEffects(operationId);
  await work();
  return (await service().countEffects(operationId)) - before;
}

async function expectAcknowledged(client: TaskClient, taskId: string): Promise<void> {
  const { result } = await client.request("tasks/cancel", { taskId });
  // The result contains only the acknowledgement, besides _meta.
  const { _meta, ...otherFields } = result ?? {};
  expect(otherFields).toEqual({ resultType: "complete" });
}

test("tasks/cancel cancels the job once, and the task reports the end", async () => {
  const client = sharedClient();
  const taskId = await beginTask(client);
  const [before, done] = [await cancelRequests(), await countCancels()];
  await expectAcknowledged(client, taskId);
  expect(await client.get(taskId)).toMatchObject({ status: "working" });
  for (let n = 0; n < 3; n++) await expectAcknowledged(client, taskId);
  service().clock.advance(60_000);
  const task = await client.get(taskId);
  expect(task.status).toBe("cancelled");
  expect(task.statusMessage).toMatch(/CANCELLED/);
  expect(task).not.toHaveProperty("result");
  await expectAcknowledged(client, taskId);
  expect(await cancelRequests()).toBe(before + 1);
  expect(await countCancels()).toBe(done + 1);
  // The journal contains the action.
  const { result } = await client.request("tools/call", { name: "list_actions", arguments: {} });
  expect(result).toMatchObject({ structuredContent: { actions: [{ tool: "cancel_job", state: "succeeded" }, {}] } });
});

test("a lost answer and a killed server do not cause a second cancellation", async () => {
  const env = { MIC_STATE_DIR: await folderForTest() };
  const first = startProcessClient(service(), env);
  const taskId = await beginTask(first);
  const done = await countCancels();
  await service().injectFault({ kind: "hang", afterCommit: true }, { operationId: "cancelMicJob" });
  const lost = first.request("tasks/cancel", { taskId }).catch(() => "gone");
  await expect.poll(countCancels, pollOptions).toBe(done + 1);
  await first.kill();
  expect(await lost).toBe("gone");
  const second = await startTaskClient(service(), env);
  await expectAcknowledged(second, taskId);
  expect(await countCancels()).toBe(done + 1);
  const keys = (await service().requests("cancelMicJob")).slice(-2).map(({ idempotencyKey }) => idempotencyKey);
  expect(new Set(keys).size).toBe(1);
  service().clock.advance(60_000);
  expect((await second.get(taskId)).status).toBe("cancelled");
});

test.each([
  ["has succeeded", FILE.succeeds],
  ["has failed", FILE.failsForGood],
])("a job that %s is not canceled, and its result stays", async (_what, file) => {
  const client = sharedClient();
  const taskId = await beginTask(client, file);
  service().clock.advance(600_000);
  const before = await cancelRequests();
  await expectAcknowledged(client, taskId);
  expect(await cancelRequests()).toBe(before);
  expect((await client.get(taskId)).status).toBe("completed");
});

test("tasks/cancel reports a refusal of the API, and succeeds once the API allows it", async () => {
  const client = sharedClient();
  const taskId = await beginTask(client);
  await service().injectFault({ kind: "status", status: 403, code: "NOT_ALLOWED" }, { operationId: "cancelMicJob" });
  const error = await client.refusal("tasks/cancel", { taskId });
  expect(error).toMatchObject({ code: -32603, data: { "mic-mcp/error": { kind: "forbidden", sideEffect: "none" } } });
  // The API allows it now, so it succeeds.
  await expectAcknowledged(client, taskId);
});

test("a task is found by the next server, although it has another journal", async () => {
  const first = await startTaskClient(service());
  const { taskId } = await first.begin("submit_job", await jobArguments(service(), FILE.succeeds));
  await first.kill();
  const second = await startTaskClient(service());
  expect(await second.get(taskId)).toMatchObject({ taskId, status: "working" });
  service().clock.advance(600_000);
  expect(await second.get(taskId)).toMatchObject({
    status: "completed",
    result: { resultType: "complete", structuredContent: { data: { state: "SUCCEEDED" }, action: { attempts: 1 } } },
  });
});

test("after a kill, an identical call to the next server is the same action and returns a task", async () => {
  const env = { MIC_STATE_DIR: await folderForTest() };
  const args = await jobArguments(service(), FILE.succeeds);
  const effectCount = await countEffects("createMicJob", async () => {
    const before = await service().countEffects("createMicJob");
    const first = startProcessClient(service(), env);
    await service().injectFault({ kind: "hang", afterCommit: true }, { operationId: "createMicJob" });
    const lost = first.request("tools/call", { name: "submit_job", arguments: args }).catch(() => "gone");
    await expect.poll(() => service().countEffects("createMicJob"), pollOptions).toBe(before + 1);
    await first.kill();
    expect(await lost).toBe("gone");
    const second = await startTaskClient(service(), env);
    const { taskId } = await second.begin("submit_job", args);
    expect(await second.get(taskId)).toMatchObject({ status: "working" });
  });
  expect(effectCount).toBe(1);
  const keys = (await service().requests("createMicJob")).slice(-2).map(({ idempotencyKey }) => idempotencyKey);
  expect(new Set(keys).size).toBe(1);
});

test("an explicit key starts one job, and its replays are tasks of that job", async () => {
  const [one, two] = [await startTaskClient(service()), await startTaskClient(service())];
  const args = { ...(await jobArguments(service(), FILE.succeeds)), idempotencyKey: "my-own-key-for-this-job" };
  const effectCount = await countEffects("createMicJob", async () => {
    await one.begin("submit_job", args);
    const replay = await one.begin("submit_job", args);
    expect((await one.begin("submit_job", args)).taskId, "the same replay").toBe(replay.taskId);
    // The second server has another journal, so the API detects the repeated key.
    expect((await two.begin("submit_job", args)).taskId).toBe(replay.taskId);
  });
  expect(effectCount).toBe(1);
});

test("an unknown outcome is an error and not a task", async () => {
  const client = sharedClient();
  const args = await jobArguments(service(), FILE.succeeds);
  await service().injectFault({ kind: "drop-after" }, { operationId: "createMicJob" });
  await service().injectFault(
    { kind: "status", status: 429, retryAfterSeconds: 3600 },
    { operationId: "createMicJob" },
  );
  const { result } = await client.request("tools/call", { name: "submit_job", arguments: args });
  expect(result).toMatchObject({
    resultType: "complete",
    isError: true,
    _meta: { "mic-mcp/error": { kind: "outcome_unknown" } },
  });
  const { taskId } = await client.begin("submit_job", args);
  expect((await client.get(taskId)).status).toBe("working");
});

test("an unavailable API is an error of the request and does not end the task", async () => {
  const client = sharedClient();
  const { taskId } = await client.begin("submit_job", await jobArguments(service(), FILE.succeeds));
  await service().injectFault({ kind: "status", status: 429, retryAfterSeconds: 3600 }, { operationId: "getMicJob" });
  const error = await client.refusal("tasks/get", { taskId });
  expect(error).toMatchObject({
    code: -32603,
    data: { "mic-mcp/error": { kind: "rate_limited", retryAfterSeconds: 3600 } },
  });
  expect(error.message).toContain("3600");
  expect((await client.get(taskId)).status).toBe("working");
});

test("the task of a job that no longer exists is not found", async () => {
  const client = sharedClient();
  const { taskId } = await client.begin("submit_job", await jobArguments(service(), FILE.succeeds));
  await service().injectFault(
    { kind: "status", status: 404, code: "NOT_FOUND", retryable: false },
    { operationId: "getMicJob" },
  );
  expect(await client.refusal("tasks/get", { taskId })).toMatchObject({ code: -32602 });
});

test("an id that this server's credentials did not sign is refused without a request", async () => {
  const client = sharedClient();
  const taskId = await beginTask(client);
  const [text = "", signature = ""] = taskId.split(".");
  const decoded = JSON.parse(Buffer.from(text, "base64url").toString());
  expect(JSON.stringify(decoded)).not.toContain(service().emulator.clientSecret);
  const other = Buffer.from(JSON.stringify({ ...decoded, jobId: "micjob_other" })).toString("base64url");
  const flipped = signature.startsWith("A") ? `B${signature.slice(1)}` : `A${signature.slice(1)}`;
  const forged = [
    "",
    ".",
    "nonexistent-12345",
    decoded.jobId,
    text,
    `${text}.`,
    `${text}.${signature.slice(0, -1)}`,
    `${text}.${flipped}`,
    `${text}.${signature}.`,
    `${text}=.${signature}`,
    ` ${taskId}`,
    `${other}.${signature}`,
    `.${signature}`,
    `${Buffer.from("null").toString("base64url")}.${signature}`,
    "🍨".repeat(40),
    "x".repeat(1_000_000),
  ];
  const before = await requestCount();
  for (const method of METHODS)
    for (const id of forged) {
      const error = await client.refusal(method, { taskId: id, inputResponses: {} });
      expect(error.code, `${method} ${id.slice(0, 80)}`).toBe(-32602);
      expect(error.message).toMatch(/Task not found/);
    }
  for (const method of METHODS) expect((await client.refusal(method, { taskId: 5 })).code).toBe(-32602);
  expect(await requestCount()).toBe(before);
  expect((await client.get(taskId)).status).toBe("working");
});

test("a task of another API or another client is not found", async () => {
  const client = sharedClient();
  const taskId = await beginTask(client);
  const other = await serviceForTest();
  expect((await (await startTaskClient(other)).refusal("tasks/get", { taskId })).code).toBe(-32602);
  const { clientSecret } = other.emulator;
  for (const env of [{ MIC_CLIENT_SECRET: clientSecret }, { MIC_CLIENT_ID: "another-client" }]) {
    const error = await (await startTaskClient(service(), env)).refusal("tasks/get", { taskId });
    expect(error.code).toBe(-32602);
  }
});

test("inputs that were not requested are accepted and ignored", async () => {
  const client = sharedClient();
  const taskId = await beginTask(client);
  const { result } = await client.request("tasks/update", {
    taskId,
    inputResponses: { confirm: { action: "accept", content: { confirm: true } }, other: "no object" },
  });
  const { _meta, ...otherFields } = result ?? {};
  expect(otherFields).toEqual({ resultType: "complete" });
  expect((await client.get(taskId)).status).toBe("working");
});

test("a subscription to tasks is refused for a client without tasks, and is acknowledged without tasks for others", async () => {
  const client = sharedClient();
  const notifications = { taskIds: [await beginTask(client)], toolsListChanged: true };
  const error = await client.refusal("subscriptions/listen", { notifications }, { tasks: false });
  expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } });
  client.send("subscriptions/listen", { notifications });
  const acknowledged = await client.notification("notifications/subscriptions/acknowledged");
  expect(acknowledged).not.toHaveProperty(["params", "notifications", "taskIds"]);
});

test("a read-only server returns tasks but cancels none", async () => {
  const taskId = await beginTask(sharedClient());
  const client = await startTaskClient(service(), { MIC_READ_ONLY: "1" });
  expect((await client.get(taskId)).status).toBe("working");
  const error = await client.refusal("tasks/cancel", { taskId });
  expect(error.message).toMatch(/MIC_READ_ONLY/);
  expect((await client.refusal("tasks/cancel", { taskId: "none" })).code).toBe(-32602);
  expect((await client.get(taskId)).status).toBe("working");
  const { error: refused } = await client.request("tools/call", { name: "submit_job", arguments: {} });
  expect(refused?.message).toMatch(/read-only/);
});

test("a server without the jobs toolset offers no tasks", async () => {
  const client = await startTaskClient(service(), { MIC_TOOLSETS: "geography" });
  expect((await client.request("server/discover")).result).not.toHaveProperty(["capabilities", "extensions", TASKS]);
  for (const method of METHODS) expect((await client.refusal(method, { taskId: "any" })).code).toBe(-32601);
});

test.each(["v1-client", "v2-legacy"] as const)("revisions before 2026-07-28 have no tasks: %s", async (revision) => {
  const connection = await inProcessClientForTest(revision, emulatorEnv(service().emulator));
  expect(connection.capabilities()).not.toHaveProperty(["extensions", TASKS]);
  expect(connection.capabilities()).not.toHaveProperty("tasks");
  const called = await connection.callTool("submit_job", { ...(await jobArguments(service(), FILE.succeeds)) });
  expect(called.structured).toMatchObject({ data: { state: "PREPARING" } });
});
