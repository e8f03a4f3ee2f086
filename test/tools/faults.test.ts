// Tests errors of the API and of the network during a call: reads are retried if that is safe, actions take effect at most once, and the
// agent gets the known facts. test/snapshots has the texts of each tool for a rate limit, a refusal, a server error and a violation
// of the contract; test/unspecified/answers.test.ts tries more statuses.
import { describe, expect, test } from "vitest";
import type * as z from "zod/v4";
import { toJsonSchema } from "../../src/contract/json.ts";
import { isPost, type ListedOperation, rows } from "../operations.ts";
import type { Facts } from "../support/results.ts";
import {
  type Args,
  type Bench,
  createFreshBench,
  isPlayground,
  refusal as refused,
  type SentRequest,
} from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

type Fault = Readonly<Record<string, unknown>>;
type ErrorCase = readonly [what: string, fault: Fault, kind: Facts["kind"], facts: Partial<Facts>];

const titled = (listed: readonly ListedOperation[]) => listed.map((row) => [row.tool, row] as const);
const reads = titled(rows.filter(({ method }) => method === "GET"));
const actions = titled(rows.filter(({ method }) => method === "POST"));

const argumentsOf = (bench: Bench, { id }: ListedOperation): Promise<Args> =>
  isPost(id) ? bench.newAction(id) : bench.argumentsFor(id);

