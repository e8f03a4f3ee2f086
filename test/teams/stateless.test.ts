// Tests that a deployment serves revisions before 2026-07-28 statelessly: two instances receive the messages of a client in turn.
import { expect, onTestFinished, test, vi } from "vitest";
import { stubEnv } from "../api-client/client.ts";
import { enveloped, job } from "../contract/samples.ts";
import { serviceForTest } from "../emulator/service.ts";
import { FILE, submitJob } from "../emulator/work.ts";
import { connectLegacyClient, get, initializeMessage, post, send } from "../mcp/http/raw-client.ts";
import { expectConsistentInstructions } from "../support/instructions.ts";
import { connectHttp, emulatorEnv, type Reply } from "../support/mcp.ts";
import { serveStatelessInProcess } from "../support/stateless.ts";
import { answer, neverAnswer, stubForFile } from "../support/stub.ts";

const stubOf = stubForFile();
const start = () => serveStatelessInProcess(stubEnv(stubOf()));
const listTools = { jsonrpc: "2.0", id: 1, method: "tools/list" };

test.each(["2024-11-05", "2025-11-25"])(
  "initialize of %s gets that revision, no session id and no subscriptions",
  async (protocolVersion) => {
    const message = initializeMessage();
    const params = { ...message.params, protocolVersion };
    const { status, headers, messages } = await post(await start(), { ...message, params }).answer;
    expect([status, headers["mcp-session-id"]]).toEqual([200, undefined]);
    expect(messages[0]?.result).toMatchObject({ protocolVersion });
    expect(Object(messages[0]?.result?.["capabilities"]).resources).toEqual({});
  },
);

test("a request is answered with any session id, initialized or not; with an unknown revision or no message it gets 400", async () => {
  const url = await start();
  const { status, messages } = await post(url, listTools, { "mcp-session-id": "of-another-server" }).answer;
  expect(status).toBe(200);
  expect(messages[0]?.result?.["tools"]).toBeInstanceOf(Array);
  expect((await post(url, listTools, { "mcp-protocol-version": "1999-01-01" }).answer).status).toBe(400);
  expect((await post(url, { method: 5 }).answer).status).toBe(400);
  for (const message of [
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", id: 0, result: {} },
  ])
    expect((await post(url, message).answer).status).toBe(202);
});

test("a stream, the end of a session and subscriptions are refused", async () => {
  const url = await start();
  for (const sent of [get(url), send(url, { method: "DELETE" })])
    expect(await sent.answer).toMatchObject({ status: 405, headers: { allow: "POST" } });
  const message = { ...listTools, method: "resources/subscribe", params: { uri: "mic://jobs/job-1" } };
  expect((await post(url, message).answer).messages[0]?.error?.code).toBe(-32601);
});

test("a result has resource links only in a revision that supports them", async () => {
  const url = await start();
  stubOf().respond(() => answer(200, enveloped(job)));
  const call = { ...listTools, method: "tools/call", params: { name: "get_job", arguments: { jobId: "job-1" } } };
  const eventTypes = async (headers: Readonly<Record<string, string>>) => {
    const { messages } = await post(url, call, headers).answer;
    const content = messages[0]?.result?.["content"];
    return Array.isArray(content) ? content.map(({ type }) => type) : [];
  };
  expect(await eventTypes({ "mcp-protocol-version": "2025-06-18" })).toContain("resource_link");
  expect(await eventTypes({})).toEqual(["text"]);
});

test("closing the connection cancels a call, and a cancellation notification does not", async () => {
  const client = await connectLegacyClient(await start());
  stubOf().respond(() => neverAnswer);
  const call = client.call(1, "get_job", { jobId: "job-1" });
  await expect.poll(() => stubOf().requests.length).toBe(1);
  expect((await client.notify("notifications/cancelled", { requestId: 1 })).status).toBe(202);
  expect(await Promise.race([stubOf().requests[0]?.closed, "in flight"])).toBe("in flight");
  await call.cut();
  expect(await stubOf().requests[0]?.closed).toBe(false);
});

test("an older client gets results and progress without a session, and is not asked for confirmation", async () => {
  const service = await serviceForTest();
  const url = await serveStatelessInProcess(emulatorEnv(service.emulator));
  const onElicitation = vi.fn((): Reply => ({ action: "decline" }));
  const client = await connectHttp("v1-client", url, { onElicitation });
  onTestFinished(() => client.close());
  expect(client.sessionId()).toBeUndefined();
  await expectConsistentInstructions(client, "a deployment");
  const { id: waiting } = await submitJob(service, FILE.succeeds);
  const onprogress = () => service.clock.advance(10_000);
  const ended = await client.callTool("get_job", { jobId: waiting, waitSeconds: 20 }, { onprogress });
  expect(ended.structured).toMatchObject({ data: { id: waiting, state: "SUCCEEDED" } });
  const { id: jobId } = await submitJob(service, FILE.succeeds);
  const canceled = await client.callTool("cancel_job", { jobId, reason: "not needed", waitSeconds: 0 });
  expect(canceled.isError, canceled.text).toBe(false);
  expect(onElicitation).not.toHaveBeenCalled();
  expect(await service.countEffects("cancelMicJob")).toBe(1);
});
