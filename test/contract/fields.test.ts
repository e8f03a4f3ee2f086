// Tests the grammar of requests (docs/contract.md, 4): each endpoint's schemas against the rows in operations.ts.
import { describe, expect, test } from "vitest";
import { endpoints } from "../../src/contract/endpoints/index.ts";
import { sampleOf } from "../fields.ts";
import { type ListedOperation, rows } from "../operations.ts";
import { testObject } from "./object-rules.ts";

for (const endpoint of endpoints) {
  const row: Partial<ListedOperation> = rows.find(({ id }) => id === endpoint.id) ?? {};
  const parts = [
    ["path", endpoint.pathParameters, row.pathFields ?? {}],
    ["query", endpoint.query, row.queryFields ?? {}],
    ["body", endpoint.body, row.bodyFields],
  ] as const;

  describe.each(parts)(`${endpoint.id}: %s`, (part, schema, fields) => {
    if (schema === undefined || fields === undefined) {
      test(`${endpoint.id} has no ${part}`, () => expect([schema, fields]).toEqual([undefined, undefined]));
      return;
    }
    testObject(
      `the ${part} has exactly its fields [4.1/closed-query, 4.2/closed-query, 4.2/bodies-closed]`,
      schema,
      sampleOf(fields),
      Object.entries(fields).map(([name, { rules, values }]) => [`[${rules.join(", ")}]`, { [name]: values }]),
      Object.entries(fields).flatMap(([name, { isOptional }]) => (isOptional ? [name] : [])),
    );
  });

  test(`${endpoint.id} has the right headers, and its path names its parameters`, () => {
    const { idempotencyKey: key, ifMatch } = endpoint;
    expect({ key, ifMatch }).toEqual({ key: row.key, ifMatch: row.ifMatch });
    const named = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(Object.keys(endpoint.pathParameters.shape)).toEqual(named);
  });
}

test("a lowercase state code becomes uppercase [4.1/state-uppercased]", () => {
  const query = endpoints.find(({ id }) => id === "listPlaygroundDistricts")?.query;
  expect(["tg", "tG", "Tg", "TG"].map((state) => query?.parse({ state }))).toEqual(Array(4).fill({ state: "TG" }));
});
