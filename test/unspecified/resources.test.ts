// Tests parts of resources that the contract leaves open: ids and state transitions.
import { expect, test } from "vitest";
import * as samples from "../contract/samples.ts";
import { answer } from "../support/stub.ts";
import { words } from "../support/words.ts";
import { sessionForFile } from "./session.ts";

const { capabilitySet, enveloped, job, jobList, micEnveloped, operation, problem } = samples;
const { processingRequest, recipeList, stage, usageSummary } = samples;
const session = sessionForFile();

const withState = (resource: object, state: string) => ({
  ...{ ...resource, state },
  ...("failure" in resource && { failure: state === "FAILED" ? problem : null }),
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
  const [requestId, wrap] = [processingRequest.id, micEnveloped];
  const requestStates = "REVOKED APPROVED REJECTED REVIEWABLE SUBMITTED";
  for (const [tool, args, resource, states, envelope] of [
    ["get_file_processing_request", { requestId }, processingRequest, requestStates, wrap],
    ["get_input", { inputId: "x" }, samples.input, "WITHDRAWN READY EXPIRED WAITING_SCAN QUARANTINED READY", wrap],
    ["get_operation", { operationId: "x" }, operation, "CANCELLED QUEUED FAILED RUNNING SUCCEEDED QUEUED", enveloped],
  ] as const)
    for (const state of words(states)) {
      stub.expect(answer(200, envelope(withState(resource, state))));
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
