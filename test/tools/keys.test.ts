// Tests idempotency keys: the server creates one if none is given, and otherwise uses the given one.
import { expect, test } from "vitest";
import { describeLatestRevision } from "./revisions.ts";

describeLatestRevision((bench) => {
  test("each action without a given key gets a new key of 128 bits", async () => {
    const args = await bench().argumentsFor("createMicJob");
    const refusal = { kind: "status", status: 422, code: "NO", retryable: false };
    await bench().service.injectFault(refusal, { operationId: "createMicJob" });
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
});
