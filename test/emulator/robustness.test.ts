// Tests requests that no well-behaved client sends: malformed, deep, huge, slow or crowded.
import { connect } from "node:net";
import { afterEach, expect, test } from "vitest";
import { operations } from "../operations.ts";
import { words } from "../support/words.ts";
import { createRequest, exampleDataForFile } from "./example.ts";
import { exchangeBytes, expectPlaygroundError, expectProblem } from "./http.ts";
import { nextKey, serviceForFile, serviceForTest } from "./service.ts";
import { createJobBodyForFile, FILE } from "./work.ts";

const service = serviceForFile();
const exampleData = exampleDataForFile(service);

const submit = async (body: string | Uint8Array) => service().call(operations.createMicJob, { body });

/** A valid body with a change, and with `deep` levels of objects as its parameters. */
async function changedBody(change: object, deep = 0): Promise<string> {
  const { body } = await createRequest(await exampleData(), "createMicJob");
  const text = JSON.stringify({ ...Object(body), ...(deep > 0 && { parameterValues: "DEEP" }), ...change });
  return text.replace('"DEEP"', `${'{"a":'.repeat(deep)}1${"}".repeat(deep)}`);
}

afterEach(async () => {
  const answer = await service().call(operations.getMicPublicCapabilities, service().inWorkspace());
  expect(answer.status, "the emulator lives on").toBe(200);
});

test("malformed JSON, bytes that are not UTF-8 and repeated names get a Problem [7.2/problem]", async () => {
  const malformed = words(`{ } {"a":1,} {'a':1} {a:1} {"a":01} {"a":NaN} {"a":1}{} nul undefined`);
  for (const text of [...malformed, "", " ", "\ufeff{}", '{"a":"\n"}']) expectProblem(await submit(text), 400);
  for (const bytes of [
    [0x7b, 0xff, 0x7d],
    [0x22, 0xc3, 0x28, 0x22],
    [0xfe, 0xff, 0x00, 0x7b],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
  ])
    expectProblem(await submit(new Uint8Array(bytes)), 400);
  const text = await changedBody({ clientReference: "MARK" });
  const [head = "", tail = ""] = text.split("MARK");
  expectProblem(await submit(Buffer.concat([Buffer.from(head), Buffer.from([0xc3, 0x28]), Buffer.from(tail)])), 400);
  for (const repeated of ['"workspaceId":"another",', '"workspaceId":5,'])
    expectProblem(await submit(text.replace("{", `{${repeated}`)), 400);
});

test("deeply nested JSON gets a Problem", async () => {
  for (const depth of [200, 20_000, 200_000]) {
    expectProblem(await submit("[".repeat(depth)), 400);
    expectProblem(await submit("[".repeat(depth) + "]".repeat(depth)), 400);
    expectProblem(await submit(`${'{"parameterValues":'.repeat(depth / 20)}1${"}".repeat(depth / 20)}`), 400);
  }
  expectProblem(await submit(await changedBody({}, 5000)), 400);
});

test("free-form JSON is validated down to 500 levels, and deeper values are refused with the field's name", async () => {
  // The value is parsed and validated: the recipe has no parameter with that name.
  for (const depth of [64, 500])
    expect(expectProblem(await submit(await changedBody({}, depth)), 422).code, `${depth}`).toBe("PARAMETERS_INVALID");
  for (const depth of [501])
    expect(expectProblem(await submit(await changedBody({}, depth)), 400).fieldErrors, `${depth}`).toMatchObject([
      { pointer: "/parameterValues", message: "must be nested at most 500 deep" },
    ]);
});

test("a huge body, many fields and a long name each get a Problem", async () => {
  expectProblem(await submit(await changedBody({ clientReference: "a".repeat(2 * 1024 * 1024) })), 413);
  const parameterValues = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]));
  const problem = expectProblem(await submit(await changedBody({ parameterValues })), 422);
  expect(problem.fieldErrors.length).toBeLessThanOrEqual(100);
  const longName = await changedBody({ ["k".repeat(5000)]: 1 });
  for (const { pointer } of expectProblem(await submit(longName), 400).fieldErrors)
    expect(pointer.length).toBeLessThanOrEqual(512);
});

test("a path with dot segments or doubled slashes, and invalid escapes in a path or query, are refused [4.2/closed-query]", async () => {
  const headers = { authorization: `Bearer ${await service().token(["mic.jobs:read"])}` };
  for (const path of words(`
    jobs/.. jobs/. jobs/%2e%2e jobs/%2E jobs/% jobs/%f jobs/%zz jobs/%ff jobs/%c3%28 jobs?% jobs?%zz=1
    jobs?workspaceId=a&cursor=%ff jobs?workspaceId=a&cursor=%c3%28 jobs/../usage inputs/../jobs?workspaceId=a`))
    expectProblem(await service().send({ path: `/sandbox/v1/mic/${path}`, headers }), 400);
  const escapedIds = words("%00 a%00b %2f ..%2f..%2fusage a%0d%0aX-Injected:%201 %F0%9F%98%80 a;b ~");
  for (const path of [
    ...escapedIds.map((id) => `/sandbox/v1/mic/jobs/${id}`),
    ...words("/sandbox//v1/mic/jobs /sandbox/v1/mic/jobs/ /SANDBOX/v1/mic/jobs /sandbox/v1/mic/jobs//cancellations"),
  ])
    expectProblem(await service().send({ path, headers }), 404);
  for (const path of words("geo/../geo/states geo//states %67eo/states%00 geo/states/ GEO/states")) {
    const answer = await service().send({ path: `/api/svc/core/developers/playground/v1/${path}` });
    expectPlaygroundError(answer, 400, "INVALID_PLAYGROUND_REQUEST");
  }
});

test("malformed HTTP gets a 4xx response or a closed connection", async () => {
  const head = "HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  for (const bytes of [
    "\r\n\r\n",
    "hello\r\n\r\n",
    "GET / HTTP/9.9\r\n\r\n",
    `GET  / ${head}\r\n`,
    "GET / HTTP/1.1\r\nno colon here\r\n\r\n",
    `GET / ${head}Content-Length: abc\r\n\r\n`,
    `POST / ${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `GET /${"a".repeat(40_000)} ${head}\r\n`,
    `GET / ${head}X: ${"b".repeat(40_000)}\r\n\r\n`,
    "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003",
  ])
    expect(await exchangeBytes(service().emulator.baseUrl, Buffer.from(bytes, "latin1"), 150)).toMatch(
      /^$|^HTTP\/1\.1 4\d\d /,
    );
});

test("a body that stops in the middle has no effect, and its key can be used again", async () => {
  const key = nextKey();
  const body = JSON.stringify(await createJobBodyForFile(service(), FILE.succeeds));
  const head = await service().rawHead(operations.createMicJob, key, body.length);
  expect(await exchangeBytes(service().emulator.baseUrl, head + body.slice(0, 20), 100)).toBe("");
  expect(await service().countExecutions(key)).toBe(0);
  const answer = await service().call(operations.createMicJob, { body, key });
  expect(answer.status, answer.text).toBe(202);
});

test("closing the emulator does not wait for idle connections", async () => {
  const own = await serviceForTest();
  const { hostname, port } = new URL(own.emulator.baseUrl);
  const idle = connect(Number(port), hostname);
  await new Promise((resolve) => idle.once("connect", resolve));
  await own.call(operations.getMicPublicCapabilities, own.inWorkspace());
  const closed = new Promise((resolve) => idle.once("close", resolve));
  idle.on("error", () => {});
  await own.emulator.close();
  await closed;
  await expect(own.send({ path: "/" })).rejects.toThrow();
});
