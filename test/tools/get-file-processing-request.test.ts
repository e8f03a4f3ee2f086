// Tests get_file_processing_request: the wait for the review.
import { expect, test } from "vitest";
import { describeLatestRevision } from "./revisions.ts";

describeLatestRevision((bench) => {
  test("get_file_processing_request waits for the review, which the new request's next step advises", async () => {
    const args = await bench().argumentsFor("requestMicSharedFileProcessing");
    const { structured } = await bench().ok("request_file_processing", args);
    const requestId = Object(structured["data"]).id;
    expect(structured["nextStep"]).toMatchObject({ arguments: { requestId, waitSeconds: 45 } });
    const wait = () =>
      bench().ok("get_file_processing_request", { requestId, waitSeconds: 20 }, bench().withAdvancingClock());
    expect(Object((await wait()).structured["data"]).state).toMatch(/APPROVED|REJECTED/);
    expect(await bench().captureRequests(wait)).toHaveLength(1);
  });
});
