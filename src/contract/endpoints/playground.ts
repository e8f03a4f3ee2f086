// This module defines the playground's endpoints, which are anonymous and read-only (docs/contract.md, 4.1).
import * as z from "zod/v4";
import { DistrictsResponse, documentContradictions, OpenApiDocument, StatesResponse } from "../playground.ts";
import { createEndpoints, type Endpoint } from "./endpoint.ts";

const { define, endpoints } = createEndpoints("playground");

const base = "/api/svc/core/developers/playground/v1";

/** Exactly two ASCII letters; lowercase is normalized to uppercase. */
export const stateCode = z
  .string()
  .regex(/^[A-Za-z]{2}$/, { error: "must be exactly two ASCII letters, such as TG" })
  .toUpperCase();

export const listPlaygroundStates = define({
  id: "listPlaygroundStates",
  method: "GET",
  path: `${base}/geo/states`,
  success: { status: 200, body: StatesResponse },
});

export const listPlaygroundDistricts = define({
  id: "listPlaygroundDistricts",
  method: "GET",
  path: `${base}/geo/districts`,
  query: z.strictObject({ state: stateCode }),
  success: { status: 200, body: DistrictsResponse },
});

export const getPlaygroundOpenApi = define({
  id: "getPlaygroundOpenApi",
  method: "GET",
  path: `${base}/openapi.json`,
  success: { status: 200, body: OpenApiDocument, contradictions: documentContradictions },
});

/** The endpoints of the playground, in the contract's order, which is the order above. */
export const playgroundEndpoints: readonly Endpoint[] = endpoints;
