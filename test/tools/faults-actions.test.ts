// Tests faults while a tool acts: the action takes effect at most once, and the agent gets the known facts.
import { describe, expect, test } from "vitest";
import { operations, type PostId, postIds } from "../operations.ts";
import type { Facts } from "../support/results.ts";
import type { Args, Bench, SentRequest } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

type Fault = Readonly<Record<string, unknown>>;
const RETRY_LATER = { kind: "status", status: 503, retryAfterSeconds: 60 };
const BROKEN = '{"data":{},"meta":{"requestId":"r"}}';

async function callWithFaults(bench: Bench, id: PostId, args: Args, ...faults: readonly Fault[]) {
  for (const fault of faults) await bench.service.injectFault(fault, { operationId: id });
  const { result, sent } = await bench.capture(() => bench.call(operations[id].tool, args));
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

/** Faults after which the same bytes are sent again, under the same key. */
const repeated: readonly (readonly [what: string, fault: Fault])[] = [
  ["an answer that was lost", { kind: "drop-after" }],
  ["a truncated answer", { kind: "truncate" }],
  ["a server error after the effect", { kind: "status", status: 500, afterCommit: true }],
  ["a request that never arrived", { kind: "drop-before" }],
  ["an answer in HTML", { kind: "body", body: "<html>" }],
  ["an answer without a request id", { kind: "body", body: '{"data":{}}' }],
  ["an empty answer", { kind: "body", body: "" }],
];

const refusal = (status: number) => ({ kind: "status", status, code: "NO", retryable: false });
const RATE_LIMIT = { kind: "status", status: 429, retryAfterSeconds: 60 };
const UNKNOWN = { sideEffect: "unknown", retryable: true, retryAfterSeconds: 60 } as const;
const REFUSED = { sideEffect: "none", retryable: false, code: "NO" } as const;

/** Faults that end the call after one attempt, with the number of executions. */
const endings: readonly (readonly [string, Fault, Facts["kind"], Partial<Facts>, executions: number])[] = [
  ["a server error", RETRY_LATER, "outcome_unknown", { ...UNKNOWN, status: 503 }, 0],
  ["a rate limit", RATE_LIMIT, "rate_limited", { sideEffect: "none", retryable: true, retryAfterSeconds: 60 }, 0],
  ["400", refusal(400), "rejected", REFUSED, 0],
  ["403", refusal(403), "forbidden", REFUSED, 0],
  ["404", refusal(404), "not_found", REFUSED, 0],
  ["409", refusal(409), "conflict", REFUSED, 0],
  ["422", refusal(422), "rejected", REFUSED, 0],
  ["a broken body", { kind: "body", body: BROKEN }, "contract_violation", { sideEffect: "done", retryable: false }, 1],
];

describeLatestRevision((bench) => {
  describe.each(postIds.map((id) => [operations[id].tool, id] as const))("%s", (tool, id) => {
    test.each(repeated)("sends the same key and bytes again after %s [4.2/key-names-one-command]", async (_, fault) => {
      const { result, requests } = await callWithFaults(bench(), id, await bench().newAction(id), fault);
      expect(result.isError, result.text).toBe(false);
      const key = expectSameCommand(requests, 2);
      expect(result.structured).toMatchObject({ action: { idempotencyKey: key, attempts: 2 } });
      expect(await bench().service.countExecutions(key)).toBe(1);
    });

    test("reports an unknown outcome, and a call with its key resolves it [4.2/key-names-one-command]", async () => {
      const args = await bench().newAction(id);
      const { result, requests } = await callWithFaults(bench(), id, args, { kind: "drop-after" }, RETRY_LATER);
      const key = expectSameCommand(requests, 2);
      const failed = bench().expectFailure(result, "outcome_unknown");
      expect(failed).toMatchObject({ ...UNKNOWN, idempotencyKey: key });
      expect(failed.text).toMatch(/may or may not/);
      expect(failed.next).toContain(key);
      expect(await bench().service.countExecutions(key)).toBe(1);
      const again = await bench().ok(tool, { ...args, idempotencyKey: key });
      expect(again.structured).toMatchObject({ action: { idempotencyKey: key, replayed: true, attempts: 3 } });
      expect(await bench().service.countExecutions(key)).toBe(1);
    });

    test.each(endings)(
      "reports the effect after one attempt that is answered by %s [7.2/problem]",
      async (_, fault, kind, facts, executions) => {
        const { result, requests } = await callWithFaults(bench(), id, await bench().newAction(id), fault);
        const failed = bench().expectFailure(result, kind);
        const key = expectSameCommand(requests, 1);
        expect(failed).toMatchObject({ ...facts, idempotencyKey: key });
        expect(await bench().service.countExecutions(key)).toBe(executions);
      },
    );

    test("drops and reports an unknown field [2.2/closed-objects]", async () => {
      const { result } = await callWithFaults(bench(), id, await bench().newAction(id), { kind: "extra-field" });
      expect(result.meta["mic-mcp/drift"]).toEqual(["/data/emulatorExtraField"]);
      expect(JSON.stringify(result.structured) + result.text).not.toContain("emulatorExtraField");
    });
  });

  test("a refusal after a lost answer is reported with an unknown effect", async () => {
    const args = await bench().newAction("createMicJob");
    const faults = [{ kind: "drop-after" }, refusal(409)];
    const { result, requests } = await callWithFaults(bench(), "createMicJob", args, ...faults);
    const idempotencyKey = expectSameCommand(requests, 2);
    expect(bench().expectFailure(result, "conflict")).toMatchObject({ sideEffect: "unknown", idempotencyKey });
  });

  test("a request whose key is still in progress at the API is sent again", async () => {
    const running = { ...refusal(409), code: "IDEMPOTENCY_IN_PROGRESS", retryable: true };
    const args = await bench().newAction("createMicJob");
    const { result, requests } = await callWithFaults(bench(), "createMicJob", args, running);
    expect(result.isError, result.text).toBe(false);
    expectSameCommand(requests, 2);
  });

  // These tests are last because they expire the tokens of all other scopes, too.
  test.each(postIds.map((id) => [operations[id].tool, id] as const))(
    "%s: an expired token is renewed, and the same bytes are sent again [5/token-renewed]",
    async (tool, id) => {
      await bench().ok(tool, await bench().newAction(id));
      const args = await bench().newAction(id);
      const { result, requests } = await callWithFaults(bench(), id, args, { kind: "expire-token" });
      bench().service.forgetTokens();
      expect(result.isError, result.text).toBe(false);
      expect(requests.map(({ status }) => status)).toEqual([401, operations[id].success]);
      expect(await bench().service.countExecutions(expectSameCommand(requests, 2))).toBe(1);
    },
  );
});
