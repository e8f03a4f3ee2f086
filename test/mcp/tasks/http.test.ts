// Tests tasks over HTTP: each request is independent, and any server finds the task.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { serviceForFile } from "../../emulator/service.ts";
import { FILE } from "../../emulator/work.ts";
import { serveHttpInProcess } from "../../support/in-process.ts";
import { emulatorEnv } from "../../support/mcp.ts";
import { createModernClient } from "../http/raw-client.ts";
import { TASKS } from "./client.ts";
import { jobArguments } from "./fixtures.ts";

const service = serviceForFile();
const TaskId = z.object({ taskId: z.string() });
const withTasks = { extensions: { [TASKS]: {} } };
let lastId = 0;

async function postRequest(url: string, method: string, params: object, capabilities: object = withTasks) {
  const sent = createModernClient(url, capabilities).request(++lastId, method, { ...params });
  const { status, messages } = await sent.answer;
  return { status, ...messages[0] };
}

const startServer = () => serveHttpInProcess(emulatorEnv(service().emulator));

test("a task is started on one server, read on another one, and canceled", async () => {
  const [one, two] = [await startServer(), await startServer()];
  const args = await jobArguments(service(), FILE.succeeds);
  const before = await service().countEffects("createMicJob");
  const begun = await postRequest(one, "tools/call", { name: "submit_job", arguments: args });
  expect(begun.result).toMatchObject({ resultType: "task", status: "working" });
  const { taskId } = TaskId.parse(begun.result);
  expect(await postRequest(two, "tasks/get", { taskId })).toMatchObject({ status: 200, result: { status: "working" } });
  expect(await postRequest(two, "tasks/cancel", { taskId })).toMatchObject({ result: { resultType: "complete" } });
  expect(await postRequest(one, "tasks/cancel", { taskId })).toMatchObject({ error: { code: -32603 } });
  service().clock.advance(60_000);
  expect(await postRequest(one, "tasks/get", { taskId })).toMatchObject({ result: { status: "cancelled" } });
  expect(await service().countEffects("createMicJob")).toBe(before + 1);
});

test("a client without tasks gets 400", async () => {
  const url = await startServer();
  const refused = { status: 400, error: { code: -32021 } };
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"])
    expect(await postRequest(url, method, { taskId: "any" }, {})).toMatchObject(refused);
});
