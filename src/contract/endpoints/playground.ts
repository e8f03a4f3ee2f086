// The playground's endpoints, docs/contract.md, 4.1: anonymous, read-only.
import * as z from "zod/v4";
import { documentContradictions } from "../contradictions.ts";
import { DistrictsResponse, OpenApiDocument, StatesResponse } from "../playground.ts";
import { defineEndpoint, type Endpoint, none } from "./endpoint.ts";

const base = "/api/svc/core/developers/playground/v1";

/** Exactly two ASCII letters; lowercase is normalized to uppercase. */
export const stateCode = z
  .string()
  .regex(/^[A-Za-z]{2}$/, { error: "must be exactly two ASCII letters, such as TG" })
  .toUpperCase();

export const listPlaygroundStates = defineEndpoint({
  id: "listPlaygroundStates",
  api: "playground",
  method: "GET",
  path: `${base}/geo/states`,
  pathParameters: none,
  query: none,
  success: { status: 200, body: StatesResponse },
});

export const listPlaygroundDistricts = defineEndpoint({
  id: "listPlaygroundDistricts",
  api: "playground",
  method: "GET",
  path: `${base}/geo/districts`,
  pathParameters: none,
  query: z.strictObject({ state: stateCode }),
  success: { status: 200, body: DistrictsResponse },
});

export const getPlaygroundOpenApi = defineEndpoint({
  id: "getPlaygroundOpenApi",
  api: "playground",
  method: "GET",
  path: `${base}/openapi.json`,
  pathParameters: none,
  query: none,
  success: { status: 200, body: OpenApiDocument, contradictions: documentContradictions },
});

/** The playground, in the contract's order. */
export const playgroundEndpoints: readonly Endpoint[] = [
  listPlaygroundStates,
  listPlaygroundDistricts,
  getPlaygroundOpenApi,
];
