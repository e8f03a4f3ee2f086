// Tests the access to tasks: invalid ids, ids of other callers, and servers with restricted tools.
import { expect, test } from "vitest";
import { serviceForFile, serviceForTest } from "../../emulator/service.ts";
import { FILE } from "../../emulator/work.ts";
import { emulatorEnv, inProcessClientForTest } from "../../support/mcp.ts";
import { TASKS, type TaskClient } from "./client.ts";
import { clientForFile, jobArguments, startTaskClient } from "./fixtures.ts";

const service = serviceForFile();
const sharedClient = clientForFile(service);
const METHODS = ["tasks/get", "tasks/update", "tasks/cancel"];

const beginTask = async (client: TaskClient): Promise<string> =>
  (await client.begin("submit_job", await jobArguments(service(), FILE.succeeds))).taskId;

const requestCount = async (): Promise<number> => (await service().requests()).length;

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
  for (const env of [{ MIC_CLIENT_SECRET: clientSecret }, { MIC_CLIENT_ID: "somebody-else" }]) {
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
