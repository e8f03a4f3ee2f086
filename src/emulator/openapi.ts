// Generates the playground's own OpenAPI 3.1.1 document from the contract's endpoints and schemas.
import * as z from "zod/v4";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { endpoints } from "../contract/endpoints/index.ts";
import * as playground from "../contract/endpoints/playground.ts";
import { type JsonSchema, toJsonSchema } from "../contract/json.ts";
import { PLAYGROUND_STATUS } from "../contract/playground.ts";

const SUMMARIES: Readonly<Record<string, string>> = {
  [playground.listPlaygroundStates.id]: "States and union territories with their counts of districts and mandals",
  [playground.listPlaygroundDistricts.id]: "The districts of one state with their counts of mandals",
  [playground.getPlaygroundOpenApi.id]: "This document",
};

const ERROR_DESCRIPTIONS = {
  400: "The query or body is not supported",
  403: "The public route policy denied the request",
  429: "A request limit was exceeded",
  502: "Transport failure or invalid catalogue response",
} as const;

type ErrorStatus = keyof typeof ERROR_DESCRIPTIONS;

/** {base_url} relative to this document, so that it is valid under any path of a proxy. */
const SERVER_URL = playground.getPlaygroundOpenApi.path.split("/").slice(2).fill("..").join("/");

const jsonContent = (schema: JsonSchema): JsonSchema => ({ "application/json": { schema } });

const errorResponse = (status: ErrorStatus, description: string): JsonSchema => ({
  description,
  ...(status === 429 && {
    headers: {
      "Retry-After": {
        description: "Seconds until a request is admitted again",
        required: true,
        schema: { type: "integer", minimum: 1 },
      },
    },
  }),
  // Section 7.1: an object with exactly one field, constant for each HTTP status.
  content: jsonContent(toJsonSchema(z.strictObject({ status: z.literal(PLAYGROUND_STATUS[status]) }), "output")),
});

function describeResponses(endpoint: Endpoint, body: z.ZodType): JsonSchema {
  const all: Record<string, JsonSchema> = {
    "200": { description: "Success", content: jsonContent(toJsonSchema(body, "output")) },
  };
  for (const status of [400, 403, 429] as const) all[status] = errorResponse(status, ERROR_DESCRIPTIONS[status]);
  // docs/contract.md, 4.1: the OpenAPI endpoint has no 502, because it has no upstream that could fail.
  if (endpoint.id !== playground.getPlaygroundOpenApi.id) {
    all["502"] = errorResponse(502, ERROR_DESCRIPTIONS[502]);
    all["default"] = errorResponse(502, "Upstream failure: the upstream's HTTP error status is preserved");
  }
  return all;
}

const describeParameters = (endpoint: Endpoint): readonly JsonSchema[] =>
  Object.keys(endpoint.query.shape).map((name) => ({
    name,
    in: "query",
    required: true,
    description: "Two ASCII letters; lowercase is normalized to uppercase",
    schema: toJsonSchema(playground.stateCode, "input"),
  }));

export function createOpenApiDocument(): JsonSchema {
  const paths: Record<string, JsonSchema> = {};
  for (const endpoint of endpoints) {
    if (endpoint.api !== "playground" || endpoint.success.body === "binary") continue;
    paths[endpoint.path] = {
      get: {
        operationId: endpoint.id,
        summary: SUMMARIES[endpoint.id] ?? endpoint.id,
        security: [],
        parameters: describeParameters(endpoint),
        responses: describeResponses(endpoint, endpoint.success.body),
      },
    };
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Public geography playground",
      version: "1.0.0",
      description:
        "Anonymous, read-only metadata about Indian states, union territories and their districts. " +
        "Counts and lists may change as the catalogue is updated.",
    },
    servers: [{ url: SERVER_URL }],
    security: [],
    paths,
  };
}
