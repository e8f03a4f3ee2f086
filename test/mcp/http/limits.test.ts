// Tests the limits of bodies, headers, time and connections: a request beyond a limit is refused with a reason.

import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { peakMegabytes } from "../../support/process.ts";
import { serveForTest } from "./in-process-server.ts";
import {
  ACCEPT,
  connectLegacyClient,
  createModernClient,
  exchangeBytes,
  get,
  initializeMessage,
  post,
  resultOf,
  send,
} from "./raw-client.ts";
import { startHttp } from "./server.ts";

const MIB = 1024 * 1024;
type Headers = Readonly<Record<string, string>>;
const json = { "content-type": "application/json", accept: ACCEPT };
const postBody = (url: string, body: string | Buffer | Readable, headers: Headers = {}) =>
  send(url, { headers: { ...json, ...headers }, body }).answer;

const healthOf = async (url: string) => (await get(new URL("/healthz", url).href).answer).status;
const pingWith = async (url: string, headers: Headers, id = 1) =>
  (await post(url, { jsonrpc: "2.0", id, method: "ping" }, headers).answer).status;

/** Opens a connection, which the end of the test closes, and writes these bytes to it. */
function openSocket(url: string, text = "") {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  if (text !== "") socket.write(text);
  return socket;
}

function rawPost(url: string, headers: Headers, body: string): string {
  const fields = { host: new URL(url).host, ...json, "content-length": String(body.length), ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

const rawCall = (url: string, headers: Headers, id: number, name: string, args: object) =>
  rawPost(
    url,
    headers,
    JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } }),
  );

/** Outlasts the time limits of a server with short ones: two connections that send nothing. */
async function outlastLimits(url: string): Promise<void> {
  for (const _ of [1, 2]) expect(await exchangeBytes(url, [])).toMatch(/^(HTTP\/1\.1 408 |$)/);
}

const messageOfSize = (size: number): string => {
  const { params, ...message } = initializeMessage();
  const empty = JSON.stringify({ ...message, params: { ...params, pad: "" } });
  return empty.replace('"pad":""', `"pad":"${"x".repeat(size - empty.length)}"`);
};

test("a body of 4 MiB is accepted, and one more byte is refused", async () => {
  const { url } = await serveForTest();
  expect((await postBody(url, messageOfSize(4 * MIB))).status).toBe(200);
  const tooLarge = messageOfSize(4 * MIB + 1);
  // A stream is sent in chunks, without its length.
  for (const body of [tooLarge, Readable.from([Buffer.from(tooLarge)])]) {
    const { messages, ...answered } = await postBody(url, body);
    expect(answered).toMatchObject({ status: 413, headers: { connection: "close" } });
    expect(messages[0]?.error?.message).toContain(String(4 * MIB));
  }
});

test("a body without an end is refused while it arrives, and is not kept in memory", async () => {
  const { url, process } = await startHttp();
  await connectLegacyClient(url);
  const before = await peakMegabytes(process.pid ?? 0);
  const chunk = Buffer.alloc(MIB, "x");
  function* createChunks() {
    for (let sent = 0; sent < 400; sent += 1) yield chunk;
    throw new Error("the body was not refused");
  }
  const declared: Readonly<Record<string, string>> = { "content-length": String(1024 * MIB) };
  for (const headers of [{}, declared])
    expect((await postBody(url, Readable.from(createChunks()), headers)).status).toBe(413);
  expect(await peakMegabytes(process.pid ?? 0)).toBeLessThan(before + 67);
  expect((await connectLegacyClient(url)).headers).toBeDefined();
});

