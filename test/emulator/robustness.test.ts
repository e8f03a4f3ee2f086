// Tests requests that no well-behaved client sends: malformed, deep, huge or broken off.
import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { operations } from "../operations.ts";
import { words } from "../support/words.ts";
import { createRequest, exampleDataForFile } from "./example.ts";
import { expectPlaygroundError, expectProblem } from "./http.ts";
import { nextKey, serviceForFile } from "./service.ts";

const service = serviceForFile();
const exampleData = exampleDataForFile(service);

const submit = async (body: string | Uint8Array) => service().call(operations.createMicJob, { body });

/** A valid body with a change, and with `deep` levels of objects as its parameters. */
async function changedBody(change: object, deep = 0): Promise<string> {
  const { body } = await createRequest(await exampleData(), "createMicJob");
  const text = JSON.stringify({ ...Object(body), ...(deep > 0 && { parameterValues: "DEEP" }), ...change });
  return text.replace('"DEEP"', `${'{"a":'.repeat(deep)}1${"}".repeat(deep)}`);
}

test("malformed JSON, bytes that are not UTF-8 and repeated names get a Problem", {
  tags: ["7.2/problem"],
}, async () => {
  const malformed = words(`{ } {"a":1,} {'a':1} {a:1} {"a":01} {"a":NaN} {"a":1}{} nul undefined`);
  for (const text of [...malformed, "", " ", "\ufeff{}", '{"a":"\n"}']) expectProblem(await submit(text), 400);
  const text = await changedBody({ clientReference: "MARK" });
  const [head = "", tail = ""] = text.split("MARK");
  expectProblem(await submit(Buffer.concat([Buffer.from(head), Buffer.from([0xc3, 0x28]), Buffer.from(tail)])), 400);
  for (const repeated of ['"workspaceId":"another",', '"workspaceId":5,'])
    expectProblem(await submit(text.replace("{", `{${repeated}`)), 400);
});

test("JSON is validated down to 500 levels; deeper JSON is refused, and the error names the field of a parameter", async () => {
  for (const depth of [200, 200_000]) {
    expectProblem(await submit("[".repeat(depth)), 400);
    expectProblem(await submit("[".repeat(depth) + "]".repeat(depth)), 400);
  }
  // The value is parsed and validated: the recipe has no parameter with that name.
  expect(expectProblem(await submit(await changedBody({}, 500)), 422).code).toBe("PARAMETERS_INVALID");
  expect(expectProblem(await submit(await changedBody({}, 501)), 400).fieldErrors).toMatchObject([
    { pointer: "/parameterValues", message: "must be nested at most 500 deep" },
  ]);
  expectProblem(await submit(await changedBody({}, 5000)), 400);
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

test("an unknown path, one with dot segments or doubled slashes, and invalid escapes are refused", {
  tags: ["4.2/closed-query", "4.2/base-path"],
}, async () => {
  const headers = { authorization: `Bearer ${await service().token(["mic.jobs:read"])}` };
  for (const path of words(`
    jobs/.. jobs/. jobs/%2e%2e jobs/%2E jobs/% jobs/%f jobs/%zz jobs/%ff jobs/%c3%28 jobs?% jobs?%zz=1
    jobs?workspaceId=a&cursor=%ff jobs?workspaceId=a&cursor=%c3%28 jobs/../usage inputs/../jobs?workspaceId=a`))
    expectProblem(await service().send({ path: `/sandbox/v1/mic/${path}`, headers }), 400);
  const escapedIds = words("%00 a%00b %2f ..%2f..%2fusage a%0d%0aX-Injected:%201 %F0%9F%98%80 a;b ~");
  for (const path of [
    ...escapedIds.map((id) => `/sandbox/v1/mic/jobs/${id}`),
    ...words("/sandbox//v1/mic/jobs /sandbox/v1/mic/jobs/ /SANDBOX/v1/mic/jobs /sandbox/v1/mic/jobs//cancellations"),
    ...words("/sandbox/v1/mic/nothing /sandbox/v1/mic/jobs/a/b/c /sandbox/v2/mic/jobs /sandbox"),
  ])
    expectProblem(await service().send({ path, headers }), 404);
  for (const path of words("geo/../geo/states geo//states %67eo/states%00 geo/states/ GEO/states geo/mandals")) {
    const answer = await service().send({ path: `/api/svc/core/developers/playground/v1/${path}` });
    expectPlaygroundError(answer, 400, "INVALID_PLAYGROUND_REQUEST");
  }
  for (const path of words("/ /v1/mic/jobs")) expect((await service().send({ path, headers })).status).toBe(404);
});

test("an incomplete body has no effect, and its key can be used again", async () => {
  const { id, path, scopes } = operations.createMicJob;
  const key = nextKey();
  const body = JSON.stringify((await createRequest(await exampleData(), id)).body);
  const head = [
    `POST ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    `Authorization: Bearer ${await service().token(scopes)}`,
    "Content-Type: application/json",
    `Idempotency-Key: ${key}`,
    `Content-Length: ${body.length}`,
  ];
  const { hostname, port } = new URL(service().emulator.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.end(`${head.join("\r\n")}\r\n\r\n${body.slice(0, 20)}`).resume();
  await once(socket, "close");
  expect(await service().countExecutions(key)).toBe(0);
  const answer = await service().call(operations.createMicJob, { body, key });
  expect(answer.status, answer.text).toBe(202);
});
