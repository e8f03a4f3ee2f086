// Tests the headers of requests: those that do not match the body are refused, and each Accept gets a form that it allows.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { serviceForFile } from "../../emulator/service.ts";
import { serveHttpInProcess } from "../../support/in-process.ts";
import { emulatorEnv } from "../../support/mcp.ts";
import { modernEnvelope } from "../modern-envelope.ts";
import { serveForTest } from "./in-process-server.ts";
import { ACCEPT, connectLegacyClient, initializeMessage, post, send } from "./raw-client.ts";

const service = serviceForFile();
const env = () => ({ ...emulatorEnv(service().emulator), MIC_GEOGRAPHY_RATE_LIMIT: "600" });

const read = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_states", arguments: {} } };

test("a request of 2026-07-28 is refused if its headers do not match its body", async () => {
  const url = await serveHttpInProcess(env());
  const modern = { ...read, params: { ...read.params, _meta: modernEnvelope() } };
  const version = { "mcp-protocol-version": "2026-07-28" };
  const method = { "mcp-method": "tools/call" };
  const name = { "mcp-name": "list_states" };
  const headers = { ...version, ...method, ...name };
  for (const [message, wrong] of [
    [modern, { ...method, ...name }],
    [modern, { ...version, ...name }],
    [modern, { ...headers, "mcp-method": "tools/list" }],
    [modern, { ...version, ...method }],
    [modern, { ...headers, "mcp-name": "get_job" }],
    [read, headers],
  ] as const) {
    const { status, messages } = await post(url, message, wrong).answer;
    expect([status, messages[0]?.error]).toEqual([400, expect.anything()]);
  }
  expect((await post(url, modern, headers).answer).status).toBe(200);
});

test("a request in a session is refused if it names an unknown version", async () => {
  const url = await serveHttpInProcess(env());
  const { headers } = await connectLegacyClient(url);
  expect((await post(url, read, { ...headers, "mcp-protocol-version": "1999-01-01" }).answer).status).toBe(400);
});

/** Sends a message with exactly these headers, which may lack Accept. */
const sendMessage = (url: string, message: object, headers: Readonly<Record<string, string>>) =>
  send(url, { headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(message) });

const [JSON_TYPE, STREAM_TYPE] = ["application/json", "text/event-stream"];

test.each([
  [ACCEPT, JSON_TYPE],
  ["Application/JSON, Text/Event-Stream", JSON_TYPE],
  ["*/*", JSON_TYPE],
  ["application/*", JSON_TYPE],
  ["text/event-stream, */*;q=0.1", JSON_TYPE],
  ["text/html, application/json ; q=0.5", JSON_TYPE],
  [undefined, JSON_TYPE],
  ["application/json", JSON_TYPE],
  ["text/event-stream", STREAM_TYPE],
  ["text/*, application/json;q=0", STREAM_TYPE],
  ["text/html", undefined],
  ["application/jsonp, text/event-streams", undefined],
  ["application/json;q=0.0, text/html", undefined],
  ["", undefined],
])("the answers to a client with the Accept %j have the type %s", async (accept, type) => {
  const url = await serveHttpInProcess({});
  const { headers: session } = await connectLegacyClient(url);
  const given: Readonly<Record<string, string>> = accept === undefined ? {} : { accept };
  for (const [message, own] of [
    [initializeMessage(), {}],
    [{ jsonrpc: "2.0", id: 1, method: "ping" }, session],
  ] as const) {
    const { status, headers, messages } = await sendMessage(url, message, { ...own, ...given }).answer;
    expect([status, headers["content-type"]]).toEqual(type === undefined ? [406, JSON_TYPE] : [200, type]);
    expect(messages).toMatchObject([{ id: message.id }]);
  }
  const notification = { jsonrpc: "2.0", method: "notifications/roots/list_changed" };
  expect((await sendMessage(url, notification, { ...session, ...given }).answer).status).toBe(202);
});

test("a client that accepts only JSON gets JSON after more than a second, and no batch, which needs a stream", async () => {
  const { url, begunIds, release } = await serveForTest();
  const { headers } = await connectLegacyClient(url);
  const onlyJson = { ...headers, accept: JSON_TYPE };
  const call = sendMessage(url, { ...read, params: { name: "wait", arguments: {} } }, onlyJson);
  await expect.poll(() => begunIds).toEqual([1]);
  // Longer than a response waits before it becomes a stream.
  await sleep(1_200);
  release();
  expect(await call.answer).toMatchObject({
    headers: { "content-type": JSON_TYPE },
    messages: [{ id: 1, result: {} }],
  });
  const ping = { jsonrpc: "2.0", method: "ping" };
  const batch = [
    { ...ping, id: 2 },
    { ...ping, id: 3 },
  ];
  expect((await sendMessage(url, batch, onlyJson).answer).status).toBe(406);
  expect((await sendMessage(url, batch, { ...headers, accept: STREAM_TYPE }).answer).messages).toHaveLength(2);
});

test("a canceled call of a client that accepts only JSON ends without an answer", async () => {
  const { url, begunIds } = await serveForTest();
  const { headers, notify } = await connectLegacyClient(url);
  const message = { ...read, params: { name: "wait", arguments: {} } };
  const call = sendMessage(url, message, { ...headers, accept: JSON_TYPE });
  await expect.poll(() => begunIds).toEqual([1]);
  await notify("notifications/cancelled", { requestId: 1 });
  expect(await call.answer).toMatchObject({ status: 202, body: "" });
});

test.each([
  ["2025-11-25", "2025-06-18"],
  ["2099-01-01", "2099-01-01"],
  ["2026-07-28", "2026-07-28"],
])(
  "a handshake with the version header %s for %s is accepted, also with an empty session id",
  async (header, version) => {
    const url = await serveHttpInProcess({});
    const { params, ...message } = initializeMessage();
    const body = { ...message, params: { ...params, protocolVersion: version } };
    const { status, messages } = await post(url, body, { "mcp-protocol-version": header, "mcp-session-id": "" }).answer;
    expect([status, messages]).toMatchObject([200, [{ id: 0, result: {} }]]);
  },
);
