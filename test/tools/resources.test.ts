// Tests the tools that read one resource: amounts and revisions that are not rounded, and a job that is followed by reading.
// success.test.ts compares all fields with those of the API.
import { expect, test } from "vitest";
import { MAX_INT64 } from "../../src/contract/scalars.ts";
import { FILE, submitJob, watchJob } from "../emulator/work.ts";
import { operations } from "../operations.ts";
import { describeLatestRevision } from "./revisions.ts";

describeLatestRevision((bench) => {
  test("get_usage keeps amounts as exact decimal strings [4.2/get-usage, 8/workspace-limits-as-data]", async () => {
    const args = { workspaceId: bench().workspaceId, window: "ENTITLEMENT", view: "full" };
    expect((await bench().ok("get_usage", args)).text).toContain("9223372036854775807");
  });

  test("get_recipe returns each complete offer with one request [4.2/get-recipe, 2.2/recipe-parameters-no-remote-fetch]", async () => {
    for (const versionId of bench().service.emulator.recipeVersionIds) {
      const { result, sent } = await bench().capture(() => bench().ok("get_recipe", { versionId, view: "full" }));
      expect(sent).toHaveLength(1);
      const offer = await bench().service.ok(operations.getMicExecutableRecipe, { path: { versionId } });
      expect(result.structured).toMatchObject({ data: offer.data });
    }
  });

  test("a revision of 2^63-1 is returned as its digits and never rounded [2.2/processing-request-revision, 4.2/get-processing-request, 3/processing-request-state]", async () => {
    const { service } = bench();
    const { requestId } = await bench().argumentsFor("getMicSharedFileProcessingRequest");
    const path = { requestId: String(requestId) };
    const { data } = await service.ok(operations.getMicSharedFileProcessingRequest, { path });
    const answerWith = (revision: string) => {
      const meta = { requestId: `micreq_${"0".repeat(32)}` };
      const body = JSON.stringify({ data: { ...data, revision: "REVISION" }, meta }).replace('"REVISION"', revision);
      return service.injectFault({ kind: "body", body }, { operationId: "getMicSharedFileProcessingRequest" });
    };
    await answerWith(String(MAX_INT64));
    const { structured, text } = await bench().ok("get_file_processing_request", { requestId, view: "full" });
    expect(structured).toMatchObject({ data: { revision: "9223372036854775807" } });
    expect(text).toContain("9223372036854775807");
    for (const revision of [String(MAX_INT64 + 1n), '"7"', "true", "1.5", "0"]) {
      await answerWith(revision);
      const failed = await bench().fails("get_file_processing_request", { requestId }, "contract_violation");
      expect(failed.message).toContain("/data/revision");
    }
  });

  test.each([
    ["succeeds", FILE.succeeds, "SUCCEEDED"],
    ["fails", FILE.failsForGood, "FAILED"],
    ["waits for a review", FILE.waitsForReview, "WAITING_REVIEW"],
    ["pauses", FILE.pauses, "PAUSED"],
  ])(
    "get_job follows a job until it %s [3/job-state, 7.2/failure-when-failed, 4.2/get-job, 6/progress-by-reading]",
    async (_, file, state) => {
      const { id: jobId } = await submitJob(bench().service, file);
      const moving = await bench().ok("get_job", { jobId });
      expect(moving.structured["nextStep"]).toMatchObject({ tool: "get_job", arguments: { jobId } });
      await watchJob(bench().service, jobId, (job) => job.state === state, { stepMs: 500 });
      const { structured } = await bench().ok("get_job", { jobId });
      expect(structured["data"]).toMatchObject({ id: jobId, state });
      expect(Object(structured["nextStep"]).tool).not.toBe("get_job");
    },
  );

  test("get_operation follows a cancellation to its end [4.2/get-operation, 3/operation-state]", async () => {
    const { operationId } = await bench().argumentsFor("getMicPublicOperation");
    bench().clock.advance(60_000);
    const { structured } = await bench().ok("get_operation", { operationId });
    expect(structured).toMatchObject({ data: { state: "SUCCEEDED" }, nextStep: { tool: "get_job" } });
  });
});
