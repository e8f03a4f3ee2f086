// Tests answers about another resource than the one that the request names, as a cache or a proxy that mixes up responses gives them.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import * as samples from "../contract/samples.ts";
import { fieldsOf } from "../fields.ts";
import { jobOperations } from "../operations.ts";
import { inProcessClientForTest } from "../support/mcp.ts";
import { answer, stubForTest } from "../support/stub.ts";
import { stubEnv } from "./client.ts";

const { enveloped, micEnveloped, job, input, operation, processingRequest, recipeOffer } = samples;

const OTHER = {
  id: "another-1",
  hex32: "f".repeat(32),
};
const workspaceId = "another-1";

/** Each read: the tool, its arguments, an answer about another resource, and the field that names it. */
const reads = jobOperations.flatMap((row) => {
  const [pointer] = Object.keys(row.echoes ?? {});
  if (row.method !== "GET" || pointer === undefined || Array.isArray(Object(row.sample).data)) return [];
  const sample = JSON.stringify(row.sample);
  const others = fieldsOf(row).flatMap(({ name, values, isOptional }) =>
    isOptional ? [] : [[name, values.accepts.find((value) => !sample.includes(JSON.stringify(value)))]],
  );
  return [[row.tool, Object.fromEntries(others), row.sample, `/data${pointer}`] as const];
});

const pages = [
  [
    "list_jobs",
    {
      ...samples.jobList,
      data: [
        { ...job, workspaceId },
        { ...job, id: "job-2" },
      ],
    },
    "job-2",
  ],
  [
    "list_recipes",
    { ...samples.recipeList, data: [{ ...recipeOffer, workspaceId }, recipeOffer] },
    recipeOffer.recipe.name,
  ],
] as const;

const createInput = { ...samples.createInput, referenceId: input.referenceId };
const retry = { jobId: job.id, ...samples.retryJob };
const made = { ...job, retryOfBatchId: job.id };
const recipeVersionId = `micrecipev_${OTHER.hex32}`;
const inputId = `micinput_${OTHER.hex32}`;

/** Each action: the tool, its arguments, the right answer, and the fields by which an answer is about another resource. */
const actions = [
  ["register_input", createInput, 201, input, { workspaceId, inputKind: "DATASET_VERSION", referenceId: "devfile_2" }],
  ["submit_job", samples.createJob, 202, { ...job, retryOfBatchId: null }, { workspaceId, recipeVersionId }],
  ["retry_job", retry, 202, made, { retryOfBatchId: OTHER.id }],
  ["retry_job", retry, 202, made, { retryOfBatchId: null }],
  [
    "cancel_job",
    { jobId: job.id, reason: "not needed", resourceVersion: 3, waitSeconds: 0 },
    202,
    operation,
    { originatingResourceId: OTHER.id },
  ],
  [
    "request_file_processing",
    samples.createProcessingRequest,
    201,
    processingRequest,
    { workspaceId, inputId, recipeVersionId },
  ],
] as const;

async function clientOf(stub: Awaited<ReturnType<typeof stubForTest>>) {
  return await inProcessClientForTest("v2-modern", stubEnv(stub));
}

beforeEach(() => void vi.spyOn(Math, "random").mockReturnValue(0));
afterEach(() => void vi.restoreAllMocks());

test("the table of reads has those of one resource", () => {
  expect(reads.map(([tool]) => tool)).toEqual(expect.arrayContaining(["get_job", "get_recipe", "get_usage"]));
});

test("the tables have every operation of the job-processing API whose answer names what was requested", () => {
  const tools = new Set<string>([...reads, ...pages, ...actions].map(([tool]) => tool));
  expect(
    jobOperations.map(({ tool }) => tool).filter((tool) => !tools.has(tool)),
    "add the tool to a table",
  ).toEqual(["download_asset"]);
});

test.for(reads)("%s does not show an answer about another resource", async ([tool, args, body, pointer]) => {
  const stub = await stubForTest();
  stub.respond(() => answer(200, JSON.stringify(body)));
  const failed = await (await clientOf(stub)).callTool(tool, args);
  expect(failed.error, failed.text).toMatchObject({ kind: "contract_violation", sideEffect: "none" });
  expect(failed.text).toContain(`${pointer} is `);
});

test.for(pages)("%s leaves out an item of another workspace, and says so", async ([tool, body, shown]) => {
  const stub = await stubForTest();
  stub.respond(() => answer(200, JSON.stringify(body)));
  const { text, structured } = await (await clientOf(stub)).callTool(tool, { workspaceId: "micws_1" });
  expect(text).toMatch(/Not shown: 1 item that breaks the API's contract: \S+ \(\/data\/0\/workspaceId is "another-1"/);
  expect(structured?.["data"]).toHaveLength(1);
  expect(text).toContain(shown);
});

const swaps = actions.flatMap(([tool, args, status, right, changes]) =>
  Object.entries(changes).flatMap(([field, value]) => [
    { tool, args, status, right, field, form: "valid", wrong: { ...right, [field]: value } },
    { tool, args, status, right, field, form: "broken", wrong: { ...right, [field]: value, createdAt: true } },
  ]),
);

test.for(swaps)(
  "$tool with a $form answer about another $field is unknown, records no id, and resumes under the same key",
  {
    tags: ["3/retry-carries-earlier-job"],
  },
  async ({ tool, args, status, right, wrong, field }) => {
    const stub = await stubForTest();
    const client = await clientOf(stub);
    const envelope = right === processingRequest ? micEnveloped : enveloped;
    stub.respond(() => answer(status, JSON.stringify(envelope({ ...wrong, id: `${right.id.slice(0, -1)}0` }))));
    const failed = await client.callTool(tool, args);
    expect(failed.error, failed.text).toMatchObject({ kind: "outcome_unknown", sideEffect: "unknown" });
    expect(failed.text).toContain(`/data/${field} is `);
    const { structured } = await client.callTool("list_actions", { limit: 1 });
    expect(structured?.["actions"]).toEqual([expect.not.objectContaining({ createdId: expect.anything() })]);

    stub.respond(() => answer(status, JSON.stringify(envelope(right))));
    const resumed = await client.callTool(tool, args);
    expect(resumed.isError, resumed.text).toBe(false);
    expect(resumed.structured?.["data"]).toMatchObject({ id: right.id });
    const sent = stub.requests.filter(({ method }) => method === "POST");
    expect(new Set(sent.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
  },
);

test("wait_for_jobs does not take another job for a retry of the job", async () => {
  const stub = await stubForTest();
  const another = { ...job, id: "another-1", state: "SUCCEEDED", retryOfBatchId: null };
  stub.respond(() => answer(200, JSON.stringify(enveloped(another))));
  const { text } = await (await clientOf(stub)).callTool("wait_for_jobs", { jobIds: [job.id], waitSeconds: 1 });
  expect(text).toContain("CONTRACT_VIOLATION");
  expect(text).not.toMatch(/retriedBy|by a retry|1 SUCCEEDED/);
});
