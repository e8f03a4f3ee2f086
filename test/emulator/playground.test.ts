// Tests the geography playground and its request rates, docs/contract.md, 2.1, 4.1, 7.1 and 8.

import { request } from "node:http";
import fc from "fast-check";
import { expect, test } from "vitest";
import { operations, playgroundOperations } from "../operations.ts";
import { expectPlaygroundError } from "./http.ts";
import { type Service, serviceForFile, serviceForTest } from "./service.ts";

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

const paths = [
  "/api/svc/core/developers/playground/v1/geo/states",
  "/api/svc/core/developers/playground/v1/geo/districts?state=GA",
  "/api/svc/core/developers/playground/v1/openapi.json",
];
const LIMITED = "PLAYGROUND_RATE_LIMITED";

/** Sends `count` requests to all endpoints in turn, and returns the statuses. */
async function sendRequests(
  service: Service,
  count: number,
  headers: Record<string, string> = {},
): Promise<readonly number[]> {
  const answers = await Promise.all(
    Array.from({ length: count }, (_, at) => service.send({ path: paths[at % 3] ?? "", headers })),
  );
  return answers.map(({ status }) => status);
}

const countOf = (statuses: readonly number[], status: number) => statuses.filter((one) => one === status).length;
const from = (address: string) => ({ "x-forwarded-for": address });

test("600 requests a minute are served over all endpoints together, then 429 until Retry-After has passed [8/hard-rate, 7.1/rate-limited, 7.1/retry-after, 7.1/body]", async () => {
  const service = await serviceForTest();
  expect(countOf(await sendRequests(service, 600), 200)).toBe(600);
  for (const path of paths) {
    const refused = await service.send({ path });
    expectPlaygroundError(refused, 429, LIMITED);
    expect(refused.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
  }
  const seconds = Number((await service.send({ path: paths[0] ?? "" })).headers["retry-after"]);
  expect(seconds).toBeLessThanOrEqual(60);
  service.clock.advance(seconds * 1000);
  expect((await service.send({ path: paths[0] ?? "" })).status).toBe(200);
});

test("the rate applies in each minute, also to malformed requests, and not to the job-processing API", async () => {
  const service = await serviceForTest({ requestsPerPeer: 20 });
  await sendRequests(service, 20);
  service.clock.advance(60_000);
  const malformed = await Promise.all(
    Array.from({ length: 30 }, () => service.send({ path: `${paths[0]}?unknown=1` })),
  );
  const statuses = malformed.map(({ status }) => status);
  expect([countOf(statuses, 400), countOf(statuses, 429)]).toEqual([20, 10]);
  const query = { workspaceId: service.emulator.workspaceId };
  expect((await service.call(operations.getMicPublicCapabilities, { query })).status).toBe(200);
});

// Only on Linux can a client choose among the loopback addresses without setting them up first.
test.skipIf(process.platform !== "linux")(
  "each connected peer has a separate rate (needs Linux) [8/hard-rate]",
  async () => {
    const service = await serviceForTest({ host: "127.0.0.1", requestsPerPeer: 5 });
    expect(countOf(await sendRequests(service, 6), 429)).toBe(1);
    const { port } = new URL(service.emulator.baseUrl);
    const status = await new Promise((resolve, reject) => {
      request({ host: "127.0.0.1", port, path: paths[0], localAddress: "127.0.0.2", agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect(status).toBe(200);
  },
);

test("each reported address has a rate of 30 a minute if the edge is trusted [8/reported-address-rate, 8/reported-address-trusted, 7.1/retry-after]", async () => {
  const service = await serviceForTest({ trustReportedAddress: true });
  const statuses = await sendRequests(service, 32, from("203.0.113.5"));
  expect([countOf(statuses, 200), countOf(statuses, 429)]).toEqual([30, 2]);
  expect(countOf(await sendRequests(service, 30, from("203.0.113.6")), 200)).toBe(30);
  expect(countOf(await sendRequests(service, 30, from("2001:db8::1")), 200)).toBe(30);
  const refused = await service.send({ path: paths[2] ?? "", headers: from("203.0.113.5") });
  expectPlaygroundError(refused, 429, LIMITED);
  const seconds = Number(refused.headers["retry-after"]);
  expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60).toBe(true);
  service.clock.advance(seconds * 1000);
  expect(countOf(await sendRequests(service, 1, from("203.0.113.5")), 200)).toBe(1);
});

test("a reported address is ignored if the edge is not trusted [8/reported-address-trusted]", async () => {
  const service = await serviceForTest();
  expect(countOf(await sendRequests(service, 60, from("203.0.113.5")), 200)).toBe(60);
});

test("only the hard rate applies if a trusted edge reports no address [8/reported-address-trusted]", async () => {
  const service = await serviceForTest({ trustReportedAddress: true });
  expect(countOf(await sendRequests(service, 60), 200)).toBe(60);
});
