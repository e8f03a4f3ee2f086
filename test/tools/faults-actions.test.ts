// Tests faults while a tool acts: the action takes effect at most once, and the agent gets the known facts.
import { expect, test } from "vitest";
import { operations, type PostId, postIds } from "../operations.ts";
import type { Args, Bench, SentRequest } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

type Fault = Readonly<Record<string, unknown>>;
const RETRY_LATER = { kind: "status", status: 503, retryAfterSeconds: 60 };

async function callWithFaults(bench: Bench, id: PostId, args: Args, ...faults: readonly Fault[]) {
  for (const fault of faults) await bench.service.injectFault(fault, { operationId: id });
  let result: Awaited<ReturnType<Bench["call"]>> | undefined;
  const sent = await bench.captureRequests(async () => {
    result = await bench.call(operations[id].tool, args);
  });
  if (result === undefined) throw new Error("not called");
  return { result, requests: sent.filter(({ operationId }) => operationId === id) };
}

/** Asserts that all attempts have the same key, bytes and version, and returns the key. */
function expectSameCommand(requests: readonly SentRequest[], count: number): string {
  expect(requests).toHaveLength(count);
  const commands = requests.map(({ idempotencyKey, bodySha256, path, headers }) =>
    JSON.stringify([idempotencyKey, bodySha256, path, headers["if-match"]]),
  );
  expect(new Set(commands).size).toBe(1);
  return requests[0]?.idempotencyKey ?? "";
}

