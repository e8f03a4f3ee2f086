// Tests parts of resources that the contract leaves open: unlisted values, ids and state transitions.
import { expect, test } from "vitest";
import * as samples from "../contract/samples.ts";
import { answer } from "../support/stub.ts";
import { words } from "../support/words.ts";
import { sessionForFile } from "./session.ts";

const { capability, capabilitySet, enveloped, job, jobList, micEnveloped, operation, problem, stage } = samples;
const { processingRequest, recipeDefinition, recipeList, recipeOffer, usageBucket, usageSummary } = samples;
const session = sessionForFile();

const withState = (resource: object, state: string) => ({
  ...{ ...resource, state },
  ...("failure" in resource && { failure: state === "FAILED" ? problem : null }),
});

test("the server does not change values that the contract does not list", {
  tags: ["2.2/assumes-no-value-sets"],
}, async () => {
  const { stub, connection } = session();
  const moved = { ...withState(operation, "SUCCEEDED"), operationType: "réindex/v2 ☃", resultResourceId: null };
  const set = { ...capabilitySet, capabilities: [{ ...capability, kind: "🧭", operation: "un-blend", version: "∞" }] };
  const usage = { ...usageSummary, buckets: ["Z", "A_9__"].map((metric) => ({ ...usageBucket, metric })) };
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
    method === "GET" ? answer(200, enveloped(withState(job, "RUNNING"))) : answer(202, enveloped(moved)),
  );
  const cancellation = { jobId: "job-other-type", reason: "By mistake", waitSeconds: 0 };
  const { structured, text } = await connection.callTool("cancel_job", cancellation);
  expect(structured, text).toMatchObject({ data: { operationType: moved.operationType } });
});

test("the server uses only the identifiers of a workspace and an asset", {
  tags: ["2.2/assumes-no-workspace-or-asset-record"],
}, async () => {
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

test("the server returns each state as the API states it, even after a later state", {
  tags: ["3/assumes-no-transitions"],
}, async () => {
  const { stub, connection } = session();
  const jobStates = words("SUCCEEDED PREPARING FAILED RUNNING CANCELLED QUEUED PAUSED WAITING_REVIEW");
  for (const [at, state] of jobStates.entries()) {
    const stages = [{ ...stage, state: at % 2 === 0 ? "SUCCEEDED" : "PENDING", completedUnits: 9 - at }];
    const changed = { ...withState(job, state), resourceVersion: 20 - at, stages };
    stub.expect(answer(200, enveloped(changed)));
    const { structured, text } = await connection.callTool("get_job", { jobId: job.id, view: "full" });
    expect(structured?.["data"], text).toMatchObject({ state, resourceVersion: 20 - at, stages });
  }
  const requestId = processingRequest.id;
  for (const [tool, args, resource, states] of [
    ["get_operation", { operationId: "x" }, operation, "CANCELLED QUEUED FAILED RUNNING SUCCEEDED QUEUED"],
    ["get_file_processing_request", { requestId }, processingRequest, "REVOKED APPROVED REJECTED REVIEWABLE SUBMITTED"],
    ["get_input", { inputId: "x" }, samples.input, "WITHDRAWN READY EXPIRED WAITING_SCAN QUARANTINED READY"],
  ] as const)
    for (const state of words(states)) {
      stub.expect(answer(200, micEnveloped(withState(resource, state))));
      const { structured } = await connection.callTool(tool, args);
      expect(structured?.["data"]).toMatchObject({ state });
    }
});

test("the server lets the API refuse a retry, with any state of the job", {
  tags: ["3/assumes-no-transitions"],
}, async () => {
  const { stub, connection } = session();
  for (const state of ["SUCCEEDED", "RUNNING", "PREPARING", "PAUSED"]) {
    const jobId = `job-${state}`;
    const born = { ...withState(job, "SUCCEEDED"), id: `${jobId}-again`, retryOfBatchId: jobId };
    const found = { ...withState(job, state), id: jobId };
    stub.respond(({ method }) => (method === "GET" ? answer(200, enveloped(found)) : answer(202, enveloped(born))));
    await connection.callTool("get_job", { jobId });
    const retried = await connection.callTool("retry_job", { jobId, retryMode: "SAFE_RESUME", reason: "Once more" });
    expect(retried, retried.text).toMatchObject({ isError: false, structured: { data: { id: born.id } } });
  }
});

test("the server returns a recipe version with its current id and hash", {
  tags: ["9/recipe-version-identity"],
}, async () => {
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
