// Tests errors of the API and of the network while a tool reads: they are retried if that is safe, and otherwise reported
// exactly.
import { expect, test } from "vitest";
import { type OperationId, type OperationRow, operations } from "../operations.ts";
import type { Facts } from "../support/results.ts";
import type { Bench } from "./bench.ts";
import { createFreshBench, isPlayground } from "./fresh-bench.ts";
import { describeLatestRevision } from "./revisions.ts";

type Row = OperationRow & { readonly id: OperationId };
type Fault = Readonly<Record<string, unknown>>;

const AWAY = { kind: "status", status: 502 };

const rows: readonly Row[] = Object.values(operations);
const reads = rows.filter(({ method }) => method === "GET");
const jsonReads = reads.filter(({ answer }) => answer !== undefined);
const jobReads = reads.filter(({ scopes }) => scopes.length > 0);

/** Calls the row's tool under these faults; returns its result and the statuses of its requests. */
async function callWithFaults(bench: Bench, { id }: Row, ...faults: readonly Fault[]) {
  const args = await bench.argumentsFor(id);
  for (const fault of faults) await bench.service.injectFault(fault, { operationId: id });
  let result: Awaited<ReturnType<Bench["call"]>> | undefined;
  const sent = await bench.captureRequests(async () => {
    result = await bench.call(operations[id].tool, args);
  });
  if (result === undefined) throw new Error("not called");
  return { args, result, statuses: sent.map(({ status }) => status) };
}

/** Operations with the path of a part that is replaced, and its invalid value. */
const broken: readonly (readonly [OperationId, readonly (string | number)[], unknown])[] = [
  ["listPlaygroundStates", ["contract"], "svc.geo.admin-divisions.v2"],
  ["listPlaygroundStates", ["states", 3, "mandalCount"], -1],
  ["listPlaygroundDistricts", ["districts", 0, "code"], 501],
  ["getPlaygroundOpenApi", ["openapi"], "3.0.0"],
  ["getMicPublicCapabilities", ["data", "capabilities", 0, "supportLevel"], "FULL"],
  ["getMicPublicInput", ["data", "resourceVersion"], "0"],
  ["getMicPublicInput", ["meta", "requestId"], null],
  ["listMicExecutableRecipes", ["data", 0, "executionAvailable"], true],
  ["getMicExecutableRecipe", ["data", "availability"], "AVAILABLE"],
  ["listMicJobs", ["data", 1, "stages", 0, "stage"], "MELT"],
  ["listMicJobs", ["page", "hasMore"], "yes"],
  ["getMicJob", ["data", "resourceVersion"], 1.5],
  ["getMicJob", ["data", "failure"], undefined],
  ["getMicPublicOperation", ["data", "state"], "PAUSED"],
  ["getMicPublicUsage", ["data", "entitlementState"], "EXPIRED"],
  ["getMicSharedFileProcessingRequest", ["data", "sourceOrigin"], "FILE"],
];

function replaceAt(value: unknown, [step, ...rest]: readonly (string | number)[], part: unknown): unknown {
  if (step === undefined) return part;
  if (Array.isArray(value)) return value.map((item, index) => (index === step ? replaceAt(item, rest, part) : item));
  const record: Record<string, unknown> = { ...Object(value) };
  return { ...record, [step]: replaceAt(record[step], rest, part) };
}