describeLatestRevision((bench) => {
  for (const id of postIds) {
    const { tool } = operations[id];

    test(`${tool}: after a lost answer the same key and bytes are sent again [4.2/key-names-one-command]`, async () => {
      for (const fault of [
        { kind: "drop-after" },
        { kind: "truncate" },
        { kind: "status", status: 500, afterCommit: true },
      ]) {
        const { result, requests } = await callWithFaults(bench(), id, await bench().newAction(id), fault);
        expect(result.isError, result.text).toBe(false);
        const key = expectSameCommand(requests, 2);
        expect(result.structured).toMatchObject({ action: { idempotencyKey: key, attempts: 2 } });
        expect(await bench().service.countExecutions(key)).toBe(1);
      }
    });

    test(`${tool}: a request that never arrived is sent again [4.2/key-names-one-command]`, async () => {
      const { result, requests } = await callWithFaults(bench(), id, await bench().newAction(id), {
        kind: "drop-before",
      });
      expect(result.isError, result.text).toBe(false);
      expect(await bench().service.countExecutions(expectSameCommand(requests, 2))).toBe(1);
    });

    test(`${tool}: an unknown outcome is reported, and a call with its key resolves it [4.2/key-names-one-command]`, async () => {
      const args = await bench().newAction(id);
      const { result, requests } = await callWithFaults(bench(), id, args, { kind: "drop-after" }, RETRY_LATER);
      const failed = bench().expectFailure(result, "outcome_unknown");
      const key = expectSameCommand(requests, 2);
      expect(failed).toMatchObject({
        sideEffect: "unknown",
        retryable: true,
        idempotencyKey: key,
        retryAfterSeconds: 60,
      });
      expect(failed.text).toMatch(/may or may not/);
      expect(failed.next).toContain(key);
      expect(await bench().service.countExecutions(key)).toBe(1);
      const again = await callWithFaults(bench(), id, { ...args, idempotencyKey: key });
      expect(again.result.structured, again.result.text).toMatchObject({
        action: { idempotencyKey: key, replayed: true, attempts: 3 },
      });
      expect(await bench().service.countExecutions(key)).toBe(1);
    });

    test(`${tool}: a server error at the last attempt leaves the outcome unknown`, async () => {
      const { result, requests } = await callWithFaults(bench(), id, await bench().newAction(id), RETRY_LATER);
      const failed = bench().expectFailure(result, "outcome_unknown");
      expect(failed).toMatchObject({ status: 503, sideEffect: "unknown", retryAfterSeconds: 60 });
      expect(failed.idempotencyKey).toBe(expectSameCommand(requests, 1));
      expect(await bench().service.countExecutions(failed.idempotencyKey ?? "")).toBe(0);
    });

    test(`${tool}: a rate limit changes nothing, and the error has the delay and the key`, async () => {
      const fault = { kind: "status", status: 429, retryAfterSeconds: 60 };
      const args = await bench().newAction(id);
      const { result, requests } = await callWithFaults(bench(), id, args, fault);
      const failed = bench().expectFailure(result, "rate_limited");
      expect(failed).toMatchObject({ sideEffect: "none", retryable: true, retryAfterSeconds: 60 });
      expect(failed.idempotencyKey).toBe(expectSameCommand(requests, 1));
    });

    test(`${tool}: a definite refusal ends the action without effect [7.2/problem]`, async () => {
      for (const [status, kind] of [
        [400, "rejected"],
        [403, "forbidden"],
        [404, "not_found"],
        [409, "conflict"],
        [422, "rejected"],
      ] as const) {
        const fault = { kind: "status", status, code: "NO", retryable: false };
        const { result, requests } = await callWithFaults(bench(), id, await bench().newAction(id), fault);
        const failed = bench().expectFailure(result, kind);
        expect(failed).toMatchObject({ status, code: "NO", sideEffect: "none", retryable: false });
        expect(await bench().service.countExecutions(expectSameCommand(requests, 1))).toBe(0);
      }
    });

    test(`${tool}: an answer that violates the contract is reported with the effect of the action`, async () => {
      const fault = { kind: "body", body: '{"data":{},"meta":{"requestId":"r"}}' };
      const { result, requests } = await callWithFaults(bench(), id, await bench().newAction(id), fault);
      const failed = bench().expectFailure(result, "contract_violation");
      const key = expectSameCommand(requests, 1);
      expect(failed).toMatchObject({ sideEffect: "done", retryable: false, idempotencyKey: key });
      expect(failed.text).toContain("took effect");
      expect(failed.next).toMatch(/not repeat/);
      expect(await bench().service.countExecutions(key)).toBe(1);
    });

    test(`${tool}: an answer that may not come from the API proves nothing, and the request is sent again`, async () => {
      for (const body of ["<html>", '{"data":{}}', ""]) {
        const { result, requests } = await callWithFaults(bench(), id, await bench().newAction(id), {
          kind: "body",
          body,
        });
        expect(result.isError, result.text).toBe(false);
        expect(await bench().service.countExecutions(expectSameCommand(requests, 2))).toBe(1);
      }
    });

    test(`${tool}: an unknown field is dropped and reported [2.2/closed-objects]`, async () => {
      const { result } = await callWithFaults(bench(), id, await bench().newAction(id), { kind: "extra-field" });
      expect(result.isError, result.text).toBe(false);
      expect(result.meta["mic-mcp/drift"]).toEqual(["/data/emulatorExtraField"]);
      expect(JSON.stringify(result.structured) + result.text).not.toContain("emulatorExtraField");
    });
  }

  test("a refusal after a lost answer is reported with an unknown effect", async () => {
    const refused = { kind: "status", status: 409, code: "JOB_EXISTS", retryable: false };
    const args = await bench().newAction("createMicJob");
    const { result, requests } = await callWithFaults(bench(), "createMicJob", args, { kind: "drop-after" }, refused);
    const failed = bench().expectFailure(result, "conflict");
    expect(failed.sideEffect).toBe("unknown");
    expect(failed.idempotencyKey).toBe(expectSameCommand(requests, 2));
  });

  test("a request whose key is still in progress at the API is sent again", async () => {
    const running = { kind: "status", status: 409, code: "IDEMPOTENCY_IN_PROGRESS", retryable: true };
    const { result, requests } = await callWithFaults(
      bench(),
      "createMicJob",
      await bench().newAction("createMicJob"),
      running,
    );
    expect(result.isError, result.text).toBe(false);
    expectSameCommand(requests, 2);
  });

  // These tests are last because they expire the tokens of all other scopes, too.
  for (const id of postIds)
    test(`${operations[id].tool}: an expired token is renewed, and the same bytes are sent again [5/token-renewed]`, async () => {
      await bench().ok(operations[id].tool, await bench().newAction(id));
      const { result, requests } = await callWithFaults(bench(), id, await bench().newAction(id), {
        kind: "expire-token",
      });
      bench().service.forgetTokens();
      expect(result.isError, result.text).toBe(false);
      expect(requests.map(({ status }) => status)).toEqual([401, operations[id].success]);
      expect(await bench().service.countExecutions(expectSameCommand(requests, 2))).toBe(1);
    });
});
