// Tests messages in the forms that clients in several languages write: null for an absent member, wrong types, long ids.
import { once } from "node:events";
import { createInterface } from "node:readline";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { stubEnv } from "../api-client/client.ts";
import { enveloped, job } from "../contract/samples.ts";
import { serveHttpInProcess, serveInProcess } from "../support/in-process.ts";
import { createLatch } from "../support/latch.ts";
import { answer, holdUntil, stubForTest } from "../support/stub.ts";
import { ACCEPT, initializeMessage, send } from "./http/raw-client.ts";
import { initializedMessage } from "./stdio/child.ts";

/** Sends a JSON text and resolves with the text of the answer. */
type Post = (json: string) => Promise<string>;

function openStdio(env: Readonly<Record<string, string>> = {}) {
  const { stdin, stdout, close } = serveInProcess(env);
  onTestFinished(close);
  const lines = createInterface(stdout);
  const next = async (): Promise<string> => String((await once(lines, "line"))[0]);
  const write = (json: string) => void stdin.write(`${json}\n`);
  return { next, write };
}

async function postOverStdio(): Promise<Post> {
  const { next, write } = openStdio();
  return (json) => {
    const answered = next();
    write(json);
    return answered;
  };
}

async function postOverHttp(): Promise<Post> {
  const url = await serveHttpInProcess({});
  let session = {};
  return async (json) => {
    const headers = { ...session, "content-type": "application/json", accept: ACCEPT };
    const { headers: received, body } = await send(url, { headers, body: json }).answer;
    if (received["mcp-session-id"] !== undefined) session = { "mcp-session-id": String(received["mcp-session-id"]) };
    return body;
  };
}

const TRANSPORTS: readonly (readonly [string, () => Promise<Post>])[] = [
  ["stdio", postOverStdio],
  ["HTTP", postOverHttp],
];

const toJson = (message: object): string => JSON.stringify({ jsonrpc: "2.0", ...message });

async function connect(open: () => Promise<Post>): Promise<Post> {
  const post = await open();
  expect(await post(JSON.stringify(initializeMessage()))).toContain('"result"');
  return post;
}

const call = (params: object) => ({ method: "tools/call", params: { name: "list_actions", ...params } });

/** Requests with members that are null, by what is null. */
const WITH_NULLS: Readonly<Record<string, object>> = {
  "params of ping": { method: "ping", params: null },
  "params of tools/list": { method: "tools/list", params: null },
  cursor: { method: "tools/list", params: { cursor: null } },
  _meta: { method: "resources/list", params: { _meta: null } },
  arguments: call({ arguments: null }),
  "an argument": call({ arguments: { state: null } }),
  "_meta of a call": call({ arguments: {}, _meta: null }),
  progressToken: call({ arguments: {}, _meta: { progressToken: null } }),
  task: call({ arguments: {}, task: null }),
  "the arguments of a prompt": {
    method: "prompts/get",
    params: { name: "run_job", arguments: { referenceId: "file-1", versionId: "version-1", goal: null } },
  },
};

test.each(TRANSPORTS)("over %s, null counts as absent in every request", async (_, open) => {
  const post = await connect(open);
  for (const [what, message] of Object.entries(WITH_NULLS)) {
    const text = await post(toJson({ id: what, ...message }));
    expect(JSON.parse(text), what).toMatchObject({ id: what, result: {} });
    expect(text, what).not.toContain('"isError":true');
  }
});

const OPTIONAL_MEMBERS = {
  capabilities: ["sampling", "roots", "elicitation", "experimental", "extensions", "tasks"],
  clientInfo: ["title", "icons", "websiteUrl", "description"],
};

