// Tests the playground's own OpenAPI document, docs/contract.md, 4.1 and 9.
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { operations, playgroundOperations } from "../operations.ts";
import { parseJson, valueAt } from "./http.ts";
import { serviceForFile } from "./service.ts";

const service = serviceForFile();
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
