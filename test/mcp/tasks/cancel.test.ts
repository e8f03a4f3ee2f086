// tasks/cancel: the job is cancelled by one action, however often and from wherever it is asked for.
import { describe, expect, test } from "vitest";
import { serviceForFile } from "../../emulator/service.ts";
import { FILE } from "../../emulator/work.ts";
import { folderForTest } from "../../support/home.ts";
import { clientForFile, clientOf, executed, jobArguments, pollOptions, processOf, sent } from "./bench.ts";
import type { TaskClient } from "./client.ts";

const service = serviceForFile();
const sharedClient = clientForFile(service);

const begin = async (client: TaskClient, file: number = FILE.succeeds): Promise<string> =>
  (await client.begin("submit_job", await jobArguments(service(), file))).taskId;

const cancelsSent = async () => (await sent(service(), "cancelMicJob")).length;
const cancelsDone = () => executed(service(), "cancelMicJob");

async function expectAcknowledged(client: TaskClient, taskId: string): Promise<void> {
  const { result } = await client.request("tasks/cancel", { taskId });
  // Nothing but the acknowledgement, and who gives it.
  const { _meta, ...otherFields } = result ?? {};
  expect(otherFields).toEqual({ resultType: "complete" });
}

test("cancels the job, once, and says so when it is done", async () => {
  const client = sharedClient();
  const taskId = await begin(client);
  const [before, done] = [await cancelsSent(), await cancelsDone()];
  await expectAcknowledged(client, taskId);
  expect(await client.get(taskId)).toMatchObject({ status: "working" });
  for (let n = 0; n < 3; n++) await expectAcknowledged(client, taskId);
  service().clock.advance(60_000);
  const task = await client.get(taskId);
  expect(task.status).toBe("cancelled");
  expect(task.statusMessage).toMatch(/CANCELLED/);
  expect(task).not.toHaveProperty("result");
  await expectAcknowledged(client, taskId);
  expect(await cancelsSent()).toBe(before + 1);
  expect(await cancelsDone()).toBe(done + 1);
  // What was done stands in the journal, under its key.
  const { result } = await client.request("tools/call", { name: "list_actions", arguments: {} });
  expect(result).toMatchObject({ structuredContent: { actions: [{ tool: "cancel_job", state: "succeeded" }, {}] } });
});

test("a lost answer and a killed server change nothing of that", async () => {
  const env = { MIC_STATE_DIR: await folderForTest() };
  const first = processOf(service(), env);
  const taskId = await begin(first);
  const done = await cancelsDone();
  await service().fault({ kind: "hang", afterCommit: true }, { operationId: "cancelMicJob" });
  const lost = first.request("tasks/cancel", { taskId }).catch(() => "gone");
  await expect.poll(cancelsDone, pollOptions).toBe(done + 1);
  await first.kill();
  expect(await lost).toBe("gone");
  const second = await clientOf(service(), env);
  await expectAcknowledged(second, taskId);
  expect(await cancelsDone()).toBe(done + 1);
  const keys = (await sent(service(), "cancelMicJob")).slice(-2).map(({ idempotencyKey }) => idempotencyKey);
  expect(new Set(keys).size).toBe(1);
  service().clock.advance(60_000);
  expect((await second.get(taskId)).status).toBe("cancelled");
});

test("a job that moves on meanwhile is cancelled as it is then", async () => {
  const client = sharedClient();
  const taskId = await begin(client);
  const done = await cancelsDone();
  const stale = { kind: "status", status: 412, code: "VERSION_CONFLICT", retryable: false };
  await service().fault(stale, { operationId: "cancelMicJob" });
  await expectAcknowledged(client, taskId);
  expect(await cancelsDone()).toBe(done + 1);
});

test.each([
  ["has succeeded", FILE.succeeds],
  ["has failed", FILE.failsForGood],
])("a job that %s is left alone, and its result stays", async (_what, file) => {
  const client = sharedClient();
  const taskId = await begin(client, file);
  service().clock.advance(600_000);
  const before = await cancelsSent();
  await expectAcknowledged(client, taskId);
  expect(await cancelsSent()).toBe(before);
  expect((await client.get(taskId)).status).toBe("completed");
});

test("a job that ends between the look and the command is left alone, too", async () => {
  const client = sharedClient();
  const taskId = await begin(client);
  await service().fault({ kind: "delay", delayMs: 300 }, { operationId: "cancelMicJob" });
  const before = await cancelsSent();
  const acknowledged = expectAcknowledged(client, taskId);
  await expect.poll(cancelsSent, pollOptions).toBe(before + 1);
  service().clock.advance(600_000);
  await acknowledged;
  expect((await client.get(taskId)).status).toMatch(/completed|cancelled/);
});

test("a job that waits for a person can be cancelled", async () => {
  const client = sharedClient();
  const taskId = await begin(client, FILE.pauses);
  service().clock.advance(60_000);
  expect((await client.get(taskId)).statusMessage).toContain("PAUSED");
  await expectAcknowledged(client, taskId);
  service().clock.advance(60_000);
  expect((await client.get(taskId)).status).toBe("cancelled");
});

describe("what could not be done is said", () => {
  test("where the service refuses", async () => {
    const client = sharedClient();
    const taskId = await begin(client);
    await service().fault({ kind: "status", status: 403, code: "NOT_ALLOWED" }, { operationId: "cancelMicJob" });
    const error = await client.refusal("tasks/cancel", { taskId });
    expect(error).toMatchObject({ code: -32603, data: { "mic-mcp/error": { kind: "forbidden", sideEffect: "none" } } });
    // Allowed now, it is done.
    await expectAcknowledged(client, taskId);
  });

  test("where it is not known what happened", async () => {
    const client = sharedClient();
    const taskId = await begin(client);
    const done = await cancelsDone();
    await service().fault({ kind: "drop-after" }, { operationId: "cancelMicJob" });
    await service().fault({ kind: "status", status: 429, retryAfterSeconds: 3600 }, { operationId: "cancelMicJob" });
    const error = await client.refusal("tasks/cancel", { taskId });
    expect(error).toMatchObject({ code: -32603, data: { "mic-mcp/error": { kind: "outcome_unknown" } } });
    await expectAcknowledged(client, taskId);
    expect(await cancelsDone()).toBe(done + 1);
  });
});
