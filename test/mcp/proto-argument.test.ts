// Tests an argument named __proto__, which is special in JavaScript: each transport handles it like any other unknown argument.
import { expect, test } from "vitest";
import { stubEnv } from "../api-client/client.ts";
import { createJob, job, micEnveloped } from "../contract/samples.ts";
import { serveHttpInProcess } from "../support/in-process.ts";
import { inProcessServerForTest } from "../support/server.ts";
import { answer, type Stub, stubForTest } from "../support/stub.ts";
import { createModernClient, resultOf } from "./http/raw-client.ts";

type Call = (tool: string, args: object) => Promise<unknown>;

async function callerOverStdio(stub: Stub): Promise<Call> {
  const { request } = await inProcessServerForTest(stubEnv(stub));
  return async (name, args) => (await request("tools/call", { name, arguments: args })).result;
}

async function callerOverHttp(stub: Stub): Promise<Call> {
  const client = createModernClient(await serveHttpInProcess(stubEnv(stub)));
  return (tool, args) => resultOf(client.call(1, tool, args), 1);
}

/** Parsed from JSON, as a client sends it: an ordinary key. */
const polluting: object = JSON.parse('{"__proto__":{"jobId":"job-2"}}');

test.each([
  ["stdio", callerOverStdio],
  ["HTTP", callerOverHttp],
])("over %s an argument __proto__ is refused by name, and sent only in free-form values", async (_, connect) => {
  const stub = await stubForTest();
  const call = await connect(stub);
  const withPollutedBindings = createJob.inputBindings.map((binding) => ({ ...binding, ...polluting }));
  for (const [tool, args, pointer] of [
    ["submit_job", { ...createJob, ...polluting }, "/__proto__"],
    ["cancel_job", { jobId: "job-1", reason: "no need", ...polluting }, "/__proto__"],
    ["submit_job", { ...createJob, inputBindings: withPollutedBindings }, "/inputBindings/0/__proto__"],
    ["list_actions", polluting, "/__proto__"],
  ] as const)
    expect(await call(tool, args)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("__proto__") }],
      _meta: { "mic-mcp/error": { kind: "invalid_arguments", sideEffect: "none", fieldErrors: [{ pointer }] } },
    });
  expect(stub.requests).toHaveLength(0);
  stub.expect(answer(202, micEnveloped(job)));
  const parameterValues = { ...polluting, year: 2026, deep: { list: [polluting] } };
  expect(await call("submit_job", { ...createJob, parameterValues })).toMatchObject({ structuredContent: {} });
  const body = stub.requests[0]?.body.toString() ?? "";
  expect(body).toContain(`"parameterValues":${JSON.stringify(parameterValues)}`);
});
