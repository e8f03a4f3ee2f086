// Tests submit_job: the check against an offer that was read before, and refusals of the API as an agent gets them.
import { expect, test } from "vitest";
import { createValue } from "../emulator/parameters.ts";
import { createProcessingBody, FILE, findOneInputOffer, registerInput } from "../emulator/work.ts";
import { operations } from "../operations.ts";
import { emulatorEnv, inProcessClientForTest } from "../support/mcp.ts";
import { type Args, type Bench, createRunArguments } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

async function nestedJob(bench: Bench): Promise<{ versionId: string; args: Args; values: Args }> {
  const versionId = bench.service.emulator.recipeVersionIds[1] ?? "";
  const { data } = await bench.service.ok(operations.getMicExecutableRecipe, { path: { versionId } });
  const input = await registerInput(bench.service, FILE.succeeds);
  const values: Args = { ...Object(createValue(data.recipe.parameters)), ...nestedValues };
  const args = {
    workspaceId: bench.workspaceId,
    recipeVersionId: versionId,
    inputBindings: [{ port: data.recipe.inputs[0]?.name, inputId: input.id }],
  };
  return { versionId, args, values };
}

const rule = { field: "code", method: "EXACT" };
const nestedValues = { columns: [{ source: "Code", target: "code", rules: [rule] }], unmatched: "KEEP" };

/** Parameter values that do not fit the second recipe, with the pointer of the error. */
const mismatches: readonly (readonly [string, Args, string])[] = [
  ["a value outside its enum", { unmatched: "LOSE" }, "/parameterValues/unmatched"],
  ["a wrong type, not coerced", { columns: "none" }, "/parameterValues/columns"],
  ["too few items", { columns: [] }, "/parameterValues/columns"],
  [
    "a value inside a reference of a reference",
    { columns: [{ source: "Code", target: "code", rules: [{ ...rule, minScore: 2 }] }] },
    "/parameterValues/columns/0/rules/0/minScore",
  ],
  ["a number out of range", { fallback: { rule, maxCandidates: 51 } }, "/parameterValues/fallback/maxCandidates"],
];

describeLatestRevision((bench, revision) => {
  test("the error for a job whose file is not approved yet names the call that waits for the review of the request", async () => {
    const service = bench().service;
    const { inputs, ...common } = await createRunArguments(service, FILE.succeeds);
    const [{ port, referenceId } = { port: "", referenceId: "" }] = inputs;
    const file = { workspaceId: bench().workspaceId, inputKind: "M4_FILE", referenceId };
    const inputId = Object((await bench().ok("register_input", file)).structured["data"]).id;
    const permission = createProcessingBody(service, await findOneInputOffer(service), inputId);
    const requestId = Object((await bench().ok("request_file_processing", permission)).structured["data"]).id;
    bench().clock.advance(2_000);
    const follow = { requestId, waitSeconds: 45 };
    const next = `get_file_processing_request ${JSON.stringify(follow)} shows the review. Once the request is APPROVED, the same call`;
    const run = { ...common, inputs: [{ port, referenceId }] };
    for (const [tool, args] of [
      ["submit_job", { ...common, inputBindings: [{ port, inputId }] }],
      ["run_job", run],
    ] as const) {
      const failed = await bench().fails(tool, args, "forbidden");
      expect(failed.next, failed.text).toContain(next);
      expect(failed.next).not.toContain("workspaceId");
    }
    const many = await bench().call("run_jobs", { ...common, files: [referenceId] });
    expect(JSON.stringify(many.structured)).toContain(JSON.stringify(next).slice(1, -1));
    await bench().ok("get_file_processing_request", follow, bench().withAdvancingClock());
    expect((await bench().ok("run_job", run, bench().withAdvancingClock())).structured).toMatchObject({
      data: { state: "SUCCEEDED" },
    });
  });

  test("a job is checked against an offer that was read before, and is not sent if it does not fit the offer", {
    tags: ["4.2/job-parameter-values", "4.2/job-no-defaults-no-plan", "2.2/recipe-parameters-no-remote-fetch"],
  }, async () => {
    const { versionId, args, values } = await nestedJob(bench());
    await bench().ok("get_recipe", { versionId });
    await bench().expectNothingSent(async () => {
      for (const [what, mismatch, pointer] of mismatches) {
        const parameterValues = { ...values, ...mismatch };
        const failed = await bench().refuses("submit_job", { ...args, parameterValues }, pointer);
        expect(failed.next, what).toContain("get_recipe");
      }
      const { unmatched: _, ...incomplete } = values;
      const missing = await bench().refuses("submit_job", { ...args, parameterValues: incomplete });
      expect(missing.text).toContain("unmatched");
      const plan = await bench().refuses("submit_job", { ...args, parameterValues: { ...values, plan: ["SIFT"] } });
      expect(plan.text).toContain("plan");
      const other = { ...args, parameterValues: values, inputBindings: [{ port: "other", inputId: "a" }] };
      await bench().refuses("submit_job", other, "/inputBindings/0/port", "/inputBindings");
    });
    const sent = await bench().captureRequests(() => bench().ok("submit_job", { ...args, parameterValues: values }));
    expect(sent.map(({ operationId }) => operationId)).toEqual(["createMicJob"]);
  });

  test("a JSON string as parameterValues is refused if it is not an object or has an integer that would be rounded", {
    tags: ["4.2/job-parameter-values"],
  }, async () => {
    const { args, values } = await nestedJob(bench());
    const text = JSON.stringify(values);
    await bench().expectNothingSent(async () => {
      for (const other of ["", "[]", "null", "5", '"{}"', `${text} `.slice(1), "{"])
        await bench().refuses("submit_job", { ...args, parameterValues: other }, "/parameterValues");
      const rounded = { ...args, parameterValues: '{"level": {"at": 9007199254740993}}' };
      await bench().refuses("submit_job", rounded, "/parameterValues/level/at");
    });
  });

  test("an offer that was not read before is not fetched: the API checks the job, and the API's pointers are reported", async () => {
    const { args, values } = await nestedJob(bench());
    const fresh = await inProcessClientForTest(revision, emulatorEnv(bench().service.emulator));
    const sent = await bench().captureRequests(async () => {
      const result = await fresh.callTool("submit_job", { ...args, parameterValues: { ...values, unmatched: "LOSE" } });
      const failed = bench().expectFailure(result, "rejected");
      expect(failed).toMatchObject({ status: 422, code: "PARAMETERS_INVALID", sideEffect: "none" });
      expect(failed.fieldErrors?.map(({ pointer }) => pointer)).toEqual(["/parameterValues/unmatched"]);
      expect(failed.next).toBeDefined();
    });
    expect(sent.map(({ operationId }) => operationId)).toEqual(["createMicJob"]);
  });
});
