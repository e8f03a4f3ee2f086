// Tests idempotency: one key names one command with one effect, docs/contract.md, 4.2, and the IETF draft.
import { expect, test } from "vitest";
import { jobOperations, operations } from "../operations.ts";
import { createRequest, exampleDataForFile } from "./example.ts";
import { type Answer, expectProblem, parseJson, valueAt } from "./http.ts";
import { nextKey, serviceForFile, serviceForTest } from "./service.ts";
import { createJobBodyForFile, FILE, fileId } from "./work.ts";

const service = serviceForFile();
const exampleData = exampleDataForFile(service);
const posts = jobOperations.filter(({ method }) => method === "POST");
const dataOf = (answer: Answer) => valueAt(parseJson(answer.text), "data");

const listJobIds = async (testService = service()) => {
  const { data } = await testService.ok(operations.listMicJobs, {
    query: { workspaceId: testService.emulator.workspaceId, limit: 100 },
  });
  return data.map(({ id }) => id);
};

test("the same key and bytes return the stored response and run once [4.2/key-names-one-command]", async () => {
  for (const operation of posts) {
    const parts = { ...(await createRequest(await exampleData(), operation.id)), key: nextKey() };
    const first = await service().call(operation, parts);
    expect([operation.id, first.status]).toEqual([operation.id, operation.success]);
    expect(first.headers["idempotent-replayed"]).toBeUndefined();
    for (let again = 0; again < 3; again += 1) {
      const replay = await service().call(operation, parts);
      expect([replay.status, replay.headers["idempotent-replayed"], replay.text]).toEqual([
        first.status,
        "true",
        first.text,
      ]);
    }
    expect(await service().countExecutions(parts.key)).toBe(1);
  }
});

test("the same key with other bytes is refused and changes nothing [4.2/key-names-one-command]", async () => {
  for (const operation of posts) {
    const parts = { ...(await createRequest(await exampleData(), operation.id)), key: nextKey() };
    const first = await service().call(operation, parts);
    expect(first.status).toBe(operation.success);
    const text = JSON.stringify(parts.body);
    const other: Record<string, unknown> = {
      createMicPublicInput: { ...Object(parts.body), alias: "another" },
      createMicJob: { ...Object(parts.body), clientReference: "another" },
      cancelMicJob: { reason: "Another reason" },
      retryMicJob: { retryMode: "RESTART", reason: "Another reason" },
      requestMicSharedFileProcessing: { ...Object(parts.body), purpose: "Another purpose" },
    };
    for (const body of [other[operation.id], ` ${text}`]) {
      const problem = expectProblem(await service().call(operation, { ...parts, body }), 422);
      expect([operation.id, problem.code, problem.retryable]).toEqual([operation.id, "IDEMPOTENCY_KEY_REUSED", false]);
    }
    expect(await service().countExecutions(parts.key)).toBe(1);
    expect((await service().call(operation, parts)).text).toBe(first.text);
  }
});

test("the same key and bytes for another job are another command", async () => {
  const key = nextKey();
  const [one, other] = [
    await createRequest(await exampleData(), "cancelMicJob"),
    await createRequest(await exampleData(), "cancelMicJob"),
  ];
  expect((await service().call(operations.cancelMicJob, { ...one, key })).status).toBe(202);
  const answer = await service().call(operations.cancelMicJob, { ...other, body: one.body, key });
  expect(expectProblem(answer, 422).code).toBe("IDEMPOTENCY_KEY_REUSED");
});

test("the same key for another operation is another command", async () => {
  const key = nextKey();
  for (const operation of posts) {
    const answer = await service().call(operation, {
      ...(await createRequest(await exampleData(), operation.id)),
      key,
    });
    expect([operation.id, answer.status]).toEqual([operation.id, operation.success]);
    expect(answer.headers["idempotent-replayed"]).toBeUndefined();
  }
  expect(await service().countExecutions(key)).toBe(posts.length);
});

test("twenty concurrent requests with one key run once [4.2/key-names-one-command]", async () => {
  const parts = { body: await createJobBodyForFile(service(), FILE.succeeds), key: nextKey() };
  const before = await listJobIds();
  const answers = await Promise.all(Array.from({ length: 20 }, () => service().call(operations.createMicJob, parts)));
  const accepted = answers.filter(({ status }) => status === 202);
  expect(accepted.length).toBeGreaterThan(0);
  expect(new Set(accepted.map(({ text }) => text)).size).toBe(1);
  for (const answer of answers.filter(({ status }) => status !== 202))
    expect(expectProblem(answer, 409)).toMatchObject({ code: "IDEMPOTENCY_IN_PROGRESS", retryable: true });
  expect(await service().countExecutions(parts.key)).toBe(1);
  expect((await listJobIds()).filter((id) => !before.includes(id))).toHaveLength(1);
});

test("a request with a key is refused while the first one with that key is in progress", async () => {
  const own = await serviceForTest();
  const parts = { body: await createJobBodyForFile(own, FILE.succeeds), key: nextKey() };
  await own.injectFault({ kind: "delay", delayMs: 300 }, { operationId: "createMicJob", times: 1 });
  const first = own.call(operations.createMicJob, parts);
  await expect.poll(async () => JSON.stringify(await own.admin("GET", "requests"))).toContain("/v1/mic/jobs");
  const second = await own.call(operations.createMicJob, parts);
  expect(expectProblem(second, 409)).toMatchObject({ code: "IDEMPOTENCY_IN_PROGRESS", retryable: true });
  expect((await first).status).toBe(202);
  const replay = await own.call(operations.createMicJob, parts);
  expect([replay.status, replay.headers["idempotent-replayed"]]).toEqual([202, "true"]);
  expect(await own.countExecutions(parts.key)).toBe(1);
});

test("a replay returns the first response for 24 hours, even if the job has changed since", async () => {
  const own = await serviceForTest();
  const parts = { body: await createJobBodyForFile(own, FILE.succeeds), key: nextKey() };
  const first = await own.call(operations.createMicJob, parts);
  own.clock.advance(24 * 3_600_000 - 1000);
  expect((await own.call(operations.createMicJob, parts)).text).toBe(first.text);
  own.clock.advance(2000);
  const later = await own.call(operations.createMicJob, parts);
  expect(later.headers["idempotent-replayed"]).toBeUndefined();
  expect(later.status, later.text).toBe(202);
  expect(valueAt(dataOf(later), "id")).not.toBe(valueAt(dataOf(first), "id"));
});

test("a refused command does not use up its key", async () => {
  const { workspaceId } = service().emulator;
  const key = nextKey();
  const wrong = { workspaceId, inputKind: "M4_FILE", referenceId: "" };
  expectProblem(await service().call(operations.createMicPublicInput, { body: wrong, key }), 400);
  const right = { ...wrong, referenceId: fileId(service(), FILE.succeeds) };
  expect((await service().call(operations.createMicPublicInput, { body: right, key })).status).toBe(201);
});

test("a replay checks scope, token and query like any call", async () => {
  const parts = { body: await createJobBodyForFile(service(), FILE.succeeds), key: nextKey() };
  expect((await service().call(operations.createMicJob, parts)).status).toBe(202);
  expectProblem(await service().call(operations.createMicJob, { ...parts, scopes: ["mic.jobs:read"] }), 403);
  expectProblem(
    await service().call(operations.createMicJob, { ...parts, headers: { authorization: undefined } }),
    401,
  );
  expectProblem(await service().call(operations.createMicJob, { ...parts, query: "unexpected=1" }), 400);
});
