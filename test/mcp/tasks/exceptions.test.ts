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
const requestCount = async (operationId?: string) => (await service().requests(operationId)).length;

async function countEffects(operationId: string, work: () => Promise<unknown>): Promise<number> {
  const before = await service().countEffects(operationId);
  await work();
  return (await service().countEffects(operationId)) - before;
}

/** Sends a request that is answered only with an acknowledgement. */
async function expectAcknowledged(client: TaskClient, taskId: string, method = "tasks/cancel", params = {}) {
  const { _meta, ...otherFields } = (await client.request(method, { taskId, ...params })).result ?? {};
  expect(otherFields).toEqual({ resultType: "complete" });
}

test("tasks/cancel cancels the job once, and the task reports the end", async () => {
  const client = sharedClient();
  const taskId = await beginTask(client);
  const before = await requestCount("cancelMicJob");
  const effects = await countEffects("cancelMicJob", async () => {
    await expectAcknowledged(client, taskId);
    expect(await client.get(taskId)).toMatchObject({ status: "working" });
    for (let n = 0; n < 3; n++) await expectAcknowledged(client, taskId);
    service().clock.advance(60_000);
    const task = await client.get(taskId);
    expect(task).toMatchObject({ status: "cancelled", statusMessage: expect.stringContaining("CANCELLED") });
    expect(task).not.toHaveProperty("result");
    await expectAcknowledged(client, taskId);
  });
  expect([effects, await requestCount("cancelMicJob")]).toEqual([1, before + 1]);
  // The journal contains the action.
  const { result } = await client.request("tools/call", { name: "list_actions", arguments: {} });
  expect(result).toMatchObject({ structuredContent: { actions: [{ tool: "cancel_job", state: "succeeded" }, {}] } });
});

test.each([
  ["tasks/cancel", "cancelMicJob", { resultType: "complete" }],
  ["tools/call", "createMicJob", { resultType: "task", status: "working" }],
])("a lost answer to %s and a killed server do not cause a second %s", async (method, operationId, expected) => {
  const env = { MIC_STATE_DIR: await folderForTest() };
  const first = startProcessClient(service(), env);
  const call = { name: "submit_job", arguments: await jobArguments(service(), FILE.succeeds) };
  const params = method === "tools/call" ? call : { taskId: await beginTask(first) };
  const effects = await countEffects(operationId, async () => {
    const before = await service().countEffects(operationId);
    await service().injectFault({ kind: "hang", afterCommit: true }, { operationId });
    const lost = first.request(method, params).catch(() => "gone");
    await expect.poll(() => service().countEffects(operationId), pollOptions).toBe(before + 1);
    await first.kill();
    expect(await lost).toBe("gone");
    const second = await startTaskClient(service(), env);
    expect((await second.request(method, params)).result).toMatchObject(expected);
  });
  expect(effects).toBe(1);
  const keys = (await service().requests(operationId)).slice(-2).map(({ idempotencyKey }) => idempotencyKey);
  expect(new Set(keys).size).toBe(1);
});

test.each([
  ["has succeeded", FILE.succeeds],
  ["has failed", FILE.failsForGood],
])("a job that %s is not canceled, and its result stays available", async (_what, file) => {
  const client = sharedClient();
  const taskId = await beginTask(client, file);
  service().clock.advance(600_000);
  const before = await requestCount("cancelMicJob");
  await expectAcknowledged(client, taskId);
  expect(await requestCount("cancelMicJob")).toBe(before);
  expect((await client.get(taskId)).status).toBe("completed");
});

const rateLimited = { kind: "status", status: 429, retryAfterSeconds: 3600 };

