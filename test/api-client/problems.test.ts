// Tests every kind of error answer of the API and the failure that the agent receives (docs/contract.md, 7; open question 2).
import { expect } from "vitest";
import { getMicJob } from "../../src/contract/endpoints/job-processing.ts";
import {
  getPlaygroundOpenApi,
  listPlaygroundDistricts,
  listPlaygroundStates,
} from "../../src/contract/endpoints/playground.ts";
import { problem, statesResponse } from "../contract/samples.ts";
import { test } from "../support/fixtures.ts";
import { answer, stubForTest } from "../support/stub.ts";
import { clientForTest, createCallContext, expectFailure, readJob, submitJob } from "./client.ts";

const expectedFacts = { code: "stage_failed", requestId: "req-2", retryable: true, fieldErrors: problem.fieldErrors };

for (const [place, body] of [
  ["bare", problem],
  ["in error", { error: problem }],
  ["in problem", { problem }],
  ["in failure", { failure: problem, meta: { requestId: "req-9" } }],
  ["in data", { data: problem, meta: { requestId: "req-9" } }],
] as const)
  test(`a Problem is understood ${place} [7.2/problem]`, async ({ stub, service }) => {
    stub.expect(answer(422, body, { "content-type": "application/problem+json" }));
    const facts = await expectFailure(readJob(service));
    expect(facts).toMatchObject({ kind: "rejected", status: 422, sideEffect: "none", ...expectedFacts });
    expect(facts.message).toContain(JSON.stringify(problem.title));
  });

test("a Problem has all its field errors, at most 100 [2.2/problem-field-error]", async () => {
  const fieldErrors = Array.from({ length: 100 }, (_, n) => ({
    pointer: `/f/${n}`,
    code: "bad",
    message: `no ${n}`,
  }));
  const stub = await stubForTest();
  const { service } = clientForTest(stub.baseUrl);
  stub.expect(answer(422, { ...problem, fieldErrors }));
  expect((await expectFailure(readJob(service))).fieldErrors).toEqual(fieldErrors);
});

test("a Problem with an unknown code and a different status is classified by the HTTP status", async ({
  stub,
  service,
}) => {
  stub.expect(answer(404, { ...problem, status: 500, code: "SOMETHING_NEW" }));
  expect(await expectFailure(readJob(service))).toMatchObject({
    kind: "not_found",
    status: 404,
    code: "SOMETHING_NEW",
  });
});

test.for([
  ["a field error of the wrong shape", { ...problem, fieldErrors: [{ pointer: 1 }, problem.fieldErrors[0]] }, 1],
  ["field errors that are no list", { ...problem, fieldErrors: "all of them" }, undefined],
  ["a title of a megabyte", { ...problem, title: "x".repeat(1_000_000) }, 1],
  ["a title that is no text", { ...problem, title: { a: 1 } }, 1],
  ["retryable as text", { ...problem, retryable: "yes" }, 1],
] as const)(
  "a partly malformed Problem is read as far as possible: %s",
  async ([_, body, fieldErrors], { stub, service }) => {
    stub.expect(answer(422, body));
    const facts = await expectFailure(readJob(service));
    expect(facts).toMatchObject({ kind: "rejected", status: 422, code: "stage_failed" });
    expect(facts.fieldErrors?.length).toBe(fieldErrors);
    expect(typeof facts.retryable).toBe("boolean");
    expect(facts.message.length).toBeLessThan(1000);
  },
);

