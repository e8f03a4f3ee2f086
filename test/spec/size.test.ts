// Tests the size of an answer, which the contract does not limit: answers larger than anything it describes are violations.
import { expect, onTestFinished, test, vi } from "vitest";
import { createJob, enveloped, job, jobList, problem } from "../contract/samples.ts";
import { answer, flood } from "../support/stub.ts";
import { sessionForFile } from "../unspecified/session.ts";

const session = sessionForFile();
const MAX_BYTES = 16 * 1024 * 1024;
const TOO_LARGE = { kind: "contract_violation", sideEffect: "none", retryable: false };

const padJson = (body: unknown, bytes: number): string => {
  const text = JSON.stringify(body);
  return text + " ".repeat(bytes - Buffer.byteLength(text));
};

// The largest failed job that the contract's field rules permit.
const fieldError = { pointer: `/${"p".repeat(511)}`, code: "c".repeat(100), message: "☃".repeat(1000) };
const largeJob = {
  ...job,
  state: "FAILED",
  failure: { ...problem, fieldErrors: Array.from({ length: 100 }, () => fieldError) },
};
const createPage = (count: number) => ({ ...jobList, data: Array.from({ length: count }, () => largeJob) });

test("the server reads a page that was too large with a smaller limit", {
  tags: ["2.2/job-list", "2.2/problem-field-errors"],
}, async () => {
  const { stub, connection } = session();
  expect(Buffer.byteLength(JSON.stringify(createPage(50)))).toBeGreaterThan(MAX_BYTES);
  stub.expect(answer(200, createPage(50)), answer(200, createPage(10)));
  const failed = await connection.callTool("list_jobs", { workspaceId: "micws_1", limit: 50 });
  expect(failed.error, failed.text).toMatchObject(TOO_LARGE);
  expect(failed.text).toContain(`larger than ${MAX_BYTES} bytes`);
  expect(failed.text).not.toMatch(/breaks (the|its) contract/);
  expect(failed.error?.next).toMatch(/smaller limit/);
  const result = await connection.callTool("list_jobs", { workspaceId: "micws_1", limit: 10 });
  expect(result.structured).toMatchObject({ data: Array.from({ length: 10 }, () => ({ state: "FAILED" })) });
});

test("the server reads answers of up to 16 MiB, and not one byte more", async () => {
  const { stub, connection } = session();
  stub.expect(answer(200, padJson(enveloped(job), MAX_BYTES)), answer(200, padJson(enveloped(job), MAX_BYTES + 1)));
  const read = await connection.callTool("get_job", { jobId: job.id });
  expect(read.isError, read.text).toBe(false);
  const { error } = await connection.callTool("get_job", { jobId: job.id });
  expect(error).toMatchObject(TOO_LARGE);
  // This call has no limit argument to reduce.
  expect(error?.next).not.toContain("limit");
});

test("the server reports an endless answer as a contract violation, and advises a smaller limit only if it helps", async () => {
  const { stub, connection } = session();
  const answerEndlessly = () =>
    flood(200, Buffer.alloc(65_536, " "), Number.POSITIVE_INFINITY, { "content-type": "application/json" });
  const expectTooLarge = async (tool: string, args: Readonly<Record<string, unknown>>) => {
    stub.expect(answerEndlessly());
    const { error, text } = await connection.callTool(tool, args);
    expect(error, text).toMatchObject(TOO_LARGE);
    expect(text).not.toContain("mic-mcp cannot");
    return error?.next ?? "";
  };
  const workspaceId = "micws_1";
  expect(await expectTooLarge("get_job", { jobId: job.id })).not.toContain("limit");
  expect(await expectTooLarge("list_jobs", { workspaceId, limit: 1 })).not.toContain("limit");
  expect(await expectTooLarge("list_jobs", { workspaceId })).toBe("Call again with a smaller limit.");
  // The limit of such a call counts the matching jobs.
  expect(await expectTooLarge("list_jobs", { workspaceId, limit: 20, states: ["FAILED"] })).toMatch(
    /smaller limit.* without a filter/,
  );
});

test("the server reports an unknown outcome for an action whose answer is too large to be read", {
  tags: ["4.2/key-names-one-command"],
}, async () => {
  const { stub, connection } = session();
  // No delay between the attempts.
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
  const accepted = enveloped({ ...job, retryOfBatchId: null });
  stub.respond(() => answer(202, padJson(accepted, MAX_BYTES + 1)));
  const args = { ...createJob, idempotencyKey: "letter-size-1" };
  const { error, text } = await connection.callTool("submit_job", args);
  expect(error, text).toMatchObject({ sideEffect: "unknown", idempotencyKey: args.idempotencyKey, retryable: true });
  // With its key the action is sent again, and returned once its answer can be read.
  stub.respond(({ method }) => answer(method === "POST" ? 202 : 200, accepted));
  const { structured } = await connection.callTool("submit_job", args);
  expect(structured).toMatchObject({ data: { id: job.id }, action: { idempotencyKey: args.idempotencyKey } });
  const posts = stub.requests.filter(({ method }) => method === "POST");
  expect(new Set(posts.map(({ headers }) => headers["idempotency-key"]))).toEqual(new Set([args.idempotencyKey]));
});
