// Calls each operation once and checks it against the tables of section 4: method, path, status and the strict body.
import { expect, test } from "vitest";
import { jobOperations, operations, playgroundOperations, rows } from "../operations.ts";
import { createRequest, exampleDataForFile } from "./example.ts";
import { expectPlaygroundError, expectProblem, parseJson, valueAt } from "./http.ts";
import { nextKey, serviceForFile } from "./service.ts";

const service = serviceForFile();
const exampleData = exampleDataForFile(service);

test("the hand-written table has the contract's 18 operations", () => {
  expect(playgroundOperations).toHaveLength(3);
  expect(jobOperations).toHaveLength(15);
});

for (const operation of rows)
  test(`${operation.id} succeeds with its status and body, and its errors are JSON [2.1/closed-objects, 2.2/closed-objects, 2.2/all-fields-required]`, async () => {
    const parts = await createRequest(await exampleData(), operation.id);
    const { status, text, headers } = await service().call(operation, parts);
    expect(status, text).toBe(operation.success);
    expect(headers["content-type"]).toBe(operation.answer ? "application/json" : "application/octet-stream");
    expect(operation.answer?.safeParse(parseJson(text)).error?.issues).toBeUndefined();
    const refused = await service().call(operation, { ...parts, query: "nothing=of-this" });
    expect(refused.status).toBe(400);
    expect(refused.headers["content-type"]).toMatch(/^application\/(problem\+)?json$/);
    expect(parseJson(refused.text)).toBeTypeOf("object");
  });

test("job-processing paths exist only under /sandbox [4.2/base-path]", async () => {
  const { path, scopes } = operations.listMicJobs;
  const headers = { authorization: `Bearer ${await service().token(scopes)}` };
  const query = `?workspaceId=${service().emulator.workspaceId}`;
  expect((await service().send({ path: path + query, headers })).status).toBe(200);
  expect((await service().send({ path: path.replace("/sandbox", "") + query, headers })).status).toBe(404);
});

test("the first page of jobs has all eight states, and only failed jobs have a Problem [3/job-state, 1/nine-stages-in-order, 7.2/failure-when-failed, 1/workspace-id-prefix]", async () => {
  const { workspaceId, inputIds } = service().emulator;
  expect(workspaceId).toMatch(/^micws_./);
  const { data } = await service().ok(operations.listMicJobs, { query: { workspaceId } });
  const states = ["CANCELLED", "FAILED", "PAUSED", "PREPARING", "QUEUED", "RUNNING", "SUCCEEDED", "WAITING_REVIEW"];
  expect([...new Set(data.map(({ state }) => state))].sort()).toEqual(states);
  expect(data.map(({ failure }) => failure !== null)).toEqual(data.map(({ state }) => state === "FAILED"));
  expect(new Set(data.map(({ failure }) => failure?.retryable))).toEqual(new Set([undefined, true, false]));
  const inputs = await Promise.all(
    inputIds.map((inputId) => service().ok(operations.getMicPublicInput, { path: { inputId } })),
  );
  expect(new Set([...data, ...inputs.map((input) => input.data)].map((each) => each.workspaceId))).toEqual(
    new Set([workspaceId]),
  );
});

test("each response with a job has the job's version as a strong ETag", async () => {
  const answers = await Promise.all(
    (["createMicJob", "getMicJob", "retryMicJob"] as const).map(async (id) =>
      service().call(operations[id], await createRequest(await exampleData(), id)),
    ),
  );
  for (const answer of answers)
    expect(answer.headers["etag"]).toBe(`"${valueAt(parseJson(answer.text), "data", "resourceVersion")}"`);
});

test("a created resource is read with the same content", async () => {
  const pairs = [
    ["createMicPublicInput", "getMicPublicInput", "inputId"],
    ["createMicJob", "getMicJob", "jobId"],
    ["retryMicJob", "getMicJob", "jobId"],
    ["cancelMicJob", "getMicPublicOperation", "operationId"],
    ["requestMicSharedFileProcessing", "getMicSharedFileProcessingRequest", "requestId"],
  ] as const;
  for (const [create, read, name] of pairs) {
    const parts = await createRequest(await exampleData(), create);
    const createdResource = parseJson((await service().call(operations[create], parts)).text);
    const id = String(valueAt(createdResource, "data", "id"));
    const found = parseJson((await service().call(operations[read], { path: { [name]: id } })).text);
    expect(valueAt(found, "data"), create).toEqual(valueAt(createdResource, "data"));
  }
});

