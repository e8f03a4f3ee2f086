// Tests that a request over HTTP gets the same bytes with and without the direct path for calls (src/mcp/direct-calls.ts).
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { HttpServer } from "../../../src/transports/http/listener.ts";
import type { HttpService } from "../../../src/transports/http/port.ts";
import { createHttpService, startHttpServer } from "../../../src/transports/http/serve.ts";
import { stubEnv } from "../../api-client/client.ts";
import { enveloped, job } from "../../contract/samples.ts";
import { composeForTest } from "../../support/compose.ts";
import { startStateless } from "../../support/stateless.ts";
import { answer, neverAnswer, stubForFile } from "../../support/stub.ts";
import { modernEnvelope } from "../modern-envelope.ts";
import { TASKS } from "../tasks/client.ts";
import { ACCEPT, exchangeBytes, post } from "./raw-client.ts";

const stubOf = stubForFile();
const OPTIONS = { address: "127.0.0.1", port: 0, access: undefined, maxSessions: 10, sessionIdleMs: 60_000 };

type Start = (service: HttpService) => Promise<HttpServer>;
const startWithSessions: Start = (service) => startHttpServer(service, OPTIONS);

/** Serves one runtime twice, with and without the direct path, and counts the servers that the first one creates for calls. */
async function serveBoth(start: Start) {
  const { runtime, close } = composeForTest(stubEnv(stubOf()));
  const { findDirectCall, ...bySdk } = createHttpService(runtime);
  let serverCount = 0;
  const direct: HttpService = {
    ...bySdk,
    findDirectCall,
    createServer(...options) {
      serverCount += 1;
      return bySdk.createServer(...options);
    },
  };
  const servers = [await start(direct), await start(bySdk)] as const;
  onTestFinished(async () => {
    for (const { drain } of servers) await drain(0, AbortSignal.abort());
    await close();
  });
  return { servers, serverCount: () => serverCount };
}