/** Calls the row's tool under these faults; returns its result and the requests of its operation. */
async function callWithFaults(bench: Bench, row: ListedOperation, faults: readonly Fault[], given?: Args) {
  const args = given ?? (await argumentsOf(bench, row));
  for (const fault of faults) await bench.service.injectFault(fault, { operationId: row.id });
  const { result, sent } = await bench.capture(() => bench.call(row.tool, args));
  const requests = sent.filter(({ operationId }) => operationId === row.id);
  return { result, requests, statuses: requests.map(({ status }) => status) };
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

/** Faults after which the same bytes are sent again, under the same key. test/api-client/retries.test.ts and outcomes.test.ts have more. */
const repeated: readonly (readonly [what: string, fault: Fault])[] = [
  ["an answer that was lost", { kind: "drop-after" }],
  ["a truncated answer", { kind: "truncate" }],
  ["a server error after the effect", { kind: "status", status: 500, afterCommit: true }],
  ["an answer without a request id", { kind: "body", body: '{"data":{}}' }],
];

const RETRY_LATER = { kind: "status", status: 503, retryAfterSeconds: 60 };
const TIMED_OUT = { kind: "status", status: 408, retryAfterSeconds: 60 };
const RATE_LIMIT = { kind: "status", status: 429, retryAfterSeconds: 60 };
const UNKNOWN = { sideEffect: "unknown", retryable: true, retryAfterSeconds: 60 } as const;
const LATER = { sideEffect: "none", retryable: true, retryAfterSeconds: 60 } as const;
const NOT_RETRIED = { sideEffect: "none", retryable: false } as const;
const REFUSED = { ...NOT_RETRIED, code: "NO" } as const;
const broken = (body: string, more: Fault = {}) => ({ kind: "body", body, ...more });

/** Refusals that end any call after one request, without an effect. */
const refusals: readonly ErrorCase[] = [
  ["429 with a Retry-After", RATE_LIMIT, "rate_limited", LATER],
  ["400", refused(400), "rejected", REFUSED],
  ["403", refused(403), "forbidden", REFUSED],
  ["404", refused(404), "not_found", REFUSED],
  ["409", refused(409), "conflict", REFUSED],
  ["422", refused(422), "rejected", { ...REFUSED, requestId: expect.stringMatching(/^micreq_/) }],
];
const endingsOfActions: readonly ErrorCase[] = [
  ...refusals,
  ["503 with a Retry-After", RETRY_LATER, "outcome_unknown", { ...UNKNOWN, status: 503 }],
  [
    "a broken body",
    broken('{"data":{},"meta":{"requestId":"r"}}'),
    "contract_violation",
    { sideEffect: "done", retryable: false },
  ],
];
describeLatestRevision((bench) => {
  describe.each(actions)("%s", (tool, row) => {
    test.each(repeated)(
      "sends the same key and bytes again after %s",
      { tags: ["4.2/key-names-one-command"] },
      async (_, fault) => {
        const { result, requests } = await callWithFaults(bench(), row, [fault]);
        expect(result.isError, result.text).toBe(false);
        const key = expectSameCommand(requests, 2);
        expect(result.structured).toMatchObject({ action: { idempotencyKey: key, replayed: false } });
        expect(result.text).toMatch(/^Sent 2 times under one key(?: after lost answers)?; the action ran once\. /);
        expect(await bench().service.countExecutions(key)).toBe(1);
      },
    );

    test.each<readonly [string, readonly Fault[]]>([
      ["a lost answer and a 503", [{ kind: "drop-after" }, RETRY_LATER]],
      ["HTTP 408 after the effect", [{ ...TIMED_OUT, afterCommit: true }]],
    ])(
      "reports an unknown outcome after %s, and a call with the action's key resolves the action",
      {
        tags: ["4.2/key-names-one-command"],
      },
      async (_, faults) => {
        const args = await argumentsOf(bench(), row);
        const { result, requests } = await callWithFaults(bench(), row, faults, args);
        const key = expectSameCommand(requests, faults.length);
        const failed = bench().expectFailure(result, "outcome_unknown");
        expect(failed).toMatchObject({ ...UNKNOWN, idempotencyKey: key });
        expect(failed.next).toContain(key);
        const again = await bench().ok(tool, { ...args, idempotencyKey: key });
        expect(again.structured).toMatchObject({ action: { idempotencyKey: key, replayed: false } });
        expect(await bench().service.countExecutions(key)).toBe(1);
      },
    );

    test.each(endingsOfActions)(
      "reports the effect after one attempt that is answered by %s",
      { tags: ["7.2/problem"] },
      async (_, fault, kind, facts) => {
        const { result, requests } = await callWithFaults(bench(), row, [fault]);
        const failed = bench().expectFailure(result, kind);
        const key = expectSameCommand(requests, 1);
        expect(failed).toMatchObject(facts);
        // The key of a rejected action is not offered: a corrected call with it would be in conflict.
        const isRejected = failed.sideEffect === "none" && !failed.retryable;
        expect(failed.idempotencyKey).toBe(isRejected ? undefined : key);
        expect(failed.text.includes(`idempotencyKey: ${key}`)).toBe(!isRejected);
        expect(await bench().service.countExecutions(key)).toBe(facts.sideEffect === "done" ? 1 : 0);
      },
    );
  });
});

/** Whether a field of the answer has a list of values. */
const hasListedValues = (schema: z.ZodType): boolean =>
  JSON.stringify(toJsonSchema(schema, "output")).includes('"enum":');

describeLatestRevision((bench, revision) => {
  const cold = async (row: ListedOperation) =>
    isPlayground(row) ? await createFreshBench(bench(), revision) : bench();

  test.each(reads)("%s reads again after a lost answer and after a 502", async (_tool, row) => {
    const faults = [{ kind: "drop-after" }, { kind: "status", status: 502 }];
    const { result, statuses } = await callWithFaults(await cold(row), row, faults);
    expect(result.isError, result.text).toBe(false);
    expect(statuses).toEqual([null, 502, row.success]);
  });

  // The OpenAPI document is free-form except for three fields, so none of its fields is unknown, and a file has no fields.
  test.each(titled(rows.filter(({ id, answer }) => answer !== undefined && id !== "getPlaygroundOpenApi")))(
    "%s drops an unknown field and reports it",
    { tags: ["2.1/closed-objects", "2.2/closed-objects"] },
    async (_tool, row) => {
      const { result } = await callWithFaults(await cold(row), row, [{ kind: "extra-field" }]);
      expect(result.meta["mic-mcp/drift"]).toEqual([expect.stringMatching(/\/emulatorExtraField$/)]);
      expect(JSON.stringify(result.structured) + result.text).not.toContain("emulatorExtraField");
    },
  );

  test.each(titled(rows.filter(({ answer, scopes }) => answer && scopes.length > 0 && hasListedValues(answer))))(
    "%s passes on a value that the contract does not list, and reports it",
    { tags: ["2.2/unlisted-values"] },
    async (tool, row) => {
      const { result, requests } = await callWithFaults(await cold(row), row, [{ kind: "unlisted-value" }]);
      expect(result.isError, result.text).toBe(false);
      expect(result.meta["mic-mcp/drift"]).toEqual([expect.stringContaining(": EMULATOR_VALUE is not a listed value")]);
      if (isPost(row.id)) {
        const key = expectSameCommand(requests, 1);
        expect(await bench().service.countExecutions(key)).toBe(1);
        const { structured } = await bench().ok("list_actions", { limit: 1 });
        expect(structured["actions"]).toEqual([
          expect.objectContaining({ state: "succeeded", createdId: expect.anything() }),
        ]);
      }
      expect(result.text, tool).not.toContain("undefined");
    },
  );

  // These tests are last because they expire the tokens of all other scopes, too.
  test.each(titled(rows.filter(({ scopes }) => scopes.length > 0)))(
    "%s: an expired token is renewed, and the same bytes are sent again",
    { tags: ["5/token-renewed"] },
    async (tool, row) => {
      await bench().ok(tool, await argumentsOf(bench(), row));
      const { result, requests, statuses } = await callWithFaults(bench(), row, [{ kind: "expire-token" }]);
      bench().service.forgetTokens();
      expect(result.isError, result.text).toBe(false);
      expect(statuses).toEqual([401, row.success]);
      const key = expectSameCommand(requests, 2);
      if (isPost(row.id)) expect(await bench().service.countExecutions(key)).toBe(1);
    },
  );
});
