// Tests idempotency: one key names one command with one effect, docs/contract.md, 4.2, and the IETF draft.
import { expect } from "vitest";
import { operations, postIds } from "../operations.ts";
import { createRequest, exampleDataForFile } from "./example.ts";
import { type Answer, expectProblem, parseJson, valueAt } from "./http.ts";
import { nextKey, type Parts, type Service, serviceForFile, test } from "./service.ts";
import { createJobBodyForFile, FILE } from "./work.ts";

const fileService = serviceForFile();
const exampleData = exampleDataForFile(fileService);

const submissionParts = async (service = fileService()) => ({
  body: await createJobBodyForFile(service, FILE.succeeds),
  key: nextKey(),
});
const submit = (parts: Parts, service: Service = fileService()) => service.call(operations.createMicJob, parts);
/** A field with another value, for the operations whose body has no reason. */
const OTHER_FIELDS: Readonly<Record<string, object>> = {
  createMicPublicInput: { alias: "another" },
  createMicJob: { clientReference: "another" },
  requestMicSharedFileProcessing: { purpose: "Another purpose" },
};
const isReplay = ({ headers }: Answer) => headers["idempotent-replayed"] === "true";

test("the same key and bytes return the stored response and run once, and the same key with other bytes is refused", {
  tags: ["4.2/key-names-one-command"],
}, async () => {
  for (const id of postIds) {
    const parts = { ...(await createRequest(await exampleData(), id)), key: nextKey() };
    const call = (body = parts.body) => fileService().call(operations[id], { ...parts, body });
    const first = await call();
    expect([id, first.status, isReplay(first)]).toEqual([id, operations[id].success, false]);
    const other = OTHER_FIELDS[id] ?? { reason: "Another reason" };
    for (const body of [{ ...Object(parts.body), ...other }, ` ${JSON.stringify(parts.body)}`]) {
      const problem = expectProblem(await call(body), 422);
      expect([id, problem.code, problem.retryable]).toEqual([id, "IDEMPOTENCY_KEY_REUSED", false]);
      const replay = await call();
      expect([replay.status, isReplay(replay), replay.text]).toEqual([first.status, true, first.text]);
    }
    expect(await fileService().countExecutions(parts.key)).toBe(1);
  }
});

test("the same key for another operation or job is another command", async () => {
  const key = nextKey();
  for (const id of postIds) {
    const parts = await createRequest(await exampleData(), id);
    const answer = await fileService().call(operations[id], { ...parts, key });
    expect([id, answer.status, isReplay(answer)]).toEqual([id, operations[id].success, false]);
  }
  expect(await fileService().countExecutions(key)).toBe(postIds.length);
  const other = await createRequest(await exampleData(), "cancelMicJob");
  const answer = await fileService().call(operations.cancelMicJob, { ...other, key });
  expect(expectProblem(answer, 422).code).toBe("IDEMPOTENCY_KEY_REUSED");
});

test("a request with a key is refused while the first one with that key is in progress", {
  tags: ["4.2/key-names-one-command"],
}, async ({ service }) => {
  const parts = await submissionParts(service);
  await service.injectFault({ kind: "delay", delayMs: 300 }, { operationId: "createMicJob", times: 1 });
  const first = submit(parts, service);
  await expect.poll(() => service.requests("createMicJob")).toHaveLength(1);
  const second = expectProblem(await submit(parts, service), 409);
  expect(second).toMatchObject({ code: "IDEMPOTENCY_IN_PROGRESS", retryable: true });
  expect((await first).status).toBe(202);
  const replay = await submit(parts, service);
  expect([replay.status, isReplay(replay)]).toEqual([202, true]);
  expect(await service.countExecutions(parts.key)).toBe(1);
});

test("a replay returns the first response for 24 hours, even if the job has changed since", async ({ service }) => {
  const parts = await submissionParts(service);
  const idOf = ({ text }: Answer) => valueAt(parseJson(text), "data", "id");
  const first = await submit(parts, service);
  service.clock.advance(24 * 3_600_000 - 1000);
  expect((await submit(parts, service)).text).toBe(first.text);
  service.clock.advance(2000);
  const later = await submit(parts, service);
  expect([later.status, isReplay(later)]).toEqual([202, false]);
  expect(idOf(later)).not.toBe(idOf(first));
});

test("a refused command does not use up its key", async () => {
  const { body, key } = await submissionParts();
  expectProblem(await submit({ body: { ...body, workspaceId: "" }, key }), 400);
  expect((await submit({ body, key })).status).toBe(202);
});

test("the scope, token and query of a replay are checked like those of any call", async () => {
  const parts = await submissionParts();
  expect((await submit(parts)).status).toBe(202);
  expectProblem(await submit({ ...parts, scopes: ["mic.jobs:read"] }), 403);
  expectProblem(await submit({ ...parts, headers: { authorization: undefined } }), 401);
  expectProblem(await submit({ ...parts, query: "unexpected=1" }), 400);
});
