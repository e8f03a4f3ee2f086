// Tests tasks over HTTP: each request is independent, and any server finds the task.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { serviceForFile } from "../../emulator/service.ts";
import { FILE } from "../../emulator/work.ts";
import { emulatorEnv } from "../../support/mcp.ts";
import { folderForTest } from "../../support/temporary-folder.ts";
import { createModernClient } from "../http/raw-client.ts";
import { startHttp } from "../http/server.ts";
import { TASKS } from "./client.ts";
import { jobArguments } from "./fixtures.ts";

const service = serviceForFile();
const Answer = z.looseObject({
  result: z.looseObject({}).optional(),
  error: z.looseObject({ code: z.number() }).optional(),
});

const withTasks = { extensions: { [TASKS]: {} } };
let lastId = 0;

async function postRequest(url: string, method: string, params: object, capabilities: object = withTasks) {
  const { status, body } = await createModernClient(url, capabilities).request(++lastId, method, { ...params }).answer;
  return { status, ...Answer.parse(JSON.parse(body)) };
}

async function startServer(): Promise<string> {
  const env = { ...emulatorEnv(service().emulator), MIC_KEYCHAIN: "off", MIC_STATE_DIR: await folderForTest() };
  return (await startHttp({ env })).url;
}

test("a task is started on one server, read on another one, and canceled", async () => {
  const [one, two] = [await startServer(), await startServer()];
  const args = await jobArguments(service(), FILE.succeeds);
  const before = await service().countEffects("createMicJob");
  const begun = await postRequest(one, "tools/call", { name: "submit_job", arguments: args });
  expect(begun.result).toMatchObject({ resultType: "task", status: "working" });
  const taskId = z.object({ taskId: z.string() }).parse(begun.result).taskId;
  expect(await postRequest(two, "tasks/get", { taskId })).toMatchObject({ status: 200, result: { status: "working" } });
  expect(await postRequest(two, "tasks/cancel", { taskId })).toMatchObject({ result: { resultType: "complete" } });
  expect(await postRequest(one, "tasks/cancel", { taskId })).toMatchObject({ error: { code: -32603 } });
  service().clock.advance(60_000);
  expect(await postRequest(one, "tasks/get", { taskId })).toMatchObject({ result: { status: "cancelled" } });
  expect(await service().countEffects("createMicJob")).toBe(before + 1);
  // A canceled job is still the job of this call; another job needs another key.
  const submit = async (more: object) =>
    (await postRequest(one, "tools/call", { name: "submit_job", arguments: { ...args, ...more } })).result;
  expect(await submit({})).toMatchObject({
    structuredContent: { data: { state: "CANCELLED" }, action: { replayed: true } },
  });
  expect(await service().countEffects("createMicJob")).toBe(before + 1);
  expect(await submit({ idempotencyKey: "another-job" })).toMatchObject({ resultType: "task", status: "working" });
});

test("a client without tasks gets 400", async () => {
  const url = await startServer();
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"])
    expect(await postRequest(url, method, { taskId: "any" }, {})).toMatchObject({
      status: 400,
      error: { code: -32021 },
    });
});
