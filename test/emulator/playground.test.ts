// Tests the geography playground, its request rates and its OpenAPI document, docs/contract.md, 2.1, 4.1, 7.1, 8 and 9.

import { Validator } from "@seriousme/openapi-schema-validator";
import { expect } from "vitest";
import { operations, playgroundOperations } from "../operations.ts";
import { linuxMissing, testUnless } from "../support/unless.ts";
import { createRawClient, expectPlaygroundError, valueAt } from "./http.ts";
import { type Service, serviceForFile, serviceForTest, test } from "./service.ts";

const fileService = serviceForFile();
const INVALID = "INVALID_PLAYGROUND_REQUEST";
const STATES = operations.listPlaygroundStates.path;
const DISTRICTS = operations.listPlaygroundDistricts.path;
const OPENAPI = operations.getPlaygroundOpenApi.path;

const listStates = async () => (await fileService().ok(operations.listPlaygroundStates)).states;
const listDistricts = (state: string) => fileService().ok(operations.listPlaygroundDistricts, { query: { state } });

test("36 states have 784 districts, the counts of each state equal its district list, and a state code may be lowercase", {
  tags: ["4.1/state-uppercased"],
}, async () => {
  const states = await listStates();
  expect(states).toHaveLength(36);
  expect(states.reduce((sum, { districtCount }) => sum + districtCount, 0)).toBe(784);
  expect(new Set(states.map(({ code }) => code)).size).toBe(36);
  for (const { code, name, districtCount, mandalCount } of states) {
    const answer = await listDistricts(code);
    const mandals = answer.districts.reduce((sum, district) => sum + district.mandalCount, 0);
    expect([answer.state, answer.districts.length, mandals]).toEqual([name, districtCount, mandalCount]);
  }
  const telangana = await listDistricts("TG");
  for (const state of ["tg", "Tg", "tG"]) expect(await listDistricts(state)).toEqual(telangana);
});

test("a body is refused, and credentials make no difference", {
  tags: ["5/playground-anonymous", "7.1/invalid-request"],
}, async () => {
  for (const path of [STATES, `${DISTRICTS}?state=TG`, OPENAPI]) {
    const headers = { "content-type": "application/json" };
    expectPlaygroundError(await fileService().send({ path, headers, body: "{}" }), 400, INVALID);
  }
  const plain = await fileService().send({ path: STATES });
  for (const authorization of ["Bearer nonsense", "Basic !!!", ""]) {
    const answer = await fileService().send({ path: STATES, headers: { authorization } });
    expect([answer.status, answer.text]).toEqual([200, plain.text]);
  }
});

test("each endpoint's errors have the body of section 7.1", {
  tags: ["4.1/error-statuses", "7.1/denied", "7.1/upstream-unavailable", "7.1/upstream-status-preserved", "7.1/body"],
}, async ({ service }) => {
  for (const status of [403, 502, 503, 500, 404])
    for (const operation of playgroundOperations) {
      // The document does not depend on an upstream.
      if (operation.id === "getPlaygroundOpenApi" && status !== 403) continue;
      await service.injectFault({ kind: "status", status }, { operationId: operation.id, times: 1 });
      const answer = await service.call(
        operation,
        operation.id === operations.listPlaygroundDistricts.id ? { query: { state: "TG" } } : {},
      );
      const value = status === 403 ? "PLAYGROUND_REQUEST_DENIED" : "PLAYGROUND_UPSTREAM_UNAVAILABLE";
      expectPlaygroundError(answer, status, value);
    }
});

const paths = [STATES, `${DISTRICTS}?state=GA`, OPENAPI];
const LIMITED = "PLAYGROUND_RATE_LIMITED";