test.for([
  ["HTML", "<!doctype html><title>502</title>", "text/html"],
  ["nothing", "", "application/json"],
  ["an empty object", "{}", "application/json"],
  ["a list", "[1,2]", "application/json"],
  ["null", "null", "application/json"],
  ["broken JSON", '{"title":', "application/json"],
  ["text in another encoding", Buffer.from([0xff, 0xfe, 0x41]), "text/plain"],
  ["a gateway's words", '{"message":"no route"}', "application/json"],
] as const)("an error without a Problem is reported with its status: %s", async ([_, body, type]) => {
  for (const [status, kind] of [
    [400, "rejected"],
    [401, "unauthorized"],
    [403, "forbidden"],
    [404, "not_found"],
    [409, "conflict"],
    [412, "precondition_failed"],
    [418, "rejected"],
    [429, "rate_limited"],
    [500, "upstream_unavailable"],
    [599, "upstream_unavailable"],
  ] as const) {
    const stub = await stubForTest();
    const { service } = clientForTest(stub.baseUrl);
    stub.respond(() => answer(status, body, { "content-type": type, "retry-after": "900" }));
    const facts = await expectFailure(readJob(service));
    expect(facts).toMatchObject({ kind, status });
    expect(facts.message).toContain(`HTTP ${status}`);
    expect(facts.message).not.toContain("<");
  }
});

test("an error without a Problem keeps the request id of the header", async ({ stub, service }) => {
  stub.expect(answer(404, "", { "x-request-id": "edge-77" }));
  expect((await expectFailure(readJob(service))).requestId).toBe("edge-77");
});

const read = async (status: number, code: string, headers: Record<string, string> = {}) => {
  const stub = await stubForTest();
  const { service } = clientForTest(stub.baseUrl);
  stub.respond(() => answer(status, { status: code }, headers));
  const facts = await expectFailure(
    service.call(listPlaygroundDistricts, { query: { state: "TG" } }, createCallContext(5000)),
  );
  expect(facts).toMatchObject({ status, code });
  expect(stub.tokenRequests).toHaveLength(0);
  return { ...facts, attempts: stub.requests.length };
};

test("the playground refuses an unsupported request [7.1/body, 7.1/invalid-request]", async () => {
  const facts = { kind: "rejected", retryable: false, attempts: 1 };
  expect(await read(400, "INVALID_PLAYGROUND_REQUEST")).toMatchObject(facts);
});

test("the playground denies a request by its policy [7.1/denied]", async () => {
  expect(await read(403, "PLAYGROUND_REQUEST_DENIED")).toMatchObject({ kind: "forbidden", attempts: 1 });
});

test("the playground limits the rate and returns a Retry-After [7.1/rate-limited, 7.1/retry-after]", async () => {
  const facts = { kind: "rate_limited", retryAfterSeconds: 59, retryable: true, attempts: 1 };
  expect(await read(429, "PLAYGROUND_RATE_LIMITED", { "retry-after": "59" })).toMatchObject(facts);
});

for (const status of [400, 401, 403, 409, 418, 451, 500, 502, 503])
  test(`an unreachable playground catalog is retried, then reported with the upstream's status ${status} [7.1/upstream-unavailable, 7.1/upstream-status-preserved]`, async () => {
    const { kind, attempts } = await read(status, "PLAYGROUND_UPSTREAM_UNAVAILABLE");
    expect(kind).toBe("upstream_unavailable");
    expect(attempts).toBeGreaterThan(1);
  });

test("the playground is called without credentials", async ({ stub, service }) => {
  stub.expect(answer(200, statesResponse), answer(200, { openapi: "3.1.1", info: {}, paths: {} }));
  await service.call(listPlaygroundStates, {}, createCallContext(5000));
  await service.call(getPlaygroundOpenApi, {}, createCallContext(5000));
  for (const { headers } of stub.requests) expect(headers).not.toHaveProperty("authorization");
  expect(stub.tokenRequests).toHaveLength(0);
});

test("a failure names the operation, so that an agent can identify the call", async ({ stub, service }) => {
  stub.respond(() => answer(404));
  const read = await expectFailure(service.call(getMicJob, { path: { jobId: "j" } }, createCallContext(5000)));
  const write = await expectFailure(submitJob(service, createCallContext(5000)));
  expect(read.message).toContain("getMicJob");
  expect(write.message).toContain("createMicJob");
});
