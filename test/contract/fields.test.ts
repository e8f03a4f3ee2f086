// Tests the grammar of requests (docs/contract.md, 4): each endpoint's schemas against the rows in operations.ts.
import { describe, expect, test } from "vitest";
import { CreateInput } from "../../src/contract/endpoints/bodies.ts";
import { endpoints } from "../../src/contract/endpoints/index.ts";
import { type Fields, sampleOf } from "../fields.ts";
import { type ListedOperation, rows } from "../operations.ts";
import { freeFormObject, text } from "./field-rules.ts";
import { createObjectTests } from "./object-rules.ts";

const namesOf = (fields: Fields, predicate: (field: Fields[string]) => boolean): readonly string[] =>
  Object.entries(fields).flatMap(([name, field]) => (predicate(field) ? [name] : []));

test("every endpoint has a row in operations.ts, in the same order", () => {
  expect(endpoints.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
});

for (const endpoint of endpoints) {
  const row: Partial<ListedOperation> = rows.find(({ id }) => id === endpoint.id) ?? {};
  const parts = [
    ["path", endpoint.pathParameters, row.pathFields ?? {}],
    ["query", endpoint.query, row.queryFields ?? {}],
    ["body", endpoint.body, row.bodyFields],
  ] as const;

  describe.each(parts)(`${endpoint.id}: %s`, (_, schema, fields) => {
    if (schema === undefined || fields === undefined) {
      test("does not exist", () => expect([schema, fields]).toEqual([undefined, undefined]));
      return;
    }
    const testFields = createObjectTests(schema, sampleOf(fields), {
      optional: namesOf(fields, ({ isOptional }) => isOptional === true),
      freeForm: namesOf(fields, ({ values }) => values === freeFormObject),
    });
    testFields("has exactly its fields [4.1/closed-query, 4.2/closed-query, 4.2/bodies-closed]");
    for (const [name, { rules, values }] of Object.entries(fields))
      testFields(`[${[rules].flat().join(", ")}]`, { [name]: values });
  });

  test(`${endpoint.id} has the right headers`, () => {
    const { idempotencyKey: key, ifMatch } = endpoint;
    expect({ key, ifMatch }).toEqual({ key: row.key, ifMatch: row.ifMatch });
  });

  test(`the path of ${endpoint.id} names its parameters`, () => {
    const named = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(Object.keys(endpoint.pathParameters.shape)).toEqual(named);
  });
}

test("a lowercase state code becomes uppercase [4.1/state-uppercased]", () => {
  const query = endpoints.find(({ id }) => id === "listPlaygroundDistricts")?.query;
  expect(["tg", "tG", "Tg", "TG"].map((state) => query?.parse({ state }))).toEqual(Array(4).fill({ state: "TG" }));
});

const ofDataset = { workspaceId: "micws_1", inputKind: "DATASET_VERSION", referenceId: "any" };
describe("an input that is not a file", () => {
  const testFields = createObjectTests(CreateInput, ofDataset, { isInPart: true });
  testFields("an input that is not a file may have any reference [4.2/input-ids]", { referenceId: text(1, 128) });
});
