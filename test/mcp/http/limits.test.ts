// Tests the limits of bodies, headers, time and connections: a request beyond a limit is refused with a reason.

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
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
const json = { "content-type": "application/json", accept: ACCEPT };
const postBody = (url: string, body: string | Buffer, headers: Readonly<Record<string, string>> = {}) =>
  send(url, { headers: { ...json, ...headers }, body }).answer;

const healthOf = async (url: string) => (await get(new URL("/healthz", url).href).answer).status;
const pingWith = async (url: string, headers: Readonly<Record<string, string>>, id = 1) =>
  (await post(url, { jsonrpc: "2.0", id, method: "ping" }, headers).answer).status;
/** Outlasts the time limits of a server with short ones: two connections that send nothing. */
async function outlastLimits(url: string): Promise<void> {
  for (const _ of [1, 2]) expect(await exchangeBytes(url, [])).toMatch(/^(HTTP\/1\.1 408 |$)/);
}

/** A message of exactly `size` bytes. */
const messageOfSize = (size: number): string => {
  const { params, ...message } = initializeMessage();
  const empty = JSON.stringify({ ...message, params: { ...params, pad: "" } });
  return empty.replace('"pad":""', `"pad":"${"x".repeat(size - empty.length)}"`);
};

describe("a body", () => {
  test("a body of 4 MiB is accepted, and one more byte is refused", async () => {
    const { url } = await serveForTest();
    expect((await postBody(url, messageOfSize(4 * MIB))).status).toBe(200);
    const { status, messages, headers } = await postBody(url, messageOfSize(4 * MIB + 1));
    expect(status).toBe(413);
    expect(messages[0]?.error?.message).toContain(String(4 * MIB));
    expect(headers.connection).toBe("close");
    expect((await postBody(url, messageOfSize(4 * MIB + 1), { "transfer-encoding": "chunked" })).status).toBe(413);
  });

  test("a body without an end is refused while it arrives, and is not kept in memory", async () => {
    const { url, process } = await startHttp();
    const peakMemory = async () =>
      Number(/VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${process.pid}/status`, "utf8"))?.[1]) * 1024;
    await connectLegacyClient(url);
    const before = await peakMemory();
    const chunk = Buffer.alloc(MIB, "x");
    for (const headers of [{ "transfer-encoding": "chunked" }, { "content-length": String(1024 * MIB) }]) {
      let sent = 0;
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const outgoing = request(url, { method: "POST", agent: false, headers: { ...json, ...headers } });
        outgoing.on("response", (response) => {
          resolve(response.statusCode);
          response.resume();
        });
        // After the refusal the server may close the connection while data still arrives.
        outgoing.on("error", reject);
        const writeChunks = () => {
          sent += 1;
          if (sent > 400 || outgoing.destroyed) return void outgoing.destroy();
          outgoing.write(chunk, (error) => error ?? setImmediate(writeChunks));
        };
        writeChunks();
      });
      expect(status).toBe(413);
    }
    expect(await peakMemory()).toBeLessThan(before + 64 * MIB);
    expect((await connectLegacyClient(url)).headers).toBeDefined();
  });

  test.each([
    ["", "JSON"],
    ["{", "JSON"],
    ["\u0000", "JSON"],
    [Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff"}', "latin1"), "UTF-8"],
    ["null", ""],
    ["17", ""],
    ['"initialize"', ""],
    ["[]", ""],
    ["[null]", ""],
    ["{}", ""],
    ['{"jsonrpc":"1.0","id":1,"method":"initialize"}', ""],
    ['{"jsonrpc":"2.0","id":null,"method":"initialize"}', ""],
    ['{"jsonrpc":"2.0","id":{},"method":"initialize","params":{}}', ""],
    [JSON.stringify({ ...initializeMessage(), id: undefined }), "initialize"],
    ['{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}', ""],
  ])("the body %j is refused with 400", async (body, word) => {
    const { url } = await serveForTest();
    const answered = await postBody(url, body);
    expect(answered.status).toBe(400);
    expect(answered.messages[0]?.error?.message).toContain(word);
    expect((await postBody(url, JSON.stringify(initializeMessage()))).status).toBe(200);
  });

  test("a body that is nested too deep for the stack is refused", async () => {
    const { url } = await serveForTest();
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"],
    ] as const)
      expect((await postBody(url, `${open.repeat(200_000)}1${close.repeat(200_000)}`)).status).toBe(400);
  });

  test("a body of another type or encoding is refused", async () => {
    const { url } = await serveForTest();
    const body = JSON.stringify(initializeMessage());
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""]) {
      const { status, messages } = await postBody(url, body, { "content-type": type });
      expect([type, status, messages[0]?.error?.message]).toEqual([
        type,
        415,
        expect.stringContaining("application/json"),
      ]);
    }
    expect((await postBody(url, body, { "content-type": "application/json; charset=utf-8" })).status).toBe(200);
    expect((await postBody(url, body, { "content-encoding": "gzip" })).status).toBe(415);
  });

  test("a body whose connection ends early is ignored", async () => {
    const { url, log } = await serveForTest();
    const { hostname, port, host } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /mcp HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"jso`,
    );
    socket.end();
    await new Promise((resolve) => socket.resume().once("close", resolve));
    expect((await postBody(url, JSON.stringify(initializeMessage()))).status).toBe(200);
    expect(log).toEqual([]);
  });

  test.each([
    ["nested too deep for the stack", `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`, "nested"],
    ["with more than 200,000 elements", `{"a":[${"[],".repeat(1_000_000)}1]}`, "more than 200000"],
  ])("arguments %s are refused, and the server keeps running", async (_, deep, reason) => {
    const { url } = await startHttp({ args: ["--emulator"] });
    const { headers } = await connectLegacyClient(url);
    const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"submit_job","arguments":${deep}}}`;
    const { status, messages } = await postBody(url, call, headers);
    expect(status).toBe(400);
    expect(messages[0]?.error).toMatchObject({ code: -32600, message: expect.stringContaining(reason) });
    expect(await pingWith(url, headers, 2)).toBe(200);
  });
});

describe("headers", () => {
  test("headers of more than 16 KiB are refused", async () => {
    const { url } = await startHttp();
    const { host } = new URL(url);
    const head = `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n`;
    expect(await exchangeBytes(url, [`${head}x-pad: ${"x".repeat(8 * 1024)}\r\n\r\n`])).toMatch(/^HTTP\/1\.1 200 /);
    expect(await exchangeBytes(url, [`${head}x-pad: ${"x".repeat(17 * 1024)}\r\n\r\n`])).toMatch(/^HTTP\/1\.1 431 /);
  });

  test.each([
    ["not HTTP", "hello\r\n\r\n"],
    ["TLS", Buffer.from("16030100a5010000a10303", "hex")],
    ["two lengths", "POST /mcp HTTP/1.1\r\nhost: HOST\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"],
    [
      "a length and chunks",
      "POST /mcp HTTP/1.1\r\nhost: HOST\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
    ],
    ["a negative length", "POST /mcp HTTP/1.1\r\nhost: HOST\r\ncontent-length: -1\r\n\r\n"],
    ["a folded line", "GET /healthz HTTP/1.1\r\nhost: HOST\r\nx: a\r\n b\r\n\r\n"],
  ])("a malformed request ends the connection with 400: %s", async (_what, text) => {
    const { url } = await serveForTest();
    const { host } = new URL(url);
    const answered = await exchangeBytes(url, [typeof text === "string" ? text.replace("HOST", host) : text]);
    expect(answered).toMatch(/^HTTP\/1\.1 400 /);
    expect(await healthOf(url)).toBe(200);
  });
});

describe("time", () => {
  const shortTimeouts = { limits: { headersTimeoutMs: 800, requestTimeoutMs: 1_600 } };

  test("slow headers, slow bodies and silent connections are cut off", async () => {
    const { url } = await serveForTest(shortTimeouts);
    const { host } = new URL(url);
    const slowHeaders = exchangeBytes(
      url,
      [...`GET /healthz HTTP/1.1\r\nhost: ${host}\r\nx-pad: ${"x".repeat(40)}`],
      100,
    );
    const head = `POST /mcp HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n`;
    const slowBody = exchangeBytes(url, [head, ..."x".repeat(40)], 100);
    const silent = exchangeBytes(url, []);
    expect(await slowHeaders).toMatch(/^HTTP\/1\.1 408 /);
    expect(await slowBody).toMatch(/^HTTP\/1\.1 408 /);
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
    const { hostname, port, host } = new URL(url);
    const params = { name: "say", arguments: { bytes: 40 * MIB } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const { headers } = await connectLegacyClient(url);
    const lines = Object.entries({ host, ...json, ...headers, "content-length": String(body.length) });
    const socket = connect(Number(port), hostname).pause();
    socket.on("error", () => undefined);
    socket.write(`POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`);
    await expect.poll(() => begunIds).toEqual([1]);
    // The connection ends although the answer is not read; then the request's id is free again.
    await expect.poll(async () => await pingWith(url, headers)).toBe(200);
    socket.destroy();
  });
});

describe("connections", () => {
  test("connections that send nothing or half a request do not keep other clients out", async () => {
    const { url } = await serveForTest({ limits: { maxConnections: 3 } });
    const { hostname, port, host } = new URL(url);
    const unfinishedRequests = ["", "GET", `GET /healthz HTTP/1.1\r\nhost: ${host}\r\n`].flatMap((sent) =>
      [1, 2, 3].map(() => {
        const socket = connect(Number(port), hostname).on("error", () => undefined);
        onTestFinished(() => void socket.destroy());
        if (sent !== "") socket.write(sent);
        return socket;
      }),
    );
    await Promise.all(unfinishedRequests.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
    for (let count = 0; count < 3; count += 1) expect(await healthOf(url)).toBe(200);
    const { headers } = await connectLegacyClient(url);
    expect(await pingWith(url, headers)).toBe(200);
  });

  test("connections beyond the limit are closed while all others have a request in flight", async () => {
    const { url, begunIds, release } = await serveForTest({ limits: { maxConnections: 3 } });
    const { headers, call } = await connectLegacyClient(url);
    const calls = [1, 2, 3].map((id) => call(id, "wait", {}));
    await expect.poll(() => begunIds.length).toBe(3);
    const ping = () => post(url, { jsonrpc: "2.0", id: 4, method: "ping" }, headers).answer;
    await expect(ping()).rejects.toThrow();
    release();
    for (const [at, sent] of calls.entries()) expect(await resultOf(sent, at + 1)).toMatchObject({ content: [] });
    expect((await ping()).status).toBe(200);
  });

  test("pipelined requests on one connection count towards the limit", async () => {
    const { url, begunIds } = await serveForTest({ limits: { maxConnections: 3 } });
    const { host } = new URL(url);
    const { headers } = await connectLegacyClient(url);
    const lines = Object.entries({ host, ...json, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    const call = (id: number) => {
      const params = { name: "wait", arguments: {} };
      const body = JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params });
      return `POST /mcp HTTP/1.1\r\n${lines.join("")}content-length: ${body.length}\r\n\r\n${body}`;
    };
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.write([1, 2, 3, 4, 5, 6, 7, 8].map(call).join(""));
    await expect.poll(() => begunIds.length).toBe(3);
    expect(await healthOf(url)).toBe(503);
    expect(begunIds).toEqual([1, 2, 3]);
    socket.destroy();
    await expect.poll(async () => await healthOf(url)).toBe(200);
  });
});
