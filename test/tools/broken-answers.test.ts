// Tests answers with a success status that break the contract: what an action created is known, and a list shows its other items.
import { expect, test } from "vitest";
import { stubEnv } from "../api-client/client.ts";
import { createInput, createJob, enveloped, input, job, jobList, operation } from "../contract/samples.ts";
import { inProcessClientForTest } from "../support/mcp.ts";
import { answer, stubForTest } from "../support/stub.ts";

const retry = { ...job, id: "job-2", retryOfBatchId: job.id };

const actions = [
  ["register_input", createInput, 201, input],
  ["submit_job", createJob, 202, job],
  ["retry_job", { jobId: job.id, retryMode: "SAFE_RESUME", reason: "again" }, 202, retry],
  ["cancel_job", { jobId: job.id, reason: "not needed", resourceVersion: 3, waitSeconds: 0 }, 202, operation],
] as const;

test.for(actions)(
  "%s reads what it created if its answer breaks the contract, and a repeated call sends nothing",
  {
    tags: ["2.2/unlisted-values"],
  },
  async ([tool, args, status, resource]) => {
    const stub = await stubForTest();
    const client = await inProcessClientForTest("v2-modern", stubEnv(stub));
    stub.respond(({ method }) =>
      method === "POST"
        ? answer(status, enveloped({ ...resource, resourceVersion: true }))
        : answer(200, enveloped(resource)),
    );
    const first = await client.callTool(tool, args);
    expect(first.isError, first.text).toBe(false);
    expect(first.structured?.["data"]).toMatchObject({ id: resource.id });
    expect(first.meta["mic-mcp/drift"]).toEqual([expect.stringContaining("/data/resourceVersion")]);
    const again = await client.callTool(tool, args);
    expect(again.isError, again.text).toBe(false);
    expect(again.text).toContain("Not run again");
    expect(stub.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  },
);

test("an action whose answer and resource break the contract names what it created", async () => {
  const stub = await stubForTest();
  const client = await inProcessClientForTest("v2-modern", stubEnv(stub));
  stub.respond(({ method }) => answer(method === "POST" ? 201 : 200, enveloped({ ...input, sha256: "none" })));
  const failed = await client.callTool("register_input", createInput);
  expect(failed.isError).toBe(true);
  expect(failed.text).toContain(`made ${input.id}`);
  const { structured } = await client.callTool("list_actions", { limit: 1 });
  expect(structured?.["actions"]).toEqual([expect.objectContaining({ state: "succeeded", createdId: input.id })]);
});

const jobs = [job, { ...job, id: "job-8", resourceVersion: "1" }, { ...job, id: "job-9", state: "TIMED_OUT" }];

test.for([{}, { createdSince: "2020-01-01T00:00:00Z" }, { view: "full" }])(
  "list_jobs shows the other jobs of a page with a job that breaks the contract (%o)",
  { tags: ["2.2/unlisted-values"] },
  async (args) => {
    const stub = await stubForTest();
    const client = await inProcessClientForTest("v2-modern", stubEnv(stub));
    stub.respond(() => answer(200, { ...jobList, data: jobs, page: { nextCursor: "next", hasMore: true } }));
    const result = await client.callTool("list_jobs", { workspaceId: "micws_1", limit: 3, ...args });
    expect(result.isError, result.text).toBe(false);
    expect(result.text).toMatch(
      /Not shown: 1 item that breaks the API's contract: job-8 \(\/data\/1\/resourceVersion: /,
    );
    expect(result.text).toContain("job-9");
    expect(result.text).toContain("TIMED_OUT");
  },
);

test.for([
  ["get_job", { jobId: job.id, waitSeconds: 30 }],
  ["wait_for_jobs", { jobIds: [job.id], waitSeconds: 30 }],
] as const)("%s ends its wait at a state that the contract does not list", async ([tool, args]) => {
  const stub = await stubForTest();
  const client = await inProcessClientForTest("v2-modern", stubEnv(stub));
  stub.expect(answer(200, enveloped({ ...job, state: "TIMED_OUT" })));
  const result = await client.callTool(tool, args);
  expect(result.isError, result.text).toBe(false);
  expect(result.text).toContain("The state TIMED_OUT is not in the contract");
});
