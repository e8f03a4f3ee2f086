// Tests submit_job: the check against an offer that was read before, keys, files as inputs, and refusals of the API as an agent gets them.
import { expect, test } from "vitest";
import { createValue } from "../emulator/parameters.ts";
import {
  createInputs,
  createJobBody,
  createProcessingBody,
  FILE,
  findOneInputOffer,
  listOffers,
  registerInput,
} from "../emulator/work.ts";
import { operations } from "../operations.ts";
import { emulatorEnv, inProcessClientForTest } from "../support/mcp.ts";
import { type Args, type Bench, createRunArguments, refusal } from "./bench.ts";
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
    const inputId = await bench().idFrom("register_input", file);
    const permission = createProcessingBody(service, await findOneInputOffer(service), inputId);
    const requestId = await bench().idFrom("request_file_processing", permission);
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

  test("each action without a given key gets a new key of 128 bits", async () => {
    const args = await bench().argumentsFor("createMicJob");
    await bench().service.injectFault(refusal(422), { operationId: "createMicJob" });
    const [refused] = await bench().captureRequests(() => bench().fails("submit_job", args, "rejected"));
    // After a rejection the same call is a new action.
    const { result, sent } = await bench().capture(() => bench().ok("submit_job", args));
    const { idempotencyKey } = Object(result.structured["action"]);
    expect(sent).toMatchObject([{ idempotencyKey }]);
    expect(refused?.idempotencyKey).toMatch(/^mic-[0-9a-f]{32}$/);
    expect(refused?.idempotencyKey).not.toBe(idempotencyKey);
  });

  test("a key with characters that headers allow is sent unchanged", async () => {
    const idempotencyKey = 'a "b", c;d=~%20\\';
    const args = { ...(await bench().argumentsFor("createMicJob")), idempotencyKey };
    const sent = await bench().captureRequests(() => bench().ok("submit_job", args));
    expect(sent).toMatchObject([{ idempotencyKey }]);
  });

  test("submit_job registers a file whose id is given as inputId, and returns without waiting for the job", async () => {
    const { inputs, ...job } = await createRunArguments(bench().service, FILE.failsRetryably);
    const inputBindings = inputs.map(({ port, referenceId }) => ({ port, inputId: referenceId }));
    const sent = await bench().captureRequests(async () => {
      const { structured } = await bench().ok("submit_job", { ...job, inputBindings });
      expect(structured["data"]).toMatchObject({ id: expect.stringMatching(/^micjob_/), state: "PREPARING" });
    });
    expect(sent.at(-1)?.operationId).toBe("createMicJob");
    const { structured } = await bench().ok("run_job", { ...job, inputs, waitSeconds: 0 });
    expect(structured).toMatchObject({ action: { replayed: true } });
  });

  test("a recipe's name instead of its id is refused, and the error names the tool that returns the ids", async () => {
    const args = { ...(await bench().argumentsFor("createMicJob")), recipeVersionId: "Normalize" };
    expect((await bench().refuses("submit_job", args, "/recipeVersionId")).next).toMatch(/^list_recipes /);
  });

  test("the error for a disabled capability does not advise to correct arguments", async () => {
    const codes = new Set<string>();
    for (const offer of await listOffers(bench().service)) {
      const inputIds = await createInputs(bench().service, offer);
      bench().clock.advance(60_000);
      const order = createJobBody(bench().service, offer, ...inputIds);
      // The API checks capabilities before parameters.
      const { error } = await bench().call("submit_job", { ...order, parameterValues: { none: "such" } });
      codes.add(error?.code ?? "");
      if (error?.code !== "CAPABILITY_DISABLED") continue;
      expect(error.next).toMatch(/^get_capabilities shows/);
    }
    expect(codes).toContain("CAPABILITY_DISABLED");
  });
});
