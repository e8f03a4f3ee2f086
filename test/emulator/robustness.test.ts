// Tests requests that no well-behaved client sends: malformed, deep, huge, slow or crowded.
import { connect } from "node:net";
import { afterEach, expect, test } from "vitest";
import { operations } from "../operations.ts";
import { createRequest, exampleDataForFile } from "./example.ts";
import { exchangeBytes, expectPlaygroundError, expectProblem } from "./http.ts";
import { nextKey, serviceForFile, serviceForTest } from "./service.ts";
import { createJobBodyForFile, FILE } from "./work.ts";

const service = serviceForFile();
const exampleData = exampleDataForFile(service);

const submit = async (body: string | Uint8Array) => service().call(operations.createMicJob, { body });

afterEach(async () => {
  const query = { workspaceId: service().emulator.workspaceId };
  const answer = await service().call(operations.getMicPublicCapabilities, { query });
  expect(answer.status, "the emulator lives on").toBe(200);
});

test("malformed JSON gets a Problem [7.2/problem]", async () => {
  const malformed = [
    "",
    " ",
    "{",
    "}",
    '{"a":1,}',
    "{'a':1}",
    "{a:1}",
    '{"a":01}',
    '{"a":NaN}',
    '{"a":1}{}',
    "nul",
    '{"a":"\n"}',
    "\ufeff{}",
    "undefined",
  ];
  for (const text of malformed) expectProblem(await submit(text), 400);
});

test("bytes that are not UTF-8 get a Problem [7.2/problem]", async () => {
  for (const bytes of [
    [0x7b, 0xff, 0x7d],
    [0x22, 0xc3, 0x28, 0x22],
    [0xfe, 0xff, 0x00, 0x7b],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
  ])
    expectProblem(await submit(new Uint8Array(bytes)), 400);
  const { body } = await createRequest(await exampleData(), "createMicJob");
  const [head = "", tail = ""] = JSON.stringify({ ...Object(body), clientReference: "MARK" }).split("MARK");
  const invalidUtf8 = Buffer.concat([Buffer.from(head), Buffer.from([0xc3, 0x28]), Buffer.from(tail)]);
  expectProblem(await submit(invalidUtf8), 400);
});

test("an object with a repeated name is refused, because its value is ambiguous", async () => {
  const { body } = await createRequest(await exampleData(), "createMicJob");
  const text = JSON.stringify(body);
  const { workspaceId } = service().emulator;
  for (const extra of ['"workspaceId":"another",', '"workspaceId":5,']) {
    expectProblem(await submit(text.replace("{", `{${extra}`)), 400);
  }
  expect(text).toContain(workspaceId);
});

test("deeply nested JSON gets a Problem", async () => {
  for (const depth of [200, 20_000, 200_000]) {
    expectProblem(await submit("[".repeat(depth)), 400);
    expectProblem(await submit("[".repeat(depth) + "]".repeat(depth)), 400);
    expectProblem(await submit(`${'{"parameterValues":'.repeat(depth / 20)}1${"}".repeat(depth / 20)}`), 400);
  }
  const { body } = await createRequest(await exampleData(), "createMicJob");
  const deep = JSON.stringify({ ...Object(body), parameterValues: "DEEP" }).replace(
    '"DEEP"',
    `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`,
  );
  expectProblem(await submit(deep), 400);
});

test("free-form JSON is validated down to 500 levels, and deeper values are refused with the field's name", async () => {
  const { body } = await createRequest(await exampleData(), "createMicJob");
  const nestedValue = (depth: number) =>
    JSON.stringify({ ...Object(body), parameterValues: "DEEP" }).replace(
      '"DEEP"',
      `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`,
    );
  // The value is parsed and validated: the recipe has no parameter with that name.
  for (const depth of [63, 64, 499, 500])
    expect(expectProblem(await submit(nestedValue(depth)), 422).code, `${depth}`).toBe("PARAMETERS_INVALID");
  for (const depth of [501, 600])
    expect(expectProblem(await submit(nestedValue(depth)), 400).fieldErrors, `${depth}`).toMatchObject([
      { pointer: "/parameterValues", message: "must be nested at most 500 deep" },
    ]);
});

