// Tests parts of resources that the contract leaves open: unlisted values, ids and state transitions.
import { expect, test } from "vitest";
import {
  capability,
  capabilitySet,
  enveloped,
  input,
  job,
  jobList,
  micEnveloped,
  operation,
  problem,
  processingRequest,
  recipeDefinition,
  recipeList,
  recipeOffer,
  stage,
  usageBucket,
  usageSummary,
} from "../contract/samples.ts";
import { answer } from "../support/stub.ts";
import { sessionForFile } from "./session.ts";

const session = sessionForFile();

const jobWithState = (state: string, more: object = {}) => ({
  ...job,
  state,
  processingState: state,
  failure: state === "FAILED" ? problem : null,
  ...more,
});
const operationWithState = (state: string, more: object = {}) => ({
  ...operation,
  state,
  failure: state === "FAILED" ? problem : null,
  ...more,
});

test("returns unlisted values as they came [2.2/assumes-no-value-sets]", async () => {
  const { stub, connection } = session();
  const moved = operationWithState("SUCCEEDED", { operationType: "réindex/v2 ☃", resultResourceId: null });
  const set = { ...capabilitySet, capabilities: [{ ...capability, kind: "🧭", operation: "un-blend", version: "∞" }] };
  const usage = {
    ...usageSummary,
    buckets: [
      { ...usageBucket, metric: "Z" },
      { ...usageBucket, metric: "A_9__" },
    ],
  };
  stub.expect(...[moved, set, usage].map((data) => answer(200, enveloped(data))));
  for (const [tool, args, data] of [
    ["get_operation", { operationId: operation.id, view: "full" }, moved],
    ["get_capabilities", { workspaceId: "micws_1", view: "full" }, set],
    ["get_usage", { workspaceId: "micws_1", window: "DAY", view: "full" }, usage],
  ] as const) {
    const { isError, structured, text } = await connection.callTool(tool, args);
    expect(isError, text).toBe(false);
    expect(structured?.["data"]).toEqual(data);
  }
  // A cancellation may also return an operation of another type.
  stub.respond(({ method }) =>
    method === "GET" ? answer(200, enveloped(jobWithState("RUNNING"))) : answer(202, enveloped(moved)),
  );
  const cancelled = await connection.callTool("cancel_job", {
    jobId: "job-other-type",
    reason: "By mistake",
    waitSeconds: 0,
  });
  expect(cancelled, cancelled.text).toMatchObject({
    isError: false,
    structured: { data: { operationType: moved.operationType } },
  });
});

test("uses only the identifiers of a workspace and an asset [2.2/assumes-no-workspace-or-asset-record]", async () => {
  const { stub, connection } = session();
  const workspaceId = "Tenant:42.a";
  stub.expect(
    answer(200, jobList),
    answer(200, recipeList),
    answer(200, enveloped({ ...usageSummary, workspaceId })),
    answer(200, enveloped({ ...capabilitySet, workspaceId })),
    answer(200, Buffer.from("bytes")),
  );
  for (const [tool, args] of [
    ["list_jobs", { workspaceId }],
    ["list_recipes", { workspaceId }],
    ["get_usage", { workspaceId, window: "DAY" }],
    ["get_capabilities", { workspaceId }],
    ["download_asset", { assetId: "asset-1" }],
  ] as const)
    expect(await connection.callTool(tool, args), tool).toMatchObject({ isError: false });
  const workspace = `workspaceId=${encodeURIComponent(workspaceId)}`;
  expect(stub.requests.map(({ target }) => target)).toEqual([
    `/sandbox/v1/mic/jobs?${workspace}`,
    `/sandbox/v1/mic/recipes?${workspace}`,
    `/sandbox/v1/mic/usage?${workspace}&window=DAY`,
    `/sandbox/v1/mic/capabilities?${workspace}`,
    "/sandbox/v1/mic/assets/asset-1/content",
  ]);
});

test("returns each state as it was read, whatever was read before [3/assumes-no-transitions]", async () => {
  const { stub, connection } = session();
  const jobStates = ["SUCCEEDED", "PREPARING", "FAILED", "RUNNING", "CANCELLED", "QUEUED", "PAUSED", "WAITING_REVIEW"];
  for (const [at, state] of jobStates.entries()) {
    const stages = [{ ...stage, state: at % 2 === 0 ? "SUCCEEDED" : "PENDING", completedUnits: 9 - at }];
    stub.expect(answer(200, enveloped(jobWithState(state, { resourceVersion: 20 - at, stages }))));
    const { structured, text } = await connection.callTool("get_job", { jobId: job.id, view: "full" });
    expect(structured?.["data"], text).toMatchObject({ state, resourceVersion: 20 - at, stages });
  }
  for (const state of ["CANCELLED", "QUEUED", "FAILED", "RUNNING", "SUCCEEDED", "QUEUED"]) {
    stub.expect(answer(200, enveloped(operationWithState(state))));
    const { structured } = await connection.callTool("get_operation", { operationId: operation.id });
    expect(structured?.["data"]).toMatchObject({ state });
  }
  for (const state of ["REVOKED", "APPROVED", "REJECTED", "REVIEWABLE", "SUBMITTED"]) {
    stub.expect(answer(200, micEnveloped({ ...processingRequest, state })));
    const args = { requestId: processingRequest.id };
    const { structured } = await connection.callTool("get_file_processing_request", args);
    expect(structured?.["data"]).toMatchObject({ state });
  }
  for (const state of ["WITHDRAWN", "READY", "EXPIRED", "WAITING_SCAN", "QUARANTINED", "READY"]) {
    stub.expect(answer(200, enveloped({ ...input, state })));
    const { structured } = await connection.callTool("get_input", { inputId: input.id });
    expect(structured?.["data"]).toMatchObject({ state });
  }
});

