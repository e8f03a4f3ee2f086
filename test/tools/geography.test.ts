// Tests the geography tools: the catalog as the API returns it, and each error of section 7.1 as an agent gets it.
import { expect, test } from "vitest";
import { PLAYGROUND_CONTRACT } from "../../src/contract/playground.ts";
import { operations } from "../operations.ts";
import { createFreshBench } from "./fresh-bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const catalogue = (facts: object) => JSON.stringify({ contract: PLAYGROUND_CONTRACT, ...facts });

describeLatestRevision((bench, revision) => {
  const fresh = () => createFreshBench(bench(), revision);

  test("list_districts accepts a code in upper or lower case [4.1/districts, 4.1/state-uppercased]", async () => {
    const upper = await bench().ok("list_districts", { state: "TG" });
    const { summary, ...body } = upper.structured;
    expect(body).toEqual(await bench().service.ok(operations.listPlaygroundDistricts, { query: { state: "TG" } }));
    expect(summary).toBe("Telangana (TG): 33 districts, 621 mandals.");
    expect(upper.structured["state"]).toBe("Telangana");
    expect(await bench().ok("list_districts", { state: "tG" })).toEqual(upper);
  });

  test("a changed catalog is returned as it is, without built-in states [1/catalogue-may-change]", async () => {
    const before = await (await fresh()).ok("list_states");
    const states = [{ code: "QX", name: "A state of tomorrow", districtCount: 0, mandalCount: 9_007_199_254_740_991 }];
    const body = catalogue({ states });
    await bench().service.injectFault({ kind: "body", body }, { operationId: "listPlaygroundStates" });
    expect((await (await fresh()).ok("list_states")).structured["states"]).toEqual(states);
    const districts = [{ code: "D-1", name: "Its only district", mandalCount: 0 }];
    const answer = { kind: "body", status: 200, body: catalogue({ state: "A state of tomorrow", districts }) };
    await bench().service.injectFault(answer, { operationId: "listPlaygroundDistricts" });
    expect((await bench().ok("list_districts", { state: "QX" })).structured["districts"]).toEqual(districts);
    expect((await (await fresh()).ok("list_states")).structured).toEqual(before.structured);
  });

  test("the upstream status is kept, whatever it is [7.1/upstream-status-preserved]", async () => {
    const body = JSON.stringify({ status: "PLAYGROUND_UPSTREAM_UNAVAILABLE" });
    for (const status of [404, 418]) {
      await bench().service.injectFault({ kind: "body", status, body }, { operationId: "listPlaygroundStates" });
      const own = await fresh();
      const sent = await bench().captureRequests(() => own.ok("list_states"));
      expect(sent.map((request) => request.status)).toEqual([status, 200]);
    }
    await bench().service.injectFault(
      { kind: "status", status: 503, retryAfterSeconds: 3600 },
      { operationId: "listPlaygroundStates" },
    );
    const failed = await (await fresh()).fails("list_states", {}, "upstream_unavailable");
    expect(failed).toMatchObject({ status: 503, retryAfterSeconds: 3600, retryable: true, sideEffect: "none" });
  });

  test("an upstream 404 for a state's districts is not retried [7.1/upstream-status-preserved]", async () => {
    const body = JSON.stringify({ status: "PLAYGROUND_UPSTREAM_UNAVAILABLE" });
    const faults = { operationId: "listPlaygroundDistricts", times: 2 };
    await bench().service.injectFault({ kind: "body", status: 404, body }, faults);
    const own = await fresh();
    const listed = await bench().captureRequests(() => own.fails("list_districts", { state: "TG" }, "not_found"));
    expect(listed.map(({ status }) => status)).toEqual([404, 200]);
    // The states list resolves a former code.
    const former = await bench().captureRequests(async () => {
      expect((await own.ok("list_districts", { state: "TS" })).structured).toMatchObject({ state: "Telangana" });
    });
    expect(former.map(({ status }) => status)).toEqual([404, 200]);
  });

  test("an answer beyond the array limits violates the contract [2.1/states-response, 2.1/districts-response-districts]", async () => {
    const state = { code: "TG", name: "Telangana", districtCount: 33, mandalCount: 621 };
    const states = Array.from({ length: 65 }, () => state);
    await bench().service.injectFault(
      { kind: "body", body: catalogue({ states }) },
      { operationId: "listPlaygroundStates" },
    );
    expect((await (await fresh()).fails("list_states", {}, "contract_violation")).message).toContain("/states");
    const districts = Array.from({ length: 257 }, (_, code) => ({ code: String(code), name: "D", mandalCount: 0 }));
    const body = catalogue({ state: "Telangana", districts });
    await bench().service.injectFault({ kind: "body", body }, { operationId: "listPlaygroundDistricts" });
    const failed = await (await fresh()).fails("list_districts", { state: "TG" }, "contract_violation");
    expect(failed.message).toContain("/districts");
  });
});