test.each(TRANSPORTS)("over %s, a handshake is accepted if any optional members are null", async (_, open) => {
  const nullMembers = (names: readonly string[]) =>
    fc.subarray([...names]).map((chosen) => Object.fromEntries(chosen.map((name) => [name, null])));
  await fc.assert(
    fc.asyncProperty(
      nullMembers(OPTIONAL_MEMBERS.capabilities),
      nullMembers(OPTIONAL_MEMBERS.clientInfo),
      fc.constantFrom({}, { _meta: null }, { _meta: { progressToken: null } }),
      async (capabilities, info, meta) => {
        const { params, ...message } = initializeMessage(capabilities);
        const clientInfo = { ...params.clientInfo, ...info };
        const text = await (await open())(JSON.stringify({ ...message, params: { ...params, ...meta, clientInfo } }));
        expect(JSON.parse(text)).toMatchObject({ result: { protocolVersion: params.protocolVersion } });
      },
    ),
    { numRuns: 10 },
  );
});

const { params: handshake } = initializeMessage();

test.each(TRANSPORTS)("over %s, invalid params are refused in a sentence that names the member", async (_, open) => {
  const post = await open();
  const initialize = (params: object) => ({ method: "initialize", params: { ...handshake, ...params } });
  const handshakes = [
    [initialize({ clientInfo: null }), "/params/clientInfo: missing"],
    [initialize({ capabilities: undefined }), "/params/capabilities: missing"],
    [initialize({ clientInfo: { name: "x" } }), "/params/clientInfo/version: missing"],
    [initialize({ protocolVersion: 5 }), "/params/protocolVersion: expected string, received number"],
  ] as const;
  const requests = [
    [{ method: "tools/list", params: { cursor: 5 } }, "/params/cursor"],
    [{ method: "tools/call", params: { name: 5 } }, "/params/name"],
    [call({ arguments: "x" }), "/params/arguments"],
    [{ method: "resources/read", params: {} }, "/params/uri"],
    [{ method: "prompts/get", params: { name: "x", arguments: { a: 5 } } }, "/params/arguments/a"],
    [{ method: "completion/complete", params: { ref: {}, argument: {} } }, "/params/argument/name"],
  ] as const;
  async function expectRefused(message: object, member: string) {
    const { error } = JSON.parse(await post(toJson({ id: 5, ...message })));
    expect(error, member).toMatchObject({ code: -32602, message: expect.stringContaining(member) });
    expect(error.message).not.toMatch(/[[{\n]/);
  }
  for (const [message, member] of handshakes) await expectRefused(message, member);
  await post(JSON.stringify(initializeMessage()));
  for (const [message, member] of requests) await expectRefused(message, member);
});

test.each(TRANSPORTS)(
  "over %s, a request with an id above 2^53-1 is answered under the digits of its id",
  async (_, open) => {
    const post = await connect(open);
    const request = (id: string, method: string, params = "{}") =>
      post(`{"jsonrpc":"2.0","method":"${method}","params":${params},"id":${id}}`);
    for (const id of [
      "9007199254740993",
      "-9223372036854775808",
      "18446744073709551615",
      "12345678901234567890123",
      "1e25",
    ])
      for (const [method, params] of [
        ["ping"],
        ["no/such/method"],
        ["tools/call", `{"name":"list_actions","arguments":{},"_meta":{"progressToken":${id}}}`],
      ] as const)
        expect(await request(id, method, params), method).toMatch(new RegExp(`"id":${id.replaceAll("+", "\\+")}[,}]`));
    // An id that is a text stays a text.
    expect(await request('"9007199254740993"', "ping")).toContain('"id":"9007199254740993"');
  },
);

test("a call with an id above 2^53-1 can be canceled", async () => {
  const stub = await stubForTest();
  const { next, write } = openStdio(stubEnv(stub));
  write(JSON.stringify(initializeMessage()));
  await next();
  write(JSON.stringify(initializedMessage));
  const { released, release } = createLatch();
  stub.expect(holdUntil(released, answer(200, enveloped(job))));
  const id = "9223372036854775807";
  write(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"get_job","arguments":{"jobId":"job-1"}}}`);
  await expect.poll(() => stub.requests.length).toBe(1);
  write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`);
  // Only after the cancellation may another request have this id.
  const answered = next();
  write(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
  expect(await answered).toContain(`"result":{},"jsonrpc":"2.0","id":${id}`);
  release();
});
