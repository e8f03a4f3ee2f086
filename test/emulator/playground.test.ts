// Tests the geography playground, docs/contract.md, 2.1, 4.1 and 7.1.
import fc from "fast-check";
import { expect, test } from "vitest";
import { operations, playgroundOperations } from "../operations.ts";
import { expectPlaygroundError } from "./http.ts";
import { serviceForFile, serviceForTest } from "./service.ts";

// Thousands of random queries in one minute would exceed the hard rate, so the clock advances between them.
const service = serviceForFile();
const base = "/api/svc/core/developers/playground/v1";
const INVALID = "INVALID_PLAYGROUND_REQUEST";

const getPath = (path: string) => {
  service().clock.advance(1000);
  return service().send({ path: base + path });
};
const listDistricts = (state: string) => {
  service().clock.advance(1000);
  return service().ok(operations.listPlaygroundDistricts, { query: { state } });
};

test("36 states have 784 districts, and the counts of each state equal its district list", async () => {
  const { states } = await service().ok(operations.listPlaygroundStates);
  expect(states).toHaveLength(36);
  expect(states.reduce((sum, { districtCount }) => sum + districtCount, 0)).toBe(784);
  expect(new Set(states.map(({ code }) => code)).size).toBe(36);
  for (const state of states) {
    const answer = await listDistricts(state.code);
    const mandals = answer.districts.reduce((sum, { mandalCount }) => sum + mandalCount, 0);
    expect([answer.state, answer.districts.length, mandals]).toEqual([
      state.name,
      state.districtCount,
      state.mandalCount,
    ]);
  }
});

test("the catalog has the figures of an analyst's questions", async () => {
  const { states } = await service().ok(operations.listPlaygroundStates);
  expect(states.find(({ code }) => code === "TG")).toMatchObject({
    name: "Telangana",
    lgdCode: "36",
    districtCount: 33,
    mandalCount: 621,
  });
  const telangana = await listDistricts("TG");
  expect(telangana.districts).toContainEqual({ code: "516", name: "Nizamabad", mandalCount: 33 });
  const goa = await listDistricts("GA");
  expect(goa.districts.map(({ name, mandalCount }) => `${name} ${mandalCount}`).sort()).toEqual([
    "Kushavati 4",
    "North Goa 5",
    "South Goa 3",
  ]);
});

test("a state code in lowercase or mixed case is the same state [4.1/state-uppercased]", async () => {
  const expected = await listDistricts("TG");
  for (const state of ["tg", "Tg", "tG"]) expect(await listDistricts(state)).toEqual(expected);
});

test("a state code has exactly two ASCII letters [4.1/state-required]", async () => {
  const known = new Set((await service().ok(operations.listPlaygroundStates)).states.map(({ code }) => code));
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.string({ maxLength: 4 }),
        fc.string({ unit: "binary", maxLength: 3 }),
        fc.stringMatching(/^[A-Za-z]{2}$/),
      ),
      async (state) => {
        const answer = await getPath(`/geo/districts?state=${encodeURIComponent(state)}`);
        if (!/^[A-Za-z]{2}$/.test(state)) return expectPlaygroundError(answer, 400, INVALID);
        if (known.has(state.toUpperCase())) expect(answer.status).toBe(200);
        else expectPlaygroundError(answer, 400, INVALID);
      },
    ),
    { numRuns: 150 },
  );
});

test("a body is refused [7.1/invalid-request]", async () => {
  for (const { path } of playgroundOperations) {
    const query = path.endsWith("districts") ? "?state=TG" : "";
    const body = { headers: { "content-type": "application/json" }, body: "{}" };
    expectPlaygroundError(await service().send({ method: "GET", path: path + query, ...body }), 400, INVALID);
  }
});

test("credentials make no difference [5/playground-anonymous]", async () => {
  const plain = await getPath("/geo/states");
  for (const authorization of ["Bearer nonsense", "Basic !!!", ""]) {
    const answer = await service().send({ path: `${base}/geo/states`, headers: { authorization } });
    expect([answer.status, answer.text]).toEqual([200, plain.text]);
  }
});

test("each endpoint's errors have the body of section 7.1 [4.1/error-statuses, 7.1/denied, 7.1/upstream-unavailable, 7.1/upstream-status-preserved, 7.1/body]", async () => {
  const own = await serviceForTest();
  const rows = [
    [403, "PLAYGROUND_REQUEST_DENIED"],
    [502, "PLAYGROUND_UPSTREAM_UNAVAILABLE"],
    [503, "PLAYGROUND_UPSTREAM_UNAVAILABLE"],
    [500, "PLAYGROUND_UPSTREAM_UNAVAILABLE"],
    [404, "PLAYGROUND_UPSTREAM_UNAVAILABLE"],
  ] as const;
  for (const [status, value] of rows) {
    for (const operation of [operations.listPlaygroundStates, operations.listPlaygroundDistricts]) {
      await own.injectFault({ kind: "status", status }, { operationId: operation.id, times: 1 });
      const answer = await own.call(operation, operation.id.endsWith("Districts") ? { query: { state: "TG" } } : {});
      expectPlaygroundError(answer, status, value);
    }
  }
  await own.injectFault({ kind: "status", status: 403 }, { operationId: "getPlaygroundOpenApi", times: 1 });
  expectPlaygroundError(await own.call(operations.getPlaygroundOpenApi), 403, "PLAYGROUND_REQUEST_DENIED");
});
