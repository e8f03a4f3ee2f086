// Calls each operation once and checks it against the tables of section 4: method, path, status and the strict body.
import { expect, test } from "vitest";
import { jobOperations, operations, rows } from "../operations.ts";
import { createRequest, exampleDataForFile } from "./example.ts";
import { expectPlaygroundError, expectProblem, parseJson, valueAt } from "./http.ts";
import { serviceForFile } from "./service.ts";

const service = serviceForFile();
const exampleData = exampleDataForFile(service);

for (const operation of rows)
  test(`${operation.id} succeeds with its status and body, and its errors are JSON`, {
    tags: ["2.1/closed-objects", "2.2/closed-objects", "2.2/all-fields-required"],
  }, async () => {
    const parts = await createRequest(await exampleData(), operation.id);
    const { status, text, headers } = await service().call(operation, parts);
    expect(status, text).toBe(operation.success);
    expect(headers["content-type"]).toBe(operation.answer ? "application/json" : "application/octet-stream");
    expect(operation.answer?.safeParse(parseJson(text)).error?.issues).toBeUndefined();
    const refused = await service().call(operation, { ...parts, query: "nothing=of-this" });
    expect(refused.status).toBe(400);
    expect(refused.headers["content-type"]).toMatch(/^application\/(problem\+)?json$/);
    expect(parseJson(refused.text)).toBeTypeOf("object");
    if (operation.method !== "GET") return;
    const head = await service().call(operation, { ...parts, method: "HEAD" });
    expect([head.status, head.text]).toEqual([status, ""]);
    for (const name of ["content-type", "content-length", "content-disposition", "etag"])
      expect(head.headers[name], name).toBe(headers[name]);
  });

test("a created resource is read with the same content, and a job has its version as a strong ETag", async () => {
  for (const [create, read, name] of [
    ["createMicPublicInput", "getMicPublicInput", "inputId"],
    ["createMicJob", "getMicJob", "jobId"],
    ["retryMicJob", "getMicJob", "jobId"],
    ["cancelMicJob", "getMicPublicOperation", "operationId"],
    ["requestMicSharedFileProcessing", "getMicSharedFileProcessingRequest", "requestId"],
  ] as const) {
    const created = await service().call(operations[create], await createRequest(await exampleData(), create));
    const resource = valueAt(parseJson(created.text), "data");
    const path = { [name]: String(valueAt(resource, "id")) };
    const found = await service().call(operations[read], { path });
    expect(valueAt(parseJson(found.text), "data"), create).toEqual(resource);
    if (name !== "jobId") continue;
    for (const { headers } of [created, found])
      expect(headers["etag"]).toBe(`"${valueAt(resource, "resourceVersion")}"`);
  }
});

test("a request with another method gets 405 with the allowed methods, or 400 in the playground", {
  tags: ["7.1/invalid-request"],
}, async () => {
  for (const operation of rows) {
    const { path = {} } = await createRequest(await exampleData(), operation.id);
    for (const method of ["PUT", "PATCH", "DELETE"] as const) {
      const answer = await service().call(operation, { method, path });
      if (operation.scopes.length === 0) {
        expectPlaygroundError(answer, 400, "INVALID_PLAYGROUND_REQUEST");
        continue;
      }
      expectProblem(answer, 405);
      expect(answer.headers["allow"], `${method} ${operation.path}`).toContain(operation.method);
    }
  }
});

test("a resource that does not exist gets a Problem with 404", async () => {
  const hex = "0".repeat(32);
  const withJobId = (jobId: string) => [operations.getMicJob, { path: { jobId } }] as const;
  for (const [operation, parts] of [
    [operations.getMicPublicInput, { path: { inputId: `micinput_${hex}` } }],
    [operations.getMicPublicAssetContent, { path: { assetId: "devfile_nothing" } }],
    [operations.getMicExecutableRecipe, { path: { versionId: `micrecipev_${hex}` } }],
    [operations.getMicPublicOperation, { path: { operationId: "no-such-operation" } }],
    [operations.getMicSharedFileProcessingRequest, { path: { requestId: `micsharedrequest_${hex}` } }],
    ...["a", "a".repeat(128), "é", "..%2f..", "constructor", "__proto__", "toString"].map(withJobId),
    [operations.retryMicJob, { path: { jobId: "none" }, body: { retryMode: "RESTART", reason: "Why not" } }],
    [operations.cancelMicJob, { path: { jobId: "none" }, body: { reason: "Why not" }, ifMatch: '"1"' }],
  ] as const)
    expectProblem(await service().call(operation, parts), 404);
});

test("a workspace that is not the caller's is refused", async () => {
  const withWorkspace = jobOperations.filter(({ query, body }) => "workspaceId" in { ...query.shape, ...body?.shape });
  expect(withWorkspace).toHaveLength(7);
  for (const operation of withWorkspace) {
    const parts = await createRequest(await exampleData(), operation.id);
    const text = JSON.stringify(parts).replaceAll(service().emulator.workspaceId, "micws_another");
    expectProblem(await service().call(operation, JSON.parse(text)), 403);
  }
});