describeLatestRevision((bench, revision) => {
  /** A bench whose caches are empty. */
  const cold = async (row: Row) => (isPlayground(row) ? await createFreshBench(bench(), revision) : bench());

  for (const row of reads) {
    const tool = row.tool;

    test(`${tool} reads again after a lost answer and after a 502`, async () => {
      const { result, statuses } = await callWithFaults(await cold(row), row, { kind: "drop-after" }, AWAY);
      expect(result.isError, result.text).toBe(false);
      expect(statuses).toEqual([null, AWAY.status, row.success]);
    });

    test(`${tool} reports a Retry-After that exceeds its time`, async () => {
      const own = await cold(row);
      for (const [status, kind] of [
        [503, "upstream_unavailable"],
        [429, "rate_limited"],
      ] as const) {
        const { result, statuses } = await callWithFaults(own, row, { kind: "status", status, retryAfterSeconds: 60 });
        const failed = bench().expectFailure(result, kind);
        expect(failed).toMatchObject({ status, retryAfterSeconds: 60, retryable: true, sideEffect: "none" });
        expect(failed.idempotencyKey).toBeUndefined();
        if (status === 429) expect(failed.next).toContain("60 s");
        expect(statuses).toEqual([status]);
      }
    });
  }

  for (const row of jsonReads) {
    const tool = row.tool;

    test(`${tool} reports an answer that is not an answer of the contract`, async () => {
      const own = await cold(row);
      for (const fault of [
        { kind: "body", body: "<html><body>Bad gateway</body></html>", contentType: "text/html" },
        { kind: "body", body: "{}" },
        { kind: "body", body: '{"data":' },
        { kind: "body", body: "" },
        { kind: "body", body: "null" },
        { kind: "status", status: 204, problem: false },
      ]) {
        const { result, statuses } = await callWithFaults(own, row, fault);
        const failed = bench().expectFailure(result, "contract_violation");
        expect(failed, JSON.stringify(fault)).toMatchObject({ retryable: false, sideEffect: "none" });
        expect(failed.message).toContain(row.id);
        expect(statuses).toHaveLength(1);
      }
    });

    // The OpenAPI document is free-form except for three fields, so none of its fields is unknown.
    if (row.id !== "getPlaygroundOpenApi")
      test(`${tool} drops an unknown field and reports it [2.1/closed-objects, 2.2/closed-objects]`, async () => {
        const { result } = await callWithFaults(await cold(row), row, { kind: "extra-field" });
        expect(result.isError, result.text).toBe(false);
        expect(result.meta["mic-mcp/drift"]).toEqual([expect.stringMatching(/\/emulatorExtraField$/)]);
        expect(JSON.stringify(result.structured) + result.text).not.toContain("emulatorExtraField");
      });
  }

  for (const [id, path, part] of broken) {
    const pointer = path.map((step) => `/${step}`).join("");
    test(`${operations[id].tool} names ${pointer} if it is ${JSON.stringify(part)}`, async () => {
      const row = operations[id];
      const parts = await bench().argumentsFor(id);
      const query = row.path.includes("{") ? {} : parts;
      const values = Object.fromEntries(Object.entries(parts).map(([name, value]) => [name, String(value)]));
      const { text } = await bench().service.call(row, { path: values, query: { ...Object(query) } });
      const body = JSON.stringify(replaceAt(JSON.parse(text), path, part));
      await bench().service.injectFault({ kind: "body", body }, { operationId: id });
      const failed = await (await cold(row)).fails(operations[id].tool, parts, "contract_violation");
      expect(failed.message).toContain(pointer);
      expect(failed.next).toBeDefined();
    });
  }

  const kinds: readonly (readonly [number, Facts["kind"]])[] = [
    [400, "rejected"],
    [402, "rejected"],
    [403, "forbidden"],
    [404, "not_found"],
    [405, "rejected"],
    [409, "conflict"],
    [410, "rejected"],
    [412, "precondition_failed"],
    [418, "rejected"],
    [422, "rejected"],
  ];
  test("a refusal is reported with its kind and the facts of the Problem [7.2/problem]", async () => {
    for (const [status, kind] of kinds) {
      const fault = { kind: "status", status, code: `CODE_${status}`, retryable: false };
      const { result, statuses } = await callWithFaults(bench(), operations.getMicJob, fault);
      const failed = bench().expectFailure(result, kind);
      expect(failed).toMatchObject({ status, code: `CODE_${status}`, retryable: false, sideEffect: "none" });
      expect(failed.requestId).toMatch(/^micreq_/);
      expect(statuses).toEqual([status]);
    }
  });

  test("a refusal without a Problem is reported with its status", async () => {
    for (const body of ["", "<html>", "[]", '"no"', '{"error":{"code":"WRAPPED","title":"In a wrapper"}}']) {
      const { result } = await callWithFaults(bench(), operations.getMicJob, { kind: "body", status: 404, body });
      const failed = bench().expectFailure(result, "not_found");
      expect(failed.status).toBe(404);
      if (body.includes("WRAPPED")) expect(failed.code).toBe("WRAPPED");
    }
  });

  for (const row of jobReads)
    test(`${row.tool} continues with a new token if its token has expired [5/token-renewed]`, async () => {
      await bench().ok(row.tool, await bench().argumentsFor(row.id));
      const { result, statuses } = await callWithFaults(await cold(row), row, { kind: "expire-token" });
      bench().service.forgetTokens();
      expect(result.isError, result.text).toBe(false);
      expect(statuses).toEqual([401, 200]);
    });

  test("a token that is refused twice is reported, and not renewed again", async () => {
    const refused = { kind: "status", status: 401 };
    const { result, statuses } = await callWithFaults(bench(), operations.getMicJob, refused, refused);
    const failed = bench().expectFailure(result, "unauthorized");
    expect(failed).toMatchObject({ retryable: false, sideEffect: "none" });
    expect(failed.next).toContain("mic-mcp doctor");
    expect(statuses).toEqual([401, 401]);
  });
});