async function sendRequests(service: Service, count: number, headers: Record<string, string> = {}, query = "") {
  const answers = await Promise.all(
    Array.from({ length: count }, (_, at) => service.send({ path: (paths[at % 3] ?? "") + query, headers })),
  );
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const from = (address: string) => ({ "x-forwarded-for": address });

/** Expects a refusal, and that a request is served again when Retry-After has passed. */
async function expectRetryAfter(service: Service, headers: Record<string, string> = {}) {
  const refused = await service.send({ path: STATES, headers });
  expectPlaygroundError(refused, 429, LIMITED);
  expect(refused.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
  const seconds = Number(refused.headers["retry-after"]);
  expect(seconds).toBeLessThanOrEqual(60);
  service.clock.advance(seconds * 1000);
  expect((await service.send({ path: STATES, headers })).status).toBe(200);
}

test("600 requests per minute are served over all endpoints; later ones get 429 until Retry-After, from any reported address", {
  tags: ["8/hard-rate", "8/reported-address-trusted", "7.1/rate-limited", "7.1/retry-after", "7.1/body"],
}, async ({ service }) => {
  expect(await sendRequests(service, 600, from("203.0.113.5"))).toEqual({ 200: 600 });
  for (const path of paths) expectPlaygroundError(await service.send({ path }), 429, LIMITED);
  await expectRetryAfter(service);
});

test("the rate limit applies to each minute and to malformed requests, but not to the job-processing API", async () => {
  const service = await serviceForTest({ requestsPerPeer: 20 });
  await sendRequests(service, 20);
  service.clock.advance(60_000);
  expect(await sendRequests(service, 30, {}, "?unknown=1")).toEqual({ 400: 20, 429: 10 });
  expect((await service.call(operations.getMicPublicCapabilities, service.inWorkspace())).status).toBe(200);
});

// Only on Linux can a client choose among the loopback addresses without setting them up first.
testUnless(linuxMissing, "each connected peer has a separate rate [8/hard-rate]", async () => {
  const service = await serviceForTest({ host: "127.0.0.1", requestsPerPeer: 5 });
  expect(await sendRequests(service, 6)).toEqual({ 200: 5, 429: 1 });
  const sendFromOther = createRawClient(service.emulator.baseUrl, { localAddress: "127.0.0.2" });
  expect((await sendFromOther({ path: STATES })).status).toBe(200);
});

test("each address reported by a trusted edge has a rate of 30 a minute; if none is reported, only the hard rate applies", {
  tags: ["8/reported-address-rate", "8/reported-address-trusted", "7.1/retry-after"],
}, async () => {
  const service = await serviceForTest({ trustReportedAddress: true });
  expect(await sendRequests(service, 32, from("203.0.113.5"))).toEqual({ 200: 30, 429: 2 });
  for (const headers of [from("203.0.113.6"), from("2001:db8::1")])
    expect(await sendRequests(service, 30, headers)).toEqual({ 200: 30 });
  await expectRetryAfter(service, from("203.0.113.5"));
  expect(await sendRequests(service, 60)).toEqual({ 200: 60 });
});

const document = () => fileService().ok(operations.getPlaygroundOpenApi);

// test/snapshots/get_geography_openapi.md contains the document.
test("the document is OpenAPI 3.1.1 with version 1.0.0, and its server is the base URL it was read from, with any path prefix", {
  tags: ["4.1/openapi", "9/playground-document-version"],
}, async () => {
  const root = await document();
  expect([root.openapi, root.info["version"]]).toEqual(["3.1.1", "1.0.0"]);
  expect(Object.keys(root.paths).sort()).toEqual(playgroundOperations.map(({ path }) => path).sort());
  const [server, ...others] = [valueAt(root, "servers")].flat();
  expect(others).toEqual([]);
  for (const baseUrl of ["http://127.0.0.1:8080", "https://gate.example/a/b"]) {
    // OpenAPI 3.1 resolves the URL against the document's own address. It ends with the slash that paths begin with.
    expect(new URL(String(valueAt(server, "url")), baseUrl + OPENAPI).href).toBe(`${baseUrl}/`);
  }
});

test("the document matches the schema of OpenAPI 3.1, and each reference has a target", async () => {
  const validator = new Validator();
  const root = await document();
  expect(await validator.validate(structuredClone(root))).toEqual({ valid: true });
  expect(JSON.stringify(validator.resolveRefs())).not.toContain('"$ref"');
});
