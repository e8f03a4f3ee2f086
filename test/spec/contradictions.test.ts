// Tests answers whose fields are valid but contradict the contract: they are returned unchanged, with drift reported.
import { expect, test } from "vitest";
import * as samples from "../contract/samples.ts";
import { answer } from "../support/stub.ts";
import { words } from "../support/words.ts";
import { sessionForFile } from "../unspecified/session.ts";

const { enveloped, job, jobList, openApiDocument, operation, problem, recipeList, retryJob, stage } = samples;
const STAGES = words("GATHER SIFT REFINE BLEND CHURN TASTE FREEZE SCOOP SERVE");
const session = sessionForFile();

/** Returns the texts and metadata of a success. A failure fails the test. */
async function expectSuccess(body: unknown, tool: string, args: object, status = 200) {
  const { stub, connection } = session();
  stub.expect(answer(status, body));
  const { isError, text, structured, meta } = await connection.callTool(tool, { ...args });
  expect(isError, text).toBe(false);
  return { text, structured, drift: meta["mic-mcp/drift"] };
}

const failures = [
  ["FAILED", problem, true],
  ["FAILED", null, false],
  ["RUNNING", null, true],
  ["RUNNING", problem, false],
  ["SUCCEEDED", problem, false],
  ["CANCELLED", problem, false],
] as const;

test("the server reports a missing failure and an unexpected one as drift", {
  tags: ["7.2/failure-when-failed"],
}, async () => {
  for (const [tool, args, resource] of [
    ["get_job", { jobId: job.id, view: "full" }, job],
    ["get_operation", { operationId: operation.id, view: "full" }, operation],
  ] as const)
    for (const [state, failure, isRight] of failures) {
      const data = { ...resource, state, failure };
      const { text, structured, drift } = await expectSuccess(enveloped(data), tool, args);
      expect(structured).toMatchObject({ data: { state, failure }, summary: expect.stringContaining(state) });
      expect(drift, `${tool} ${state}`).toEqual(
        isRight
          ? undefined
          : [`/data/failure: ${failure === null ? "null" : "a Problem"}, though the state is ${state}`],
      );
      // A reader of the sentence learns of a failure, or of its absence.
      expect(text.includes(problem.code)).toBe(failure !== null);
      if (state === "FAILED" && failure === null) expect(text).toContain("gives no reason");
      if (state !== "FAILED") expect(String(structured?.["summary"]).includes("names a failure")).toBe(!isRight);
    }
});

test("the server reports which item of a list has an unexpected failure, in the tool and in the resource", {
  tags: ["7.2/failure-when-failed"],
}, async () => {
  const failed = { ...job, state: "FAILED" };
  const data = [job, { ...job, failure: problem }, failed, { ...failed, failure: problem }];
  const { drift, structured } = await expectSuccess({ ...jobList, data }, "list_jobs", { workspaceId: "micws_1" });
  expect(drift).toEqual([
    "/data/1/failure: a Problem, though the state is RUNNING",
    "/data/2/failure: null, though the state is FAILED",
  ]);
  expect(structured?.["data"]).toHaveLength(4);
  session().stub.expect(answer(200, enveloped(data[1])));
  const resource = await session().connection.readResource("mic://jobs/job-1");
  expect(resource.meta).toEqual({ "mic-mcp/drift": ["/data/failure: a Problem, though the state is RUNNING"] });
});

test("the server reports the drift of an action again when its answer is replayed", {
  tags: ["7.2/failure-when-failed", "4.2/key-names-one-command"],
}, async () => {
  const args = { jobId: job.id, ...retryJob, idempotencyKey: "letter-key-1" };
  const made = enveloped({ ...job, retryOfBatchId: job.id, failure: problem });
  const first = await expectSuccess(made, "retry_job", args, 202);
  expect(first.drift).toEqual(["/data/failure: a Problem, though the state is RUNNING"]);
  session().stub.expect(answer(200, made));
  const again = await session().connection.callTool("retry_job", args);
  expect(again.structured).toMatchObject({ action: { replayed: true }, data: { failure: { code: problem.code } } });
  expect(again.meta["mic-mcp/drift"]).toEqual(first.drift);
});

test("the server reports stages that are out of the contract's order or duplicated", {
  tags: ["1/nine-stages-in-order"],
}, async () => {
  const inOrder = [[], ["SERVE"], ["GATHER", "SERVE"], ["SIFT", "CHURN", "TASTE"], STAGES];
  const outOfOrder = [
    [["SERVE", "GATHER"], "GATHER"],
    [["GATHER", "GATHER"], "GATHER"],
    [[...STAGES.slice(1), "GATHER"], "GATHER"],
    [[...STAGES.slice(0, 8), "SCOOP"], "SCOOP"],
  ] as const;
  const cases = [...inOrder.map((names) => [names, undefined] as const), ...outOfOrder];
  for (const [names, wrong] of cases) {
    const data = { ...job, stages: names.map((name) => ({ ...stage, stage: name })) };
    const { structured, drift } = await expectSuccess(enveloped(data), "get_job", { jobId: job.id, view: "full" });
    expect(structured).toMatchObject({ data: { stages: data.stages } });
    const named = [`/data/stages: ${wrong} is out of the contract's order, or there twice`];
    expect(drift, names.join()).toEqual(wrong === undefined ? undefined : named);
  }
});

test("hasMore shows whether more items remain; a contradicting cursor is reported too", {
  tags: ["4.2/has-more"],
}, async () => {
  for (const [tool, list] of [
    ["list_jobs", jobList],
    ["list_recipes", recipeList],
  ] as const) {
    const cursor = list.page.nextCursor;
    const call = `${tool} ${JSON.stringify({ workspaceId: "micws_1", cursor })}`;
    for (const [nextCursor, hasMore, expectedText, contradiction] of [
      [cursor, true, `Next page: ${call}\n`, undefined],
      [null, false, "The list ends here.", undefined],
      [
        null,
        true,
        "The list continues, but the API gives no cursor",
        "/page: hasMore is true, though nextCursor is null",
      ],
      [
        cursor,
        false,
        `The list ends here, although the API gives a cursor.\nNext page: ${call}`,
        "/page: hasMore is false, though nextCursor is given",
      ],
    ] as const) {
      const body = { ...list, page: { ...list.page, nextCursor, hasMore } };
      const { text, structured, drift } = await expectSuccess(body, tool, { workspaceId: "micws_1" });
      expect(text).toContain(expectedText);
      expect(structured?.["page"]).toEqual(body.page);
      expect(drift).toEqual(contradiction === undefined ? undefined : [contradiction]);
    }
  }
});

test("the server reports a document of another version than the contract's", {
  tags: ["9/playground-document-version"],
}, async () => {
  const named = ["/info/version: not 1.0.0, the contract's document version"];
  for (const [info, drift] of [
    [{ version: "1.0.0" }, undefined],
    [{ version: "1.0.00" }, named],
    [{ version: 1 }, named],
    [{}, named],
  ] as const) {
    const document = { ...openApiDocument, info };
    const result = await expectSuccess(document, "get_geography_openapi", {});
    expect(result.structured).toEqual({ ...document, summary: "OpenAPI 3.1.1: 1 path." });
    expect(result.drift).toEqual(drift);
  }
});