test("a huge body, many fields and a long name each get a Problem", async () => {
  const { body } = await createRequest(await exampleData(), "createMicJob");
  const huge = JSON.stringify({ ...Object(body), clientReference: "a".repeat(2 * 1024 * 1024) });
  expectProblem(await submit(huge), 413);
  const manyFields = JSON.stringify({
    ...Object(body),
    parameterValues: Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at])),
  });
  const problem = expectProblem(await submit(manyFields), 422);
  expect(problem.fieldErrors.length).toBeLessThanOrEqual(100);
  const longName = JSON.stringify({ ...Object(body), ["k".repeat(5000)]: 1 });
  for (const { pointer } of expectProblem(await submit(longName), 400).fieldErrors)
    expect(pointer.length).toBeLessThanOrEqual(512);
});

test("a path with dot segments or doubled slashes, and invalid escapes in a path or query, are refused [4.2/closed-query]", async () => {
  const headers = { authorization: `Bearer ${await service().token(["mic.jobs:read"])}` };
  const unreadable = ["..", ".", "%2e%2e", "%2E", "%", "%f", "%zz", "%ff", "%c3%28"].map((id) => `jobs/${id}`);
  const queries = ["%", "%zz=1", "workspaceId=a&cursor=%ff", "workspaceId=a&cursor=%c3%28"].map(
    (query) => `jobs?${query}`,
  );
  for (const path of [...unreadable, ...queries, "jobs/../usage", "inputs/../jobs?workspaceId=a"])
    expectProblem(await service().send({ path: `/sandbox/v1/mic/${path}`, headers }), 400);
  const escapedIds = ["%00", "a%00b", "%2f", "..%2f..%2fusage", "a%0d%0aX-Injected:%201", "%F0%9F%98%80", "a;b", "~"];
  for (const path of [
    ...escapedIds.map((id) => `/sandbox/v1/mic/jobs/${id}`),
    "/sandbox//v1/mic/jobs",
    "/sandbox/v1/mic/jobs/",
    "/SANDBOX/v1/mic/jobs",
    "/sandbox/v1/mic/jobs//cancellations",
  ])
    expectProblem(await service().send({ path, headers }), 404);
  for (const path of ["geo/../geo/states", "geo//states", "%67eo/states%00", "geo/states/", "GEO/states"]) {
    const answer = await service().send({ path: `/api/svc/core/developers/playground/v1/${path}` });
    expectPlaygroundError(answer, 400, "INVALID_PLAYGROUND_REQUEST");
  }
});

test("malformed HTTP gets a 4xx response or a closed connection", async () => {
  const { baseUrl } = service().emulator;
  const garbage = [
    "\r\n\r\n",
    "hello\r\n\r\n",
    "GET / HTTP/9.9\r\n\r\n",
    "GET  / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "GET / HTTP/1.1\r\nno colon here\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: abc\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    `GET /${"a".repeat(40_000)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${"b".repeat(40_000)}\r\n\r\n`,
    "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003",
  ];
  for (const bytes of garbage) {
    const answer = await exchangeBytes(baseUrl, Buffer.from(bytes, "latin1"), 150);
    expect(
      answer === "" || /^HTTP\/1\.1 4\d\d /.test(answer),
      `${JSON.stringify(bytes.slice(0, 60))}: ${answer.slice(0, 80)}`,
    ).toBe(true);
  }
});

test("a body that stops in the middle has no effect, and its key can be used again", async () => {
  const { path, scopes } = operations.createMicJob;
  const key = nextKey();
  const body = JSON.stringify(await createJobBodyForFile(service(), FILE.succeeds));
  const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${await service().token(scopes)}\r\nContent-Type: application/json\r\nIdempotency-Key: ${key}\r\nContent-Length: ${body.length}\r\n\r\n`;
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
  await own.call(operations.getMicPublicCapabilities, { query: { workspaceId: own.emulator.workspaceId } });
  const closed = new Promise((resolve) => idle.once("close", resolve));
  idle.on("error", () => {});
  await own.emulator.close();
  await closed;
  await expect(own.send({ path: "/" })).rejects.toThrow();
});
