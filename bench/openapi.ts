// Creates one OpenAPI document for the 18 operations from the contract's schemas. The alternatives are generated from it.
import { API_PREFIX, type Endpoint } from "../src/contract/endpoints/endpoint.ts";
import { endpoints } from "../src/contract/endpoints/index.ts";
import { isJsonObject, type JsonSchema, toJsonSchema } from "../src/contract/json.ts";

function toParameters(where: "path" | "query", schema: Endpoint["query"]): readonly JsonSchema[] {
  const { properties, required } = toJsonSchema(schema, "input");
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([name, schema]) => ({
    name,
    in: where,
    required: names.includes(name),
    schema,
  }));
}

const toHeaderParameter = (name: string): JsonSchema => ({
  name,
  in: "header",
  required: true,
  schema: { type: "string" },
});

function toOperation(endpoint: Endpoint): JsonSchema {
  const { id, pathParameters, query, body, idempotencyKey, ifMatch, success } = endpoint;
  const content =
    success.body === "binary"
      ? { "application/octet-stream": { schema: { type: "string", format: "binary" } } }
      : { "application/json": { schema: toJsonSchema(success.body, "output") } };
  return {
    operationId: id,
    summary: id,
    parameters: [
      ...toParameters("path", pathParameters),
      ...toParameters("query", query),
      ...(idempotencyKey ? [toHeaderParameter("Idempotency-Key")] : []),
      ...(ifMatch ? [toHeaderParameter("If-Match")] : []),
    ],
    ...(body && {
      requestBody: { required: true, content: { "application/json": { schema: toJsonSchema(body, "input") } } },
    }),
    responses: { [success.status]: { description: "Success", content } },
  };
}

export function createOpenApi(): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const endpoint of endpoints) {
    const path = API_PREFIX[endpoint.api] + endpoint.path;
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: toOperation(endpoint) };
  }
  return { openapi: "3.1.1", info: { title: "mic", version: "1.0.0" }, servers: [{ url: "/" }], paths };
}
