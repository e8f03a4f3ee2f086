// Tests errors of the API and of the network while a tool reads: they are retried if that is safe, and otherwise reported
// exactly. test/snapshots has the texts of each tool for a rate limit, a refusal, a server error and a violation of the contract.
import { expect, test } from "vitest";
import { type OperationId, type OperationRow, operations } from "../operations.ts";
import type { Facts } from "../support/results.ts";
import type { Bench } from "./bench.ts";
import { createFreshBench, isPlayground } from "./fresh-bench.ts";
import { describeLatestRevision } from "./revisions.ts";

type Row = OperationRow & { readonly id: OperationId };
type Fault = Readonly<Record<string, unknown>>;

const rows: readonly Row[] = Object.values(operations);
const reads = rows.flatMap((row) => (row.method === "GET" ? [[row.tool, row] as const] : []));

/** Calls the row's tool under these faults; returns its result and the statuses of its requests. */
async function callWithFaults(bench: Bench, { id, tool }: Row, ...faults: readonly Fault[]) {
  const args = await bench.argumentsFor(id);
  for (const fault of faults) await bench.service.injectFault(fault, { operationId: id });
  const { result, sent } = await bench.capture(() => bench.call(tool, args));
  return { result, statuses: sent.map(({ status }) => status) };
}

const NOT_RETRIED = { retryable: false, sideEffect: "none" } as const;
const LATER = { retryable: true, sideEffect: "none", retryAfterSeconds: 60 } as const;
const refused = (status: number) => ({ kind: "status", status, code: `CODE_${status}`, retryable: false });
const broken = (body: string, more: Fault = {}) => ({ kind: "body", body, ...more });
const WRAPPED = '{"error":{"code":"WRAPPED","title":"In a wrapper"}}';

/** Faults that end a read after one request. */
const endings: readonly (readonly [what: string, fault: Fault, kind: Facts["kind"], facts: Partial<Facts>])[] = [
  ["503 with a Retry-After", { kind: "status", status: 503, retryAfterSeconds: 60 }, "upstream_unavailable", LATER],
  ["429 with a Retry-After", { kind: "status", status: 429, retryAfterSeconds: 60 }, "rate_limited", LATER],
  ["400", refused(400), "rejected", { ...NOT_RETRIED, code: "CODE_400" }],
  ["403", refused(403), "forbidden", NOT_RETRIED],
  ["404", refused(404), "not_found", NOT_RETRIED],
  ["409", refused(409), "conflict", NOT_RETRIED],
  ["412", refused(412), "precondition_failed", NOT_RETRIED],
  ["418", refused(418), "rejected", NOT_RETRIED],
  ["422", refused(422), "rejected", { ...NOT_RETRIED, requestId: expect.stringMatching(/^micreq_/) }],
  ["404 without a body", broken("", { status: 404 }), "not_found", { status: 404 }],
  ["404 with a list", broken("[]", { status: 404 }), "not_found", { status: 404 }],
  ["404 with a wrapped Problem", broken(WRAPPED, { status: 404 }), "not_found", { status: 404, code: "WRAPPED" }],
  ["HTML", broken("<html>Bad gateway</html>", { contentType: "text/html" }), "contract_violation", NOT_RETRIED],
  ["another object", broken("{}"), "contract_violation", NOT_RETRIED],
  ["an empty body", broken(""), "contract_violation", NOT_RETRIED],
  ["204", { kind: "status", status: 204, problem: false }, "contract_violation", NOT_RETRIED],
];

describeLatestRevision((bench, revision) => {
  /** A bench whose caches are empty. */
  const cold = async (row: Row) => (isPlayground(row) ? await createFreshBench(bench(), revision) : bench());

  test.each(reads)("%s reads again after a lost answer and after a 502", async (_tool, row) => {
    const faults = [{ kind: "drop-after" }, { kind: "status", status: 502 }];
    const { result, statuses } = await callWithFaults(await cold(row), row, ...faults);
    expect(result.isError, result.text).toBe(false);
    expect(statuses).toEqual([null, 502, row.success]);
  });

  test.each(endings)(
    "%s ends a read after one request, and is reported [7.2/problem]",
    async (_, fault, kind, facts) => {
      for (const row of [operations.getMicJob, operations.listPlaygroundStates]) {
        // Refusals of the playground have no Problem: geography-catalogs.test.ts.
        if (isPlayground(row) && kind !== "contract_violation") continue;
        const { result, statuses } = await callWithFaults(await cold(row), row, fault);
        const failed = bench().expectFailure(result, kind);
        expect(failed).toMatchObject(facts);
        expect(failed.idempotencyKey).toBeUndefined();
        expect(statuses).toHaveLength(1);
      }
    },
  );

  // The OpenAPI document is free-form except for three fields, so none of its fields is unknown, and a file has no fields.
  test.each(reads.filter(([, { id, answer }]) => answer !== undefined && id !== "getPlaygroundOpenApi"))(
    "%s drops an unknown field and reports it [2.1/closed-objects, 2.2/closed-objects]",
    async (_tool, row) => {
      const { result } = await callWithFaults(await cold(row), row, { kind: "extra-field" });
      expect(result.meta["mic-mcp/drift"]).toEqual([expect.stringMatching(/\/emulatorExtraField$/)]);
      expect(JSON.stringify(result.structured) + result.text).not.toContain("emulatorExtraField");
    },
  );

  test.each(reads.filter(([, { scopes }]) => scopes.length > 0))(
    "%s continues with a new token if its token has expired [5/token-renewed]",
    async (tool, row) => {
      await bench().ok(tool, await bench().argumentsFor(row.id));
      const { result, statuses } = await callWithFaults(bench(), row, { kind: "expire-token" });
      bench().service.forgetTokens();
      expect(result.isError, result.text).toBe(false);
      expect(statuses).toEqual([401, 200]);
    },
  );

  test("a token that is refused twice is reported, and not renewed again", async () => {
    const unauthorized = { kind: "status", status: 401 };
    const { result, statuses } = await callWithFaults(bench(), operations.getMicJob, unauthorized, unauthorized);
    const failed = bench().expectFailure(result, "unauthorized");
    expect(failed).toMatchObject(NOT_RETRIED);
    expect(failed.next).toContain("mic-mcp doctor");
    expect(statuses).toEqual([401, 401]);
  });
});