/** Sends the same bytes to both servers, and returns all that they send back, without the date. */
async function exchangeWithBoth(servers: readonly HttpServer[], headers: readonly string[], body: string | Buffer) {
  const send = async ({ url }: HttpServer): Promise<string> => {
    const { host } = new URL(url);
    const lines = ["POST /mcp HTTP/1.1", `host: ${host}`, "connection: close", ...headers];
    const head = `${lines.join("\r\n")}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
    const received = await exchangeBytes(url, [Buffer.concat([Buffer.from(head), Buffer.from(body)])]);
    return received.replace(/^Date: .*\r\n/im, "");
  };
  return await Promise.all(servers.map(send));
}

const META = modernEnvelope();
const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const CLIENT = "io.modelcontextprotocol/clientInfo";
const withoutKey = (key: string) => Object.fromEntries(Object.entries(META).filter(([name]) => name !== key));

const GET_JOB = { name: "get_job", arguments: { jobId: "job-1" } };
const CANCEL_JOB = { name: "cancel_job", arguments: { jobId: "job-1", reason: "not needed" } };
const request = (params: object, more: object = {}) => ({
  ...{ jsonrpc: "2.0", id: 7, method: "tools/call", params },
  ...more,
});
const call = (params: object, meta: unknown = META) => request({ ...params, _meta: meta });

interface Row {
  readonly body?: unknown;
  /** Replaces a header, or removes it (undefined). */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Whether the call needs no server. */
  readonly isDirect?: boolean;
}

const HEADERS = {
  "content-type": "application/json",
  accept: ACCEPT,
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "get_job",
};

const ROWS: Readonly<Record<string, Row>> = {
  "a read": { isDirect: true },
  "a string id": { body: { ...call(GET_JOB), id: "one" }, isDirect: true },
  "no arguments": { body: call({ name: "get_job" }), isDirect: true },
  "an unknown argument": { body: call({ ...GET_JOB, arguments: { job: 1 } }), isDirect: true },
  "no clientInfo": { body: call(GET_JOB, withoutKey(CLIENT)), isDirect: true },
  "a trace context": {
    body: call(GET_JOB, { ...META, traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-01` }),
    isDirect: true,
  },
  "spaces around a header": { headers: { "mcp-name": "  get_job\t" }, isDirect: true },
  "no Accept": { headers: { accept: undefined }, isDirect: true },
  "an action": { body: call(CANCEL_JOB), headers: { "mcp-name": "cancel_job" }, isDirect: true },
  "an action whose user may be asked": {
    body: call(CANCEL_JOB, { ...META, [CAPABILITIES]: { elicitation: {} } }),
    headers: { "mcp-name": "cancel_job" },
  },
  "a client with tasks": { body: call(GET_JOB, { ...META, [CAPABILITIES]: { extensions: { [TASKS]: {} } } }) },
  "a call with progress": { body: call(GET_JOB, { ...META, progressToken: 1 }) },
  "an invalid progress token": { body: call(GET_JOB, { ...META, progressToken: {} }) },
  "an unknown tool": { body: call({ ...GET_JOB, name: "get_jobs" }), headers: { "mcp-name": "get_jobs" } },
  "arguments that are a list": { body: call({ ...GET_JOB, arguments: ["job-1"] }) },
  "arguments that are null": { body: call({ ...GET_JOB, arguments: null }) },
  "a name that is a number": { body: call({ ...GET_JOB, name: 5 }) },
  "no name": { body: call({ arguments: {} }) },
  "another member of params": { body: call({ ...GET_JOB, task: {} }) },
  "an invalid requestState": { body: call({ ...GET_JOB, requestState: "state" }) },
  "input responses": { body: call({ ...GET_JOB, inputResponses: {} }) },
  "no _meta": { body: request(GET_JOB) },
  "an empty _meta": { body: call(GET_JOB, {}) },
  "a _meta that is null": { body: call(GET_JOB, null) },
  "no version in _meta": { body: call(GET_JOB, withoutKey(VERSION)) },
  "no capabilities in _meta": { body: call(GET_JOB, withoutKey(CAPABILITIES)) },
  "an invalid clientInfo": { body: call(GET_JOB, { ...META, [CLIENT]: { name: 5 } }) },
  "an invalid log level": { body: call(GET_JOB, { ...META, "io.modelcontextprotocol/logLevel": "loud" }) },
  "an unknown version": {
    body: call(GET_JOB, { ...META, [VERSION]: "2099-01-01" }),
    headers: { "mcp-protocol-version": "2099-01-01" },
  },
  "an older version in _meta": {
    body: call(GET_JOB, { ...META, [VERSION]: "2025-11-25" }),
    headers: { "mcp-protocol-version": "2025-11-25" },
  },
  "no version header": { headers: { "mcp-protocol-version": undefined } },
  "another version header": { headers: { "mcp-protocol-version": "2025-11-25" } },
  "no method header": { headers: { "mcp-method": undefined } },
  "another method header": { headers: { "mcp-method": "tools/list" } },
  "no name header": { headers: { "mcp-name": undefined } },
  "another name header": { headers: { "mcp-name": "list_jobs" } },
  "two name headers": { headers: { "mcp-name": ["get_job", "get_job"] } },
  "a name header in Base64": { headers: { "mcp-name": "=?base64?Z2V0X2pvYg==?=" } },
  "a name header in invalid Base64": { headers: { "mcp-name": "=?base64?*?=" } },
  "another Content-Type": { headers: { "content-type": "text/plain" } },
  "two Content-Types": { headers: { "content-type": ["application/json", "application/json"] } },
  "a Content-Type with a charset": { headers: { "content-type": "application/json; charset=utf-8" }, isDirect: true },
  "a Content-Encoding": { headers: { "content-encoding": "gzip" } },
  "a foreign Origin": { headers: { origin: "https://example.org" } },
  "invalid JSON": { body: '{"jsonrpc":"2.0"' },
  "invalid UTF-8": { body: Buffer.from([0x22, 0xff, 0x22]) },
  "nesting without end": { body: "[".repeat(10_000) },
  "an id that is null": { body: { ...call(GET_JOB), id: null } },
  "an id that is no integer": { body: { ...call(GET_JOB), id: 1.5 } },
  "no id": { body: { ...call(GET_JOB), id: undefined } },
  "another JSON-RPC version": { body: { ...call(GET_JOB), jsonrpc: "1.0" } },
  "another member of the message": { body: { ...call(GET_JOB), more: 1 } },
  "a batch": { body: [call(GET_JOB)] },
  "an argument __proto__": { body: JSON.stringify(call(GET_JOB)).replace('"jobId"', '"__proto__"'), isDirect: true },
};

