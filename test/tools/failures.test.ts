// Tests one error of each kind in each revision. The other tests of the tools cover all errors in one revision.
import { expect, test } from "vitest";
import { FILE, submitJob } from "../emulator/work.ts";
import type { Facts } from "../support/results.ts";
import { describeEachRevision } from "./revisions.ts";

describeEachRevision((bench) => {
  test("invalid arguments are named before anything is sent", async () => {
    const args = await bench().argumentsFor("retryMicJob");
    const wrong = { ...args, retryMode: "AGAIN", bogus: 1, idempotencyKey: "\n" };
    const { fieldErrors, next } = await bench().expectNothingSent(() =>
      bench().refuses("retry_job", wrong, "/retryMode", "/bogus", "/idempotencyKey"),
    );
    expect(fieldErrors?.find(({ pointer }) => pointer === "/idempotencyKey")?.message).toMatch(/must/);
    // The fields say all that is to be done.
    expect(next).toBeUndefined();
  });

  test("an error of the API is reported with its kind and facts", async () => {
    const args = await bench().argumentsFor("createMicJob");
    for (const [fault, kind, facts] of [
      [{ status: 403, code: "NO" }, "forbidden", { sideEffect: "none", code: "NO" }],
      [{ status: 404, code: "NO" }, "not_found", { sideEffect: "none", status: 404 }],
      [{ status: 409, code: "NO", retryable: false }, "conflict", { sideEffect: "none", retryable: false }],
      [{ status: 422, code: "NO" }, "rejected", { sideEffect: "none", status: 422 }],
      [{ status: 429, retryAfterSeconds: 60 }, "rate_limited", { sideEffect: "none", retryAfterSeconds: 60 }],
      [{ status: 503, retryAfterSeconds: 60 }, "outcome_unknown", { sideEffect: "unknown", retryAfterSeconds: 60 }],
    ] as const satisfies readonly (readonly [object, Facts["kind"], Partial<Facts>])[]) {
      await bench().service.injectFault({ kind: "status", ...fault }, { operationId: "createMicJob" });
      expect(await bench().fails("submit_job", { ...args, idempotencyKey: `fails-${kind}` }, kind)).toMatchObject(
        facts,
      );
    }
    const body = '{"data":{},"meta":{"requestId":"r"}}';
    await bench().service.injectFault({ kind: "body", body }, { operationId: "getMicJob" });
    await bench().fails("get_job", await bench().argumentsFor("getMicJob"), "contract_violation");
  });

  test("a call that the client cancels takes effect only once", async () => {
    const args = await bench().argumentsFor("createMicJob");
    const idempotencyKey = "given-up-by-the-client";
    await bench().service.injectFault({ kind: "hang", afterCommit: true }, { operationId: "createMicJob" });
    const abort = new AbortController();
    const call = bench().call("submit_job", { ...args, idempotencyKey }, { signal: abort.signal });
    const cancelled = expect(call).rejects.toThrow();
    await expect.poll(() => bench().service.countExecutions(idempotencyKey)).toBe(1);
    abort.abort();
    await cancelled;
    const result = await bench().ok("submit_job", { ...args, idempotencyKey });
    expect(result.structured).toMatchObject({ action: { idempotencyKey, replayed: true } });
    expect(await bench().service.countExecutions(idempotencyKey)).toBe(1);
  });

  test("a wait that the client cancels ends at once, after its progress was reported", async () => {
    const { id: jobId } = await submitJob(bench().service, FILE.succeeds);
    const abort = new AbortController();
    const options = { signal: abort.signal, onprogress: () => abort.abort() };
    await expect(bench().call("get_job", { jobId, waitSeconds: 40 }, options)).rejects.toThrow();
    await bench().ok("get_job", { jobId });
  });
});
