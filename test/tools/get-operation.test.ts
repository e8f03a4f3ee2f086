// Tests get_operation: types that the contract does not list.
import { expect, test } from "vitest";
import { enveloped, job, operation } from "../contract/samples.ts";
import { answer } from "../support/stub.ts";
import { sessionForFile } from "../unspecified/session.ts";

const session = sessionForFile();

test("the type of an operation is returned unchanged, also by cancel_job", {
  tags: ["2.2/assumes-no-value-sets"],
}, async () => {
  const { stub, connection } = session();
  const data = { ...operation, state: "SUCCEEDED", operationType: "réindex/v2 ☃", resultResourceId: null };
  stub.respond(({ method, target }) =>
    answer(method === "GET" ? 200 : 202, enveloped(target.endsWith("/jobs/job-1") ? job : data)),
  );
  const read = await connection.callTool("get_operation", { operationId: operation.id, view: "full" });
  expect(read.structured?.["data"], read.text).toEqual(data);
  const cancellation = { jobId: "job-1", reason: "By mistake", waitSeconds: 0 };
  const { structured, text } = await connection.callTool("cancel_job", cancellation);
  expect(structured, text).toMatchObject({ data: { operationType: data.operationType } });
});