test("each request of 2026-07-28 gets the same bytes with and without the direct path", async () => {
  stubOf().respond(({ method }) => (method === "GET" ? answer(200, enveloped(job)) : answer(404, {})));
  const { servers, serverCount } = await serveBoth(startWithSessions);
  for (const [name, { body = call(GET_JOB), headers = {}, isDirect = false }] of Object.entries(ROWS)) {
    const before = serverCount();
    const lines = Object.entries({ ...HEADERS, ...headers }).flatMap(([header, values = []]) =>
      [values].flat().map((value) => `${header}: ${value}`),
    );
    const bytes = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const [direct, bySdk] = await exchangeWithBoth(servers, lines, bytes);
    expect(direct, name).toMatch(/^HTTP\/1\.1 \d{3} /);
    expect(direct, name).toBe(bySdk);
    if (isDirect) expect([direct?.slice(0, 15), serverCount() - before], name).toEqual(["HTTP/1.1 200 OK", 0]);
  }
});

test("a shutdown, and the end of the connection, abort a call on the direct path as in the SDK", async () => {
  stubOf().respond(() => neverAnswer);
  const { servers, serverCount } = await serveBoth(startWithSessions);
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "get_job" };
  const answers = [];
  for (const [index, { url, drain }] of servers.entries()) {
    const cut = post(url, call(GET_JOB), headers);
    await expect.poll(() => stubOf().requests.length).toBe(2 * index + 1);
    await cut.cut();
    expect(await stubOf().requests[2 * index]?.closed).toBe(false);
    const stopped = post(url, call(GET_JOB), headers);
    await expect.poll(() => stubOf().requests.length).toBe(2 * index + 2);
    await drain(0, AbortSignal.abort());
    const { status, body } = await stopped.answer;
    answers.push({ status, body });
    expect(await stubOf().requests[2 * index + 1]?.closed).toBe(false);
  }
  expect(answers[0]).toEqual(answers[1]);
  expect(answers[0]).toMatchObject({ status: 503, body: expect.stringContaining("shutting down") });
  expect(serverCount()).toBe(0);
});

const SLOW_MS = 1_500;

test("without a session, each call of an older revision gets the same bytes with and without the direct path", async () => {
  stubOf().respond(() => answer(200, enveloped(job)));
  const { servers, serverCount } = await serveBoth(startStateless);
  const exchange = (body: unknown, version: readonly string[] = ["mcp-protocol-version: 2025-11-25"]) =>
    exchangeWithBoth(
      servers,
      ["content-type: application/json", `accept: ${ACCEPT}`, ...version],
      JSON.stringify(body),
    );
  for (const [body, isDirect] of [
    [request(GET_JOB), true],
    [request({ ...GET_JOB, arguments: { job: 1 } }), true],
    [request({ ...GET_JOB, _meta: {} }), false],
    [request({ ...GET_JOB, _meta: null }), false],
    [request({ ...GET_JOB, name: "get_jobs" }), false],
    [[request(GET_JOB), request(GET_JOB, { id: 8 })], false],
  ] as const)
    for (const version of [undefined, [], ["mcp-protocol-version: 1999-01-01"]]) {
      const before = serverCount();
      const [direct, bySdk] = await exchange(body, version);
      expect(direct).toBe(bySdk);
      if (isDirect) expect(serverCount()).toBe(before);
    }
  stubOf().respond(() => ({
    readsBody: true,
    async answer(response) {
      await sleep(SLOW_MS);
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(enveloped(job)));
    },
  }));
  const [direct, bySdk] = await exchange(request(GET_JOB));
  expect(direct).toContain("text/event-stream");
  expect(direct).toBe(bySdk);
});