test("a body that is not JSON in UTF-8, or not a message, is refused with 400", async () => {
  const { url } = await serveForTest();
  for (const [body, word] of [
    ["", "JSON"],
    ["{", "JSON"],
    ["\u0000", "JSON"],
    [Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff"}', "latin1"), "UTF-8"],
    ...["null", '"initialize"', "[]", "[null]", "{}"].map((text) => [text, ""] as const),
    ['{"jsonrpc":"1.0","id":1,"method":"initialize"}', ""],
    ['{"jsonrpc":"2.0","id":null,"method":"initialize"}', ""],
    ['{"jsonrpc":"2.0","id":{},"method":"initialize","params":{}}', ""],
    [JSON.stringify({ ...initializeMessage(), id: undefined }), "initialize"],
    ['{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}', ""],
  ] as const) {
    const answered = await postBody(url, body);
    expect(answered.status, String(body)).toBe(400);
    expect(answered.messages[0]?.error?.message).toContain(word);
  }
  expect((await postBody(url, JSON.stringify(initializeMessage()))).status).toBe(200);
});

test("a body of another type or encoding is refused", async () => {
  const { url } = await serveForTest();
  const body = JSON.stringify(initializeMessage());
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""]) {
    const { status, messages } = await postBody(url, body, { "content-type": type });
    expect([type, status]).toEqual([type, 415]);
    expect(messages[0]?.error?.message).toContain("application/json");
  }
  expect((await postBody(url, body, { "content-type": "application/json; charset=utf-8" })).status).toBe(200);
  expect((await postBody(url, body, { "content-encoding": "gzip" })).status).toBe(415);
});

test("a body whose connection ends early is ignored", async () => {
  const { url, log } = await serveForTest();
  const socket = openSocket(url, rawPost(url, { "content-length": "100" }, '{"jso')).resume();
  socket.end();
  await once(socket, "close");
  expect((await postBody(url, JSON.stringify(initializeMessage()))).status).toBe(200);
  expect(log).toEqual([]);
});

