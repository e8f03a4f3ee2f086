// Tests the advice after a refusal: only calls that can help, and never one that cannot.
import { expect, test } from "vitest";
import {
  createInputs,
  createJobBody,
  FILE,
  fileId,
  findOneInputOffer,
  listOffers,
  registerInput,
  runJobToEnd,
} from "../emulator/work.ts";
import type { Facts } from "../support/results.ts";
import type { Args, Bench } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const CORRECT = /^Correct the fields named above and call again\.$/;
const reason = "no";
const hex32 = "0".repeat(32);

async function jobArguments(bench: Bench, change: Args): Promise<Args> {
  return { ...(await bench.argumentsFor("createMicJob")), ...change };
}

describeLatestRevision((bench) => {
  const refused = async (tool: string, args: Args, kind: Facts["kind"], next: RegExp, code?: string) => {
    const failed = await bench().fails(tool, args, kind);
    expect(failed, failed.text).toMatchObject({ sideEffect: "none", ...(code !== undefined && { code }) });
    expect(failed.next, failed.text).toMatch(next);
    if (next !== CORRECT) expect(failed.text).not.toContain("Correct the fields");
  };

  test("the error for a missing resource points to its list", async () => {
    for (const [tool, args, next] of [
      ["get_job", { jobId: "micjob_none" }, /jobId; list_jobs/],
      ["cancel_job", { jobId: "micjob_none", reason }, /jobId; list_jobs/],
      ["retry_job", { jobId: "micjob_none", retryMode: "SAFE_RESUME", reason }, /jobId; list_jobs/],
      ["get_recipe", { versionId: `micrecipev_${hex32}` }, /versionId; list_recipes/],
      ["get_input", { inputId: "micinput_none" }, /inputId; list_actions/],
      ["get_operation", { operationId: "micop_none" }, /operationId; list_actions/],
      ["get_file_processing_request", { requestId: `micsharedrequest_${hex32}` }, /requestId; list_actions/],
      ["download_asset", { assetId: "micdsv_none" }, /assetId: it names an original file/],
    ] as const)
      await refused(tool, args, "not_found", next);
  });

  test("the error for a job or an input in the wrong state points to reading it", async () => {
    const { id } = await runJobToEnd(bench().service, FILE.succeeds);
    const retry = { jobId: id, retryMode: "RESTART", reason };
    await refused("retry_job", retry, "conflict", /^get_job shows the state of the job\.$/, "JOB_NOT_RETRYABLE");
    const offer = await findOneInputOffer(bench().service);
    const input = await registerInput(bench().service, FILE.quarantined);
    bench().clock.advance(60_000);
    const port = offer.recipe.inputs[0]?.name ?? "";
    const order = { inputBindings: [{ port, inputId: input.id }], recipeVersionId: offer.recipe.versionId };
    const args = { ...(await jobArguments(bench(), order)), parameterValues: {} };
    await refused("submit_job", args, "conflict", /get_input.*READY/, "INPUT_NOT_READY");
  });

  test("the error for a disabled capability does not advise to correct arguments", async () => {
    const codes = new Set<string>();
    for (const offer of await listOffers(bench().service)) {
      const inputIds = await createInputs(bench().service, offer);
      bench().clock.advance(60_000);
      const { parameterValues: _parameters, ...order } = createJobBody(bench().service, offer, ...inputIds);
      // The API checks capabilities before parameters.
      const { error, text } = await bench().call("submit_job", { ...order, parameterValues: { none: "such" } });
      codes.add(error?.code ?? "");
      if (error?.code !== "CAPABILITY_DISABLED") continue;
      expect(error.next).toMatch(/^get_capabilities shows/);
      expect(text).not.toContain("Correct the fields");
    }
    expect(codes).toContain("CAPABILITY_DISABLED");
  });

  test("the error advises to correct fields if the API names fields [2.2/problem-field-error]", async () => {
    const registration = { workspaceId: bench().workspaceId, inputKind: "M4_FILE", referenceId: "devfile_none" };
    await refused("register_input", registration, "rejected", CORRECT, "REFERENCE_NOT_FOUND");
    const bindings = [{ port: "p", inputId: "micinput_none" }];
    const job = await jobArguments(bench(), { recipeVersionId: `micrecipev_${hex32}`, inputBindings: bindings });
    await refused("submit_job", job, "rejected", CORRECT, "RECIPE_NOT_OFFERED");
    await refused(
      "list_jobs",
      { workspaceId: bench().workspaceId, cursor: "x" },
      "rejected",
      CORRECT,
      "INVALID_CURSOR",
    );
  });

  test("a 403 points to the application's owner, and a 403 for a workspace starts with its id", async () => {
    await refused(
      "list_jobs",
      { workspaceId: "micws_other" },
      "forbidden",
      /^Check workspaceId. If it is right, ask the user to ask the application's owner/,
    );
    await bench().service.injectFault({ kind: "status", status: 403, code: "X" }, { operationId: "getMicJob" });
    await refused(
      "get_job",
      { jobId: "micjob_1" },
      "forbidden",
      /^Ask the user to ask the application's owner for the missing scope/,
    );
    await bench().service.injectFault({ kind: "status", status: 403, code: "X" }, { operationId: "createMicJob" });
    await refused("submit_job", await jobArguments(bench(), {}), "forbidden", /APPROVED.*request_file_processing/);
    await bench().service.injectFault({ kind: "status", status: 403 }, { operationId: "getPlaygroundOpenApi" });
    await refused("get_geography_openapi", {}, "forbidden", /^Ask the user to contact the playground's operator/);
  });

  test("the error for a refusal without fields advises against the same call", async () => {
    const referenceId = fileId(bench().service, FILE.succeeds);
    const registration = { workspaceId: bench().workspaceId, inputKind: "M4_FILE", referenceId };
    for (const [status, retryable, next] of [
      [400, false, /^Ask the user to contact the operator of the API: the same call/],
      [422, false, /^Ask the user to contact the operator of the API: the same call/],
      [402, false, /^Ask the user to contact the operator of the API: the same call/],
      [423, true, /^Call again in a minute/],
    ] as const) {
      await bench().service.injectFault({ kind: "status", status, retryable }, { operationId: "createMicPublicInput" });
      await refused("register_input", registration, "rejected", next);
    }
  });
});
