// Tests the request headers of POST endpoints, docs/contract.md, 4.2. fields.test.ts tests their values.
import { expect, test } from "vitest";
import { jobOperations, type OperationId, operations } from "../operations.ts";
import { createRequest, exampleDataForFile } from "./example.ts";
import { type Answer, exchangeBytes, expectProblem, parseJson, valueAt } from "./http.ts";
import { fillPath, nextKey, type Parts, serviceForFile } from "./service.ts";

const service = serviceForFile();
const exampleData = exampleDataForFile(service);
const posts = jobOperations.filter(({ method }) => method === "POST");

async function callWith(id: OperationId, parts: Parts): Promise<Answer> {
  return service().call(operations[id], { ...(await createRequest(await exampleData(), id)), ...parts });
}

test("a POST without a key is refused and has no effect [4.2/idempotency-key-required]", async () => {
  for (const operation of posts) {
    const parts = await createRequest(await exampleData(), operation.id);
    const before = await service().admin("GET", "executions");
    for (const key of [undefined, "", " ".repeat(10), "\t".repeat(10)])
      expectProblem(await service().call(operation, { ...parts, headers: { "idempotency-key": key } }), 400);
    expect(await service().admin("GET", "executions")).toEqual(before);
  }
});

test("a key with control characters that HTTP forbids is refused [4.2/job-key-characters]", async () => {
  const { path, scopes } = operations.createMicJob;
  const token = await service().token(scopes);
  for (const control of ["\u0000", "\u0001", "\u001f", "\u007f"]) {
    const head = [
      `POST ${path} HTTP/1.1`,
      "Host: 127.0.0.1",
      `Authorization: Bearer ${token}`,
      "Content-Type: application/json",
      `Idempotency-Key: control${control}inside`,
      "Content-Length: 2",
      "Connection: close",
    ];
    expect(await exchangeBytes(service().emulator.baseUrl, `${head.join("\r\n")}\r\n\r\n{}`)).toMatch(
      /^HTTP\/1\.1 4(00|22) /,
    );
  }
});

test("a cancellation without If-Match is refused [4.2/if-match-required]", async () => {
  expectProblem(await callWith("cancelMicJob", { headers: { "if-match": undefined } }), 428);
  expectProblem(await callWith("cancelMicJob", { headers: { "if-match": "" } }), 400);
});

test("a POST accepts only the content type application/json [4.2/content-type]", async () => {
  for (const { id, success } of posts) {
    for (const type of [
      undefined,
      "",
      "text/plain",
      "application/x-www-form-urlencoded",
      "application/problem+json",
      "json",
      "application/jsonp",
    ])
      expectProblem(await callWith(id, { headers: { "content-type": type } }), 415);
    for (const type of ["application/json; charset=utf-8", "Application/JSON", "application/json;charset=UTF-8"]) {
      const answer = await callWith(id, { headers: { "content-type": type } });
      expect(answer.status, answer.text).toBe(success);
    }
  }
});

test("a request with two Idempotency-Key headers is refused", async () => {
  const { path, scopes } = operations.createMicJob;
  const { body } = await createRequest(await exampleData(), "createMicJob");
  const text = JSON.stringify(body);
  const head = [
    `POST ${fillPath(path, {})} HTTP/1.1`,
    "Host: 127.0.0.1",
    `Authorization: Bearer ${await service().token(scopes)}`,
    "Content-Type: application/json",
    `Idempotency-Key: ${nextKey()}`,
    `Idempotency-Key: ${nextKey()}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    "Connection: close",
  ];
  const answer = await exchangeBytes(service().emulator.baseUrl, `${head.join("\r\n")}\r\n\r\n${text}`);
  expect(answer).toMatch(/^HTTP\/1\.1 4(00|22) /);
});

test("each response of the job API has a unique request id", async () => {
  const ids = await Promise.all(
    Array.from({ length: 10 }, async () =>
      valueAt(parseJson((await callWith("getMicJob", {})).text), "meta", "requestId"),
    ),
  );
  expect(new Set(ids).size).toBe(10);
});