test("leaves the refusal of a retry to the API, whatever the job's state was [3/assumes-no-transitions]", async () => {
  const { stub, connection } = session();
  for (const state of ["SUCCEEDED", "RUNNING", "PREPARING", "PAUSED"]) {
    const jobId = `job-${state}`;
    const born = jobWithState("SUCCEEDED", { id: `${jobId}-again`, retryOfBatchId: jobId });
    stub.respond(({ method }) =>
      method === "GET" ? answer(200, enveloped(jobWithState(state, { id: jobId }))) : answer(202, enveloped(born)),
    );
    await connection.callTool("get_job", { jobId });
    const retried = await connection.callTool("retry_job", { jobId, retryMode: "SAFE_RESUME", reason: "Once more" });
    expect(retried, retried.text).toMatchObject({ isError: false, structured: { data: { id: born.id } } });
  }
});

test("sends no limit if none was given, and accepts pages of any length [4.2/assumes-no-default-recipe-page]", async () => {
  const { stub, connection } = session();
  const cursor = "c".repeat(43);
  for (const [count, limit] of [
    [1, 1],
    [3, 7],
    [0, 100],
    [2, 3],
  ] as const) {
    const data = Array.from({ length: count }, () => recipeOffer);
    const page = { limit, nextCursor: cursor, hasMore: true };
    stub.expect(answer(200, { ...recipeList, data, page }));
    const { structured, text } = await connection.callTool("list_recipes", { workspaceId: "micws_1", view: "full" });
    expect(structured).toMatchObject({ data, page });
    expect(text).toContain(cursor);
    expect(stub.requests.at(-1)?.target).toBe("/sandbox/v1/mic/recipes?workspaceId=micws_1");
  }
  // A requested limit is not taken as the page's limit either.
  stub.expect(answer(200, { ...recipeList, page: { limit: 5, nextCursor: null, hasMore: false } }));
  const result = await connection.callTool("list_recipes", { workspaceId: "micws_1", limit: 50 });
  expect(result.structured).toMatchObject({ page: { limit: 5 } });
  expect(stub.requests.at(-1)?.target).toContain("limit=50");
});

test("returns a recipe version with its current id and hash [9/recipe-version-identity]", async () => {
  const { stub, connection } = session();
  const { versionId } = recipeDefinition;
  for (const versionHash of ["1".repeat(64), "2".repeat(64)]) {
    const offer = { ...recipeOffer, recipe: { ...recipeDefinition, versionHash } };
    stub.expect(answer(200, micEnveloped(offer)), answer(200, { ...recipeList, data: [offer] }));
    const read = await connection.callTool("get_recipe", { versionId });
    expect(read.structured).toMatchObject({ data: { recipe: { versionId, versionHash } } });
    expect(read.text).toContain(versionHash);
    const listed = await connection.callTool("list_recipes", { workspaceId: "micws_1", view: "full" });
    expect(listed.structured).toMatchObject({ data: [{ recipe: { versionId, versionHash } }] });
  }
});

const windows = [
  ["MONTH", "DAY"],
  ["MONTH", "ENTITLEMENT"],
  ["DAY", "ENTITLEMENT"],
  ["ENTITLEMENT", "DAY"],
] as const;
for (const [requested, returned] of windows)
  test(`reports usage by ${returned} as different from the requested ${requested} [4.2/usage-window-reported]`, async () => {
    const { stub, connection } = session();
    stub.expect(answer(200, enveloped({ ...usageSummary, window: returned })));
    const { structured, text } = await connection.callTool("get_usage", { workspaceId: "micws_1", window: requested });
    expect(stub.requests[0]?.target).toContain(`window=${requested}`);
    expect(structured?.["data"]).toMatchObject({ window: returned });
    for (const window of [requested, returned]) expect(structured?.["summary"]).toContain(window);
    expect(text.startsWith(String(structured?.["summary"]))).toBe(true);
  });

test("does not mention the window if it is the requested one [4.2/usage-window-reported]", async () => {
  const { stub, connection } = session();
  for (const window of ["DAY", "ENTITLEMENT"]) {
    stub.expect(answer(200, enveloped({ ...usageSummary, window })));
    const { text } = await connection.callTool("get_usage", { workspaceId: "micws_1", window });
    expect(text).not.toContain("The API returned");
  }
});
