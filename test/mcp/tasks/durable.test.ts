// Tests that tasks survive everything except the end of their job: servers that exit, are killed or share work, and lost answers.
import { expect, test } from "vitest";
import { serviceForFile } from "../../emulator/service.ts";
import { FILE } from "../../emulator/work.ts";
import { folderForTest } from "../../support/temporary-folder.ts";
import { clientForFile, jobArguments, pollOptions, startProcessClient, startTaskClient } from "./fixtures.ts";

const service = serviceForFile();
const sharedClient = clientForFile(service);

/** Number of times that `operationId` took effect during `work`. */
async function countEffects(operationId: string, work: () => Promise<unknown>): Promise<number> {
  const before = await service().countEffects(operationId);
  await work();
  return (await service().countEffects(operationId)) - before;
}

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
