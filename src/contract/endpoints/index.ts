// This module lists the endpoints of docs/contract.md, 4, in the contract's order.
import type { Endpoint } from "./endpoint.ts";
import { jobProcessingEndpoints } from "./job-processing.ts";
import { playgroundEndpoints } from "./playground.ts";

export const endpoints: readonly Endpoint[] = [...playgroundEndpoints, ...jobProcessingEndpoints];

/** All scopes of the contract (section 5). */
export const SCOPES: readonly string[] = [...new Set(endpoints.flatMap(({ scopesToRequest }) => scopesToRequest))];