test("a body that is nested too deep for the stack, or has more than 200,000 elements, is refused", async () => {
  const { url } = await startHttp({ args: ["--emulator"] });
  const { headers } = await connectLegacyClient(url);
  for (const [args, reason] of [
    [`${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`, "nested"],
    [`${"[".repeat(200_000)}1${"]".repeat(200_000)}`, "nested"],
    [`{"a":[${"[],".repeat(1_000_000)}1]}`, "more than 200000"],
  ]) {
    const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"submit_job","arguments":${args}}}`;
    const { status, messages } = await postBody(url, call, headers);
    expect(status).toBe(400);
    expect(messages[0]?.error).toMatchObject({ code: -32600, message: expect.stringContaining(reason ?? "") });
  }
  expect(await pingWith(url, headers, 2)).toBe(200);
});

test("headers of more than 16 KiB are refused", async () => {
  const { url } = await serveForTest();
  const head = `GET /healthz HTTP/1.1\r\nhost: ${new URL(url).host}\r\nconnection: close\r\n`;
  expect(await exchangeBytes(url, [`${head}x-pad: ${"x".repeat(8 * 1024)}\r\n\r\n`])).toMatch(/^HTTP\/1\.1 200 /);
  expect(await exchangeBytes(url, [`${head}x-pad: ${"x".repeat(17 * 1024)}\r\n\r\n`])).toMatch(/^HTTP\/1\.1 431 /);
});

test("a malformed request ends the connection with 400", async () => {
  const { url } = await serveForTest();
  const head = (...lines: readonly string[]) => `${[...lines, `host: ${new URL(url).host}`].join("\r\n")}\r\n\r\n`;
  const startLine = "POST /mcp HTTP/1.1";
  for (const text of [
    "hello\r\n\r\n",
    // The start of a TLS handshake.
    Buffer.from("16030100a5010000a10303", "hex"),
    head(startLine, "content-length: 1", "content-length: 2"),
    head(startLine, "content-length: 1", "transfer-encoding: chunked"),
    head(startLine, "content-length: -1"),
    head("GET /healthz HTTP/1.1", "x: a", " b"),
  ])
    expect(await exchangeBytes(url, [text]), String(text)).toMatch(/^HTTP\/1\.1 400 /);
  expect(await healthOf(url)).toBe(200);
});

const shortTimeouts = { limits: { headersTimeoutMs: 800, requestTimeoutMs: 1_600 } };

test("slow headers, slow bodies and silent connections are cut off", async () => {
  const { url } = await serveForTest(shortTimeouts);
  const { host } = new URL(url);
  const headers = `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nx-pad: ${"x".repeat(40)}`;
  const head = rawPost(url, { "content-length": "90" }, "");
  const slow = [exchangeBytes(url, [...headers], 100), exchangeBytes(url, [head, ..."x".repeat(40)], 100)];
  const silent = exchangeBytes(url, []);
  for (const answer of slow) expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
  expect(await silent).toMatch(/^(HTTP\/1\.1 408 |$)/);
});

test("streams and calls may take longer than the time limits for requests", async () => {
  const { url, begunIds, release, finished } = await serveForTest(shortTimeouts);
  const { headers, call } = await connectLegacyClient(url);
  const stream = get(url, headers);
  const calls = [call(1, "wait", {}), createModernClient(url).call(2, "wait", {})];
  await expect.poll(() => begunIds.length).toBe(2);
  await outlastLimits(url);
  release();
  for (const [at, sent] of calls.entries()) expect(await resultOf(sent, at + 1)).toMatchObject({ content: [] });
  expect(await pingWith(url, headers, 3)).toBe(200);
  expect(await Promise.race([stream.answer, Promise.resolve("open")])).toBe("open");
  await expect.poll(() => [...finished].sort()).toEqual([1, 2]);
});

test("a connection may be idle between two requests", async () => {
  const { url } = await serveForTest(shortTimeouts);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const sendPing = async () => {
    const outgoing = request(new URL("/healthz", url), { agent }).end();
    const [response] = await once(outgoing, "response");
    await once(response.resume(), "end");
    return outgoing.reusedSocket;
  };
  expect(await sendPing()).toBe(false);
  await outlastLimits(url);
  expect(await sendPing()).toBe(true);
});

test("a client that does not read its answer is cut off", async () => {
  const { url, begunIds } = await serveForTest({ limits: { stalledTimeoutMs: 800 } });
  const { headers } = await connectLegacyClient(url);
  openSocket(url, rawCall(url, headers, 1, "say", { bytes: 40 * MIB })).pause();
  await expect.poll(() => begunIds).toEqual([1]);
  // The connection ends although the answer is not read; then the request's id is free again.
  await expect.poll(async () => await pingWith(url, headers)).toBe(200);
});

test("connections that send nothing or half a request do not keep other clients out", async () => {
  const { url } = await serveForTest({ limits: { maxConnections: 3 } });
  const parts = ["", "GET", `GET /healthz HTTP/1.1\r\nhost: ${new URL(url).host}\r\n`];
  const sockets = parts.flatMap((sent) => [1, 2, 3].map(() => openSocket(url, sent)));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  for (let count = 0; count < 3; count += 1) expect(await healthOf(url)).toBe(200);
  const { headers } = await connectLegacyClient(url);
  expect(await pingWith(url, headers)).toBe(200);
});

test("connections beyond the limit are closed while all others have a request in flight", async () => {
  const { url, begunIds, release } = await serveForTest({ limits: { maxConnections: 3 } });
  const { headers, call } = await connectLegacyClient(url);
  const calls = [1, 2, 3].map((id) => call(id, "wait", {}));
  await expect.poll(() => begunIds.length).toBe(3);
  await expect(pingWith(url, headers, 4)).rejects.toThrow();
  release();
  for (const [at, sent] of calls.entries()) expect(await resultOf(sent, at + 1)).toMatchObject({ content: [] });
  expect(await pingWith(url, headers, 4)).toBe(200);
});

test("pipelined requests on one connection count towards the limit", async () => {
  const { url, begunIds } = await serveForTest({ limits: { maxConnections: 3 } });
  const { headers } = await connectLegacyClient(url);
  const calls = [1, 2, 3, 4, 5, 6, 7, 8].map((id) => rawCall(url, headers, id, "wait", {}));
  const socket = openSocket(url, calls.join(""));
  await expect.poll(() => begunIds.length).toBe(3);
  expect(await healthOf(url)).toBe(503);
  expect(begunIds).toEqual([1, 2, 3]);
  socket.destroy();
  await expect.poll(async () => await healthOf(url)).toBe(200);
});
