// Tests the geography playground, its request rates and its OpenAPI document, docs/contract.md, 2.1, 4.1, 7.1, 8 and 9.

import { request } from "node:http";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { operations, playgroundOperations } from "../operations.ts";
import { expectPlaygroundError, parseJson, valueAt } from "./http.ts";
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

const document = () => service().ok(operations.getPlaygroundOpenApi);
const keysOf = (value: unknown): readonly string[] => Object.keys(Object(value)).sort();

/** Follows `$ref` within the document until the value is not a reference. */
function resolve(root: unknown, value: unknown): unknown {
  const ref = valueAt(value, "$ref");
  return typeof ref === "string" ? resolve(root, valueAt(root, ...ref.replace(/^#\//, "").split("/"))) : value;
}

test("the document is OpenAPI 3.1.1 with version 1.0.0 [4.1/openapi, 9/playground-document-version]", async () => {
  const root = await document();
  expect(root.openapi).toBe("3.1.1");
  expect(root.info["version"]).toBe("1.0.0");
  expect(keysOf(root.paths)).toEqual([...playgroundOperations.map(({ path }) => path)].sort());
});

test("the document's server is the base URL it was read from, with any path prefix", async () => {
  const [server, ...others] = [valueAt(await document(), "servers")].flat();
  expect(others).toEqual([]);
  for (const baseUrl of ["http://127.0.0.1:8080", "https://gate.example/mic", "https://gate.example/a/b"]) {
    const readFrom = baseUrl + operations.getPlaygroundOpenApi.path;
    // OpenAPI 3.1 resolves the URL against the document's own address. It ends with the slash that paths begin with.
    expect(new URL(String(valueAt(server, "url")), readFrom).href).toBe(`${baseUrl}/`);
  }
});

test("the operations have their ids and empty security [4.1/operation-ids, 5/playground-anonymous]", async () => {
  const root = await document();
  for (const { id, path } of playgroundOperations) {
    const operation = valueAt(root, "paths", path, "get");
    expect(valueAt(operation, "operationId")).toBe(id);
    expect(valueAt(operation, "security") ?? valueAt(root, "security")).toEqual([]);
    expect(keysOf(valueAt(root, "paths", path)).filter((name) => name !== "parameters")).toEqual(["get"]);
  }
});

test("each endpoint lists its statuses, and the document itself has no 502 [4.1/error-statuses]", async () => {
  const root = await document();
  const responseKeys = (path: string) => keysOf(valueAt(root, "paths", path, "get", "responses"));
  const upstream = ["200", "400", "403", "429", "502", "default"];
  expect(responseKeys(operations.listPlaygroundStates.path)).toEqual(upstream);
  expect(responseKeys(operations.listPlaygroundDistricts.path)).toEqual(upstream);
  expect(responseKeys(operations.getPlaygroundOpenApi.path)).toEqual(["200", "400", "403", "429"]);
});

test("429 has the header Retry-After, an integer >= 1 [7.1/retry-after]", async () => {
  const root = await document();
  for (const { path } of playgroundOperations) {
    const rateLimited = resolve(root, valueAt(root, "paths", path, "get", "responses", "429"));
    const header = resolve(root, valueAt(rateLimited, "headers", "Retry-After"));
    expect(valueAt(header, "schema")).toMatchObject({ type: "integer", minimum: 1 });
  }
});

test("state is the only parameter, and it is required [4.1/closed-query, 4.1/state-required]", async () => {
  const root = await document();
  const parametersOf = (path: string) => valueAt(root, "paths", path, "get", "parameters") ?? [];
  expect(parametersOf(operations.listPlaygroundStates.path)).toEqual([]);
  expect(parametersOf(operations.getPlaygroundOpenApi.path)).toEqual([]);
  const [state, ...others] = [parametersOf(operations.listPlaygroundDistricts.path)].flat();
  expect(others).toEqual([]);
  expect(resolve(root, state)).toMatchObject({ name: "state", in: "query", required: true });
});

test("counts are >= 0 and have no other bound [2.1/state-counts, 2.1/district-mandal-count]", async () => {
  const root = await document();
  const countSchemas = (value: unknown): readonly unknown[] =>
    typeof value !== "object" || value === null
      ? []
      : Object.entries(value).flatMap(([name, part]) =>
          /^(district|mandal)Count$/.test(name) && valueAt(part, "type") !== undefined ? [part] : countSchemas(part),
        );
  const counts = countSchemas({ paths: root.paths, components: valueAt(root, "components") });
  expect(counts.length).toBeGreaterThanOrEqual(3);
  for (const count of counts) expect(count).toEqual({ type: "integer", minimum: 0 });
});

test("the responses of the endpoints match the document's schemas", async () => {
  const root = await document();
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: "mic:document", ...root });
  const answers = [
    [operations.listPlaygroundStates.path, "", "200"],
    [operations.listPlaygroundDistricts.path, "?state=TG", "200"],
    [operations.listPlaygroundDistricts.path, "?state=nowhere", "400"],
    [operations.getPlaygroundOpenApi.path, "", "200"],
  ] as const;
  for (const [path, query, status] of answers) {
    const answer = await service().send({ path: path + query });
    expect(answer.status).toBe(Number(status));
    const response = valueAt(root, "paths", path, "get", "responses", status);
    const schema = valueAt(resolve(root, response), "content", "application/json", "schema");
    const local = JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#', '"$ref":"mic:document#'));
    const valid = ajv.compile(local);
    expect(valid(parseJson(answer.text)), JSON.stringify(valid.errors)).toBe(true);
    if (status === "200" && !path.endsWith("openapi.json")) expect(valid({}), `${path} describes anything`).toBe(false);
  }
});

test("the document matches the schema of OpenAPI 3.1, and each reference has a target", async () => {
  const validator = new Validator();
  const root = await document();
  expect(await validator.validate(structuredClone(root))).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
  expect(JSON.stringify(validator.resolveRefs())).not.toContain('"$ref"');
  const { valid } = await new Validator().validate({ ...structuredClone(root), paths: { states: {} } });
  expect(valid).toBe(false);
});
