// Tests tasks/cancel: one action cancels the job, however often and on whichever server the client requests it.
import { describe, expect, test } from "vitest";
import { serviceForFile } from "../../emulator/service.ts";
import { FILE } from "../../emulator/work.ts";
import { folderForTest } from "../../support/temporary-folder.ts";
import type { TaskClient } from "./client.ts";
import { clientForFile, jobArguments, pollOptions, startProcessClient, startTaskClient } from "./fixtures.ts";

const service = serviceForFile();
const sharedClient = clientForFile(service);

const beginTask = async (client: TaskClient, file: number = FILE.succeeds): Promise<string> =>
  (await client.begin("submit_job", await jobArguments(service(), file))).taskId;

const cancelRequests = async () => (await service().requests("cancelMicJob")).length;
const countCancels = () => service().countEffects("cancelMicJob");

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

describe("a cancellation that fails", () => {
  test("tasks/cancel reports a refusal of the API, and succeeds once the API allows it", async () => {
    const client = sharedClient();
    const taskId = await beginTask(client);
    await service().injectFault({ kind: "status", status: 403, code: "NOT_ALLOWED" }, { operationId: "cancelMicJob" });
    const error = await client.refusal("tasks/cancel", { taskId });
    expect(error).toMatchObject({ code: -32603, data: { "mic-mcp/error": { kind: "forbidden", sideEffect: "none" } } });
    // The API allows it now, so it succeeds.
    await expectAcknowledged(client, taskId);
  });
});