test.each([
  [
    "tasks/cancel",
    { kind: "status", status: 403, code: "NOT_ALLOWED" },
    -32603,
    { kind: "forbidden", sideEffect: "none" },
  ],
  ["tasks/get", rateLimited, -32603, { kind: "rate_limited", retryAfterSeconds: 3600 }],
  ["tasks/get", { kind: "status", status: 404, code: "NOT_FOUND", retryable: false }, -32602, undefined],
])("%s reports an error of the API (%j), and succeeds once the API allows it", async (method, fault, code, facts) => {
  const client = sharedClient();
  const taskId = await beginTask(client);
  const operationId = method === "tasks/get" ? "getMicJob" : "cancelMicJob";
  await service().injectFault(fault, { operationId });
  const error = await client.refusal(method, { taskId });
  expect(error).toMatchObject({ code, ...(facts && { data: { "mic-mcp/error": facts } }) });
  expect((await client.request(method, { taskId })).result).toMatchObject({ resultType: "complete" });
});

test("an explicit key starts one job, and its replays are tasks of that job", async () => {
  const [one, two] = [await startTaskClient(service()), await startTaskClient(service())];
  const args = { ...(await jobArguments(service(), FILE.succeeds)), idempotencyKey: "my-own-key-for-this-job" };
  const effects = await countEffects("createMicJob", async () => {
    // The second server has another journal, so the API detects the repeated key.
    for (const client of [one, two]) await client.begin("submit_job", args);
    const { taskId } = await one.begin("submit_job", args);
    for (const client of [one, two]) expect((await client.begin("submit_job", args)).taskId).toBe(taskId);
  });
  expect(effects).toBe(1);
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
    ...["", ".", "nonexistent-12345", decoded.jobId, text, `${text}.`, `.${signature}`, ` ${taskId}`],
    ...[`${text}.${signature.slice(0, -1)}`, `${text}.${flipped}`, `${text}.${signature}.`, `${text}=.${signature}`],
    ...[`${other}.${signature}`, `${Buffer.from("null").toString("base64url")}.${signature}`],
    ...["🍨".repeat(40), "x".repeat(1_000_000)],
  ];
  const before = await requestCount();
  for (const method of METHODS) {
    for (const id of forged) {
      const error = await client.refusal(method, { taskId: id, inputResponses: {} });
      expect(error.code, `${method} ${id.slice(0, 80)}`).toBe(-32602);
      expect(error.message).toMatch(/Task not found/);
    }
    expect((await client.refusal(method, { taskId: 5 })).code).toBe(-32602);
  }
  expect(await requestCount()).toBe(before);
  expect((await client.get(taskId)).status).toBe("working");
});

test("a task of another API or another client is not found", async () => {
  const client = sharedClient();
  const taskId = await beginTask(client);
  const other = await serviceForTest();
  expect((await (await startTaskClient(other)).refusal("tasks/get", { taskId })).code).toBe(-32602);
  const { clientSecret } = other.emulator;
  for (const [name, value] of Object.entries({ MIC_CLIENT_SECRET: clientSecret, MIC_CLIENT_ID: "another-client" }))
    expect((await (await startTaskClient(service(), { [name]: value })).refusal("tasks/get", { taskId })).code).toBe(
      -32602,
    );
});

test("inputs that were not requested are accepted and ignored", async () => {
  const client = sharedClient();
  const taskId = await beginTask(client);
  const inputResponses = { confirm: { action: "accept", content: { confirm: true } }, other: "no object" };
  await expectAcknowledged(client, taskId, "tasks/update", { inputResponses });
  expect((await client.get(taskId)).status).toBe("working");
});

test("a subscription to tasks is refused for a client without tasks; for others, the acknowledgment leaves out the tasks", async () => {
  const client = sharedClient();
  const notifications = { taskIds: [await beginTask(client)], toolsListChanged: true };
  const error = await client.refusal("subscriptions/listen", { notifications }, { tasks: false });
  expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } });
  const acknowledged = await client.listen(notifications);
  expect(acknowledged).toHaveProperty("method", "notifications/subscriptions/acknowledged");
  expect(acknowledged).not.toHaveProperty(["params", "notifications", "taskIds"]);
});

test("a read-only server returns tasks but cancels none", async () => {
  const taskId = await beginTask(sharedClient());
  const client = await startTaskClient(service(), { MIC_READ_ONLY: "1" });
  expect((await client.get(taskId)).status).toBe("working");
  const error = await client.refusal("tasks/cancel", { taskId });
  expect(error.message).toMatch(/does not offer cancel_job/);
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