test("another method gets 405 with the allowed ones, or 400 in the playground [7.1/invalid-request]", async () => {
  for (const operation of [...playgroundOperations, ...jobOperations]) {
    const { path = {} } = await createRequest(await exampleData(), operation.id);
    for (const method of ["PUT", "PATCH", "DELETE"] as const) {
      const answer = await service().send({
        method,
        path: operation.path.replace(/\{(\w+)\}/g, (_, name: string) => path[name] ?? ""),
        headers:
          operation.scopes.length === 0 ? {} : { authorization: `Bearer ${await service().token(operation.scopes)}` },
      });
      if (operation.scopes.length === 0) {
        expectPlaygroundError(answer, 400, "INVALID_PLAYGROUND_REQUEST");
        continue;
      }
      expectProblem(answer, 405);
      expect(answer.headers["allow"], `${method} ${operation.path}`).toContain(operation.method);
    }
  }
});

test("an unknown path gets a Problem with 404, or 400 in the playground [7.1/invalid-request]", async () => {
  const headers = { authorization: `Bearer ${await service().token(["mic.jobs:read"])}` };
  for (const path of ["/sandbox/v1/mic/nothing", "/sandbox/v1/mic/jobs/a/b/c", "/sandbox/v2/mic/jobs", "/sandbox"])
    expectProblem(await service().send({ path, headers }), 404);
  for (const path of ["geo/mandals", "geo/states/TG", ""])
    expectPlaygroundError(
      await service().send({ path: `/api/svc/core/developers/playground/v1/${path}` }),
      400,
      "INVALID_PLAYGROUND_REQUEST",
    );
  expect((await service().send({ path: "/" })).status).toBe(404);
});

test("a resource that does not exist gets a Problem with 404", async () => {
  const hex = "0".repeat(32);
  const missing = [
    [operations.getMicPublicInput, { inputId: `micinput_${hex}` }],
    [operations.getMicPublicInput, { inputId: "no-such-input" }],
    [operations.getMicPublicAssetContent, { assetId: "devfile_nothing" }],
    [operations.getMicExecutableRecipe, { versionId: `micrecipev_${hex}` }],
    [operations.getMicJob, { jobId: "no-such-job" }],
    [operations.getMicPublicOperation, { operationId: "no-such-operation" }],
    [operations.getMicSharedFileProcessingRequest, { requestId: `micsharedrequest_${hex}` }],
  ] as const;
  for (const [operation, path] of missing) expectProblem(await service().call(operation, { path }), 404);
  for (const jobId of ["a", "a".repeat(128), "é", "..%2f..", "constructor", "__proto__", "toString"])
    expectProblem(await service().call(operations.getMicJob, { path: { jobId } }), 404);
  const retry = { path: { jobId: "no-such-job" }, body: { retryMode: "RESTART", reason: "Why not" }, key: nextKey() };
  expectProblem(await service().call(operations.retryMicJob, retry), 404);
  const cancel = { path: { jobId: "no-such-job" }, body: { reason: "Why not" }, ifMatch: '"1"' };
  expectProblem(await service().call(operations.cancelMicJob, cancel), 404);
});

test("a workspace that is not the caller's is refused", async () => {
  for (const id of [
    "getMicPublicCapabilities",
    "listMicExecutableRecipes",
    "listMicJobs",
    "getMicPublicUsage",
    "createMicPublicInput",
    "createMicJob",
    "requestMicSharedFileProcessing",
  ] as const) {
    const parts = await createRequest(await exampleData(), id);
    const text = JSON.stringify(parts).replaceAll(service().emulator.workspaceId, "micws_another");
    expectProblem(await service().call(operations[id], JSON.parse(text)), 403);
  }
});

test("HEAD returns the status and type of GET without a body", async () => {
  for (const operation of [...playgroundOperations, ...jobOperations].filter(({ method }) => method === "GET")) {
    const { path, query } = await createRequest(await exampleData(), operation.id);
    const parts = { ...(path && { path }), ...(query && { query }) };
    const get = await service().call(operation, parts);
    const head = await service().call(operation, { ...parts, method: "HEAD" });
    expect([operation.id, head.status, head.text]).toEqual([operation.id, get.status, ""]);
    expect(head.headers["content-type"]).toBe(get.headers["content-type"]);
  }
});
